"""Objects in JSON files, and typed access to their fields."""
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, read_lines
from csv_plugin.io.json_files import read_json

_Type = TypeVar('_Type')
_NAMES = {str: 'a text', int: 'a whole number', dict: 'an object',
          list: 'a list'}  # yapf: disable


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value from JSON is a number that a float can be."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


@dataclass(frozen=True)
class JsonPart:
    """An object in a file, where it is, and the remedy for a wrong field.

    All methods raise `InputError` if the field is missing or of another type.
    """
    where: str
    fields: dict[str, Any]
    remedy: str

    @classmethod
    def of(cls, where: str, value: Any, remedy: str) -> 'JsonPart':
        """Return a value as an object."""
        if not isinstance(value, dict):
            raise InputError(where, 'a JSON object', repr(value)[:80], remedy)
        return cls(where, value, remedy)

    def get(self, name: str, kind: type[_Type]) -> _Type:
        """Return a field of a type."""
        value = self.fields.get(name)
        # A truth value is a number to Python.
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
        return [
            JsonPart.of(f'{self.where}, {name} {i}', value, self.remedy)
            for i, value in enumerate(self.get(name, list))
        ]

    def error(self, name: str, expected: str) -> InputError:
        """Return the error to raise for a field that cannot be used."""
        found = repr(self.fields[name]) if name in self.fields else 'none'
        return InputError(self.where, f'{expected} as {name!r}', found[:200],
                          self.remedy)


def inside(value: Any, *names: str) -> Any:
    """Return a field of objects inside each other; None if one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def read_json_part(path: FilePath, remedy: str) -> JsonPart:
    """Return the object in a JSON file; its numbers may be of any size."""
    return JsonPart.of(
        os.fspath(path), read_json(path, remedy, finite=False), remedy)


def read_json_rows(path: FilePath, remedy: str) -> Iterator[JsonPart]:
    """Yield the objects of a file with one a line; blank lines are skipped.

    Numbers may be of any size, and keys may occur twice: `parse_json`, which
    is strict, takes five times as long. One line is held at a time.
    """
    file, where = os.fspath(path), ''
    for number, line in enumerate(read_lines(path), start=1):
        if line.isspace():
            continue
        where = f'{file}, line {number}'
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(where, 'JSON in UTF-8', str(error),
                             remedy) from None
        yield JsonPart.of(where, value, remedy)
    if not where:
        raise InputError(file, 'a JSON object a line', 'an empty file', remedy)
