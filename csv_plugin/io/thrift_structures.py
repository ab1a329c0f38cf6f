"""Structures in Thrift's compact protocol, of which Parquet files are made.

The protocol is that of
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""
from collections.abc import Mapping
from typing import Any, Optional

#: Kinds of values, by their numbers in the protocol.
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
_TRUE, _FALSE, _BYTE, _I16, _DOUBLE = 1, 2, 3, 4, 7
#: Bits of the kinds that are written in as few bytes as they need.
_BITS = {_I16: 16, I32: 32, I64: 64}
#: Structures and lists within each other; Parquet needs 8.
_DEEPEST = 10
#: Values of one file, unless told: as Python's objects they take about 150 MB,
#: and a few seconds. Tables of 1000 columns have fewer.
MOST_VALUES = 10**6

#: Values by number and kind of their field. A field of another kind than
#: expected is none: that is how Thrift's own readers see it.
Structure = dict[tuple[int, int], Any]
#: The fields to keep of a structure, or of all in a list, by their numbers,
#: with those to keep of the structures in them; None keeps all.
Kept = Optional[Mapping[int, Any]]


class ThriftReader:
    """Reads structures from a file.

    Numbers are int, texts and other binary values bytes, lists are lists of
    values, structures are `Structure`; numbers with a point, of no interest
    here, are None.

    Args:
        data (bytes): The file.

        most_values (int): Values that all structures together may hold.

    Attributes:
        place (int): Where the last structure has ended.
    """

    def __init__(self, data: bytes, most_values: int = MOST_VALUES) -> None:
        self.data, self.place = data, 0
        self._values_left = self._most_values = most_values

    def struct_at(self, place: int, kept: Kept = None) -> Structure:
        """The structure that starts at a place.

        Args:
            place (int): Where it starts.
            kept (Kept): What of it is returned; the rest is checked too.

        Raises:
            OSError: It holds what no structure of Parquet holds, or all
                structures that were read hold too many values.
            IndexError: The file ends before it does.
        """
        self.place = place
        return self._struct(0, kept)

    def _struct(self, depth: int, kept: Kept) -> Structure:
        values: Structure = {}
        fields = set()
        field = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            field = field + step if step else self._signed(_I16)
            if field in fields or field >= 2**15:
                raise OSError('a structure with fields that cannot be')
            fields.add(field)
            if kept is None:
                values[field, kind] = self._value(kind, depth, None)
            elif field in kept:
                values[field, kind] = self._value(kind, depth, kept[field])
            else:
                self._value(kind, depth, {})
        return values

    def _value(self, kind: int, depth: int, kept: Kept) -> Any:
        self._values_left -= 1
        if self._values_left < 0:
            raise OSError(
                f'structures of more than {self._most_values} values')
        if kind in _BITS:
            return self._signed(kind)
        if kind == BINARY:
            length = self._unsigned(32)
            self.place += length
            return self.data[self.place - length:self.place]
        if depth > _DEEPEST:
            raise OSError('a structure that is too deep')
        if kind == LIST:
            return self._list(depth + 1, kept)
        if kind == STRUCT:
            return self._struct(depth + 1, kept)
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind == _DOUBLE:
            self.place += 8
            return None
        raise OSError('a structure that cannot be read')

    def _list(self, depth: int, kept: Kept) -> list[Any]:
        head = self._byte()
        length, kind = head >> 4, head & 15
        if length == 15:
            length = self._unsigned(32)
        if kind in (_TRUE, _FALSE):
            raise OSError('a list of truth values, of which Parquet has none')
        return [self._value(kind, depth, kept) for _ in range(length)]

    def _signed(self, kind: int) -> int:
        number = self._unsigned(_BITS[kind])
        return number >> 1 ^ -(number & 1)

    def _unsigned(self, bits: int) -> int:
        # Nearly all numbers have one or two bytes.
        byte = self.data[self.place]
        self.place += 1
        number = byte & 127
        shift = 7
        while byte > 127:
            byte = self.data[self.place]
            self.place += 1
            number |= (byte & 127) << shift
            shift += 7
            if shift > bits + 6 or number >= 2**bits:
                raise OSError('a structure with a number that is too long')
        return number

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]
