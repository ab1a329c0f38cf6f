"""Format numbers and names, and represent records in a short text."""
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields
from textwrap import shorten
from typing import Any, TypeVar

_Key = TypeVar('_Key', bound=Hashable)

#: Stands for an interval that contains every accuracy from chance to 100 %.
ANY = 'any'


def percent(fraction: float) -> float:
    """Return a fraction in percent, to 15 significant digits.

    So a percentage that was divided by 100 before is restored exactly.
    """
    return float(f'{100 * fraction:.15g}')


def interval(low: float, high: float, chance: float = 0.0) -> str:
    """Return an interval as text in percent, such as '24-46'.

    `low`, `high` and `chance` are fractions. The lower limit is rounded down
    and the upper limit up. The text is `ANY` if the interval contains every
    accuracy from the chance level to 100 %, and '?' if `low` is NaN.

    >>> interval(0.245, 0.453), interval(0.2, 1, chance=0.25), interval(0.2, 1)
    ('24-46', 'any', '20-100')
    """
    if math.isnan(low):
        return '?'
    first = math.floor(percent(low))
    last = math.ceil(percent(high))
    if first <= percent(chance) and last == 100:
        return ANY
    return f'{first}-{last}'


def predicted_cell(value: float,
                   low: float,
                   high: float,
                   chance: float = 0.0,
                   marks: str = '') -> str:
    """Return a prediction in percent, such as '61.2 (43-79)*'.

    The interval is in parentheses, followed by `marks`. The text is '-' if the
    value is NaN.
    """
    if math.isnan(value):
        return '-'
    limits = interval(low, high, chance)
    return f'{100 * value:.1f} ({limits}){marks}'


def possible_ranks(first: float, last: float) -> str:
    """Return a range of ranks, such as '2-4' or '1'; '-' for NaN."""
    if math.isnan(first):
        return '-'
    if first < last:
        return f'{first:.0f}-{last:.0f}'
    return f'{first:.0f}'


def number(value: float, digits: str = '.1f') -> str:
    """Format a number by the Python format `digits`; return '-' for NaN."""
    if math.isnan(value):
        return '-'
    return f'{value:{digits}}'


def or_none(value: float, kind: type = float) -> Any:
    """Convert a number to a plain Python number; return None for NaN.

    `kind` is the type of the result, float or int.
    """
    if math.isnan(value):
        return None
    return kind(value)


def short_count(number: float) -> str:
    """Return a count to three digits, with k, M, B or T for its magnitude.

    >>> [short_count(n) for n in (0, 500, 1000, 1.5e6, 5.34774e9, 9.999e11)]
    ['0', '500', '1k', '1.5M', '5.35B', '1T']
    """
    rounded = float(f'{number:.3g}')
    for size, letter in ((1e12, 'T'), (1e9, 'B'), (1e6, 'M'), (1e3, 'k')):
        if rounded >= size:
            return f'{rounded / size:g}{letter}'
    return f'{rounded:g}'


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the right form: '1 run', '2 runs'."""
    plural = '' if number == 1 else 's'
    return f'{number} {noun}{plural}'


def grouped(pairs: Iterable[tuple[_Key, str]]) -> dict[_Key, list[str]]:
    """Return the names that are paired with each key.

    Keys are in the order of their first occurrence.
    """
    names: dict[_Key, list[str]] = {}
    for key, name in pairs:
        names.setdefault(key, []).append(name)
    return names


def all_or_first_names(names: Sequence[str], everything: Sequence[str],
                       kind: str) -> str:
    """Return names in a line, or 'all 5 models' if no name is missing.

    `everything` are all names of this kind, such as 'models'.
    """
    if len(names) == len(everything) > 1:
        return f'all {len(everything)} {kind}'
    return first_names(names)


def first_names(names: Sequence[str], most: int = 8) -> str:
    """Return the first names in a line, and the number of further names."""
    line = ', '.join(names[:most])
    n_more = len(names) - most
    if n_more > 0:
        line += f' and {n_more} more'
    return line


def labelled(methods: Sequence[str], everything: Sequence[str],
             note: str) -> str:
    """Return a note that begins with the methods that it is about.

    They are left out if there is no other method in `everything`.

    >>> labelled(['a'], ['a', 'b'], 'nothing is known.')
    'a: nothing is known.'
    >>> labelled(['a'], ['a'], 'nothing is known.')
    'Nothing is known.'
    """
    if len(everything) == 1:
        return note[:1].upper() + note[1:]
    return f'{", ".join(methods)}: {note}'


def shortened(text: str, width: int) -> str:
    """Shorten a text to at most `width` characters.

    The last words of a text that is too long are replaced by 'and more'.

    >>> shortened('arc, mmlu, piqa, sciq', 20)
    'arc, mmlu, and more'
    """
    return shorten(
        text, width, break_on_hyphens=False, placeholder=' and more')


def short_repr(record: Any) -> str:
    """Return a short `__repr__` of a dataclass instance.

    Arrays are shown by their shape. Of values that are too long, only the type
    and, if it has one, the length is shown, or the beginning of a text.
    """
    parts = []
    for part in fields(record):
        value = getattr(record, part.name)
        text = repr(value)
        shape = getattr(value, 'shape', ())
        if shape:
            text = f'array of shape {shape}'
        # Longer values, and more of a text, are not shown.
        most = 40
        if len(text) > most and isinstance(value, str):
            text = repr(f'{value[:most - 10]}...')
        elif len(text) > most:
            text = type(value).__name__
            if hasattr(value, '__len__'):
                text += f' of length {len(value)}'
        parts.append(f'{part.name}={text}')
    return f'{type(record).__name__}({", ".join(parts)})'
