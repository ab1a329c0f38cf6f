"""Help the verbs to parse arguments, report errors and end their output."""
import argparse
import json
import os
import select
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import wraps
from itertools import takewhile
from pathlib import Path
from pty import STDOUT_FILENO
from tempfile import TemporaryFile
from typing import Any, Optional

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.escaping import one_line
from csv_plugin.io.files import FilePath, check_is_folder, sole_writer

#: Exit code that shells report if the signal SIGPIPE ends a program.
UNREAD = 128 + signal.SIGPIPE


class Parser(argparse.ArgumentParser):
    """A parser that suggests the right spelling of options and choices.

    An option with a value may be given only once, unless `add_argument` got
    another `action`.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.register('action', None, _Once)
        self.given: set[argparse.Action] = set()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, after refusing misspelt `--options`.

        The error suggests the right spelling. Arguments after `--` are not
        checked.
        """
        options = []
        for option in self._option_string_actions:
            if option.startswith('--'):
                options.append(option)
        arguments = [] if self._subparsers else args or []
        for argument in takewhile('--'.__ne__, arguments):
            name, _, _ = argument.partition('=')
            is_option = name.startswith('--')
            if is_option and not any(o.startswith(name) for o in options):
                close = get_close_matches(name, options, 1)
                if close:
                    self.error(f'{name} is unknown; did you mean {close[0]}?')
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            close = get_close_matches(str(value), action.choices or (), 1)
            if close:
                error.message = (
                    f'{value!r} is unknown; did you mean {close[0]}?')
            raise


class _Once(argparse.Action):
    """Action of an option that may be given only once.

    If the option takes several values, they must differ.
    """

    def __call__(self,
                 parser: argparse.ArgumentParser,
                 namespace: argparse.Namespace,
                 values: Any,
                 option: Optional[str] = None) -> None:
        assert isinstance(parser, Parser)
        if option and self in parser.given:
            raise argparse.ArgumentError(self, 'the option is given twice')
        parser.given.add(self)
        names: list[str] = []
        for part in values if isinstance(values, list) else ():
            # Of a pair such as ('name', 0.25), only the name must differ.
            name = part[0] if isinstance(part, tuple) else part
            names.append(os.path.normpath(str(name)))
        for name in names:
            if names.count(name) > 1:
                raise argparse.ArgumentError(self, f'{name} is given twice')
        setattr(namespace, self.dest, values)


def exit_code(run: Callable[..., Optional[int]], *arguments: Any) -> int:
    """Run a command, and return the exit code of the process.

    The exit code is what `run` returns, or 0 for None. It is 2 after an
    `InputError` or an `OSError`, and `UNREAD` if the program that reads the
    output, such as `head`, has ended. Errors and warnings are printed in one
    line each.
    """
    usual = warnings.formatwarning
    warnings.formatwarning = _warning_line
    try:
        code = run(*arguments)
        sys.stdout.flush()
        return code or 0
    except (InputError, OSError) as error:
        if _is_unread():
            # At exit, Python would fail to write what is left of the output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT_FILENO)
            if isinstance(error, BrokenPipeError):
                return UNREAD
        with suppress(BrokenPipeError):
            print(f'error: {error}', file=sys.stderr)
        return 2
    finally:
        warnings.formatwarning = usual


def _is_unread() -> bool:
    """Return whether standard output is a pipe without a reader."""
    poll = select.poll()
    poll.register(STDOUT_FILENO, 0)
    return bool(poll.poll(0))


def _warning_line(message: Warning | str, *_: Any, **__: Any) -> str:
    """Format a warning without the line of code that raised it."""
    return f'warning: {one_line(str(message))}\n'


def refuse(args: argparse.Namespace, where: str, *names: str) -> None:
    """Raise an `InputError` if options are given that would be ignored.

    `names` are the names of the options as attributes of `args`, with `_` for
    `-`. `where` begins the error, such as the option that they cannot be
    combined with.
    """
    options = []
    given = []
    for name in names:
        hyphenated = name.replace('_', '-')
        option = f'--{hyphenated}'
        options.append(option)
        value = getattr(args, name)
        # An option that is not given has an empty value or NaN.
        if value and value == value:
            given.append(option)
    if given:
        raise InputError(where, f'none of {", ".join(options)} beside it',
                         ', '.join(given), 'Leave them out.')


def metrics_by_task(names: Sequence[str]) -> dict[str, str]:
    """Return the metric of each task of `--tasks NAME[=METRIC]`.

    The metric is '' if the option does not name one.

    >>> metrics_by_task(['sums=exact_match,strict-match', 'arc*'])
    {'sums': 'exact_match,strict-match', 'arc*': ''}
    """
    tasks = []
    metrics = []
    for name in names:
        task, _, metric = name.partition('=')
        tasks.append(task)
        metrics.append(metric)
    check_unique('--tasks', tasks)
    return dict(zip(tasks, metrics))


def check_folder(path: Path) -> None:
    """Raise an error if a folder cannot be made or written to."""
    existing = path
    while not existing.exists():
        existing = existing.parent
    check_is_folder(existing, 'room for what is written')
    TemporaryFile(dir=existing).close()


def into_folder(
    run: Callable[[argparse.Namespace], None]
) -> Callable[[argparse.Namespace], None]:
    """Wrap the `run` of a verb so that no other call writes into `--out`.

    The folder is checked before `run` is called. While `run` works, other
    calls that write into the folder are refused. Without `--out`, nothing is
    checked.
    """

    @wraps(run)
    def alone(args: argparse.Namespace) -> None:
        if args.out is None:
            return run(args)
        check_folder(args.out)
        with sole_writer(args.out):
            run(args)

    return alone


def print_end(path: FilePath, *command: FilePath) -> None:
    """Print where files were written, and a command to type next, if given."""
    from csv_plugin.report.screen import shown_path
    print(f'\nWritten to {shown_path(path)}.')
    if command:
        print_next(*command)


def print_next(*command: FilePath) -> None:
    """Print a command to type next; its `Path`s are shown in a short form."""
    from csv_plugin.report.screen import next_command_line
    print(next_command_line(*command), flush=True)


def print_json(content: Any) -> None:
    """Print a value as JSON, which has no NaN, for another program."""
    print(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def print_warnings(lines: Sequence[str]) -> None:
    """Print warnings at once, so that they are seen during a computation."""
    for line in lines:
        print(f'warning: {one_line(line)}', flush=True)
