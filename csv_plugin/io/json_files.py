"""Read JSON of unknown origin, and check the types of its fields."""
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard, TypeVar

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, read_bytes, read_lines, write_text

#: Largest absolute value of a number that is accepted, so that sums and
#: products of such numbers are finite.
LARGEST = 1e60
_Type = TypeVar('_Type')
#: What errors call the types of JSON values.
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
        InputError: The text is not JSON, is not UTF-8, or contains a lone
            surrogate.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode('utf-8-sig')
        on_constant = _refuse if finite else None
        value = json.loads(text, parse_constant=on_constant)
        if '\\u' in text:
            # An escape such as \ud800 gives a lone surrogate, which is half
            # of a character and cannot be encoded.
            unescaped = json.dumps(value, ensure_ascii=False)
            unescaped.encode('utf-8')
    except (ValueError, RecursionError) as error:
        raise InputError(where, 'JSON in UTF-8', str(error), remedy) from None
    return value


def _refuse(constant: str) -> None:
    """Raise an error for NaN or Infinity, for `json.loads`."""
    raise ValueError(f'the number {constant}')


def read_json(path: FilePath, remedy: str) -> Any:
    """Return the value in a JSON file; see `parse_json`."""
    return parse_json(read_bytes(path), path, remedy)


def write_json(path: FilePath, content: Any) -> None:
    """Write a value as JSON; the file appears completely or not at all."""
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_text(path, f'{text}\n')


def check_fields(where: FilePath, part: str, values: Any,
                 fields: Mapping[str, str], remedy: str) -> None:
    """Check that a JSON object has fields of the right types.

    `part` is the name of the object in errors. `fields` maps the name of each
    field to its type, which is a key of `_CHECKS` such as 'a text'.
    """
    if not isinstance(values, dict):
        raise InputError(where, f'{part} with named fields',
                         repr(values)[:80], remedy)
    for name, expected in fields.items():
        is_expected = _CHECKS[expected]
        found = 'none'
        if name in values:
            value = values[name]
            if is_expected(value):
                continue
            found = repr(value)[:80]
        raise InputError(where, f'{expected} as {name!r} in {part}', found,
                         remedy)


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a finite number in the range of a float."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_moderate(value: Any) -> bool:
    """Return whether a value is a number of at most `LARGEST`."""
    return is_number(value) and abs(value) <= LARGEST


def _is_moderate_or_null(value: Any) -> bool:
    return value is None or _is_moderate(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _are_texts(value: Any) -> bool:
    return _is_list(value) and all(map(_is_text, value))


def _is_pair(value: Any) -> bool:
    return _are_texts(value) and len(value) == 2


def _are_pairs(value: Any) -> bool:
    return _is_list(value) and all(map(_is_pair, value))


def _are_texts_by_name(value: Any) -> bool:
    return _is_object(value) and all(map(_is_text, value.values()))


#: Functions that tell whether a JSON value has a type, by the type's name.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    'a text': _is_text,
    'true or false': _is_bool,
    'a number': _is_moderate,
    'a number or null': _is_moderate_or_null,
    'a count': _is_count,
    'a list': _is_list,
    'a list of texts': _are_texts,
    'pairs of texts': _are_pairs,
    'values by name': _is_object,
    'texts by name': _are_texts_by_name,
}


class JsonPart(NamedTuple):
    """A JSON object of a file, with checked access to its fields.

    In errors, `where` says where the object is, and `remedy` what to do about
    a wrong field. All methods raise `InputError` if the field is missing or of
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
        where = f'{self.where}, {name}'
        fields = self.get(name, dict)
        return JsonPart(where, fields, self.remedy)

    def parts(self, name: str) -> list['JsonPart']:
        """Return the objects of the list in a field."""
        parts = []
        for i, value in enumerate(self.get(name, list)):
            where = f'{self.where}, {name} {i}'
            parts.append(JsonPart.of(where, value, self.remedy))
        return parts

    def error(self, name: str, expected: str) -> InputError:
        """Return the error to raise for a field that cannot be used."""
        found = 'none'
        if name in self.fields:
            found = repr(self.fields[name])[:200]
        return InputError(self.where, f'{expected} as {name!r}', found,
                          self.remedy)


def inside(value: Any, *names: str) -> Any:
    """Return a field of nested objects: `value[names[0]][names[1]]...`.

    The result is None if one of the names is missing.
    """
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
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
