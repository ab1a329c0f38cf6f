"""Forged binary files: other values, types and shapes, digests renewed."""
import io
import json
import re
import struct
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from csv_plugin.core.conventions import InputError
from csv_plugin.io.digests import PLACEHOLDER, sealed
from tests.faults.forged_texts import NAMES, NUMBERS, forge_json

#: Types of safetensors, with a letter of `struct` where it has one.
_TYPES = {
    'F64': 'd',
    'F32': 'f',
    'I64': 'q',
    'I32': 'i',
    'BOOL': 'B',
    'U8': 'B',
    'BF16': 'H',
    'F16': 'e',
}


def forge_safetensors(rng: Random, data: bytes) -> bytes:
    """A safetensors file of which one thing is another."""
    length = struct.unpack('<Q', data[:8])[0]
    text, body = data[8:8 + length].decode(), data[8 + length:]
    header = json.loads(text)
    metadata = header.pop('__metadata__')
    arrays = {
        name:
        [entry['dtype'], entry['shape'], body[slice(*entry['data_offsets'])]]
        for name, entry in header.items()
    }
    match rng.randrange(8):
        case 0:
            # The header no longer describes the body, or is no header.
            return _framed(forge_json(rng, text).encode(), body)
        case 1:
            size = rng.choice((0, 7, length - 1, 2**31, 2**63, 2**64 - 1))
            return struct.pack('<Q', size) + data[8:]
        case 2 | 3:
            key = rng.choice(list(metadata))
            metadata[key] = forge_json(rng, metadata[key])
        case 4:
            _change_names(rng, arrays)
        case 5:
            _change_shape(rng, arrays)
        case _:
            _change_value(rng, arrays)
    return _renewed(_assembled(metadata, arrays))


def _renewed(data: bytes) -> bytes:
    """The file with the digest that it should have, if it has one."""
    written = PLACEHOLDER.replace('0' * 64, '[0-9a-f]{64}').encode()
    try:
        return sealed('', re.sub(written, PLACEHOLDER.encode(), data))
    except InputError:
        return data


def _change_names(rng: Random, arrays: dict[str, Any]) -> None:
    name = rng.choice(list(arrays))
    match rng.randrange(3):
        case 0:
            del arrays[name]
        case 1:
            arrays[rng.choice((*NAMES, 'scored', '0.curve'))] = arrays[name]
        case 2:
            other = rng.choice(list(arrays))
            arrays[name], arrays[other] = arrays[other], arrays[name]


def _change_shape(rng: Random, arrays: dict[str, Any]) -> None:
    array = arrays[rng.choice(list(arrays))]
    kind, shape, values = array
    match rng.randrange(4):
        case 0:
            array[1] = rng.choice(([*shape, 1], [1, *shape], shape[::-1]))
        case 1:
            array[1], array[2] = [0, *shape[1:]], b''
        case 2 if shape:
            array[1] = [2 * shape[0], *shape[1:]]
            array[2] = values + values
        case _:
            # The same numbers as another type.
            other = rng.choice(list(_TYPES))
            array[0] = other
            array[2] = _cast(_numbers(kind, values), other)


def _change_value(rng: Random, arrays: dict[str, Any]) -> None:
    array = arrays[rng.choice(list(arrays))]
    numbers = _numbers(array[0], array[2])
    for _ in range(rng.choice((1, 1, 3))):
        if numbers:
            numbers[rng.randrange(len(numbers))] = rng.choice(
                (*NUMBERS, 0x7fc0, 0x7f80, 10**5, -7, 3))
    array[2] = _cast(numbers, array[0])


def _numbers(kind: str, values: bytes) -> list[Any]:
    letter = _TYPES[kind]
    count = len(values) // struct.calcsize(letter)
    return list(struct.unpack(f'<{count}{letter}', values))


def _cast(numbers: list[Any], kind: str) -> bytes:
    """The numbers in a type, or its nearest number."""
    letter = _TYPES[kind]
    if letter in 'dfe':
        limit = float(np.finfo(letter).max)
        numbers = [
            n if n != n or abs(n) == np.inf else max(-limit, min(limit, n))
            for n in numbers
        ]
        return struct.pack(f'<{len(numbers)}{letter}', *map(float, numbers))
    bits = 8 * struct.calcsize(letter)
    low, high = (0, 2**bits - 1) if letter.isupper() else (-2**(bits - 1),
                                                           2**(bits - 1) - 1)
    whole = [
        0 if n != n else high if n >= high else low if n <= low else int(n)
        for n in numbers
    ]
    return struct.pack(f'<{len(whole)}{letter}', *whole)


