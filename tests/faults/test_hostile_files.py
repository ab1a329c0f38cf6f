"""Every reader, given every kind of damage: an error that names the file.

A reader may take a damaged text that still is a text of its kind; it never
raises another exception and never waits.
"""
import gzip
import os
import pickle
import re
import shutil
import signal
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.importers.every_eval_ever import read_every_eval_ever
from csv_plugin.extras.importers.importing import import_losses
from csv_plugin.extras.importers.lm_eval_results import read_lm_eval_accuracies
from csv_plugin.extras.importers.olmo_eval import read_requests
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.json_files import read_json
from csv_plugin.io.model_tables import (read_accuracy_columns,
                                        read_loss_features)
from csv_plugin.io.predictors import load_predictor, save_predictor
from csv_plugin.io.runs.run_plan import read_run_plan
from csv_plugin.io.runs.run_scores import read_run_accuracies
from csv_plugin.io.tables import read_benchmarks, read_models
from csv_plugin.io.text_sets import read_texts
from csv_plugin.triage.checkpoints import read_checkpoints
from tests import runs
from tests.extras.importers import outputs
from tests.extras.importers.test_every_eval_ever import CHANCE
from tests.extras.importers.test_every_eval_ever import DATA as RECORDS
from tests.extras.importers.test_olmo_eval import choice, rows

# What damage makes of a part may be left out.
pytestmark = pytest.mark.filterwarnings('ignore:left out')

#: Seconds that no reader takes.
_HUNG = 60


class Reader(NamedTuple):
    """A reader, and a `file` that it reads in a folder, which `write` fills.

    Parts of it are `wrong`, as regular expressions, if something else is in
    their place. It is `sealed` by a digest. Where two files contradict each
    other, an error may name `or_else` instead.
    """
    file: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    wrong: Sequence[tuple[str, str]] = ()
    sealed: bool = False
    or_else: str = '\n'


def text(file: str, content: str, read: Callable[[Path], Any], *wrong:
         tuple[str, str]) -> Reader:

    def write(folder: Path) -> None:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content, 'utf-8')

    return Reader(file, write, read, wrong)


#: What stands for no number that a table may hold.
NO_NUMBERS = ('', 'nan', 'inf', '-1', '1e999', '1_5', '１.５', 'one')


def no_numbers(cell: str, but: str = '') -> list[tuple[str, str]]:
    return [(cell, other) for other in NO_NUMBERS if other != but]


def write_parquet(folder: Path) -> None:
    table = pa.table({'model': ['m', 'n'], 'x': [.5, .25], 'y': [.75, .5]})
    pq.write_table(table, folder / 't.parquet', write_page_checksum=True)


def write_tensor(folder: Path) -> None:
    save_file({'losses': np.array([[1., 2], [3, 4]])},
              folder / 't.safetensors')
    (folder / 'units.txt').write_text('x\ny\n')
    (folder / 'models.csv').write_text('model\nm\nn\n')


def write_summary(folder: Path) -> None:
    runs.write_summary(
        folder, [['dataset', 'version', 'metric', 'mode', 'm', 'n'],
                 ['easy', '9c32f6', 'accuracy', 'gen', '29.17', '30.00']])


def write_olmo_eval(folder: Path) -> None:
    outputs.write_rows(folder / 'arc_easy_rc_a1b2c3-predictions.jsonl', rows())


def copied(source: Path) -> Callable[[Path], Any]:
    """Copies what another program wrote."""
    return lambda folder: shutil.copytree(source, folder, dirs_exist_ok=True)


def imported(source: str, up: int = 0) -> Callable[[Path], Any]:
    """Reads what another program wrote at a path, or in a folder above."""
    has_texts = source not in ('lighteval', 'olmo-eval')
    return lambda path: import_losses(
        source, {'model': (path, *path.parents)[up]},
        read_texts(outputs.TEXTS) if has_texts else None)


def lm_eval_accuracies(path: Path) -> Any:
    return read_lm_eval_accuracies([path.parent], ['tiny_choice'],
                                   chance={'tiny_choice': .4})


def plan_of(path: Path) -> Any:
    return read_run_plan(path.parents[1])


