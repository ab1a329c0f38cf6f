"""A run that is killed and resumed with `-r` ends like an unbroken run."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.predictors import save_predictor
from tests.oc import tiny
from tests.oc.command import opencompass
from tests.runs import train

CONFIG = '''
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.salience_texts import salience_texts

from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.oc.partitioners import TextsApartPartitioner
from csv_plugin.oc.summarizers import PredictedSummarizer
''' + tiny.EXAM_CONFIG + '''
datasets = [exam, salience_texts('FOLDER/texts.jsonl')]
models = [
    dict(type=HuggingFaceBaseModel, abbr=name, path='FOLDER/' + name,
         batch_size=2, run_cfg=dict(num_gpus=0))
    for name in ['one', 'two']
]
infer = dict(
    partitioner=dict(type=TextsApartPartitioner),
    runner=dict(type=LocalRunner, debug=True,
                task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=TextsApartPartitioner),
    runner=dict(type=LocalRunner, debug=True,
                task=dict(type=OpenICLEvalTask)))
summarizer = dict(
    type=PredictedSummarizer,
    predictors=[('predicted', 'FOLDER/predictor.safetensors')])
del exam, salience_texts
'''
# Texts of the length for which `train` makes losses, in several chunks.
TEXTS = TextSet(tuple(Text(f't{i}', f'{i:06}') for i in range(100)))
#: A run is killed when such a file appears, with some losses of a model.
MOMENT = 'predictions/one/tmp_salience_texts-*/1.safetensors'
#: Seconds after which a run without such a file has hung.
HUNG = 300


@pytest.fixture
def materials(tmp_path) -> Path:
    folder = tmp_path / 'materials'
    folder.mkdir()
    for seed, name in enumerate(('one', 'two')):
        tiny.save_model(folder / name, seed)
    tiny.save_texts(folder / 'texts.jsonl', TEXTS)
    save_predictor(
        train(['exam'], texts=TEXTS), folder / 'predictor.safetensors')
    (folder / 'eval.py').write_text(CONFIG.replace('FOLDER', str(folder)))
    return folder


def finish(work: Path, materials: Path, *options: str) -> dict[str, bytes]:
    """Run to the end; contents of all files that are read afterwards."""
    opencompass(str(materials / 'eval.py'), '--work-dir', str(work), *options)
    # One folder, whatever was killed.
    root, = work.iterdir()
    contents = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for part in ('predictions', 'results')
        for path in root.glob(part + '/**/*') if path.is_file()
    }
    # A summary is named after the time, which its text begins with.
    for pattern in ('summary_*.csv', 'leaderboard_*.json', 'leaderboard_*.csv',
                    'leaderboard_*.txt'):
        last = max(root.glob(f'summary/{pattern}'))
        contents[pattern] = last.read_bytes()
    return contents


def kill(work: Path, materials: Path) -> None:
    """Kill a run, and all that it started, as soon as a file is there."""
    with open('log.txt', 'ab') as log:
        process = subprocess.Popen(
            [Path(sys.executable).with_name('opencompass'),
             materials / 'eval.py', '--work-dir', work],
            stdout=log, stderr=log, start_new_session=True)  # yapf: disable
    begin = time.monotonic()
    while not any(work.glob(f'*/{MOMENT}')):
        assert process.poll() is None and time.monotonic() - begin < HUNG, (
            Path('log.txt').read_text('utf-8'))
        time.sleep(.002)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_a_run_that_was_killed(materials, tmp_path):
    whole = finish(tmp_path / 'whole', materials)
    assert b'predicted' in whole['summary_*.csv']
    assert sum(name.endswith('.safetensors') for name in whole) == 2
    kill(tmp_path / 'killed', materials)
    killed = finish(tmp_path / 'killed', materials, '-r')
    assert killed.keys() == whole.keys()
    for name, content in whole.items():
        assert killed[name] == content, name
