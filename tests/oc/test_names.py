"""Classes have names that no others have, and configs may use them."""
import subprocess
import sys

import pytest
from mmengine.config import Config
from mmengine.registry import Registry
from opencompass import registry

import csv_plugin.oc
from csv_plugin.configs.datasets.salience_texts import salience_texts
from csv_plugin.oc.partitioners import FewTasksPartitioner
from tests.oc import tiny
from tests.runs import TEXTS

NAMES = {
    'MODELS': ['TokenLossModel', 'BatchedBaseModel'],
    'LOAD_DATASET': ['SalienceTextDataset'],
    'ICL_INFERENCERS': ['TokenLossInferencer', 'LabelLossInferencer'],
    'ICL_EVALUATORS': ['SalienceEvaluator', 'LabelLossEvaluator'],
    # OpenCompass builds summarizers by the same registry.
    'PARTITIONERS': ['FewTasksPartitioner', 'PredictedSummarizer'],
    'TASKS': ['SteadyInferTask', 'SteadyEvalTask'],
}


@pytest.mark.slow
def test_importing_the_package_registers_all_classes():
    """In a process in which nothing else was imported."""
    code = ('import csv_plugin.oc\nfrom opencompass import registry\n'
            f'for kind, names in {NAMES!r}.items():\n'
            '    for name in names:\n'
            '        found = getattr(registry, kind).get(name)\n'
            '        print(found.__module__, found.__name__)\n')
    shown = subprocess.run([sys.executable, '-c', code],
                           capture_output=True,
                           text=True,
                           check=True).stdout.splitlines()
    assert [line.split()[1] for line in shown
            ] == [name for names in NAMES.values() for name in names]
    assert all(line.startswith('csv_plugin.oc.') for line in shown)


def test_every_registered_class_is_listed_here():
    found = {}
    for kind in vars(registry):
        if not isinstance(getattr(registry, kind), Registry):
            continue
        modules = getattr(registry, kind).module_dict
        names = [
            name for name, module in modules.items()
            if module.__module__.startswith(csv_plugin.oc.__name__)
        ]
        if names:
            found[kind] = sorted(names)
    assert found == {kind: sorted(names) for kind, names in NAMES.items()}


def test_a_config_of_names_alone(model_folder, tmp_path):
    """In the process of a task, which does not read the config of the run."""
    texts = salience_texts(tiny.save_texts(tmp_path / 'texts.jsonl', TEXTS))
    for part in (texts, texts['infer_cfg']['inferencer'],
                 texts['eval_cfg']['evaluator']):
        part['type'] = part['type'].__name__
    model = dict(
        tiny.wrapped(tiny.model_config(model_folder)), type='TokenLossModel')
    config = Config(
        dict(models=[model], datasets=[texts], work_dir=str(tmp_path / 'run')))
    stages = [('predictions', 'SteadyInferTask', 'safetensors'),
              ('results', 'SteadyEvalTask', 'json')]
    for folder, kind, file in stages:
        task, = FewTasksPartitioner(str(tmp_path / 'run' / folder))(config)
        assert task['custom_imports']['imports'] == ['csv_plugin.oc']
        registry.TASKS.build(dict(type=kind, cfg=task)).run()
        assert list((tmp_path / 'run' / folder).rglob(f'*.{file}'))
