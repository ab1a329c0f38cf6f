"""What the tools share."""
import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from csv_plugin.core.conventions import InputError


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


def refuse(args: argparse.Namespace, where: str, *names: str) -> None:
    """Options that would be ignored are an error.

    Args:
        args (argparse.Namespace): None for what was not given.
        where (str): The option beside which they mean nothing.
        names (str): Theirs.

    Raises:
        InputError: If one was given.
    """
    given = [
        f'--{name.replace("_", "-")}' for name in names
        if getattr(args, name) is not None
    ]
    if given:
        raise InputError(where, f'no {", ".join(names)} beside it',
                         ', '.join(given), 'Leave them out.')


def check_folder(path: Path) -> None:
    """Before a long computation: can `--out` be a folder?

    Raises:
        InputError: If there is a file in its place.
    """
    existing = next(p for p in (path, *path.parents) if p.exists())
    if not existing.is_dir():
        raise InputError(f'--out {path}', 'a folder or a new name',
                         f'the file {existing}', 'Choose another name.')


def whole_number(text: str, least: int = 0) -> int:
    """Type of options that count something.

    Raises:
        argparse.ArgumentTypeError: If it is none, or below the least.

    >>> whole_number('3')
    3
    """
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(
            f'expected a whole number, {least} or more, found {text!r}')
    return int(text)


def named_number(text: str) -> tuple[str, float]:
    """Type of options such as `--chance NAME=0.25`.

    Raises:
        argparse.ArgumentTypeError: If there is no name or no number.

    >>> named_number('a=b=0.25')
    ('a=b', 0.25)
    """
    name, _, value = text.rpartition('=')
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not name or math.isnan(number):
        raise argparse.ArgumentTypeError(
            f'expected a name and a number such as mmlu=0.25, found {text!r}')
    return name, number
