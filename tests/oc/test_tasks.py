"""Tasks go on after a dataset that failed, and say what failed."""
import subprocess

import pytest
from mmengine.config import Config
from opencompass.openicl.icl_inferencer import PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from csv_plugin.configs.datasets.salience_texts import salience_texts
from csv_plugin.core.conventions import InputError
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.io.runs.run_failures import failure_of
from csv_plugin.oc.tasks import SteadyEvalTask, SteadyInferTask
from tests.oc import tiny
from tests.runs import TEXTS


def exam(name, **changes):
    parts = dict(
        prompt_template=dict(
            type=PromptTemplate,
            template=dict(A='{question} {A}', B='{question} {B}')),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(type=PPLInferencer))
    entry = tiny.exam(name, **parts)
    entry['eval_cfg'] = dict(evaluator=dict(type='AccEvaluator'))
    return {**entry, **changes}


@pytest.fixture
def texts(tmp_path):
    return salience_texts(tiny.save_texts(tmp_path / 'texts.jsonl', TEXTS))


def config_of(run, models, datasets):
    return Config(
        dict(
            models=models,
            datasets=[datasets] * len(models),
            work_dir=str(run)))


@pytest.mark.slow
def test_errors_of_a_dataset_and_of_a_model(model_folder, texts, tmp_path):
    """All others are done, and the errors stand beside them."""
    run = tmp_path / 'run'
    models = [
        dict(tiny.model_config(tmp_path / 'nowhere'), abbr='dead'),
        tiny.model_config(model_folder)
    ]
    broken = exam(
        'broken', reader_cfg=dict(input_columns=[], output_column='x'))
    config = config_of(run, models, [broken, exam('sound'), texts])
    alive = models[1]['abbr']
    with pytest.raises(RuntimeError, match=r'4 datasets failed: \[dead/brok'):
        SteadyInferTask(config).run()
    done = {path.name for path in (run / 'predictions' / alive).iterdir()}
    assert done == {
        'broken.error.txt', 'sound.json', f'{texts["abbr"]}.json',
        f'{texts["abbr"]}.safetensors'
    }
    with pytest.raises(RuntimeError, match=r'4 datasets failed'):
        SteadyEvalTask(config).run()
    assert {path.name
            for path in (run / 'results' / alive).glob('*.json')
            } == {'sound.json', f'{texts["abbr"]}.json'}
    # The log that has more is that of the task, of the first model.
    for model, dataset in (('dead', 'sound'), (alive, 'broken')):
        error = failure_of(run, model, dataset)
        assert error.endswith('(see logs/infer/dead/broken.out)')
    assert 'nowhere' in failure_of(run, 'dead', 'sound')
    with pytest.raises(InputError, match='this error: .*nowhere'):
        read_run_dump(run, 'dead', TEXTS.fingerprint)
    assert failure_of(run, alive, 'sound') == ''
    # Once it works, the note is gone.
    sound = config_of(run, models[1:], [exam('broken'), exam('sound')])
    SteadyInferTask(sound).run()
    SteadyEvalTask(sound).run()
    assert not list((run / 'predictions' / alive).glob('*.error.txt'))


def _named(part):
    """The config with names of classes, as OpenCompass gives it to tasks."""
    if isinstance(part, dict):
        return {key: _named(value) for key, value in part.items()}
    if isinstance(part, list):
        return list(map(_named, part))
    if isinstance(part, type):
        return f'{part.__module__}.{part.__name__}'
    return part


def test_a_name_fits_in_a_line(tmp_path):
    models = [dict(abbr=f'm{i}', type='M') for i in range(9)]
    exams = [exam(f'exam-{i}') for i in range(7)]
    task = SteadyEvalTask(config_of(tmp_path, models, exams))
    assert task.name == 'OpenICLEval[m0,m1,m2,+6:7_datasets]'


@pytest.mark.parametrize('of_second, n_processes', [({}, 1),
                                                    (dict(num_procs=2), 2)])
def test_a_task_has_the_processes_that_a_model_asks_for(
        tmp_path, of_second, n_processes):
    models = [
        dict(abbr='m0', type='M', run_cfg=dict(num_gpus=2)),
        dict(abbr='m1', type='M', run_cfg=of_second)
    ]
    task = SteadyInferTask(config_of(tmp_path, models, [exam('exam')]))
    command = task.get_command('task.py', '{task_cmd}')
    assert f'--nproc_per_node {n_processes} ' in command


@pytest.mark.slow
def test_the_program_of_a_task(model_folder, texts, tmp_path):
    """It is started in a folder that has no modules of this package."""
    config = config_of(tmp_path / 'run', [tiny.model_config(model_folder)],
                       [texts])
    task = SteadyInferTask(config)
    assert task.name == f'OpenICLInfer[{model_folder.name}:1_dataset]'
    Config(_named(config.to_dict())).dump('task.py')
    command = task.get_command('task.py', 'A=1 {task_cmd}')
    assert command.endswith(' -m csv_plugin.oc.run_task SteadyInferTask '
                            'task.py')
    subprocess.run(command, shell=True, check=True)
    assert list((tmp_path / 'run').rglob('*.safetensors'))
