"""JSON from outside, read strictly: one meaning, or an error in one line."""
import json
import math
import os
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, read_bytes

#: Levels of lists and objects inside each other.
_MAX_DEPTH = 50
_TOO_DEEP = f'more than {_MAX_DEPTH} levels of lists and objects'
#: Whole numbers beyond it have no 64-bit form.
_MAX_INT = 2**63 - 1


def parse_json(text: str | bytes, where: str, remedy: str) -> Any:
    """The value of a JSON text that has one meaning.

    Args:
        text (str | bytes): The text; bytes are UTF-8, with or without a byte
            order mark.
        where (str): The file, and perhaps the line, for errors.
        remedy (str): What the user can do, for errors.

    Returns:
        Any: Texts that UTF-8 can encode, finite numbers, whole numbers of at
        most 64 bits, lists and dicts, none of them nested more than 50 deep.

    Raises:
        InputError: The text is not JSON or not such a value, or an object
            has a key twice.

    >>> parse_json('{"a": 1, "a": 2}', 'a.json', 'Repair it.')
    Traceback (most recent call last):
    ...
    csv_plugin.core.conventions.InputError: a.json: expected JSON in \
UTF-8, found the key 'a' twice. Repair it.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode('utf-8-sig')
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse_constant)
        _check(value)
    except RecursionError:
        # The error of Python is of no use, and its traceback is long.
        raise InputError(where, 'JSON in UTF-8', _TOO_DEEP, remedy) from None
    except ValueError as error:
        raise InputError(where, 'JSON in UTF-8', str(error), remedy) from error
    return value


def read_json(path: FilePath, remedy: str) -> Any:
    """The value in a JSON file, as in `parse_json`.

    Args:
        path (FilePath): The file.
        remedy (str): What the user can do, for errors.

    Raises:
        InputError: The file cannot be read, or as in `parse_json`.
    """
    return parse_json(read_bytes(path), os.fspath(path), remedy)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f'the key {key[:80]!r} twice')
        content[key] = value
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f'the number {name}')


def _check(value: Any) -> None:
    """Refuse values that others cannot hold, write or walk through."""
    level = [value]
    for _ in range(_MAX_DEPTH + 1):
        inner: list[Any] = []
        for part in level:
            if isinstance(part, str):
                _check_text(part)
            elif isinstance(part, float) and not math.isfinite(part):
                raise ValueError('a number too large for 64 bits')
            elif isinstance(part, int) and abs(part) > _MAX_INT:
                raise ValueError('a whole number too large for 64 bits')
            elif isinstance(part, list):
                inner += part
            elif isinstance(part, dict):
                inner += part
                inner += part.values()
        level = inner
    if level:
        raise ValueError(_TOO_DEEP)


def _check_text(text: str) -> None:
    """Refuse half characters, which escapes such as `\\ud800` give."""
    try:
        text.encode('utf-8')
    except UnicodeEncodeError as error:
        half = ord(text[error.start])
        raise ValueError(f'half a character, U+{half:04X}') from error
