"""Validation sets as OpenCompass datasets, in python and in configs."""
import pytest
from mmengine.config import Config

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.text_sets import write_texts
from csv_plugin.oc.datasets import SalienceTextDataset, texts_of_rows
from tests.oc import tiny

READER = dict(input_columns=[], output_column=None)
CONFIG = '''
from mmengine.config import read_base
with read_base():
    from csv_plugin.configs.datasets.salience_texts import salience_texts
datasets = [salience_texts('texts.jsonl', context=512)]
del salience_texts
'''


@pytest.mark.parametrize('answers', [[], [40], [0]])
def test_texts_survive_the_host(answers, tmp_path):
    """With answers nowhere, only late or only early."""
    texts = TextSet(
        tuple(
            Text(f't{i}', f'{{text}} {i}\x00\u2028 中文 ', 'zh' if i else '', (
                1, 5) if i in answers else None) for i in range(41)))
    write_texts(tmp_path / 'texts.jsonl', texts)
    dataset = SalienceTextDataset(
        path='texts.jsonl', reader_cfg=READER, abbr='a')
    assert texts_of_rows(dataset.test) == texts_of_rows(dataset.train) == texts
    assert dataset.test[3]['sha256'] == texts.texts[3].sha256


def test_a_part_and_a_repetition(tmp_path):
    tiny.save_texts(tmp_path / 'texts.jsonl')
    part = SalienceTextDataset(
        path='texts.jsonl', reader_cfg=dict(READER, test_range='[2:5]'))
    assert texts_of_rows(part.test).texts == tiny.TEXTS.texts[2:5]
    assert texts_of_rows(part.train) == tiny.TEXTS
    with pytest.raises(InputError, match="'t0' twice"):
        texts_of_rows(
            SalienceTextDataset(path='texts.jsonl', reader_cfg=READER,
                                n=2).test)


def test_changed_texts_are_refused(tmp_path):
    tiny.save_texts(tmp_path / 'texts.jsonl')
    fingerprint = tiny.TEXTS.fingerprint
    assert len(SalienceTextDataset.load('texts.jsonl', fingerprint[:12])) == 42
    tiny.save_texts(tmp_path / 'texts.jsonl', TextSet(tiny.TEXTS.texts[1:]))
    with pytest.raises(
            InputError, match=f'texts.jsonl: .*{fingerprint[:12]}.*abbr'):
        SalienceTextDataset.load('texts.jsonl', fingerprint[:12])


def test_an_empty_text_is_refused(tmp_path):
    tiny.save_texts(tmp_path / 't.jsonl', TextSet((Text('a', ''), )))
    with pytest.raises(InputError, match="an empty text 'a'"):
        SalienceTextDataset.load('t.jsonl')


def test_a_config_with_texts_of_ones_own(tmp_path):
    """Dumped by the main process and read by that of a task."""
    tiny.save_texts(tmp_path / 'texts.jsonl')
    (tmp_path / 'mine.py').write_text(CONFIG)
    Config.fromfile('mine.py', format_python_code=False).dump('dumped.py')
    config = Config.fromfile('dumped.py', format_python_code=False)
    entry, = config.datasets
    assert entry.abbr == f'salience_texts-{tiny.TEXTS.fingerprint[:12]}'
    assert entry.path == str(tmp_path / 'texts.jsonl')
    assert entry.fingerprint == tiny.TEXTS.fingerprint
    assert entry.infer_cfg.inferencer.context == 512
    assert set(config) == {'datasets'}


def test_a_config_with_a_wrong_path_ends_in_one_line(tmp_path):
    (tmp_path / 'mine.py').write_text(CONFIG)
    with pytest.raises(SystemExit, match='^error: texts.jsonl: expected a fi'):
        Config.fromfile('mine.py', format_python_code=False)
