"""Killed jobs and full disks, in small; and that both counts notice faults."""
import os
import sys
from pathlib import Path

import pytest

from tests.faults import full_disks, jobs, kills
from tests.faults.jobs import JOBS, Job

#: Writes in place, and leaves a file behind when it is killed.
CARELESS = '''
import pathlib, time
out = pathlib.Path('out')
out.mkdir(exist_ok=True)
lost = (out / 'a.json').exists()
with open(out / 'a.json', 'w') as file:
    file.write('{"a": ')
    file.flush()
    (out / '.temporary').touch()
    time.sleep(1)
    file.write('2}' if lost else '1}')
if lost:
    raise SystemExit(0)
(out / '.temporary').unlink()
(out / 'b.json').write_text('1')
'''


@pytest.fixture
def careless():
    return Job('careless', lambda folder: None,
               lambda materials, variant: [sys.executable, '-c', CARELESS])


@pytest.mark.slow
def test_the_faults_of_a_careless_job_are_counted(careless, tmp_path,
                                                  monkeypatch):
    monkeypatch.setattr(kills, 'wait_for_moment', when_it_writes)
    counts = kills.count_kills(careless, 1, 0, tmp_path)
    assert counts['signals'] >= 1 and counts['torn'] >= 1
    assert counts['changed'] == counts['lost'] == 1
    assert counts['temporary files'] == 1


def when_it_writes(process, work, duration, rng):
    while not (work / 'out/.temporary').exists():
        pass
    return True


@pytest.mark.slow
def test_a_killed_study_of_tables_ends_like_an_unbroken_one(tmp_path):
    counts = kills.count_kills(JOBS['tables'], 2, 0, tmp_path)
    assert counts['signals'] >= 2 and counts['resumed to the end'] >= 1
    for fault in ('lost', 'torn', 'changed', 'temporary files'):
        assert not counts[fault], fault


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason='only root may mount disks')
def test_a_full_disk_keeps_a_predictor_and_its_tables_together(tmp_path):
    try:
        counts = full_disks.count_full_disks(JOBS['tables'], (0.5, ), False,
                                             tmp_path)
    except full_disks.subprocess.CalledProcessError:
        pytest.skip('disks cannot be mounted here')
    assert counts['full disks'] == counts['one line'] == 1
    assert counts['resumed'] == 1
    for fault in ('torn', 'mixed', 'lost', 'changed', 'temporary files'):
        assert not counts[fault], fault


OURS = '  File "/x/csv_plugin/io/files.py", line 1, in f\n    f()\n'
HOST = '  File "/x/opencompass/cli/main.py", line 1, in f\n    f()\n'


@pytest.mark.parametrize('text, column', [
    ('error: a: expected b\n', 'one line'),
    ('', 'traceback'),
    (f'Traceback (most recent call last):\n{OURS}OSError: full\n',
     'traceback'),
    (f'Traceback (most recent call last):\n{OURS}{HOST}OSError: full\n',
     'traceback of OpenCompass'),
])
def test_tracebacks_are_told_from_one_line(text, column):
    assert full_disks.complaint(text) == column


def test_an_old_predictor_beside_new_tables_is_mixed():
    old = {'predictor.safetensors': b'1', 'predictions.csv': b'1'}
    assert not full_disks.is_mixed(old, old)
    assert not full_disks.is_mixed({'predictions.csv': b'2'}, old)
    assert full_disks.is_mixed({**old, 'predictions.csv': b'2'}, old)


@pytest.mark.parametrize('name, data', [
    ('a.json', b'{"a": 1'),
    ('a.jsonl', b'{"text_id": "a", "text": "b"'),
    ('a.csv', b'model,a\nm,0.'),
    ('a.parquet', b'PAR1'),
    ('predictor.safetensors', b''),
    ('a.png', b'\x89PNG'),
    ('a.svg', b'<svg>'),
    ('a.md', b'# A'),
])
def test_half_a_file_is_torn(tmp_path, name, data):
    path = Path(tmp_path, jobs.OUT, name)
    path.parent.mkdir()
    path.write_bytes(data)
    assert jobs.torn_files(tmp_path) == ([path], [])
    path.rename(path.with_name('.' + name))
    assert jobs.torn_files(tmp_path) == ([], [])
    assert jobs.temporary_files(tmp_path) == ['out/.' + name]
