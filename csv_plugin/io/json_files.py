"""Read JSON of unknown origin, and check the types of its fields."""
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard, TypeVar

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, read_bytes, read_lines, write_text

#: Largest absolute value of a number that is accepted, so that sums and
#: products of such numbers are finite.
LARGEST = 1e60
_Type = TypeVar('_Type')
_NAMES = {
    str: 'a text',
    int: 'a whole number',
    dict: 'an object',
    list: 'a list',
}


def parse_json(text: str | bytes,
               where: FilePath,
               remedy: str,
               finite: bool = True) -> Any:
    """Return the value of a JSON text.

    Bytes are UTF-8, with or without a byte order mark. `where` and `remedy`
    are for errors. With `finite`, NaN and Infinity are refused, which are not
    JSON but which some programs write.

    Raises:
        InputError: It is not such a text, or contains a lone surrogate.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode('utf-8-sig')
        value = json.loads(text, parse_constant=_refuse if finite else None)
        if '\\u' in text:
            # An escape such as \ud800 gives a lone surrogate, which is half
            # of a character and cannot be encoded.
            json.dumps(value, ensure_ascii=False).encode('utf-8')
    except (ValueError, RecursionError) as error:
        raise InputError(where, 'JSON in UTF-8', str(error), remedy) from None
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f'the number {constant}')


def read_json(path: FilePath, remedy: str) -> Any:
    """Return the value in a JSON file, as `parse_json` does."""
    return parse_json(read_bytes(path), path, remedy)


def write_json(path: FilePath, content: Any) -> None:
    """Write a value as JSON; the file appears completely or not at all."""
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_text(path, f'{text}\n')


def check_fields(where: FilePath, part: str, values: Any,
                 fields: Mapping[str, str], remedy: str) -> None:
    """Check that a JSON object has fields of the right types.

    `part` is the name of the object in errors. `fields` has the type of each
    field, one of the keys of `_CHECKS`, such as 'a text'.
    """
    if not isinstance(values, dict):
        raise InputError(where, f'{part} with named fields',
                         repr(values)[:80], remedy)
    for name, expected in fields.items():
        if name not in values or not _CHECKS[expected](values[name]):
            found = repr(values[name])[:80] if name in values else 'none'
            raise InputError(where, f'{expected} as {name!r} in {part}', found,
                             remedy)


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a finite number in the range of a float."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_moderate(value: Any) -> bool:
    return is_number(value) and abs(value) <= LARGEST


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and _are_texts(value)


#: Functions that tell whether a JSON value has a type, by the type's name.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    'a text': lambda v: isinstance(v, str),
    'true or false': lambda v: isinstance(v, bool),
    'a number': _is_moderate,
    'a number or null': lambda v: v is None or _is_moderate(v),
    'a count': lambda v: type(v) is int and 0 <= v < 2**53,
    'a list': lambda v: isinstance(v, list),
    'a list of texts': lambda v: isinstance(v, list) and _are_texts(v),
    'pairs of texts': lambda v: isinstance(v, list) and all(map(_is_pair, v)),
    'values by name': lambda v: isinstance(v, dict),
    'texts by name': lambda v: isinstance(v, dict) and _are_texts(v.values()),
}  # yapf: disable


class JsonPart(NamedTuple):
    """A JSON object of a file, with checked access to its fields.

    `where` says in errors where the object is, and `remedy` what to do about a
    wrong field. All methods raise `InputError` if the field is missing or of
    another type.
    """
    where: str
    fields: dict[str, Any]
    remedy: str

    @classmethod
    def of(cls, where: str, value: Any, remedy: str) -> 'JsonPart':
        """Return a value as a `JsonPart`; it must be an object."""
        if not isinstance(value, dict):
            raise InputError(where, 'a JSON object', repr(value)[:80], remedy)
        return cls(where, value, remedy)

    def get(self, name: str, kind: type[_Type]) -> _Type:
        """Return the value of a field, which must be of type `kind`."""
        value = self.fields.get(name)
        # In Python, bool is a subclass of int.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(name, _NAMES[kind])
        return value

    def number(self, name: str) -> float:
        """Return the finite number in a field."""
        value = self.fields.get(name)
        if not is_number(value):
            raise self.error(name, 'a finite number')
        return value

    def part(self, name: str) -> 'JsonPart':
        """Return the object in a field."""
        return JsonPart(f'{self.where}, {name}', self.get(name, dict),
                        self.remedy)

    def parts(self, name: str) -> list['JsonPart']:
        """Return the objects of the list in a field."""
        parts = []
        for i, value in enumerate(self.get(name, list)):
            where = f'{self.where}, {name} {i}'
            parts.append(JsonPart.of(where, value, self.remedy))
        return parts

    def error(self, name: str, expected: str) -> InputError:
        """Return the error to raise for a field that cannot be used."""
        found = repr(self.fields[name]) if name in self.fields else 'none'
        return InputError(self.where, f'{expected} as {name!r}', found[:200],
                          self.remedy)


def inside(value: Any, *names: str) -> Any:
    """Return the field of nested objects that a path of names leads to.

    The result is None if one of the names is missing.
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def read_json_part(path: FilePath, remedy: str) -> JsonPart:
    """Return the object in a JSON file, which may contain NaN."""
    where = os.fspath(path)
    value = parse_json(read_bytes(path), where, remedy, finite=False)
    return JsonPart.of(where, value, remedy)


def read_json_rows(path: FilePath, remedy: str) -> Iterator[JsonPart]:
    """Yield the objects of a file with one JSON object per line.

    Blank lines are skipped. Objects may contain NaN. Only one line at a time
    is held in memory.
    """
    file = os.fspath(path)
    where = ''
    for number, line in enumerate(read_lines(path), start=1):
        if not line.isspace():
            where = f'{file}, line {number}'
            value = parse_json(line, where, remedy, finite=False)
            yield JsonPart.of(where, value, remedy)
    if not where:
        raise InputError(file, 'a JSON object per line', 'an empty file',
                         remedy)
