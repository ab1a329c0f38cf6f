"""JSON from outside, read strictly: one meaning, or an error in one line."""
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, read_bytes

#: Whole numbers beyond it have no 64-bit form.
_MAX_INT = 2**63 - 1


def parse_json(text: str | bytes,
               where: str,
               remedy: str,
               finite: bool = True) -> Any:
    """Return the value of a JSON text that has one meaning.

    Bytes are UTF-8, with or without a byte order mark. With `finite`, NaN,
    infinite numbers, and whole numbers of more than 64 bits are refused.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode('utf-8-sig')
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant if finite else None,
            parse_int=_whole if finite else None,
            parse_float=_real if finite else None)
        if '\\u' in text:
            # An escape such as \ud800 gives half a character.
            json.dumps(value, ensure_ascii=False).encode('utf-8')
    except RecursionError:
        # The error of Python is of no use, and its traceback is long.
        raise InputError(where, 'JSON in UTF-8', 'too many levels of lists '
                         'and objects', remedy) from None
    except ValueError as error:
        raise InputError(where, 'JSON in UTF-8', str(error), remedy) from error
    return value


def read_json(path: FilePath, remedy: str, finite: bool = True) -> Any:
    """Return the value in a JSON file, as `parse_json` does."""
    return parse_json(read_bytes(path), os.fspath(path), remedy, finite)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f'the key {key[:80]!r} twice')
        content[key] = value
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f'the number {name}')


def _whole(digits: str) -> int:
    number = int(digits)
    if abs(number) > _MAX_INT:
        raise ValueError('a whole number too large for 64 bits')
    return number


def _real(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError('a number too large for 64 bits')
    return number


def check_fields(where: str, part: str, values: Any, fields: Mapping[str, str],
                 remedy: str) -> None:
    """Check that a JSON object has fields of the right types.

    `part` is the name of the object in errors; `fields` has the type of each
    field that it must have, a key of `_CHECKS`.

    Raises:
        InputError: The value is not an object, or a field is missing or of
            another type.
    """
    if not isinstance(values, dict):
        raise InputError(where, f'{part} with named fields',
                         repr(values)[:80], remedy)
    for name, expected in fields.items():
        if name not in values or not _CHECKS[expected](values[name]):
            found = repr(values[name])[:80] if name in values else 'none'
            raise InputError(where, f'{expected} as {name!r} in {part}', found,
                             remedy)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -math.inf < value < math.inf


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


#: For each type of a JSON value, whether a value has it.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    'a text': lambda v: isinstance(v, str),
    'true or false': lambda v: isinstance(v, bool),
    'a number': _is_number,
    'a number or null': lambda v: v is None or _is_number(v),
    'a count': lambda v: type(v) is int and v >= 0,
    'a list': lambda v: isinstance(v, list),
    'an object': lambda v: isinstance(v, dict),
    'an object or null': lambda v: v is None or isinstance(v, dict),
    'a list of texts': lambda v: isinstance(v, list) and _are_texts(v),
    'pairs of texts': lambda v: isinstance(v, list) and all(
        isinstance(p, list) and len(p) == 2 and _are_texts(p) for p in v),
    'texts by name': lambda v: isinstance(v, dict) and _are_texts(v.values()),
}  # yapf: disable
