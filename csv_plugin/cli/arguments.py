"""Options and exit codes that the commands share."""
import argparse
import json
import math
import os
import select
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import wraps
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import one_line
from csv_plugin.io.files import FilePath, sole_writer

#: Exit code of a program that the signal SIGPIPE ends, as shells have it.
UNREAD = 128 + 13


class Parser(argparse.ArgumentParser):
    """A parser that suggests a choice or an option for a misspelt one.

    An option with a value is given once, unless its action says otherwise.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.register('action', None, _Once)
        self.given: set[argparse.Action] = set()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse words, of which none was given before."""
        self.given = set()
        if self._subparsers is None:
            self._refuse_misspelt(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def _refuse_misspelt(self, words: Sequence[str]) -> None:
        options = [o for o in self._option_string_actions if o[:2] == '--']
        for word in takewhile('--'.__ne__, words):
            name = word.partition('=')[0]
            if (name[:2] == '--'
                    and not any(o.startswith(name) for o in options)
                    and (close := get_close_matches(name, options, 1))):
                self.error(f'{name} is unknown; did you mean {close[0]}?')

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            if close := get_close_matches(str(value), action.choices or (), 1):
                error.message = (
                    f'{value!r} is unknown; did you mean {close[0]}?')
            raise


class _Once(argparse.Action):
    """A value, or a list, that is given once."""

    def __call__(self,
                 parser: argparse.ArgumentParser,
                 namespace: argparse.Namespace,
                 values: Any,
                 option: Optional[str] = None) -> None:
        given: set[argparse.Action] = getattr(parser, 'given', set())
        if option and self in given:
            raise argparse.ArgumentError(self, 'the option is given twice')
        given.add(self)
        setattr(namespace, self.dest, values)


class _Several(_Once):
    """Several values, of which none is given twice."""

    def __call__(self,
                 parser: argparse.ArgumentParser,
                 namespace: argparse.Namespace,
                 values: Any,
                 option: Optional[str] = None) -> None:
        # Pairs begin with their names.
        names = [v[0] if isinstance(v, tuple) else v for v in values]
        seen = [os.path.normpath(str(name)) for name in names]
        if twice := [value for value in seen if seen.count(value) > 1]:
            raise argparse.ArgumentError(self, f'{twice[0]} is given twice')
        super().__call__(parser, namespace, values, option)


def exit_code(run: Callable[..., Optional[int]], *arguments: Any) -> int:
    """Run a command; bad input and warnings become lines on the screen.

    Returns its own exit code or 0, 2 after an `InputError` or an `OSError`, or
    `UNREAD` if nobody reads what is printed any more, as behind `| head`.
    """
    usual = warnings.formatwarning
    warnings.formatwarning = _warning_line
    try:
        code = run(*arguments)
        print(end='', flush=True)
    except (InputError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _is_unread():
            return UNREAD
        with suppress(BrokenPipeError):
            print(f'error: {error}', file=sys.stderr)
        return 2
    finally:
        warnings.formatwarning = usual
        _forget_unread()
    return code or 0


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
            pass  # Such as a full disk, which Python reports at its end.


def _warning_line(message: Warning | str,
                  category: type[Warning],
                  filename: str,
                  lineno: int,
                  line: Optional[str] = None) -> str:
    """A warning without the line of code that gave it."""
    return f'warning: {one_line(str(message))}\n'


def add_option(group: Any,
               name: str | Sequence[str],
               metavar: str,
               text: str,
               kind: Callable[[str], Any] = str,
               default: Any = None,
               **settings: Any) -> None:
    """Add an option or a positional argument, of a name or of several.

    `text` says what holds without it. Settings are others of `add_argument`.
    """
    group.add_argument(
        *([name] if isinstance(name, str) else name),
        metavar=metavar,
        help=text,
        type=kind,
        default=default,
        **settings)


def add_required(group: Any,
                 name: str,
                 metavar: str,
                 text: str,
                 kind: Callable[[str], Any] = str,
                 **settings: Any) -> None:
    """Add an option that has to be given."""
    add_option(
        group,
        name,
        metavar,
        f'{text} (required)',
        kind,
        required=True,
        **settings)


def add_several(group: Any,
                name: str | Sequence[str],
                metavar: str,
                text: str,
                kind: Callable[[str], Any] = str,
                default: Any = None,
                nargs: str = '+',
                **settings: Any) -> None:
    """Add an option, or a positional argument, that takes several values."""
    add_option(
        group, name, metavar, text, kind, default, nargs=nargs,
        action=_Several, **settings)  # yapf: disable


def add_flag(group: Any, name: str, text: str) -> None:
    """Add an option that takes no value."""
    group.add_argument(name, action='store_true', help=text)


def add_out(parser: argparse.ArgumentParser, content: str) -> None:
    """Add the option `--out`, a folder that has to be named."""
    add_required(parser, '--out', 'DIR', f'folder for {content}', Path)


def add_work_dir(parser: argparse.ArgumentParser) -> None:
    """Add the argument `WORK_DIR`, a run of OpenCompass."""
    add_option(parser, 'work_dir', 'WORK_DIR',
               'time-stamped folder of the run (required)', Path)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option `--json`; its answer is for `print_json`."""
    add_flag(parser, '--json',
             'print JSON and nothing else (default: a table)')


def add_wide(parser: argparse.ArgumentParser) -> None:
    """Add the option `--wide`, for tables in the terminal."""
    add_flag(
        parser, '--wide', 'print tables with all their columns side by side '
        '(default: what fits into 100 columns)')


def add_loading(group: Any, model: str, required: str = '') -> None:
    """Add `--tokenizer` and `--trust-remote-code`, of a kind of model.

    `required` says where a tokenizer has to be given.
    """
    add_option(
        group, '--tokenizer', 'PATH', 'tokenizer, a folder or a name on the '
        f'hub (default: that in the folder of the {model}{required})')
    add_flag(group, '--trust-remote-code',
             f'run code that comes with the {model} (default: no)')


def add_predictor(parser: argparse.ArgumentParser, text: str,
                  **settings: Any) -> None:
    """Add the option `--predictor`, a pair of a label and a file."""
    add_required(parser, '--predictor', '[LABEL=]FILE', text, predictor_file,
                 **settings)


def predictor_file(text: str) -> tuple[str, str]:
    """Type of the option `--predictor [LABEL=]FILE`.

    >>> predictor_file('salience=p.safetensors')
    ('salience', 'p.safetensors')
    >>> predictor_file('p.safetensors')
    ('predicted', 'p.safetensors')
    """
    # They load numpy, which the help of the command does without.
    from csv_plugin.core.predictions import PREDICTED
    from csv_plugin.io.model_paths import named_path
    label, path = named_path(text)
    return label or PREDICTED, path


def refuse(args: argparse.Namespace, where: str, *names: str) -> None:
    """Raise an `InputError` if options are given that would be ignored.

    `where` is the option beside which they are. Names have `_` for `-`.
    """
    options = {name: f'--{name.replace("_", "-")}' for name in names}
    given = [
        options[name] for name in names if getattr(args, name) is not None
    ]
    if given:
        raise InputError(where, f'none of {", ".join(options.values())} '
                         'beside it', ', '.join(given), 'Leave them out.')


def check_splits(args: argparse.Namespace, remedy: str) -> None:
    """Refuse splits that are both to fit to and to predict."""
    in_both = set(args.fit or ()) & set(args.predict)
    if in_both:
        raise InputError('--fit and --predict', 'different splits',
                         f'{" and ".join(sorted(in_both))} in both', remedy)


def save_picture(name: str, data: Any, path: Path) -> list[str]:
    """Draw a picture of `extras.pictures`; a note without matplotlib."""
    try:
        from csv_plugin.extras import pictures
        pictures.save(getattr(pictures, name)(data), path)
    except ModuleNotFoundError as error:
        if str(error.name).partition('.')[0] != 'matplotlib':
            raise
        return ['No picture: matplotlib is not installed.']
    return []


def print_end(written_to: Sequence[FilePath], *command: FilePath) -> None:
    """Print what was written, and the command to type next.

    Without files or words there is no such line. A `Path` among the words is
    shown relative to the working folder.
    """
    from csv_plugin.report.screen import shown_path, written
    if written_to:
        print(f'\n{written(written_to)}')
    if command:
        words = (
            shown_path(word) if isinstance(word, Path) else os.fspath(word)
            for word in command)
        print(f'Next: {shlex.join(words)}', flush=True)


def print_json(content: Any) -> None:
    """Print plain values, without NaN, for another program."""
    print(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def check_folder(path: Path) -> None:
    """Raise an `InputError` for an `--out` that cannot be a folder.

    There is a file in its place or in that of a parent, or nothing can be
    written there.
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


def into_folder(
    run: Callable[[argparse.Namespace], None]
) -> Callable[[argparse.Namespace], None]:
    """Check `--out`, if given, and let no other call write there meanwhile."""

    @wraps(run)
    def alone(args: argparse.Namespace) -> None:
        if args.out is None:
            return run(args)
        check_folder(args.out)
        with sole_writer(args.out):
            run(args)

    return alone


def whole_number(text: str, least: int = 0) -> int:
    """Type of options that are whole numbers, the least allowed or more."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(
            f'expected a whole number, {least} or more, found {text!r}')
    return int(text)


def positive(text: str) -> float:
    """Type of options that are positive numbers."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float('inf'):
        raise argparse.ArgumentTypeError(
            f'expected a positive number, found {text!r}')
    return number


def named_number(text: str) -> tuple[str, float]:
    """Type of options such as `--chance NAME=0.25`.

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
