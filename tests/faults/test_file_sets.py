"""Verbs whose files are of one call, on a full disk and when killed."""
import errno
import fcntl
import multiprocessing
import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from csv_plugin.cli import salience
from csv_plugin.core import fitting
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.accuracy_model import AccuracyModel
from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.extras import pictures, training_files
from csv_plugin.extras.training_files import write_training
from csv_plugin.io.collection import Collection
from csv_plugin.io.files import atomic_path, file_set, sole_writer, write_text
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.io.text_sets import write_texts, write_validation_set
from tests import runs
from tests.extras.importers.outputs import LM_EVAL, TEXTS
from tests.extras.page.pages import page_run
from tests.lm import models
from tests.tables import small_tables, write_tables
from tests.triage.pretraining import EARLIER, write_runs

PREDICTOR = runs.train()
FITS: dict[tuple, AccuracyModel] = {}


@pytest.fixture(autouse=True)
def equal_fits_are_one(monkeypatch):
    """Last digits of a fit may hang on where arrays lie; files are tested."""

    def fit_once(losses, observed, settings, progress):
        key = (losses.units.tobytes(), observed.accuracies.tobytes(),
               tuple(observed.families))
        if key not in FITS:
            FITS[key] = AccuracyModel(losses, observed, settings)
        return FITS[key]

    monkeypatch.setattr(fitting, 'AccuracyModel', fit_once)


class Refused(Exception):
    pass


def call(*words: object) -> None:
    if salience.main(list(map(str, words))):
        raise Refused


def fit(folder: Path, seed: int) -> None:
    tables = small_tables(n_models=10, seed=seed).only('easy')
    splits = {m: 'train' for m in tables.models} | {tables.models[0]: 'test'}
    options = write_tables(folder, tables, splits)
    call('fit', *options, '--fit', 'train', '--predict', 'test', '--out',
         folder / 'out')


def predict(folder: Path, seed: int) -> None:
    dump = folder / 'dump.safetensors'
    save_predictor(PREDICTOR, folder / 'p')
    runs.write_dump(dump, runs.dump('m', runs.model_losses(.5 + seed)))
    call('predict', dump, '--predictor', folder / 'p', '--out', folder / 'out')


def import_(folder: Path, seed: int) -> None:
    call('import', 'lm-eval', f'a={LM_EVAL / ("c-l-80", "d-s-100")[seed]}',
         '--texts', TEXTS, '--tasks', 'tiny_choice', '--chance',
         f'tiny_choice=.{1 + seed}', '--out', folder / 'out')  # yapf: disable


def fit_to_dumps(folder: Path, seed: int) -> None:
    """The first has a picture more."""
    skills = runs.FITTED | ({} if seed else {'new': .3})
    names = tuple(skills)
    predictors = {
        'salience': runs.train(shift=.1 * seed),
        'mean-loss': runs.train()
    }
    losses = ModelLosses(
        runs.TEXTS, {
            name: runs.dump(name, runs.model_losses(skill + seed))
            for name, skill in skills.items()
        })
    accuracies = AccuracyTable(names, ('easy', 'hard'),
                               np.full((len(names), 2), .5 + .1 * seed),
                               np.zeros(2), np.zeros(2, int))
    info = {name: ModelInfo(name, 'train', 1) for name in names}
    write_training(folder / 'out', predictors,
                   Collection(losses, accuracies, info), f'call {seed}')


def texts(folder: Path, seed: int) -> None:
    write_validation_set(folder / 'out', (runs.TEXTS, runs.OTHER_TEXTS)[seed],
                         {'seed': seed})


def triage(folder: Path, seed: int) -> None:
    save_predictor(PREDICTOR, folder / 'p')
    write_runs(folder / 'old', EARLIER)
    ends = {'good': 1.8 + .1 * seed, 'bad': 1.0 + .1 * seed}
    write_runs(folder / 'new', ends, 3)
    call('triage', '--predictor', folder / 'p', '--dumps', folder / 'new',
         '--history', folder / 'old', '--out', folder / 'out')


