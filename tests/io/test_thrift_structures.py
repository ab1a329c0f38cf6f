"""Structures are read as Thrift writes them, and others are refused."""
import pytest

from csv_plugin.io.thrift_structures import (BINARY, I32, I64, LIST, STRUCT,
                                             ThriftReader)


def read(data: bytes):
    return ThriftReader(data).struct_at(0)


def test_each_kind_of_value():
    data = (
        b'\x15\x01'  # field 1, a number of 32 bits: -1
        b'\x16\xac\x02'  # field 2, one of 64 bits: 150
        b'\x18\x02ab'  # field 3, a text
        b'\x29\x35\x02\x04\x06'  # field 5, a list of 3 numbers
        b'\x1c\x11\x12\x00'  # field 6, a structure of true and false
        b'\x06\xc8\x01\x00'  # field 100: 0
        b'\x17abcdefgh'  # a number with a point
        b'\x13a\x14\x04'  # a byte, a number of 16 bits
        b'\x00')
    reader = ThriftReader(b'_' + data + b'_')
    assert reader.struct_at(1) == {
        (1, I32): -1,
        (2, I64): 150,
        (3, BINARY): b'ab',
        (5, LIST): [1, 2, 3],
        (6, STRUCT): {
            (1, 1): True,
            (2, 2): False
        },
        (100, I64): 0,
        (101, 7): None,
        (102, 3): ord('a'),
        (103, 4): 2
    }
    assert reader.place == 1 + len(data)


def test_a_list_of_many_values():
    assert read(b'\x19\xf5\x14' + b'\x02' * 20 + b'\0') == {
        (1, LIST): [1] * 20
    }


@pytest.mark.parametrize('data, problem', [
    (b'\x15\x02\x05\x02\x02\x00', 'fields that cannot be'),
    (b'\x15' + b'\x80' * 4 + b'\x10\0', 'number that is too long'),
    (b'\x16' + b'\xff' * 10**7, 'number that is too long'),
    (b'\x1c' * 2000, 'too deep'),
    (b'\x19\x19' * 2000, 'too deep'),
    (b'\x19\x22\x01\x02\x00', 'truth values'),
    (b'\x1a\x15\x02\x00', 'cannot be read'),
    (b'\x10\x00', 'cannot be read'),
    (b'\x15\x02' * 32768 + b'\0', 'fields that cannot be'),
], ids=lambda value: value[:20])  # yapf: disable
def test_what_no_file_of_parquet_holds(data, problem):
    with pytest.raises(OSError, match=problem):
        read(data)


@pytest.mark.parametrize('data', [
    b'', b'\x15', b'\x15\x02', b'\x18\xff\xff\xff\x0fab', b'\x17abc',
    b'\x19\xf5\x14\x02'
])
def test_structures_that_the_file_cuts(data):
    with pytest.raises(IndexError):
        read(data)


def test_only_what_is_to_be_kept_is_returned():
    data = (
        b'\x15\x01'  # field 1: -1
        b'\x1c\x15\x02\x15\x04\x00'  # field 2, a structure: 1, 2
        b'\x19\x2c\x15\x06\x00\x15\x08\x00'  # field 3, two structures: 3; 4
        b'\x1c\x15\x02\x00'  # field 4, a structure: 1
        b'\x00')
    reader = ThriftReader(data)
    assert reader.struct_at(0, {
        2: {
            2: None
        },
        3: {
            1: None
        },
        4: {}
    }) == {
        (2, STRUCT): {
            (2, I32): 2
        },
        (3, LIST): [{
            (1, I32): 3
        }, {
            (1, I32): 4
        }],
        (4, STRUCT): {}
    }
    assert reader.place == len(data)
    assert reader.struct_at(0, {}) == {}
    assert reader.struct_at(0, {4: None}) == {(4, STRUCT): {(1, I32): 1}}


def test_what_is_not_kept_is_checked_too():
    with pytest.raises(OSError, match='too deep'):
        ThriftReader(b'\x1c' * 2000).struct_at(0, {})


def test_all_structures_of_a_file_have_a_bound():
    reader = ThriftReader(b'\x15\x02\x15\x02\x00', 20)
    for _ in range(10):
        reader.struct_at(0)
    with pytest.raises(OSError, match='more than 20 values'):
        reader.struct_at(0)
