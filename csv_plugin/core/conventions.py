"""The error for bad input, and checks of names and texts."""
import os
import re
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from itertools import islice


class InputError(ValueError):
    """Bad input: where it is, what was expected and found, what to do.

    The message is one line of at most 1,000 printable characters.

    Args:
        where (str | PathLike): The file, argument or item at fault.
        expected (str): Description of acceptable input.
        found (str): The bad value.
        remedy (str): Advice, one sentence.

    >>> raise InputError('scores.csv, line 3', 'a fraction in 0..1', '54.3',
    ...                  'Divide percentages by 100.')
    Traceback (most recent call last):
    ...
    csv_plugin.core.conventions.InputError: scores.csv, line 3: expected a \
fraction in 0..1, found 54.3. Divide percentages by 100.
    """

    def __init__(self, where: str | os.PathLike[str], expected: str,
                 found: str, remedy: str) -> None:
        # The parts together have at most 950 characters. Each has at most 230,
        # but `found` gets what the others leave.
        most_in_all, most_in_part = 950, 230
        place = _line(os.fspath(where), most_in_part)
        expected = _line(expected, most_in_part)
        remedy = _line(remedy, most_in_part)
        n_others = len(place) + len(expected) + len(remedy)
        found = _line(found, most_in_all - n_others)
        super().__init__(f'{place}: expected {expected}, found {found}. '
                         f'{remedy}')


class PublicNames:
    """Objects whose tab completion offers no private names."""

    def __dir__(self) -> list[str]:
        names = []
        for name in super().__dir__():
            is_private = name[:1] == '_' and name[:2] != '__'
            if not is_private:
                names.append(name)
        return names


def _line(text: str, width: int) -> str:
    """The text in one line; its middle is left out if it is too long."""
    line = ''
    for letter in re.sub(r'\s', ' ', text):
        if not letter.isprintable():
            letter = letter.encode('unicode_escape').decode()
        line += letter
    if len(line) <= width:
        return line
    n_last = width // 3
    n_first = width - n_last - len(' ... ')
    return f'{line[:n_first]} ... {line[-n_last:]}'


def utf8_bytes(text: str, where: str = 'text') -> bytes:
    """Return the UTF-8 bytes of a text, which errors call `where`."""
    try:
        return text.encode('utf-8')
    except UnicodeEncodeError as error:
        raise InputError(
            where, 'text that UTF-8 can encode',
            f'the lone surrogate U+{ord(text[error.start]):04X} at '
            f'character {error.start}',
            'Repair the source of the text, or replace that character.'
        ) from None


def check_list(where: str, several: object) -> None:
    """Raise an `InputError` for a text or a path in place of a list."""
    if isinstance(several, (str, os.PathLike)):
        name = os.fspath(several)
        raise InputError(where, 'a list', repr(name),
                         f'Put it into a list: [{name!r}].')


def check_unique(where: str,
                 names: Iterable[str],
                 remedy: str = 'Rename or remove one of the two.') -> None:
    """Raise an `InputError` for names that occur twice or are no list."""
    check_list(where, names)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(where, 'every name once', f'{name!r} twice',
                             remedy)
        seen.add(name)


def nearest_names(missing: Iterable[str],
                  known: Iterable[str],
                  look: Callable[[str], str] = str.casefold) -> str:
    """Return a question on known names that are like missing ones, or ''.

    Names with the same `look` are the same for a reader. Names with other
    digits are other models or items, not misspelt ones.
    """
    by_look = {look(name): name for name in known}
    near = []
    # Three are named, and a search among many names takes long.
    for name in islice(missing, 3):
        digits = _digits(look(name))
        alike = [seen for seen in by_look if _digits(seen) == digits]
        for seen in get_close_matches(look(name), alike, n=1, cutoff=0.75):
            near.append(repr(by_look[seen]))
    return f'Did you mean {", ".join(near)}? ' if near else ''


def _digits(text: str) -> str:
    """The digits of a text, in their order."""
    return ''.join(filter(str.isdigit, text))


def check_choice(where: str,
                 name: str,
                 choices: Collection[str],
                 remedy: str = 'Choose one of these.') -> None:
    """Raise an `InputError` for a name that is not among the choices."""
    if name not in choices:
        raise InputError(where, f'one of {", ".join(choices)}', repr(name),
                         nearest_names([name], choices) + remedy)


def check_known(where: str,
                names: Iterable[str],
                known: Collection[str],
                remedy: str = 'Collect its losses or leave it out.') -> None:
    """Raise an `InputError` for a model that is not in `known`.

    The message calls what `known` has `where`, such as 'families'.
    """
    check_list('models', names)
    for name in names:
        if name not in known:
            raise InputError(where, f'{where} of every model',
                             f'none of {name!r}',
                             nearest_names([name], known) + remedy)