def triage_of_tables(folder: Path, seed: int) -> None:
    tables = small_tables(n_models=24, seed=seed).only('easy', 'hard')
    models = tuple(f'{run}@{step}' for run in 'abcdefgh' for step in (1, 2, 4))
    splits = {m: 'test' if m[0] == 'h' else 'train' for m in models}
    tables = replace(
        tables,
        features=replace(tables.features, models=models),
        accuracies=replace(tables.accuracies, models=models),
        families={m: m[0]
                  for m in models})
    call('triage', *write_tables(folder, tables, splits), '--out',
         folder / 'out')


def watch(folder: Path, seed: int) -> None:
    """The second adds a checkpoint."""
    for step in range(1, 2 + seed):
        models.make('llama').save_pretrained(folder / f'run/checkpoint-{step}')
        models.tokenizer().save_pretrained(folder / f'run/checkpoint-{step}')
    if not (folder / 'p').exists():
        # A process that is spawned fits again, and last bits may differ.
        save_predictor(PREDICTOR, folder / 'p')
    write_texts(folder / 'texts.jsonl', runs.TEXTS)
    call('watch', folder / 'run', '--once', '--predictor', folder / 'p',
         '--texts', folder / 'texts.jsonl', '--out', folder / 'out')


def page_of_run(folder: Path, seed: int) -> None:
    shutil.rmtree(folder / 'run', ignore_errors=True)
    page_run(folder)
    write_texts(folder / 'texts.jsonl', runs.TEXTS)
    (folder / 'out').mkdir(exist_ok=True)
    options = ('--texts', folder / 'texts.jsonl') if seed else ()
    call('predict', folder / 'run', '--predictor', folder / 'p', '--page',
         folder / 'out/page.html', *options)


def losses(folder: Path, seed: int) -> None:
    models.make('llama').save_pretrained(folder / 'model')
    models.tokenizer().save_pretrained(folder / 'model')
    call('losses', f'm{seed}={folder / "model"}', '--texts', TEXTS, '--out',
         folder / 'out')


def demo(folder: Path, seed: int) -> None:
    names = ('eval_csv_real', 'eval_csv_collect') if seed else ('eval_csv', )
    call('demo', '--copy-configs', *names, '--out', folder / 'out')


#: A call of each verb that writes, and more of some. `status` and `compare`
#: write nothing, and OpenCompass writes what a run of `demo` leaves.
WRITERS = (demo, fit, fit_to_dumps, import_, losses, page_of_run, predict,
           texts, triage, triage_of_tables, watch)


def test_all_verbs_that_write_are_here():
    names = {write.__name__.strip('_') for write in WRITERS}
    more = {'fit_to_dumps', 'page_of_run', 'triage_of_tables'}
    assert names - more == salience.VERBS.keys() - {'compare', 'status'}


def writers(quick, long=()) -> list:
    return [
        pytest.param(
            write,
            marks=() if write in quick else
            pytest.mark.long if write in long else pytest.mark.slow)
        for write in WRITERS
    ]


