"""Dumps of token losses in files, folders and runs of OpenCompass."""
import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from csv_plugin.core.conventions import InputError, check_list
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.io.dumps import read_dump
from csv_plugin.io.files import NOT_THERE, FilePath
from csv_plugin.io.runs.run_dumps import read_run_dump

_SUFFIX = '.safetensors'


@dataclass(frozen=True)
class DumpPlace:
    """Place of one checkpoint's dump: a file, or the work directory of a run.
    """
    path: Path
    model: str

    def read(self, fingerprint: str) -> TokenLossDump:
        """Read the losses; an `InputError` if that fails.

        The fingerprint chooses among the validation sets of a work directory.
        """
        if self.path.suffix == _SUFFIX or self.path.is_file():
            return read_dump(self.path)
        return read_run_dump(self.path, self.model, fingerprint)


def find_dumps(places: Iterable[FilePath]) -> dict[str, DumpPlace]:
    """Find the dumps in files and folders, by checkpoint, sorted by name.

    Places are files, folders of dumps `<name>.safetensors`, work directories
    of OpenCompass (those with `predictions`), or patterns of any of them.
    """
    check_list('places of dumps', places)
    dumps: dict[str, DumpPlace] = {}
    for place in places:
        for path in matching_paths(place):
            for dump in _dumps_in(path):
                first = dumps.setdefault(dump.model, dump)
                if first.path.resolve() != dump.path.resolve():
                    raise InputError(
                        f'dumps of {dump.model!r}', 'one',
                        f'{first.path} and {dump.path}',
                        'Rename one of the two, or name the files you mean.')
    return dict(sorted(dumps.items()))


def matching_paths(place: FilePath) -> list[Path]:
    """Return the paths that match a pattern, or the path itself.

    An `InputError` if there is none.
    """
    name = os.fspath(place)
    paths = [name] if os.path.exists(name) else sorted(glob.glob(name))
    if not paths:
        raise InputError(f'dumps {name!r}', 'a file, a folder or a pattern',
                         NOT_THERE, 'Check the path.')
    return [Path(path) for path in paths]


def _dumps_in(path: Path) -> list[DumpPlace]:
    """Dumps in a file or folder that exists."""
    if not path.is_dir():
        return [DumpPlace(path, path.name.removesuffix(_SUFFIX))]
    if (path / 'predictions').is_dir():
        folders = (path / 'predictions').iterdir()
        return [DumpPlace(path, f.name) for f in folders if f.is_dir()]
    # Hidden files are still being written.
    return [
        DumpPlace(file, file.name.removesuffix(_SUFFIX))
        for file in path.glob(f'[!.]*{_SUFFIX}')
    ]
