"""Damaged files end well, and the fuzzer notices if they do not."""
import os
import signal
import time
from pathlib import Path

import pytest

from csv_plugin.core.conventions import InputError
from tests.faults import bounded, cases, fuzz
from tests.faults.samples import SAMPLES, Sample, summary

#: Formats that are read without torch and OpenCompass.
LIGHT = [name for name, sample in SAMPLES.items()
         if sample.needs.startswith('tests')]  # yapf: disable


def planted_reader(what: str) -> str:
    """A reader with a fault."""
    match what:
        case 'hang':
            while True:
                pass
        case 'sleep':
            time.sleep(1000)
        case 'eat':
            try:
                return str(len(bytes(2 * bounded.MEMORY)))
            except MemoryError:
                return cases.MEMORY
        case 'die':
            os.kill(os.getpid(), signal.SIGSEGV)
    return what


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(bounded, 'SECONDS', 1)
    monkeypatch.setattr(bounded, '_PATIENCE', 2)


@pytest.mark.slow
def test_a_call_that_hangs_eats_or_dies_is_ended_and_the_next_one_runs(
        impatient):
    calls = ['fine', 'hang', 'eat', 'die', 'well', 'sleep', 'good']
    assert dict(bounded.call_all(planted_reader, calls)) == {
        'fine': 'fine',
        'hang': bounded.HANG,
        'eat': cases.MEMORY,
        'die': bounded.CRASH,
        'well': 'well',
        'sleep': bounded.HANG,
        'good': 'good'
    }


@pytest.fixture
def outcome(tmp_path, monkeypatch):
    """The outcome of a bit flip, given a reader of a file of one byte."""

    def of(read, name='a.parquet', damage=None, **options):
        cases._expected.cache_clear()
        sample = Sample(lambda folder: (folder / name).write_bytes(b'a'), read,
                        name, **options)
        monkeypatch.setitem(SAMPLES, 'planted', sample)
        if damage:
            monkeypatch.setattr(cases, 'damage',
                                lambda rng, path: damage(rng, path))
        cases.write_samples(tmp_path, ['planted'])
        return cases.try_case(cases.Case(tmp_path, 'planted', 0, 0)).kind

    return of


def flip(rng, path):
    path.write_bytes(b'b')
    return 'flip_a_bit'


def cut(rng, path):
    path.write_bytes(b'')
    return 'cut_the_end'


def forge(rng, path):
    path.write_bytes(b'c')
    return 'forge_parquet'


def content(name):
    return lambda folder: (folder / name).read_bytes()


def refusing(error):
    """A reader that refuses all files but the intact one."""

    def read(folder: Path) -> str:
        if next(folder.iterdir()).read_bytes() != b'a':
            raise error
        return 'a'

    return read


@pytest.mark.parametrize('name, damage, options, kind', [
    ('a.parquet', flip, {}, cases.WRONG),
    ('a.safetensors', flip, {}, cases.WRONG),
    ('a.parquet', forge, {}, cases.CHANGED),
    ('a.parquet', flip, dict(foreign=True), cases.CHANGED),
    ('a.csv', flip, {}, cases.CHANGED),
    ('a.csv', cut, {}, cases.CHANGED),
    ('a.csv', cut, dict(in_place=True), cases.WRONG),
])  # yapf: disable
def test_another_result_is_wrong_where_damage_must_be_noticed(
        outcome, name, damage, options, kind):
    assert outcome(content(name), name, damage, **options) == kind


def test_the_same_result_in_spite_of_damage(outcome):
    assert outcome(lambda folder: 7, damage=flip) == cases.SAME


class RawError(InputError):
    """An error whose message nobody shortened or escaped."""

    def __init__(self, message: str) -> None:
        ValueError.__init__(self, message)


@pytest.mark.parametrize('error, kind', [
    (InputError('a', 'b', 'c', 'D.'), cases.REFUSED),
    (RawError('c' * 1001), cases.INTERNAL),
    (RawError('\x1b[2J'), cases.INTERNAL),
    (RawError('\u202e'), cases.INTERNAL),
    (KeyError('a'), cases.INTERNAL),
    (RecursionError('a'), cases.INTERNAL),
    (MemoryError('a'), cases.MEMORY),
])
def test_a_refusal_is_one_clear_line(outcome, error, kind):
    assert outcome(refusing(error), damage=flip) == kind


def test_a_refusal_for_lack_of_memory_is_no_refusal(outcome):
    error = InputError('a', 'b', 'c', 'D.')
    error.__cause__ = MemoryError()
    assert outcome(refusing(error), damage=flip) == cases.MEMORY


@pytest.mark.slow
def test_equal_seeds_are_equal_cases():
    kinds = [{(case.format, case.number): outcome.kind
              for case, outcome in fuzz.fuzz(['texts'], 60, 3, 1).items()}
             for _ in range(2)]  # yapf: disable
    assert kinds[0] == kinds[1] and len(set(kinds[0].values())) > 1


def test_arrays_of_other_bits_are_other_results():
    import numpy as np
    assert summary(np.array([0.0])) != summary(np.array([-0.0]))
    assert summary(np.array([1.0])) != summary(np.array([1]))


@pytest.mark.slow
def test_damaged_files_end_in_a_result_or_in_one_line(capsys):
    assert fuzz.main(['--cases', '360', '--formats', *LIGHT]) == 0, (
        capsys.readouterr().out)


@pytest.mark.host
@pytest.mark.slow
def test_the_same_of_files_that_torch_and_the_host_read(capsys):
    pytest.importorskip('opencompass')
    heavy = [name for name in SAMPLES if name not in LIGHT]
    assert fuzz.main(['--cases', '90', '--formats', *heavy]) == 0, (
        capsys.readouterr().out)
