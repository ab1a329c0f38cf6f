"""Of several processes one works on a model; the dead hold up nobody."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io import claims
from csv_plugin.io.claims import MOST, claimed, read_claims, remove_claims


def write_claim(folder, number=1, age=0., **holder):
    """A claim by another process of this host, unless `holder` says else."""
    file = folder / f'm.claim-{number}'
    file.write_text(json.dumps({**claims._own(), 'process': 1, **holder}))
    time = file.stat().st_mtime - age
    os.utime(file, (time, time))
    return file


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def is_free(folder):
    with claimed(folder, 'm') as held:
        return held is not None


def test_a_claim_says_who_holds_it_and_goes(tmp_path):
    with claimed(tmp_path, 'm') as held:
        held.check()
        assert names(tmp_path) == ['m.claim-1']
        text = str(read_claims(tmp_path)['m'])
        assert text.startswith(f'process {os.getpid()} on ')
        assert 'job' not in text
    assert names(tmp_path) == []


@pytest.mark.parametrize('holder, free', [
    ({}, False),
    ({'age': 500}, False),
    ({'age': 601}, True),
    ({'process': 2**22 + 1}, True),
    ({'process': os.getpid()}, True),
    ({'process': 'x'}, True),
    ({'process': 2**22 + 1, 'mark': 'another host'}, False),
    ({'job': '7_1', 'mark': 'another host'}, True),
    ({'job': '7_1', 'restart': '2', 'mark': 'another host'}, False),
    ({'job': '7_2', 'mark': 'another host'}, False),
])  # yapf: disable
def test_claims_of_the_dead_are_free(tmp_path, monkeypatch, holder, free):
    for name, value in (('ARRAY_JOB_ID', '7'), ('ARRAY_TASK_ID', '1'),
                        ('RESTART_COUNT', '2')):
        monkeypatch.setenv(f'SLURM_{name}', value)
    write_claim(tmp_path, **{'job': None, 'restart': '0', **holder})
    assert is_free(tmp_path) == free
    assert names(tmp_path) == ([] if free else ['m.claim-1'])


@pytest.mark.parametrize('content', [b'', b'{"host', b'[]'])
def test_a_claim_that_was_cut_off_counts_until_it_is_old(tmp_path, content):
    file = write_claim(tmp_path)
    file.write_bytes(content)
    assert not is_free(tmp_path)
    assert str(read_claims(tmp_path)['m']) == 'process ? on ?, since ?'
    os.utime(file, (1, 1))
    assert is_free(tmp_path)


def test_the_last_claim_counts(tmp_path):
    write_claim(tmp_path, 1, age=1e6)
    write_claim(tmp_path, 2)
    assert not is_free(tmp_path)
    write_claim(tmp_path, 2, age=1e6)
    with claimed(tmp_path, 'm') as held:
        assert held.claim.number == 3
        assert read_claims(tmp_path)['m'] == held.claim
    assert names(tmp_path) == []


def test_who_was_taken_over_stops_and_leaves_the_claim(tmp_path):
    with claimed(tmp_path, 'm') as held:
        write_claim(tmp_path, 2)
        with pytest.raises(InputError, match='found that of process 1 on'):
            held.check()
    assert names(tmp_path) == ['m.claim-1', 'm.claim-2']
    remove_claims(tmp_path, 'm')
    assert names(tmp_path) == []


@pytest.mark.parametrize('remains', [True, False])
def test_a_claim_that_changed_at_the_last_moment(tmp_path, monkeypatch,
                                                 remains):
    """Its holder woke up, or others have ended and begun meanwhile."""
    first = write_claim(tmp_path, 1, age=1e6)

    def own(wanted=claims._own):
        os.utime(first)
        if not remains:
            first.unlink(missing_ok=True)
        return wanted()

    monkeypatch.setattr(claims.Claim, 'is_dead', lambda self: True)
    monkeypatch.setattr(claims, '_own', own)
    assert not is_free(tmp_path)
    assert names(tmp_path) == (['m.claim-1'] if remains else [])


def test_a_model_that_kills_is_left_alone(tmp_path):
    write_claim(tmp_path, MOST, age=1e6)
    with pytest.raises(InputError, match=f'found {MOST} that were killed'):
        is_free(tmp_path)


def test_a_claim_that_cannot_be_written_is_not_left(tmp_path, monkeypatch):

    def full():
        raise OSError('No space left on device')

    monkeypatch.setattr(claims, '_own', full)
    with pytest.raises(OSError, match='No space'):
        is_free(tmp_path)
    assert names(tmp_path) == []


def test_who_may_only_look_sees_what_is_dead(tmp_path, monkeypatch):

    def refused(dir):
        raise PermissionError(dir)

    monkeypatch.setattr(claims, 'TemporaryFile', refused)
    file = write_claim(tmp_path, mark='another host')
    assert not read_claims(tmp_path)['m'].is_dead()
    os.utime(file, (1, 1))
    assert read_claims(tmp_path)['m'].is_dead()


def test_claims_are_renewed(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, 'RENEWAL', .005)
    with claimed(tmp_path, 'm') as held:
        os.utime(held.claim.file, (1, 1))
        for _ in range(12000):
            if held.claim.file.stat().st_mtime > 1:
                break
            held._ended.wait(.005)
        assert held.claim.file.stat().st_mtime > 1


# Nine processes, a third of which are killed in the middle of their work.
RACE = """
import os, random, signal, sys
from pathlib import Path
from csv_plugin.io.claims import claimed

folder = Path(sys.argv[1])
log = os.open(folder / 'log', os.O_CREAT | os.O_APPEND | os.O_WRONLY)
for child in range(9):
    if os.fork():
        continue
    chance = random.Random(child)
    for number in range(60):
        done = folder / f'{number}.done'
        with claimed(folder, str(number)) as held:
            if held and not done.exists():
                if child % 3 == 0 and number > 5 and chance.random() < .2:
                    os.kill(os.getpid(), signal.SIGKILL)
                os.write(log, f'{number}\\n'.encode())
                held.check()
                done.touch()
    os._exit(0)
for child in range(9):
    os.wait()
for number in range(60):  # what the last one to be killed has left
    done = folder / f'{number}.done'
    with claimed(folder, str(number)) as held:
        if held and not done.exists():
            os.write(log, f'{number}\\n'.encode())
"""


def test_no_work_is_done_twice(tmp_path):
    subprocess.run(
        [sys.executable, '-c', RACE, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        check=True)
    done = (tmp_path / 'log').read_text().split()
    assert sorted(done, key=int) == [str(number) for number in range(60)]
    assert not read_claims(tmp_path)
