"""Files with an object a line or a row, and typed access to its fields."""
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, read_bytes
from csv_plugin.io.json_files import parse_json, read_json
from csv_plugin.io.parquet_tables import read_rows_of

_Type = TypeVar('_Type')
_NAMES = {str: 'a text', int: 'a whole number', dict: 'an object',
          list: 'a list'}  # yapf: disable


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value from JSON is a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


@dataclass(frozen=True)
class JsonPart:
    """An object in a file, and where it is.

    Args:
        where (str): The file, the line and the path to the object.
        fields (dict[str, Any]): Its fields.
        remedy (str): What the user can do about a wrong field.
    """
    where: str
    fields: dict[str, Any]
    remedy: str

    def get(self, name: str, kind: type[_Type]) -> _Type:
        """A field of a type.

        Raises:
            InputError: It is missing, or of another type.
        """
        value = self.fields.get(name)
        # A truth value is a number to Python.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(name, _NAMES[kind])
        return value

    def number(self, name: str) -> float:
        """The finite number in a field.

        Raises:
            InputError: It is missing, or no finite number.
        """
        value = self.fields.get(name)
        if not is_number(value):
            raise self.error(name, 'a finite number')
        return value

    def part(self, name: str) -> 'JsonPart':
        """The object in a field.

        Raises:
            InputError: It is missing or no object.
        """
        return JsonPart(f'{self.where}, {name}', self.get(name, dict),
                        self.remedy)

    def error(self, name: str, expected: str) -> InputError:
        """The error to raise for a field that cannot be used."""
        found = repr(self.fields[name]) if name in self.fields else 'none'
        return InputError(self.where, f'{expected} as {name!r}', found,
                          self.remedy)


def read_json_part(path: FilePath, remedy: str) -> JsonPart:
    """The object in a JSON file.

    Raises:
        InputError: The file cannot be read, or as in `parse_json`, or it
            holds no object.
    """
    return _part(os.fspath(path), read_json(path, remedy), remedy)


def read_json_rows(path: FilePath, remedy: str) -> Iterator[JsonPart]:
    """The objects of a file with one of them a line; blank lines do not count.

    Raises:
        InputError: The file cannot be read, has no line, or as in
            `parse_json`, or a line holds no object.
    """
    file, empty = os.fspath(path), True
    for line, content in enumerate(read_bytes(path).split(b'\n'), start=1):
        if content.strip():
            where, empty = f'{file}, line {line}', False
            yield _part(where, parse_json(content, where, remedy), remedy)
    if empty:
        raise InputError(file, 'a JSON object a line', 'an empty file', remedy)


def read_parquet_rows(path: FilePath, columns: Sequence[str],
                      remedy: str) -> list[JsonPart]:
    """The rows of a Parquet file as objects.

    Args:
        path (FilePath): The file.
        columns (Sequence[str]): Those to read.
        remedy (str): What the user can do, for errors.

    Raises:
        InputError: The file cannot be read, has no row, or lacks a column.
    """
    file = os.fspath(path)
    rows = [
        JsonPart(f'{file}, row {number}', row, remedy)
        for number, row in enumerate(read_rows_of(path, columns))
    ]
    if not rows:
        raise InputError(file, 'a row', 'none', remedy)
    return rows


def _part(where: str, value: Any, remedy: str) -> JsonPart:
    if not isinstance(value, dict):
        raise InputError(where, 'a JSON object', repr(value)[:80], remedy)
    return JsonPart(where, value, remedy)
