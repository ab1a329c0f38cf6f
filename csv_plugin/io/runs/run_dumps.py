"""Find and read token-loss dumps, in OpenCompass runs and elsewhere.

docs/appendix/binary_files.md lists the names of these files in a run. In a
run, a file `<dataset>.json` beside a dump tells OpenCompass that the model has
been run on the dataset.
"""
import glob
import os
import re
import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from csv_plugin.core.conventions import InputError, check_list
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.io.dumps import merge_dumps, read_dump
from csv_plugin.io.files import (NOT_THERE, FilePath, check_file_names,
                                 read_bytes)
from csv_plugin.io.runs.run_failures import ERROR, failure_of

#: Prefix of the names of validation sets among the datasets of a run.
TEXTS = 'salience_texts-'
_PART = re.compile(rf'({TEXTS}[0-9a-f]+)(?:_(\d+))?')
_SUFFIX, _DONE = '.safetensors', '.json'


class NoDump(InputError):
    """Error: a run has no dump of a model on a validation set."""


def dataset_abbr(fingerprint: str) -> str:
    """Return the name of a validation set among the datasets of a run.

    >>> dataset_abbr('0123456789abcdef')
    'salience_texts-0123456789ab'
    """
    return TEXTS + fingerprint[:12]


def run_models(work_dir: FilePath) -> list[str]:
    """Return the abbreviations of models with predictions in a run, sorted."""
    models = []
    for path in Path(work_dir, 'predictions').glob('*'):
        if path.is_dir():
            models.append(path.name)
    if not models:
        raise InputError(work_dir, 'a run with predictions/<model>', 'none',
                         'Give the time-stamped folder of a run.')
    return sorted(models)


def read_run_dump(work_dir: FilePath, model: str,
                  fingerprint: str) -> TokenLossDump:
    """Read the losses of one model on one validation set from a run.

    The validation set is found by the first 12 digits of its fingerprint; an
    empty fingerprint means the only validation set of the run. The texts
    are in any order. If the run split the set into parts and was not finished,
    the result has only the texts of the finished parts.

    Raises:
        NoDump: The run has no dump of the model on the validation set, and
            recorded no error about it.
        InputError: A dump cannot be read, or scoring failed.
    """
    check_file_names(f'model {model!r}, part', model.split('/'),
                     'Name a folder of predictions/ in the run.')
    folder = Path(work_dir, 'predictions', model)
    dumps = _files(folder, _SUFFIX)
    notes = _files(folder, ERROR)
    abbr = dataset_abbr(fingerprint)
    found = [*(dumps | notes)]
    if not fingerprint and len(found) == 1:
        abbr = found[0]
    parts = dumps.get(abbr, {})
    # Like OpenCompass, prefer a file with all texts to files with parts.
    if '' in parts:
        return read_model_dump(parts[''])
    done_parts = _files(folder, _DONE).get(abbr, {})
    for part, done in done_parts.items():
        if part not in parts and (part or not parts):
            raise InputError(
                'token losses', f'a dump of {abbr}', f'{done.name} without it',
                f'Remove {done.name} from the predictions of the model, and '
                'run again with -r.')
    failed_parts = notes.get(abbr, {})
    for part, note in failed_parts.items():
        if part not in parts and (part or not parts):
            line = read_bytes(note).decode('utf-8', 'replace')
            raise InputError('token losses', f'a dump of {abbr}',
                             f'this error: {line.rstrip(".")}',
                             'Run again with -r to try again.')
    if not parts:
        failure = failure_of(work_dir, model, abbr)
        if failure:
            raise InputError('token losses', f'a dump of {abbr}',
                             f'none, because of this error: {failure}',
                             'Run again with -r to try again.')
        if not fingerprint and dumps:
            names = ', '.join(sorted(dumps))
            raise NoDump('token losses', 'one set of texts', names,
                         'Name a predictor, which says which texts to take.')
        present = 'none'
        remedy = ('Add it to the datasets of the run, or see the logs of the '
                  'model.')
        if dumps:
            names = ', '.join(sorted(dumps))
            present = f'only losses on other texts: {names}'
            remedy = ('Score the model on these texts, or use a predictor of '
                      'the texts that were scored.')
        raise NoDump('token losses', f'a dump of {abbr}', present, remedy)
    return merge_dumps(map(read_model_dump, parts.values()))


