"""What the tools share."""
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from csv_plugin.core.errors import InputError


def exit_code(run: Callable[..., None], *arguments: Any) -> int:
    """Run a tool; bad input becomes one line on the screen.

    Args:
        run (Callable): What the tool does.
        arguments (Any): Of `run`.

    Returns:
        int: 0, or 2 after an error.
    """
    try:
        run(*arguments)
    except (InputError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 2
    return 0


def check_folder(path: Path) -> None:
    """Before a long computation: can `--out` be a folder?

    Raises:
        InputError: If there is a file in its place.
    """
    existing = next(p for p in (path, *path.parents) if p.exists())
    if not existing.is_dir():
        raise InputError(f'--out {path}', 'a folder or a new name',
                         f'the file {existing}', 'Choose another name.')
