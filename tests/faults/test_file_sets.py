"""Verbs whose files are of one call, on a full disk and when killed."""
import errno
import multiprocessing
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from csv_plugin.cli import salience
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.salience import Uniform
from csv_plugin.extras import pictures, training_files
from csv_plugin.extras.training_files import write_training
from csv_plugin.io.collection import Collection
from csv_plugin.io.files import file_set, sole_writer, write_text
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.io.text_sets import write_texts, write_validation_set
from tests import runs
from tests.extras.importers.outputs import LM_EVAL, TEXTS
from tests.extras.page.pages import page_run
from tests.lm import models
from tests.tables import small_tables, write_tables
from tests.triage.pretraining import EARLIER, write_runs


class Refused(Exception):
    pass


def call(*words: object) -> None:
    if salience.main(list(map(str, words))):
        raise Refused


def fit(folder: Path, seed: int) -> None:
    tables = small_tables(n_models=20, seed=seed).only('easy', 'hard')
    splits = {m: 'train' for m in tables.models} | {tables.models[0]: 'test'}
    options = write_tables(folder, tables, splits)
    call('fit', *options, '--fit', 'train', '--solver', 'uniform', '--predict',
         'test', '--out', folder / 'out')


def predict(folder: Path, seed: int) -> None:
    dump = folder / 'dump.safetensors'
    save_predictor(runs.train(), folder / 'p')
    runs.write_dump(dump, runs.dump('m', runs.model_losses(.5 + seed)))
    call('predict', dump, '--predictor', folder / 'p', '--out', folder / 'out')


def import_losses(folder: Path, seed: int) -> None:
    call('import', 'lm-eval', f'a={LM_EVAL / ("c-l-80", "d-s-100")[seed]}',
         '--texts', TEXTS, '--tasks', 'tiny_choice', '--chance',
         f'tiny_choice=.{1 + seed}', '--out', folder / 'out')  # yapf: disable


def train(folder: Path, seed: int) -> None:
    """The first has a picture more."""
    skills = runs.FITTED | ({} if seed else {'new': .3})
    names = tuple(skills)
    predictors = {
        'salience': runs.train(shift=.1 * seed),
        'uniform': runs.train(solver=Uniform())
    }
    losses = predictors['salience'].targets.table({
        name:
        runs.model_losses(skill + seed)
        for name, skill in skills.items()
    })
    accuracies = AccuracyTable(names, ('easy', 'hard'),
                               np.full((len(names), 2), .5 + .1 * seed),
                               np.zeros(2), np.zeros(2, int))
    info = {name: ModelInfo(name, 'train', 1) for name in names}
    (folder / 'out').mkdir(exist_ok=True)
    write_training(folder / 'out', predictors, losses,
                   Collection(None, accuracies, info), f'call {seed}')


def texts(folder: Path, seed: int) -> None:
    write_validation_set(folder / 'out', (runs.TEXTS, runs.OTHER_TEXTS)[seed],
                         {'seed': seed})


def triage(folder: Path, seed: int) -> None:
    save_predictor(runs.train(), folder / 'p')
    write_runs(folder / 'old', EARLIER)
    write_runs(folder / 'new', {'good': 1.8, 'bad': 1.0 + .1 * seed}, 3)
    call('triage', '--predictor', folder / 'p', '--dumps', folder / 'new',
         '--history', folder / 'old', '--out', folder / 'out')


WRITERS = (fit, predict, import_losses, train, texts,
           pytest.param(triage, marks=pytest.mark.slow))


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob('*')) if path.is_file()
    }


class Killed(BaseException):
    pass


class NthCall:
    """Ends the nth call of a function about a file in `out`, if asked to."""

    def __init__(self, monkeypatch, name: str, error: BaseException) -> None:
        self.left, self.error = 10**9, error
        self.function = getattr(os, name)
        monkeypatch.setattr(os, name, self)

    def __call__(self, first: int | Path, *rest: Path) -> None:
        path = f'/proc/self/fd/{first}' if isinstance(first, int) else first
        self.left -= '/out/' in os.path.realpath(path)
        if self.left < 0:
            self.left = 10**9
            raise self.error
        self.function(first, *rest)


@pytest.fixture(autouse=True)
def quick_pictures(monkeypatch):
    for module in (training_files, pictures):
        monkeypatch.setattr(
            module, 'save', lambda figure, path: write_text(
                path, str([axes.dataLim for axes in figure.axes])))


@pytest.mark.parametrize('write', WRITERS)
def test_files_are_of_one_call(tmp_path, monkeypatch, write):
    out, kept = tmp_path / 'out', tmp_path / 'kept'
    no_room = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    full = NthCall(monkeypatch, 'fsync', no_room)
    killed = NthCall(monkeypatch, 'replace', Killed())
    write(tmp_path, 1)
    later = files(out)
    write(tmp_path, 0)
    earlier = files(out)
    assert later.items().isdisjoint(earlier.items())
    shutil.copytree(out, kept)
    for n in (0, 1, len(later) - 1):
        full.left = n
        with pytest.raises((InputError, Refused)):
            write(tmp_path, 1)
        assert files(out) == earlier
        killed.left = n
        with pytest.raises(Killed):
            write(tmp_path, 1)
        assert len(files(out)) == n and files(out).items() <= later.items()
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(kept, out)


