"""What users of OpenCompass do beside the config of the demonstration."""
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.cli.copy_configs import PARTS
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.io.text_sets import read_texts, write_texts
from tests.oc.command import opencompass

pytestmark = [pytest.mark.host, pytest.mark.slow]

#: Two models, six items of an exam, and ten texts.
CONFIG = '''
from mmengine.config import read_base
from opencompass.models import HuggingFaceBaseModel
from opencompass.partitioners import (NaivePartitioner, NumWorkerPartitioner,
                                      SizePartitioner)
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.oc.summarizers import PredictedSummarizer

with read_base():
    from csv_plugin.configs.datasets.salience_texts import salience_texts
    from csv_plugin.configs.datasets.tidewell_exams import \\
        tidewell_exams_datasets
    from csv_plugin.configs.few_processes import eval, infer

texts = salience_texts('texts.jsonl')
datasets = [tidewell_exams_datasets[2], texts]
datasets[0]['reader_cfg']['test_range'] = '[0:6]'
models = [
    dict(
        abbr=size,
        type=HuggingFaceBaseModel,
        path='models/' + size,
        model_kwargs=dict(torch_dtype='torch.float', trust_remote_code=False),
        tokenizer_kwargs=dict(trust_remote_code=False),
        max_seq_len=512,
        batch_size=1,
        run_cfg=dict(num_gpus=0)) for size in ('s', 'm')
]
work_dir = 'outputs'
summarizer = dict(
    type=PredictedSummarizer,
    predictors=[('predicted', PREDICTOR)])
del salience_texts, tidewell_exams_datasets, texts
'''
N_TEXTS = 10


@contextmanager
def inside(place: Path) -> Iterator[None]:
    """Work in another folder."""
    before = Path.cwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)


def write_folder() -> None:
    """Write the config, two models and texts into the present folder."""
    Path('config.py').write_text(
        CONFIG.replace('PREDICTOR', repr(str(shipped.PREDICTOR))), 'utf-8')
    write_texts('texts.jsonl',
                TextSet(read_texts(shipped.TEXTS).texts[:N_TEXTS]))
    for size, step in (('s', '100'), ('m', '65')):
        for part in ('tokenizer', f'{size}/{step}'):
            shutil.copytree(
                shipped.ZOO / 'd' / part, f'models/{size}', dirs_exist_ok=True)


@pytest.fixture(autouse=True)
def folder(elsewhere):
    write_folder()


@pytest.fixture(scope='module')
def finished(tmp_path_factory):
    """The folder in which the config was run as it is."""
    place = tmp_path_factory.mktemp('finished')
    with inside(place):
        write_folder()
        opencompass('config.py')
    return place


def add(lines: str) -> None:
    """Add lines to the config."""
    with Path('config.py').open('a', encoding='utf-8') as file:
        file.write(f'{lines}\n')


def run_folder() -> Path:
    return max(Path('outputs').glob('2*'))


def use(finished: Path) -> None:
    """Begin with a finished run, all of whose paths are in this folder."""
    shutil.copytree(finished / 'outputs', 'outputs')


def losses() -> dict[str, np.ndarray]:
    return {
        model:
        np.concatenate([
            text.losses
            for text in read_run_dump(run_folder(), model, '').texts
        ])
        for model in ('s', 'm')
    }


@pytest.fixture(scope='module')
def expected(finished):
    """Losses of the config as it is."""
    with inside(finished):
        return losses()


@pytest.mark.parametrize('partitioner', [
    'type=SizePartitioner, max_task_size=4, gen_task_coef=1',
    'type=NumWorkerPartitioner, num_worker=3, min_task_size=2',
    'type=NaivePartitioner',
])
def test_partitioners_of_opencompass(expected, partitioner):
    """Their parts of the texts add up to the same losses."""
    task = 'runner=dict(type=LocalRunner, task=dict(type=OpenICL{}Task))'
    add(f'infer = dict(partitioner=dict({partitioner}), '
        f'{task.format("Infer")})\n'
        'eval = dict(partitioner=dict(type=NaivePartitioner), '
        f'{task.format("Eval")})')
    shown = opencompass('config.py')
    assert 'failed' not in shown
    for model, values in losses().items():
        np.testing.assert_allclose(values, expected[model], atol=1e-5)
    results = sorted(
        path.relative_to(run_folder()).as_posix()
        for path in run_folder().glob('results/*/*.json'))
    assert len(results) == 4


def test_a_model_of_the_command_line():
    shown = opencompass('--hf-type', 'base', '--hf-path', 'models/s',
                        '--datasets', 'salience_texts', '--summarizer',
                        'predicted', '--hf-num-gpus', '0', '--config-dir',
                        str(PARTS), '--work-dir', 'outputs')
    assert 'mean of 5' in shown and 'Next: ' in shown


def lose_dump() -> None:
    for path in run_folder().glob('predictions/s/*.safetensors'):
        path.unlink()


def lose_half() -> None:
    for path in run_folder().glob('predictions/s/salience_texts*'):
        path.unlink()
    for path in run_folder().glob('results/s/salience_texts*'):
        path.unlink()


def test_a_model_that_could_not_be_loaded(expected):
    Path('models/s/config.json').rename('config.json')
    shown = opencompass('config.py')
    words = ' '.join(shown.split())
    assert 'models/s' in words and 'see logs/infer/' in words
    assert not list(run_folder().glob('predictions/s/*.json'))
    assert list(run_folder().glob('results/m/scenes.json'))
    Path('config.json').rename('models/s/config.json')
    opencompass('config.py', '-r')
    assert not list(run_folder().rglob('*.error.txt'))
    for model, values in losses().items():
        np.testing.assert_array_equal(values, expected[model])


@pytest.mark.parametrize('lose', [lose_dump, lose_half])
def test_losses_that_are_gone(finished, expected, lose):
    use(finished)
    lose()
    opencompass('config.py', '-r')
    for model, values in losses().items():
        np.testing.assert_array_equal(values, expected[model])


def test_a_dataset_that_fails():
    """It costs neither losses nor other accuracies, and is tried again."""
    broken = "datasets[0]['reader_cfg']['output_column'] = 'nothing'"
    add(broken)
    shown = ' '.join(opencompass('config.py').split())
    assert 'nothing' in shown
    assert sorted(losses()) == ['m', 's']
    text = Path('config.py').read_text('utf-8')
    Path('config.py').write_text(text.replace(broken, ''), 'utf-8')
    opencompass('config.py', '-r')
    assert len(list(run_folder().glob('results/*/scenes.json'))) == 2


def test_a_class_of_ones_own(expected, monkeypatch):
    """A model class of the user's, in a module beside the config."""
    # As in the processes of tasks, which are started here.
    monkeypatch.syspath_prepend(Path.cwd())
    Path('my_models.py').write_text(
        'from opencompass.models import HuggingFaceBaseModel\n\n\n'
        'class MyModel(HuggingFaceBaseModel):\n    pass\n')
    text = Path('config.py').read_text('utf-8')
    text = text.replace('type=HuggingFaceBaseModel',
                        "type='my_models.MyModel'")
    Path('config.py').write_text(text, 'utf-8')
    opencompass('config.py')
    for model, values in losses().items():
        np.testing.assert_array_equal(values, expected[model])
