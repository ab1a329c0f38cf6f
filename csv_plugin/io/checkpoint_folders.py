"""Folders of checkpoints, recognised by the names that trainers give them."""
import glob
import os
import re
from pathlib import Path

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import check_file_names

#: The number at the end of a name; no step has more digits.
_STEP = re.compile(r'(?<![0-9])[0-9]{1,18}\Z')
#: How many folders an error names.
_NAMED = 8


def checkpoint_folders(pattern: str, levels: int = 1) -> dict[str, Path]:
    """Find the checkpoints of training runs by a pattern of paths.

    The step of a checkpoint is the number at the end of its folder's name,
    as in `checkpoint-1000`, `step1000`, `1000` or `iter_0001000`. Its run is
    named after the folder above.

    Args:
        pattern (str): Such as `runs/*/checkpoint-*`. Only folders count,
            not files.
        levels (int): Number of folders above the checkpoint that name its
            run, joined by hyphens.

    Returns:
        dict[str, Path]: Absolute paths by `run@step`, sorted by run and
        step.

    Raises:
        InputError: No folder matches, the name of a folder does not end
            with a number, there are fewer folders above it than levels, a
            run cannot be part of the name of a file, or two checkpoints have
            the same run and step.
    """
    folders = [
        path for path in map(Path, sorted(glob.glob(os.path.abspath(pattern))))
        if path.is_dir()
    ]
    if not folders:
        beside = sorted(
            path.name
            for path in Path(os.path.abspath(pattern)).parent.glob('*')
            if path.is_dir())
        more = f' and {len(beside) - _NAMED} more' * (len(beside) > _NAMED)
        raise InputError(
            f'checkpoints {pattern!r}', 'a folder that matches',
            f'only {", ".join(beside[:_NAMED])}{more}' if beside else 'none',
            'Check the path; names end with the step, such as checkpoint-1000 '
            'or, where the pattern allows it, step1000, 1000 or iter_0001000.')
    checkpoints: dict[tuple[str, int], Path] = {}
    for path in folders:
        number = _STEP.search(path.name)
        above = path.parent.parts[1:][-levels:]
        if not number or len(above) < levels:
            raise InputError(
                f'checkpoint {str(path)!r}',
                f'a name that ends with the step, below {levels} folders',
                repr(path.name),
                'Narrow the pattern, such as runs/*/checkpoint-*.')
        key = '-'.join(above), int(number.group())
        check_file_names('run', [key[0]], 'Rename the folder of the run.')
        earlier = checkpoints.setdefault(key, path)
        if earlier != path:
            raise InputError(
                f'checkpoint {key[0]}@{key[1]}', 'a single folder',
                f'{str(earlier)!r} and {str(path)!r}',
                'Narrow the pattern, or name runs after more of the folders '
                'above them, such as levels=2.')
    return {
        f'{run}@{step}': checkpoints[run, step]
        for run, step in sorted(checkpoints)
    }