def read_model_dump(path: Path) -> TokenLossDump:
    """Read a dump in the folder of a model, and check that it is of the model.
    """
    again = f'remove {path.stem}{_DONE} beside it, and run again with -r.'
    try:
        dump = read_dump(path)
    except InputError as error:
        raise InputError(
            path, 'a dump that can be read',
            str(error).removeprefix(f'{path}: ').rstrip('.'),
            f'To score the texts again, remove this dump, {again}') from error
    if dump.info.folder not in ('', path.parent.name):
        raise InputError(
            path, f'losses of {path.parent.name!r}',
            f'losses of {dump.info.folder!r}',
            f'Move it to the predictions of {dump.info.folder!r}, {again}')
    return dump


def _files(folder: Path, suffix: str) -> dict[str, dict[str, Path]]:
    """Return the paths of files by dataset and number of the part.

    The number is '' for a file with the whole dataset.
    """
    paths: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob(f'*{suffix}')):
        match = _PART.fullmatch(path.name.removesuffix(suffix))
        if match:
            dataset, part = match.groups(default='')
            of_dataset = paths.setdefault(dataset, {})
            of_dataset[part] = path
    return paths


@dataclass(frozen=True)
class DumpPlace:
    """Where the dump of one model is.

    `path` is a file, or the work directory of a run that has the dump.
    """
    path: Path
    model: str

    def read(self, fingerprint: str) -> TokenLossDump:
        """Read the losses of the model.

        If `path` is a run, read the losses on the texts with this fingerprint.
        """
        if self._is_file:
            return read_dump(self.path)
        return read_run_dump(self.path, self.model, fingerprint)

    def stamp(self) -> tuple[tuple[str, int, int, int], ...]:
        """Return name, inode, time and size of each file with the losses.

        The result changes whenever the losses are written.
        """
        folder = self.path / 'predictions' / self.model
        files = [self.path] if self._is_file else folder.glob(f'{TEXTS}*')
        stamps = []
        for file in files:
            with suppress(FileNotFoundError):
                stat = file.stat()
                stamps.append(
                    (file.name, stat.st_ino, stat.st_mtime_ns, stat.st_size))
        return tuple(sorted(stamps))

    @property
    def _is_file(self) -> bool:
        return self.path.suffix == _SUFFIX or self.path.is_file()


def find_dumps(places: Iterable[FilePath]) -> dict[str, DumpPlace]:
    """Find the dumps in files and folders.

    Return the dumps by the name of the model or checkpoint, sorted. A place is
    a file, a folder with dumps `<name>.safetensors`, a work directory of
    OpenCompass (a folder with a folder `predictions`), or a pattern that
    matches such files or folders.
    """
    check_list('places of dumps', places)
    dumps: dict[str, DumpPlace] = {}
    for place in places:
        name = os.fspath(place)
        paths = [name]
        if not os.path.exists(name):
            paths = glob.glob(name)
        if not paths:
            raise InputError(f'dumps {name!r}',
                             'a file, a folder or a pattern', NOT_THERE,
                             'Check the path.')
        if name.endswith(('.csv', '.parquet')) and os.path.isfile(name):
            raise InputError(
                name, 'a dump of token losses', 'a table of losses',
                'Tables are for `salience predict --losses '
                f'{shlex.quote(name)}`, or for `salience triage --losses`.')
        for path in paths:
            for dump in _dumps_in(Path(path)):
                first = dumps.setdefault(dump.model, dump)
                if first.path.resolve() != dump.path.resolve():
                    raise InputError(
                        f'dumps of {dump.model!r}', 'a single dump',
                        f'{first.path} and {dump.path}',
                        'Rename one of the two, or name the files you mean.')
    return dict(sorted(dumps.items()))


def _dumps_in(path: Path) -> list[DumpPlace]:
    """Find the dumps in an existing file or folder."""
    if not path.is_dir():
        return [DumpPlace(path, path.name.removesuffix(_SUFFIX))]
    places = []
    predictions = path / 'predictions'
    if predictions.is_dir():
        for folder in predictions.iterdir():
            if folder.is_dir():
                places.append(DumpPlace(path, folder.name))
        return places
    # Names of files that are still being written begin with a dot.
    for file in path.glob(f'[!.]*{_SUFFIX}'):
        model = file.name.removesuffix(_SUFFIX)
        places.append(DumpPlace(file, model))
    return places