def only(folder: Path, pattern: str) -> str:
    """Path below the folder of the first file that matches."""
    return str(sorted(folder.glob(pattern))[0].relative_to(folder))


READERS = {}
READERS['dump'] = Reader(
    'd', lambda f: write_dump(f / 'd', runs.dump('m', runs.model_losses(.7))),
    read_dump, (), True)
READERS['predictor'] = Reader('p',
                              lambda f: save_predictor(runs.train(), f / 'p'),
                              load_predictor, (), True)
READERS['texts'] = text(
    't.jsonl', '{"text_id": "a", "text": "猫", "answer": [0, 1]}\n'
    '{"text_id": "b", "text": "cat", "source": "MIT"}\n', read_texts,
    ('"b"', '"a"'), ('"text"', '"txt"'), ('"cat"', '5'), ('0, 1', '0, 2'),
    ('0, 1', '0, 1e0'), ('0, 1', 'NaN'), ('"MIT"', 'null'),
    ('cat', r'\\ud800'), ('"cat"', '[' * 9999 + ']' * 9999),
    ('0, 1', '0, ' + '9' * 400))
READERS['losses'] = text('l.csv',
                         'model,x,y\nm,1.5,2\nn,2.5,3\n', read_loss_features,
                         *no_numbers('1.5'), ('model', 'modal'), ('x', 'y'),
                         ('x', ''), ('n,', 'm,'), ('m,', ','), (',3', ''),
                         (',3', ',3,4'), ('2.5', '"2.5'), ('2.5,3', '0,0'),
                         ('(?s)\n.*', '\n'))
READERS['losses in Parquet'] = Reader('t.parquet', write_parquet,
                                      read_loss_features)
READERS['losses in a tensor'] = Reader('t.safetensors', write_tensor,
                                       read_loss_features)
READERS['accuracies'] = text('s.csv', 'model,x,y\nm,0.5,\nn,.25,1\n',
                             read_accuracy_columns, *no_numbers('0.5', but=''),
                             ('0.5', '50'), ('x', 'y'))
READERS['models'] = text('m.csv', 'model,family,params_b\nm,f,1.5\nn,g,\n',
                         read_models, *no_numbers('1.5', but=''), ('1.5', '0'),
                         ('family', 'famille'), ('g,', ','))
READERS['benchmarks'] = text(
    'b.csv',
    'benchmark,chance,n_items,main\nb,0.25,9,1\nc,0,,0\n', read_benchmarks,
    *no_numbers('0.25'), *no_numbers('9', but=''), ('0.25', '1'), ('9', '9.5'),
    ('9,1', '9,2'), ('chance', 'chances'))
READERS['checkpoints'] = text(
    'c.csv', 'model,run,step,tokens\nm@1,m,1,10\nm@2,m,2,20\n',
    read_checkpoints, *no_numbers('20'),
    *no_numbers('2,', but='')[1:3], ('run', 'ran'), ('m@2', 'm@1'))
READERS['summary of OpenCompass'] = Reader(
    'summary/*.csv', write_summary,
    lambda path: read_run_accuracies(path.parents[1], ['easy']),
    (('29.17', '129.1'), ('mode', 'mood'), (',30.00', '')))
READERS['config of OpenCompass'] = text(
    'configs/20260101_120000.py', "models = [dict(abbr='m')]\n"
    "datasets = [dict(abbr='d', reader_cfg=None)]\n", plan_of,
    ('abbr', 'name'), ("'m'", '1'), ("'m'", "'../m'"), ('datasets', 'data'),
    ('models', 'model'))
READERS['JSON'] = text('r.json', '{"accuracy": 29.17, "details": [1, "x"]}',
                       lambda path: read_json(path, 'Repair it.'),
                       ('29.17', 'NaN'), ('"x"', '[' * 9999 + ']' * 9999),
                       ('"x"', r'"\\udc00"'))
LM_EVAL = copied(outputs.LM_EVAL / 'c-l-80')
READERS['lm-evaluation-harness'] = Reader(
    'samples_*', LM_EVAL, imported('lm-eval', 1), or_else="losses of 'model'")
READERS['results of lm-evaluation-harness'] = Reader(
    'results_*07-58*', LM_EVAL, imported('lm-eval', 1), or_else='results_')
