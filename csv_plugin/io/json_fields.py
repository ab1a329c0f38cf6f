"""Named fields of JSON, checked before they are used."""
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from csv_plugin.core.conventions import InputError


def check_fields(where: str, part: str, values: Any, fields: Mapping[str, str],
                 remedy: str) -> None:
    """Refuse an object without these fields, or with others in their place.

    Args:
        where (str): The file, for errors.
        part (str): What the object is called in it.
        values (Any): What JSON held.
        fields (Mapping[str, str]): Kind of each field, a key of `_KINDS`.
        remedy (str): What to do.

    Raises:
        InputError: It is no object, or a field is missing or of another
            kind.
    """
    if not isinstance(values, dict):
        raise InputError(where, f'{part} with named fields',
                         repr(values)[:80], remedy)
    for name, kind in fields.items():
        if name not in values:
            raise InputError(where, f'{name!r} in {part}', 'none', remedy)
        if not _KINDS[kind](values[name]):
            raise InputError(where, f'{kind} as {name!r} in {part}',
                             repr(values[name])[:80], remedy)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -math.inf < value < math.inf


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


#: Kinds of JSON values.
_KINDS: dict[str, Callable[[Any], bool]] = {
    'a text': lambda v: isinstance(v, str),
    'a number': _is_number,
    'a number or null': lambda v: v is None or _is_number(v),
    'a count': lambda v: type(v) is int and v >= 0,
    'a list': lambda v: isinstance(v, list),
    'a list of texts': lambda v: isinstance(v, list) and _are_texts(v),
    'pairs of texts': lambda v: isinstance(v, list) and all(
        isinstance(p, list) and len(p) == 2 and _are_texts(p) for p in v),
    'texts by name': lambda v: isinstance(v, dict) and _are_texts(v.values()),
}  # yapf: disable