def report(folder: Path, seed: int) -> None:
    shutil.rmtree(folder / 'run', ignore_errors=True)
    page_run(folder)
    write_texts(folder / 'texts.jsonl', runs.TEXTS)
    (folder / 'out').mkdir(exist_ok=True)
    options = ('--texts', folder / 'texts.jsonl') if seed else ()
    call('report', folder / 'run', '--predictor', folder / 'p', '--out',
         folder / 'out/page.html', *options)


def losses(folder: Path, seed: int) -> None:
    models.make('llama').save_pretrained(folder / 'model')
    models.tokenizer().save_pretrained(folder / 'model')
    call('losses', f'm{seed}={folder / "model"}', '--texts', TEXTS, '--out',
         folder / 'out')


def whole_files(folder: Path) -> dict[str, bytes]:
    """Files without hidden ones and chunks of losses, which calls use up."""
    return {
        name: content
        for name, content in files(folder).items()
        if '.tmp_' not in name and '.parts' not in name
    }


def kill(write, folder: Path, is_time) -> None:
    """Call a verb in a process of its own, and kill it."""
    process = multiprocessing.get_context('fork').Process(
        target=write, args=(folder, 1))
    process.start()
    # A fork of threads may wait forever.
    latest = time.monotonic() + 30
    while process.is_alive() and time.monotonic() < latest:
        # Files may vanish while they are looked through.
        with suppress(FileNotFoundError):
            if is_time():
                break
        time.sleep(.0005)
    process.kill()
    process.join()


@pytest.mark.parametrize('write', [
    import_losses, texts,
    *(pytest.param(write, marks=pytest.mark.slow)
      for write in (fit, predict, train, report, losses, triage))
])  # yapf: disable
def test_killed_processes(tmp_path, write):
    """Before the first file appears, and among them."""
    out, kept = tmp_path / 'out', tmp_path / 'kept'
    write(tmp_path, 0)
    earlier = whole_files(out)
    shutil.copytree(out, kept)
    write(tmp_path, 1)
    later = whole_files(out)
    assert earlier.items() != later.items()
    for is_time in (lambda: [*out.rglob('.tmp_*')],
                    lambda: whole_files(out) != earlier):
        shutil.rmtree(out)
        shutil.copytree(kept, out)
        kill(write, tmp_path, is_time)
        found = whole_files(out)
        # Killed while it removes or renames, it leaves a part of one call's
        # files. The signal may come later than the moment, so this is all that
        # can be said.
        assert any(found.items() <= whole.items()
                   for whole in (earlier, later))
        write(tmp_path, 1)
        assert whole_files(out) == later


def test_a_second_call_into_a_folder_is_refused(tmp_path, capsys):
    with sole_writer(tmp_path / 'out'):
        with pytest.raises(Refused):
            fit(tmp_path, 0)
        for words in (['configs'], ['watch', 'x', '--texts', 't',
                                    '--predictor', 'p']):  # yapf: disable
            with pytest.raises(Refused):
                call(*words, '--out', tmp_path / 'out')
        for said in capsys.readouterr().err.splitlines():
            assert 'expected a folder that no other call writes to' in said
    # A folder that stays empty is removed.
    assert not (tmp_path / 'out').exists()
    fit(tmp_path, 0)


def test_a_set_in_a_set(tmp_path):
    first, second, old = (tmp_path / name for name in ('a', 'b', 'old'))
    old.touch()
    with pytest.raises(KeyError):
        with file_set(old):
            with file_set():
                write_text(first, '')
            raise KeyError
    assert files(tmp_path) == {'old': b''}
    with file_set():
        with file_set(old, second):
            write_text(first, 'one')
        write_text(first, 'two')
        assert files(tmp_path).keys() > {'old'}
    assert files(tmp_path) == {'a': b'two'}


def test_a_folder_in_the_place_of_a_file(tmp_path):
    (tmp_path / 'folder').mkdir()
    with pytest.raises(InputError, match="folder: .*'Is a directory'"):
        with file_set(tmp_path / 'folder'):
            write_text(tmp_path / 'a', '')
    assert files(tmp_path) == {}


def test_a_folder_that_was_there_before_stays(tmp_path, monkeypatch):
    with sole_writer(tmp_path):
        pass
    no_locks = OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    monkeypatch.setattr('fcntl.flock', Mock(side_effect=no_locks))
    with sole_writer(tmp_path):
        write_text(tmp_path / 'a', '')