READERS['accuracies of lm-evaluation-harness'] = Reader(
    'results_*08-00*', LM_EVAL, lm_eval_accuracies)
READERS['lighteval'] = Reader('*/*.parquet',
                              copied(outputs.LIGHTEVAL / 'c-l-80'),
                              imported('lighteval', 2))
READERS['olmo-eval'] = Reader(
    '*.jsonl',
    write_olmo_eval,
    imported('olmo-eval', 1),
    or_else='arc_easy_rc_a1b2c3')
READERS['requests'] = Reader(
    'arc/rc/requests.jsonl',
    lambda folder: outputs.write_rows(folder / 'arc/rc/requests.jsonl',
                                      [*choice(0, 1), *choice(1, 0)]),
    read_requests,
    or_else='arc/rc')
READERS['records'] = Reader(
    'record.json',
    copied(RECORDS),
    lambda path: read_every_eval_ever([path], (), CHANCE),
    or_else='demo')


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:

    def end(*_: Any) -> None:
        raise AssertionError('the reader hangs')

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(_HUNG)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=READERS)
def reader(request) -> Reader:
    return READERS[request.param]


@pytest.fixture
def path(reader, tmp_path) -> Path:
    reader.write(tmp_path)
    path = tmp_path / only(tmp_path, reader.file)
    reader.read(path)  # which is well
    return path


def refused(reader: Reader, path: Path) -> bool:
    """Whether a file is refused, by one line that names it."""
    try:
        reader.read(path)
    except InputError as error:
        said = str(error)
        assert path.name in said or reader.or_else in said
        assert '\n' not in said
        return True
    return False


def test_files_that_are_none(reader, path):
    data = path.read_bytes()
    others = {
        'empty': b'',
        'compressed': gzip.compress(data),
        'a picture': b'\x89PNG\r\n\x1a\n' + bytes(99),
        'a pickle': pickle.dumps({'a': 1}),
        'zeros': bytes(999),
        'Latin-1': 'model,x\nm\xfc,1\n'.encode('latin-1'),
        'Parquet': b'PAR1' + data + (2**31).to_bytes(4, 'little') + b'PAR1',
        'a huge header': (2**62).to_bytes(8, 'little') + b'{}' + data,
        'deep': b'[' * 10**5,
    }  # yapf: disable
    for name, other in others.items():
        path.write_bytes(other)
        assert refused(reader, path), name
    path.unlink()
    path.mkdir()
    assert refused(reader, path)
    path.rmdir()
    path.symlink_to(path)
    assert refused(reader, path)
    path.unlink()
    os.mkfifo(path)
    assert refused(reader, path)


def damages(data: bytes, rng: np.random.Generator,
            end: int) -> Iterator[bytes]:
    """Lost ends, flipped bits, and blocks that moved or were put in."""
    for size in rng.integers(len(data), size=8):
        yield data[:size]
    for bit in rng.integers(8 * end, size=20):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)
    pieces = b'\0', b'\xff\xfe', b'"', b',', b'\n', b'NaN', b'1e999', b'{}'
    for piece in pieces:
        place = rng.integers(end)
        yield data[:place] + piece + data[place:]
    for start, stop in np.sort(rng.integers(len(data), size=(4, 2))):
        yield data[:start] + data[stop:]
        yield data[:stop] + data[start:]


def test_damage(reader, path):
    data = path.read_bytes()
    # What the end of a Parquet file says may end Python, inside of pyarrow.
    end = len(data)
    if path.suffix == '.parquet':
        end -= 8 + int.from_bytes(data[-8:-4], 'little')
    rng = np.random.default_rng(zlib.crc32(path.name.encode()))
    for changed in damages(data, rng, end):
        path.write_bytes(changed)
        if not refused(reader, path):
            assert not reader.sealed or changed == data


@pytest.mark.parametrize('name, part, other', [
    (name, *change) for name, reader in READERS.items()
    for change in reader.wrong
])  # yapf: disable
def test_wrong_content(tmp_path, name, part, other):
    reader = READERS[name]
    reader.write(tmp_path)
    path = tmp_path / only(tmp_path, reader.file)
    content, count = re.subn(part, other, path.read_text('utf-8'), count=1)
    assert count == 1
    path.write_text(content, 'utf-8')
    assert refused(reader, path)
