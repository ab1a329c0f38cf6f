"""Where the token losses of checkpoints lie."""
import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.io.dumps import read_dump
from csv_plugin.io.runs.run_dumps import dataset_abbr, read_run_dump
from csv_plugin.io.shards import merge_dumps
from csv_plugin.io.tables import FilePath

_SUFFIX = '.parquet'


@dataclass(frozen=True)
class DumpPlace:
    """Where the dump of a checkpoint lies.

    Args:
        path (Path): The file, or the work directory of an OpenCompass run.
        model (str): What the checkpoint is called.
    """
    path: Path
    model: str

    def read(self, fingerprint: str) -> TokenLossDump:
        """The losses on a validation set.

        Raises:
            InputError: If they are not there, or cannot be read.
        """
        if self.path.suffix == _SUFFIX:
            return merge_dumps([read_dump(self.path)])
        return read_run_dump(self.path, self.model, fingerprint)

    def stamp(self, fingerprint: str) -> tuple[tuple[str, int, int], ...]:
        """Changes whenever a file of the dump does; empty without files."""
        files = [self.path]
        if self.path.suffix != _SUFFIX:
            folder = self.path / 'predictions' / self.model
            name = dataset_abbr(fingerprint)
            files = sorted(folder.glob(f'{name}*{_SUFFIX}'))
        found = []
        for file in files:
            try:
                status = file.stat()
            except FileNotFoundError:  # just replaced or removed
                continue
            found.append((file.name, status.st_mtime_ns, status.st_size))
        return tuple(found)


def find_dumps(places: Iterable[FilePath]) -> dict[str, DumpPlace]:
    """Dumps by checkpoint, sorted by name.

    Args:
        places (Iterable[FilePath]): Files, folders of dumps `<name>.parquet`,
            work directories of OpenCompass (those with `predictions`), or
            patterns of any of them.

    Raises:
        InputError: If a place does not exist or matches nothing, or two
            dumps have one name.
    """
    found: dict[str, DumpPlace] = {}
    for place in places:
        for path in _matches(os.fspath(place)):
            for dump in _inside(path):
                other = found.setdefault(dump.model, dump)
                if other.path != dump.path:
                    raise InputError(
                        f'dumps of {dump.model!r}', 'one',
                        f'{other.path} and {dump.path}',
                        'Rename one of both, or name the files you mean.')
    return dict(sorted(found.items()))


def _matches(place: str) -> list[Path]:
    """The path itself or, of a pattern, all it matches."""
    paths = [place] if os.path.exists(place) else sorted(glob.glob(place))
    if not paths:
        raise InputError(f'dumps {place!r}', 'a file, a folder or a pattern',
                         'nothing of that name', 'Check the path.')
    return [Path(path) for path in paths]


def _inside(path: Path) -> list[DumpPlace]:
    if not path.is_dir():
        return [DumpPlace(path, path.name.removesuffix(_SUFFIX))]
    if (path / 'predictions').is_dir():
        folders = (path / 'predictions').iterdir()
        return [DumpPlace(path, f.name) for f in folders if f.is_dir()]
    # Hidden files are those that are still written.
    return [
        DumpPlace(file, file.name.removesuffix(_SUFFIX))
        for file in path.glob(f'[!.]*{_SUFFIX}')
    ]
