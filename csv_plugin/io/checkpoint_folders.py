"""Folders of checkpoints, by the names that trainers give them."""
import glob
import os
import re
from pathlib import Path

from csv_plugin.core.conventions import InputError


def checkpoint_folders(pattern: str, levels: int = 1) -> dict[str, Path]:
    """Folders of checkpoints by name, each run's in the order of its steps.

    The step is the number that the folder's name ends with, as in
    `checkpoint-1000`, `step1000`, `1000` or `iter_0001000`; the run is the
    folder above it.

    Args:
        pattern (str): Such as `runs/*/checkpoint-*`; files are passed over.
        levels (int): How many of the folders above name the run, joined by
            a hyphen.

    Returns:
        dict[str, Path]: Absolute paths by `run@step`.

    Raises:
        InputError: If no folder matches, one has no such number or not as
            many folders above, or two are called alike.
    """
    folders = [
        path for path in map(Path, sorted(glob.glob(os.path.abspath(pattern))))
        if path.is_dir()
    ]
    if not folders:
        raise InputError(f'checkpoints {pattern!r}', 'folders',
                         'none that matches',
                         'Check the path, relative to where you start.')
    found: dict[tuple[str, int], Path] = {}
    for path in folders:
        number = re.search(r'\d+$', path.name)
        above = path.parent.parts[1:][-levels:]
        if not number or len(above) < levels:
            raise InputError(
                f'checkpoint {str(path)!r}',
                f'a name that ends with the step, below {levels} folders',
                repr(path.name),
                'Narrow the pattern, such as runs/*/checkpoint-*.')
        key = '-'.join(above), int(number.group())
        other = found.setdefault(key, path)
        if other != path:
            raise InputError(
                f'checkpoints called {key[0]}@{key[1]}', 'one',
                f'{str(other)!r} and {str(path)!r}',
                'Narrow the pattern, or name runs after more of '
                'the folders above them: levels=2.')
    return {f'{run}@{step}': found[run, step] for run, step in sorted(found)}