def whole_files(folder: Path) -> dict[str, bytes]:
    """Files without hidden ones and losses from which calls go on."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob('*')) if path.is_file()
        and not re.search(r'/\.(tmp|set)_|\.parts/|out/losses/', str(path))
    }


class Killed(BaseException):
    pass


class NthCall:
    """Ends the nth call of a function about a file in `out`, if asked to."""

    def __init__(self, monkeypatch, name: str, error: BaseException) -> None:
        self.n, self.nth, self.error = 0, -1, error
        self.function = getattr(os, name)
        monkeypatch.setattr(os, name, self)

    def __call__(self, first: int | Path, *rest: Path) -> None:
        path = f'/proc/self/fd/{first}' if isinstance(first, int) else first
        self.n += '/out/' in os.path.realpath(path)
        if self.n == self.nth:
            self.nth = -1
            raise self.error
        self.function(first, *rest)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for module in (training_files, pictures):
        monkeypatch.setattr(
            module, 'save', lambda figure, path: write_text(
                path, str([axes.dataLim for axes in figure.axes])))


def one_of_two(folder: Path, write) -> tuple[dict[str, bytes], ...]:
    """Files after the first of two calls, which are kept, and after both."""
    write(folder, 0)
    earlier = whole_files(folder / 'out')
    shutil.copytree(folder / 'out', folder / 'kept')
    write(folder, 1)
    later = whole_files(folder / 'out')
    # Files are added to, or all replaced, but for tables without a row.
    kept = [text for name, text in earlier.items() if later.get(name) == text]
    assert earlier.items() < later.items() or all(
        text.count(b'\n') == 1 for text in kept)
    return earlier, later


def as_kept(folder: Path) -> None:
    shutil.rmtree(folder / 'out')
    shutil.copytree(folder / 'kept', folder / 'out')


@pytest.mark.slow
@pytest.mark.parametrize('write', writers(
    (demo, fit, import_, predict, texts)))
def test_files_are_of_one_call(tmp_path, monkeypatch, write):
    """On a full disk, and killed among the moves."""
    no_room = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    full = NthCall(monkeypatch, 'fsync', no_room)
    killed = NthCall(monkeypatch, 'replace', Killed())
    earlier, later = one_of_two(tmp_path, write)
    as_kept(tmp_path)
    full.n = killed.n = 0
    write(tmp_path, 1)
    for fault, n in ((full, 1), (full, full.n), (killed, (killed.n + 1) // 2)):
        as_kept(tmp_path)
        fault.n, fault.nth = 0, n
        with pytest.raises((InputError, Refused, Killed)):
            write(tmp_path, 1)
        if fault is full:
            assert whole_files(tmp_path / 'out') == earlier
        check_one_call(tmp_path / 'out', earlier, later)


def check_one_call(out: Path, earlier: dict, later: dict) -> None:
    """Files are of one call, all of them once another call begins."""
    found = whole_files(out).items()
    assert found <= earlier.items() or found <= later.items()
    with sole_writer(out):
        assert whole_files(out) in (earlier, later)


def kill(write, folder: Path, is_time) -> None:
    """Call a verb in a process of its own, and kill it."""
    # Torch waits forever for its threads in a fork.
    start = 'spawn' if write in (losses, watch) else 'fork'
    process = multiprocessing.get_context(start).Process(
        target=write, args=(folder, 1))
    process.start()
    latest = time.monotonic() + 60
    while process.is_alive() and time.monotonic() < latest:
        # Files may vanish while they are looked through.
        with suppress(FileNotFoundError):
            if is_time():
                break
        time.sleep(.0005)
    process.kill()
    process.join()


@pytest.mark.parametrize('write',
                         writers((demo, import_, texts), (losses, watch)))
def test_killed_processes(tmp_path, write):
    """Before the first file appears, and among them."""
    out = tmp_path / 'out'
    earlier, later = one_of_two(tmp_path, write)
    for is_time in (lambda: [*out.rglob('.tmp_*')],
                    lambda: whole_files(out) != earlier):
        as_kept(tmp_path)
        kill(write, tmp_path, is_time)
        check_one_call(out, earlier, later)
        write(tmp_path, 1)
        assert whole_files(out) == later
        assert not [*out.rglob('.tmp_*')]


def leave_halves(folder: Path) -> None:
    """Write a file and a set, and wait until the process is killed."""
    with atomic_path(folder / 'a.csv') as alone:
        alone.write_text('half')
        with file_set(folder):
            write_text(folder / 'b', 'half')
            (folder / 'begun').touch()
            time.sleep(60)


def test_leftovers_of_killed_calls_alone_are_removed(tmp_path):
    """Those of a live call, and what others call so, stay."""
    (tmp_path / '.tmp_of_another').touch()
    process = multiprocessing.get_context('fork').Process(
        target=leave_halves, args=(tmp_path, ))
    process.start()
    while not (tmp_path / 'begun').exists():
        time.sleep(.01)
    hidden = {*tmp_path.glob('.tmp_*')}
    write_text(tmp_path / 'c', 'x')
    with file_set(tmp_path), sole_writer(tmp_path):
        pass
    assert {*tmp_path.glob('.tmp_*')} == hidden and len(hidden) == 3
    process.kill()
    process.join()
    write_text(tmp_path / 'c', 'x')
    assert [*tmp_path.glob('.tmp_*')] == [tmp_path / '.tmp_of_another']


@pytest.mark.parametrize('write', [file_set, sole_writer])
def test_folders_are_tidied_by_sets_and_verbs(tmp_path, write):
    (tmp_path / f'.tmp_{"0a" * 8}').mkdir()
    (tmp_path / f'.tmp_{"0a" * 8}/b').touch()
    (tmp_path / f'.tmp_{"0b" * 8}.csv').touch()
    with write(tmp_path):
        pass
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_a_second_call_into_a_folder_is_refused(tmp_path, capsys):
    with sole_writer(tmp_path / 'out'):
        with pytest.raises(Refused):
            fit(tmp_path, 0)
        watched = 'watch x --texts t --predictor p'.split()
        for words in (['demo', '--copy-configs'], watched):
            with pytest.raises(Refused):
                call(*words, '--out', tmp_path / 'out')
        for said in capsys.readouterr().err.splitlines():
            assert 'expected a folder that no other call writes to' in said
    # A folder that stays empty is removed.
    assert not (tmp_path / 'out').exists()
    fit(tmp_path, 0)


def test_a_killed_set_is_completed_by_the_next_writer(tmp_path, monkeypatch):
    out = tmp_path / 'out'
    out.mkdir()
    for name in ('a', 'b', 'old'):
        (out / name).write_text('earlier')
    killed = NthCall(monkeypatch, 'replace', Killed())
    killed.nth = 2
    with pytest.raises(Killed):
        with file_set(out, out / 'old', out / 'a', out / 'none'):
            for name in ('a', 'b', 'part/c'):
                write_text(out / name, 'later')
    assert len(whole_files(out)) == 1
    with sole_writer(out):
        later = dict.fromkeys(('a', 'b', 'part/c'), b'later')
        assert whole_files(out) == later
    assert {*os.listdir(out)} == {'a', 'b', 'part'}


def test_a_set_in_a_set(tmp_path):
    out, old = tmp_path / 'inner', tmp_path / 'inner/old'
    out.mkdir()
    old.write_text('earlier')
    with suppress(Killed):
        with file_set(tmp_path):
            with file_set(out, old):
                write_text(out / 'new', 'later')
            raise Killed
    assert whole_files(tmp_path) == {'inner/old': b'earlier'}
    with file_set(tmp_path):
        with file_set(out, old):
            write_text(out / 'new', 'later')
    assert whole_files(tmp_path) == {'inner/new': b'later'}


def test_a_folder_in_the_place_of_a_file(tmp_path):
    (tmp_path / 'folder').mkdir()
    with pytest.raises(InputError, match='folder: .*found a folder'):
        with file_set(tmp_path, tmp_path / 'folder'):
            write_text(tmp_path / 'a', 'a')
    assert os.listdir(tmp_path) == ['folder']


@pytest.mark.parametrize('name', ['os.open', 'fcntl.flock'])
def test_a_folder_that_another_call_removes(tmp_path, monkeypatch, name):
    module = {'os.open': os, 'fcntl.flock': fcntl}[name]
    function = getattr(module, name.partition('.')[2])

    def late(*words):
        os.rmdir(tmp_path / 'out')
        return function(*words)

    monkeypatch.setattr(name, late)
    with pytest.raises(InputError, match='Wait until that call ends'):
        with sole_writer(tmp_path / 'out'):
            pass


def test_a_folder_that_was_there_before_stays(tmp_path, monkeypatch):
    with sole_writer(tmp_path):
        pass
    no_locks = OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    monkeypatch.setattr('fcntl.flock', Mock(side_effect=no_locks))
    with sole_writer(tmp_path):
        write_text(tmp_path / 'a', '')
