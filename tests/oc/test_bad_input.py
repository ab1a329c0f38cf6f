"""Bad input gives one line that says what to do; the rest of a run is kept."""
import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mmengine.config import Config

from csv_plugin.configs.datasets.salience_texts import salience_texts
from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.oc.datasets import SalienceTextDataset
from tests.oc import tiny
from tests.runs import OTHER_TEXTS, TEXTS, train

CONFIG = '''
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.salience_texts import salience_texts

from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.oc.summarizers import PredictedSummarizer
''' + tiny.EXAM_CONFIG + '''
datasets = [exam, salience_texts('texts.jsonl')]
models = [
    dict(type=HuggingFaceBaseModel, abbr=name, path=name, batch_size=4,
         run_cfg=dict(num_gpus=0))
    for name in ['lossy', 'tiny']
]
infer = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(type=LocalRunner, max_num_workers=2,
                task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(type=LocalRunner, max_num_workers=2,
                task=dict(type=OpenICLEvalTask)))
summarizer = dict(
    type=PredictedSummarizer,
    predictors=[(name, name + '.safetensors')
                for name in ['good', 'torn', 'missing', 'other']])
del exam, salience_texts
'''


def save_lossy_model(folder: Path) -> Path:
    """Save a model whose tokenizer drops letters of the texts."""
    tiny.save_model(folder)
    file = folder / 'tokenizer.json'
    settings = json.loads(file.read_text('utf-8'))
    settings['normalizer'] = dict(
        type='Replace', pattern=dict(Regex='[a-l]'), content='')
    file.write_text(json.dumps(settings), 'utf-8')
    return folder


def save_predictors(folder: Path) -> None:
    save_predictor(train(['exam']), folder / 'good.safetensors')
    save_predictor(
        train(['exam'], texts=OTHER_TEXTS), folder / 'other.safetensors')
    whole = (folder / 'good.safetensors').read_bytes()
    (folder / 'torn.safetensors').write_bytes(whole[:-100])


@pytest.mark.slow
def test_a_bad_model_and_bad_predictors_leave_the_rest(model_folder, tmp_path):
    """The summary gives a reason for each of them, in one line."""
    shutil.copytree(model_folder, tmp_path / 'tiny')
    save_lossy_model(tmp_path / 'lossy')
    tiny.save_texts(tmp_path / 'texts.jsonl', TEXTS)
    save_predictors(tmp_path)
    (tmp_path / 'mine.py').write_text(CONFIG)
    command = Path(sys.executable).with_name('opencompass')
    process = subprocess.run([command, 'mine.py', '--work-dir', 'out'],
                             capture_output=True,
                             text=True)
    assert process.returncode == 0, process.stderr
    run, = (tmp_path / 'out').iterdir()
    board, = (run / 'summary').glob('leaderboard_*.json')
    content = json.loads(board.read_text('utf-8'))
    cells = {(row['model'], row['predictor']): row for row in content['rows']}
    assert len(cells) == 8
    # The exam of both models and the predictions of the good one are there.
    assert all(row['real'] > 0 for row in content['rows'])
    assert [key for key, row in cells.items() if row['predicted'] is not None
            ] == [('tiny', 'good')]  # yapf: disable
    reasons = {key: row['missing'] for key, row in cells.items()}
    abbr = dataset_abbr(TEXTS.fingerprint)
    assert reasons['lossy', 'good'].startswith(
        f'token losses: expected a dump of {abbr}, found this error: '
        "text 't0', PreTrainedTokenizerFast 'lossy': ")
    for name, what in (('torn', 'intact copy'), ('missing', 'No such file'),
                       ('other', dataset_abbr(OTHER_TEXTS.fingerprint))):
        assert what in reasons['tiny', name]
        assert name == 'other' or f'{name}.safetensors' in reasons['tiny',
                                                                   name]
    for reason in filter(None, reasons.values()):
        assert '\n' not in reason
        # Below the table on the screen and in the files, too.
        assert reason in process.stdout
    # There is no dump, and no file by which the host would take it as done.
    left = {path.name for path in (run / 'predictions/lossy').iterdir()}
    assert left == {'exam.json', f'{abbr}.error.txt'}


@pytest.mark.parametrize(
    'content, message',
    [
        (b'{"text_id": "a", "text": "x"}\n{"text_id": "a", "text": "y"}\n',
         ", line 2: expected a text_id that no earlier line has, found"),
        (b'{"text_id": "a", "text": "x"}\n{"text_id": "b", "text": "\xff"}\n',
         ', line 2: expected JSON in UTF-8, found .*0xff'),
        (b'{"text_id": "a", "text": ""}\n',
         ": expected some text behind every id, found an empty text 'a'."),
    ])  # yapf: disable
def test_bad_texts_stop_a_run_before_it_begins(content, message, tmp_path):
    (tmp_path / 'texts.jsonl').write_bytes(content)
    (tmp_path / 'mine.py').write_text(CONFIG)
    with pytest.raises(InputError, match=f'^texts.jsonl{message}') as caught:
        Config.fromfile('mine.py', format_python_code=False)
    assert len(str(caught.value).splitlines()) == 1


def test_an_empty_text(tmp_path):
    path = tiny.save_texts(tmp_path / 'texts.jsonl',
                           TextSet((Text('a', 'x'), Text('b', ''))))
    with pytest.raises(InputError, match="texts.jsonl: .* empty text 'b'"):
        SalienceTextDataset.load(str(path))


def test_a_full_disk(model_folder, tmp_path, monkeypatch):

    def no_room(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    entry = salience_texts(tiny.save_texts(tmp_path / 'texts.jsonl'))
    model = tiny.wrapped(tiny.model_config(model_folder))
    folder = tmp_path / 'predictions/tiny'
    monkeypatch.setattr('csv_plugin.io.containers._sealed', no_room)
    with pytest.raises(InputError) as caught:
        tiny.infer(tmp_path, model, entry)
    file = folder / f'tmp_{entry["abbr"]}/0.safetensors'
    assert str(caught.value).startswith(f'{file}: expected a file')
    assert os.strerror(errno.ENOSPC) in str(caught.value)
    journal, note = f'tmp_{entry["abbr"]}', f'{entry["abbr"]}.error.txt'
    assert set(os.listdir(folder)) == {journal, note}
    assert os.listdir(folder / journal) == []
    assert (folder / note).read_text('utf-8') == str(caught.value)