def _assembled(metadata: dict[str, str], arrays: dict[str, Any]) -> bytes:
    """A safetensors file of these parts."""
    header: dict[str, Any] = {'__metadata__': metadata}
    body = b''
    for name, (kind, shape, values) in arrays.items():
        header[name] = {
            'dtype': kind,
            'shape': shape,
            'data_offsets': [len(body), len(body) + len(values)]
        }
        body += values
    return _framed(json.dumps(header).encode(), body)


def _framed(header: bytes, body: bytes) -> bytes:
    header += b' ' * (-len(header) % 8)
    return struct.pack('<Q', len(header)) + header + body


def forge_parquet(rng: Random, data: bytes) -> bytes:
    """A table of which one thing is another."""
    table = pq.read_table(io.BytesIO(data))
    ways = [_forge_values, _forge_values, _forge_columns, _forge_rows,
            _forge_types]  # yapf: disable
    if table.schema.metadata:
        ways.append(_forge_metadata)
    forge = rng.choice(ways)
    if rng.random() < .04:
        # It takes seconds to make.
        from tests.faults.bombs import BOMB, lying
        return rng.choice((BOMB, lying(rng, BOMB)))
    while True:
        try:
            forged = forge(rng, table)
            break
        # A value that Parquet cannot hold: another one.
        except (pa.ArrowException, ValueError, OverflowError, TypeError):
            continue
    return _renewed(
        _written(
            forged,
            compression=rng.choice(('zstd', 'zstd', 'none', 'gzip', 'snappy')),
            use_dictionary=rng.random() < .7,
            write_page_checksum=rng.random() < .8))


def _written(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def _forge_metadata(rng: Random, table: pa.Table) -> pa.Table:
    metadata = dict(table.schema.metadata)
    key = rng.choice(list(metadata))
    text = metadata[key].decode()
    metadata[key] = forge_json(rng, text).encode('utf-8', 'surrogatepass')
    return table.replace_schema_metadata(metadata)


def _forge_values(rng: Random, table: pa.Table) -> pa.Table:
    """Other values in one row of a column, or a longer or shorter list."""
    index = rng.randrange(table.num_columns)
    field = table.schema.field(index)
    values = table.column(index).to_pylist()
    row = rng.randrange(len(values))
    if isinstance(values[row], list):
        cell = list(values[row])
        match rng.randrange(4):
            case 0:
                cell.append(rng.choice((0, 1, 10**6)))
            case 1:
                cell.pop()
            case _:
                cell[rng.randrange(len(cell))] = rng.choice((*NUMBERS, None))
        values[row] = cell
    elif isinstance(values[row], str):
        values[row] = rng.choice((*NAMES, *values, None, 'x' * 300_000))
    else:
        values[row] = rng.choice((*NUMBERS, None))
    return table.set_column(index, field, pa.array(values, field.type))


def _forge_columns(rng: Random, table: pa.Table) -> pa.Table:
    index = rng.randrange(table.num_columns)
    column, name = table.column(index), table.column_names[index]
    match rng.randrange(4):
        case 0:
            return table.remove_column(index)
        case 1:
            return table.append_column(name, column)
        case 2:
            return table.append_column(rng.choice(NAMES[1:10]), column)
        case _:
            names = list(table.column_names)
            rng.shuffle(names)
            return table.rename_columns(names)


def _forge_rows(rng: Random, table: pa.Table) -> pa.Table:
    rows = list(range(table.num_rows))
    match rng.randrange(4):
        case 0:
            rows.pop(rng.randrange(len(rows)))
        case 1:
            rows.append(rng.choice(rows))
        case 2:
            rows = []
        case _:
            rng.shuffle(rows)
    return table.take(rows)


def _forge_types(rng: Random, table: pa.Table) -> pa.Table:
    index = rng.randrange(table.num_columns)
    field = table.schema.field(index)
    kinds = (pa.int8(), pa.int64(), pa.float16(), pa.float32(), pa.float64(),
             pa.string(), pa.large_string(), pa.binary(), pa.bool_(),
             pa.date32(), pa.decimal128(38, 2), pa.null())
    kind = rng.choice(kinds)
    if pa.types.is_list(field.type):
        kind = rng.choice((kind, pa.list_(kind), pa.large_list(kind),
                           pa.list_(pa.list_(kind))))
    column = table.column(index)
    try:
        column = column.cast(kind)
    except (pa.ArrowException, TypeError):
        column = pa.nulls(len(column), kind)
    return table.set_column(index, field.with_type(kind), column)
