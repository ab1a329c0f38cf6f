"""Options and exit codes that the commands share."""
import argparse
import json
import math
import os
import select
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import one_line

#: Exit code of a program that the signal SIGPIPE ends, as shells tell it.
UNREAD = 128 + 13
#: Most characters of a line that explains an option.
_HELP_WIDTH = 55


def exit_code(run: Callable[..., None], *arguments: Any) -> int:
    """Run a command; bad input and warnings become lines on the screen.

    Args:
        run (Callable): Does what the command is for.
        arguments (Any): Of `run`.

    Returns:
        int: Exit code: 0, 2 after an `InputError` or an `OSError`, or
        `UNREAD` if nobody reads what is printed any more, such as behind
        `| head`.

    Raises:
        SystemExit: As in the command.
    """
    usual = warnings.formatwarning
    warnings.formatwarning = _warning_line
    try:
        run(*arguments)
        print(end='', flush=True)
    except SystemExit as end:
        # After --help, which argparse prints without a look at errors.
        if not end.code and _is_unread():
            return UNREAD
        raise
    except (InputError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _is_unread():
            return UNREAD
        with suppress(BrokenPipeError):
            print(f'error: {error}', file=sys.stderr)
        return 2
    finally:
        warnings.formatwarning = usual
        _forget_unread()
    return 0


def _is_unread() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    try:
        poll = select.poll()
        poll.register(sys.stdout, 0)
    except (AttributeError, OSError, TypeError, ValueError):
        return False  # Windows, or it is closed or no file.
    return bool(poll.poll(0))


def _forget_unread() -> None:
    """Forget what nobody reads: Python would complain when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            print(end='', file=stream, flush=True)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except OSError:
            pass  # Such as a full disk, of which Python tells then.


def _warning_line(message: Warning | str,
                  category: type[Warning],
                  filename: str,
                  lineno: int,
                  line: Optional[str] = None) -> str:
    """A warning without the line of code that gave it."""
    return f'warning: {one_line(str(message))}\n'


def refuse(args: argparse.Namespace, where: str, *names: str) -> None:
    """Refuse options that would be ignored.

    Args:
        args (argparse.Namespace): Options; None for those not given.
        where (str): The option beside which they would be ignored.
        names (str): Names of the options to refuse, with `_` for `-`.

    Raises:
        InputError: One of them was given.
    """
    options = {name: f'--{name.replace("_", "-")}' for name in names}
    given = [
        options[name] for name in names if getattr(args, name) is not None
    ]
    if given:
        raise InputError(where, f'none of {", ".join(options.values())} '
                         'beside it', ', '.join(given), 'Leave them out.')


def add_out(parser: argparse.ArgumentParser, content: str) -> None:
    """Add the option `--out`, a folder that has to be named.

    Args:
        parser (argparse.ArgumentParser): Of the command.
        content (str): What the folder is for.
    """
    parser.add_argument(
        '--out',
        required=True,
        metavar='DIR',
        type=Path,
        help=textwrap.fill(f'folder for {content} (required)', _HELP_WIDTH))


def add_texts(parser: argparse.ArgumentParser) -> None:
    """Add the option `--texts`, a validation set that has to be named."""
    parser.add_argument(
        '--texts',
        required=True,
        metavar='JSONL',
        help='the validation set, such as texts.jsonl (required)')


def add_work_dir(parser: argparse.ArgumentParser) -> None:
    """Add the argument `WORK_DIR`, a run of OpenCompass."""
    parser.add_argument(
        'work_dir',
        metavar='WORK_DIR',
        type=Path,
        help='time-stamped folder of the run (required)')


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option `--json`; its answer is for `print_json`."""
    parser.add_argument(
        '--json',
        action='store_true',
        help='print JSON and nothing else (default: a table)')


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """Add the option `--verbose`."""
    parser.add_argument(
        '--verbose',
        action='store_true',
        help='also say what the training noted, in terms of\n'
        'solvers and errors (default: no)')


def nan_to_none(record: Mapping[str, Any]) -> dict[str, Any]:
    """The same values with None in place of NaN, which JSON does not have.

    >>> nan_to_none({'mean': float('nan'), 'name': 'a'})
    {'mean': None, 'name': 'a'}
    """
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in record.items()
    }


def print_json(content: Any) -> None:
    """Print what another program is to read.

    Args:
        content (Any): Plain values; NaN is not among them.
    """
    print(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def check_folder(path: Path) -> None:
    """Refuse an `--out` that cannot be a folder, before a long computation.

    Args:
        path (Path): The folder to be, with or without its parents.

    Raises:
        InputError: There is a file in its place or in that of a parent, or
            nothing can be written there.
    """
    try:
        existing = next(p for p in (path, *path.parents) if p.exists())
        if not existing.is_dir():
            raise InputError(f'--out {path}', 'a folder or a new name',
                             f'the file {existing}', 'Choose another name.')
        TemporaryFile(dir=existing).close()
    except OSError as error:
        raise InputError(f'--out {path}', 'a folder that can be written to',
                         f'the error {error.strerror!r}',
                         'Choose another folder.') from error


def whole_number(text: str, least: int = 0) -> int:
    """Type of options that are whole numbers.

    Args:
        text (str): Decimal digits.
        least (int): The smallest number allowed.

    Raises:
        argparse.ArgumentTypeError: The text is no whole number, or below
            the least.

    >>> whole_number('3')
    3
    """
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(
            f'expected a whole number, {least} or more, found {text!r}')
    return int(text)


def positive(text: str) -> float:
    """Type of options that are positive numbers.

    Raises:
        argparse.ArgumentTypeError: The text is not a positive number.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float('inf'):
        raise argparse.ArgumentTypeError(
            f'expected a positive number, found {text!r}')
    return number


def named_text(text: str) -> tuple[str, str]:
    """Type of options such as `--licence NAME=TEXT`.

    Args:
        text (str): A name without `=`, and a text.

    Raises:
        argparse.ArgumentTypeError: The name or the text is missing.

    >>> named_text('gsm8k=exact_match')
    ('gsm8k', 'exact_match')
    """
    name, _, value = text.partition('=')
    if not name or not value:
        raise argparse.ArgumentTypeError(f'expected NAME=TEXT, found {text!r}')
    return name, value


def named_number(text: str) -> tuple[str, float]:
    """Type of options such as `--chance NAME=0.25`.

    Args:
        text (str): A name, which may itself contain `=`, and a number.

    Raises:
        argparse.ArgumentTypeError: The name or the number is missing.

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
