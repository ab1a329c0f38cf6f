"""A dump of a few kilobytes that holds a gigabyte; made when imported."""
import io
import json
import struct
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: Tokens of each of the texts, and the texts.
_TOKENS, _TEXTS = 2**24, 16


def _bomb() -> bytes:
    zeros, few = np.zeros(_TOKENS, np.float32), np.zeros(3, np.int32)
    numbers = pa.ListArray.from_arrays([0, 3], few)
    losses = pa.ListArray.from_arrays([0, _TOKENS], zeros)
    info = dict(
        format_version=1,
        fingerprint='',
        model='bomb',
        tokenizer='',
        prefix='',
        dtype='',
        context=0,
        stride=0,
        versions={})
    file, writer = io.BytesIO(), None
    for index in range(_TEXTS):
        table = pa.table({
            'text_id': [f't{index}'],
            'sha256': ['0' * 64],
            'n_chars': [1],
            'n_bytes': [1],
            'starts': numbers,
            'ends': numbers,
            'losses': losses
        })
        table = table.replace_schema_metadata(
            {b'csv_plugin.dump': json.dumps(info)})
        writer = writer or pq.ParquetWriter(
            file,
            table.schema,
            compression='zstd',
            use_dictionary=False,
            write_page_checksum=True)
        writer.write_table(table)
    writer.close()
    return file.getvalue()


def lying(rng: Random, bomb: bytes) -> bytes:
    """A bomb whose footer, or all of it, tells of few values and bytes."""
    length = struct.unpack('<I', bomb[-8:-4])[0]
    start = rng.choice((0, len(bomb) - 8 - length))
    head, tail = bomb[:start], bomb[start:]
    metadata = pq.read_metadata(io.BytesIO(bomb))
    sizes = {
        metadata.row_group(index).column(6).total_uncompressed_size
        for index in range(_TEXTS)
    }
    for truth in (*sizes, *range(4 * _TOKENS, 4 * _TOKENS + 50)):
        tail = _told(tail, truth, 12)
    return head + _told(tail, _TOKENS, 3)


def _told(data: bytes, truth: int, lie: int) -> bytes:
    told = _varint(truth)
    return data.replace(told, _varint(lie, len(told)))


def _varint(number: int, length: int = 1) -> bytes:
    """A whole number as Parquet's footer writes it, with leading zeros."""
    number *= 2  # the sign is the last bit
    groups = []
    while number or len(groups) < length:
        groups.append(number % 128 + 128)
        number //= 128
    groups[-1] -= 128
    return bytes(groups)


BOMB = _bomb()
