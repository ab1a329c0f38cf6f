"""Values of GGUF files, from bytes written by the words of the format."""
import struct

import pytest

from tools.studies.gguf_values import gguf_values


def text(value):
    return struct.pack('<Q', len(value.encode())) + value.encode()


def test_values_of_every_kind(tmp_path):
    pairs = [
        ('name', 8, text('größe')),
        ('tokens', 9, struct.pack('<IQ', 8, 2) + text('a') + text('▁b')),
        ('kinds', 9, struct.pack('<IQi', 5, 1, -3)),
        ('nested', 9, struct.pack('<IQIQH', 9, 1, 2, 1, 7)),
        ('scale', 6, struct.pack('<f', .5)),
        ('added', 7, b'\1'),
        ('count', 10, struct.pack('<Q', 2**40)),
    ]
    data = b''.join(
        text(name) + struct.pack('<I', kind) + value
        for name, kind, value in pairs)
    file = tmp_path / 'vocab.gguf'
    file.write_bytes(b'GGUF' + struct.pack('<IQQ', 3, 0, len(pairs)) + data)
    assert gguf_values(file) == dict(
        name='größe',
        tokens=['a', '▁b'],
        kinds=[-3],
        nested=[[7]],
        scale=.5,
        added=True,
        count=2**40)
    file.write_bytes(b'GGML' + bytes(20))
    with pytest.raises(AssertionError, match='vocab.gguf'):
        gguf_values(file)
