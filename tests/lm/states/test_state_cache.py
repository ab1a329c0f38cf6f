"""Hidden states of all tokens in one file."""
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save, save_file

from csv_plugin.core.conventions import InputError
from csv_plugin.io.digests import PLACEHOLDER, sealed
from csv_plugin.lm.states import state_cache
from csv_plugin.lm.states.hidden_states import StateChunk
from csv_plugin.lm.states.state_cache import (FORMAT, open_states,
                                              state_chunks, write_states)

OFFSETS = np.array([0, 3, 3, 8, 10])
STATES = np.random.default_rng(0).normal(size=(10, 5)).astype(np.float32)
#: Longest text first, cut in two, as `hidden_states` yields them.
PARTS = [(2, 2, 3), (2, 0, 2), (0, 0, 3), (3, 0, 2)]


def chunks(parts=PARTS):
    for text, first, n in parts:
        start = OFFSETS[text] + first
        yield StateChunk(text, first, STATES[start:start + n])


#: The types that files store, each with its relative precision.
DTYPES = {torch.bfloat16: 2**-8, torch.float32: 0.}
for_dtypes = pytest.mark.parametrize('dtype', DTYPES)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / 'states.safetensors'
    write_states(path, chunks(), OFFSETS, 'tiny', 'abc', torch.bfloat16)
    return path


@for_dtypes
def test_chunks_in_any_order_land_at_their_tokens(path, dtype):
    write_states(path, chunks(), OFFSETS, 'tiny', 'abc', dtype)
    states = open_states(path, 'tiny', 'abc', 10)
    assert states.dtype == dtype
    assert torch.equal(states, torch.from_numpy(STATES).to(dtype))


@for_dtypes
def test_file_is_plain_safetensors(path, dtype):
    write_states(path, chunks(), OFFSETS, 'tiny', 'abc', dtype)
    assert torch.equal(
        load_file(path)['states'],
        torch.from_numpy(STATES).to(dtype))


@for_dtypes
def test_data_start_at_a_multiple_of_8(path, dtype):
    write_states(path, chunks(), OFFSETS, 'tiny', 'abc', dtype)
    content = path.read_bytes()
    length = int.from_bytes(content[:8], 'little')
    assert length % 8 == 0
    assert len(content) == 8 + length + dtype.itemsize * STATES.size


@for_dtypes
def test_chunks_come_back_text_by_text(path, dtype):
    write_states(path, chunks(), OFFSETS, 'tiny', 'abc', dtype)
    read = list(state_chunks(open_states(path, 'tiny', 'abc', 10), OFFSETS))
    assert [(c.text, c.first, len(c.states)) for c in read] == [
        (0, 0, 3), (1, 0, 0), (2, 0, 5), (3, 0, 2)
    ]  # yapf: disable
    together = np.concatenate([chunk.states for chunk in read])
    assert together.dtype == np.float32
    np.testing.assert_allclose(together, STATES, rtol=DTYPES[dtype])


@for_dtypes
def test_views_of_arrays_are_written_in_their_own_order(tmp_path, dtype):
    part = StateChunk(0, 0, np.asfortranarray(STATES)[::2])
    write_states(tmp_path / 'f', [part], np.array([0, 5]), 'tiny', 'abc',
                 dtype)
    assert torch.equal(
        open_states(tmp_path / 'f', 'tiny', 'abc', 5),
        torch.from_numpy(STATES[::2].copy()).to(dtype))


@pytest.mark.skipif('not __import__("pathlib").Path("/proc").is_dir()')
def test_opening_holds_next_to_nothing(tmp_path):
    wide = np.ones((64, 1 << 16), np.float32)
    parts = (StateChunk(0, 64 * i, wide) for i in range(8))
    path = tmp_path / 'f'
    write_states(path, parts, np.array([0, 512]), 'tiny', 'abc',
                 torch.bfloat16)

    def resident():
        with open('/proc/self/statm') as file:
            return int(file.read().split()[1]) * 4096

    before = resident()
    states = open_states(path, 'tiny', 'abc', 512)
    assert resident() - before < path.stat().st_size / 4
    assert float(states[::100].float().mean()) == 1


@pytest.mark.parametrize('model, fingerprint, message', [
    ('other', 'abc', "expected model 'other', found 'tiny'"),
    ('tiny', 'abd', "expected fingerprint 'abd', found 'abc'"),
])
def test_states_of_another_model_or_set_are_refused(path, model, fingerprint,
                                                    message):
    with pytest.raises(InputError, match=message):
        open_states(path, model, fingerprint, 10)


@pytest.mark.parametrize('kept', [0, 4, 60, -1])
def test_truncated_file_is_refused(path, kept):
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match='safetensors file|hidden states'):
        open_states(path, 'tiny', 'abc', 10)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match='nowhere'):
        open_states(tmp_path / 'nowhere', 'tiny', 'abc', 2)


@pytest.mark.parametrize('metadata', [
    None, {FORMAT: 'no JSON'}, {FORMAT: '[1]'}, {'other': '{}'},
    {FORMAT: '[' * 10**5}
])  # yapf: disable
def test_other_safetensors_file_is_refused(tmp_path, metadata):
    path = tmp_path / 'f'
    save_file({'states': torch.zeros(2, 2)}, path, metadata)
    with pytest.raises(
            InputError, match='another safetensors file|JSON|named fields'):
        open_states(path, 'tiny', 'abc', 10)


def forge(path, version=2, tensors=None, **changes):
    """A file with the digest of its content, as anyone may give it."""
    key = {
        'format_version': version,
        'digest': PLACEHOLDER,
        'model': 'tiny',
        'fingerprint': 'abc',
        **changes
    }
    data = save(tensors, {FORMAT: json.dumps(key)})
    path.write_bytes(sealed(str(path), data))


@pytest.mark.parametrize('version, name, states, message', [
    (3, 'states', torch.zeros(2, 2).bfloat16(), 'format version 1 to 2'),
    (2, 'states', torch.zeros(2, 2).double(), 'bfloat16 or float32'),
    (2, 'states', torch.zeros(2, 2).half(), 'found torch.float16'),
    (2, 'states', torch.zeros(4).bfloat16(), r'\(T, H\)'),
    (2, 'states', torch.zeros(2, 2, 1), r'\(T, H\)'),
    (2, 'states', torch.zeros(3, 2), 'states of 2 tokens, found 3'),
    (2, 'states', torch.tensor([[0, 1], [np.nan, 1]]), 'finite'),
    (2, 'states', torch.tensor([[0, 1], [2, -np.inf]]), 'finite'),
    (2, 'states', torch.tensor([[0, 1], [2, np.inf]]).bfloat16(), 'finite'),
    (2, 'other', torch.zeros(2, 2).bfloat16(), 'states'),
])
def test_unexpected_content_is_refused(tmp_path, version, name, states,
                                       message):
    forge(tmp_path / 'f', version, {name: states})
    with pytest.raises(InputError, match=message):
        open_states(tmp_path / 'f', 'tiny', 'abc', 2)


def test_a_second_tensor_is_refused(tmp_path):
    forge(tmp_path / 'f', 2, {
        'states': torch.zeros(2, 2),
        'more': torch.zeros(2, 2)
    })
    with pytest.raises(InputError, match="the tensor 'states' alone"):
        open_states(tmp_path / 'f', 'tiny', 'abc', 2)


@pytest.mark.parametrize('digest', [None, '', 1, PLACEHOLDER[:-1] + '1'])
def test_another_digest_is_refused(tmp_path, digest):
    key = {
        'format_version': 2,
        'digest': digest,
        'model': 'tiny',
        'fingerprint': 'abc'
    }
    save_file({'states': torch.zeros(2, 2)}, tmp_path / 'f',
              {FORMAT: json.dumps(key)})
    with pytest.raises(InputError, match='the digest|damaged'):
        open_states(tmp_path / 'f', 'tiny', 'abc', 2)


def assert_flips_are_noticed(path, bits):
    with path.open('r+b', buffering=0) as file:
        for bit in bits:
            byte, = os.pread(file.fileno(), 1, bit // 8)
            os.pwrite(file.fileno(), bytes([byte ^ 1 << bit % 8]), bit // 8)
            with pytest.raises(InputError):
                open_states(path, 'tiny', 'abc', 10)
            os.pwrite(file.fileno(), bytes([byte]), bit // 8)
    open_states(path, 'tiny', 'abc', 10)


def test_any_flipped_bit_is_noticed(path):
    """A sample, and bits of the digest."""
    n_bits = 8 * path.stat().st_size
    start = 8 * path.read_bytes().index(b'sha256:')
    sample = np.random.default_rng(0).integers(n_bits, size=100)
    assert_flips_are_noticed(path,
                             [*map(int, sample), *range(start, start + 100)])


@pytest.mark.slow
@for_dtypes
def test_every_flipped_bit_is_noticed(path, dtype):
    write_states(path, chunks(), OFFSETS, 'tiny', 'abc', dtype)
    assert_flips_are_noticed(path, range(8 * path.stat().st_size))


def test_a_file_of_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(state_cache, '_BLOCK', 8)
    for dtype in DTYPES:
        path = tmp_path / str(dtype)
        write_states(path, chunks(), OFFSETS, 'tiny', 'abc', dtype)
        open_states(path, 'tiny', 'abc', 10)
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(InputError, match='the file is damaged'):
            open_states(path, 'tiny', 'abc', 10)


def test_version_1_is_read_with_a_note():
    old = Path(__file__).with_name('version_1') / 'states.safetensors'
    with pytest.warns(
            UserWarning,
            match=f'{old} has format version 1, .*'
            'Remove it to have them collected again'):
        states = open_states(old, 'tiny', 'abc', 10)
    assert torch.equal(states, torch.arange(50.).reshape(10, 5).bfloat16())


@pytest.mark.parametrize('parts, text', [
    ([], 0),
    (PARTS[1:], 2),
    (PARTS[:-1], 3),
    (PARTS + [(2, 1, 1)], 2),
    (PARTS[2:] + [(2, 0, 6)], 2),
])
def test_chunks_that_do_not_cover_the_tokens_once(tmp_path, parts, text):
    with pytest.raises(InputError, match=f'hidden states of text {text}'):
        write_states(tmp_path / 'f', chunks(parts), OFFSETS, 'tiny', 'abc',
                     torch.bfloat16)
    assert not list(tmp_path.iterdir())


def test_failure_keeps_the_old_file(path):

    def failing():
        yield from chunks(PARTS[:2])
        raise RuntimeError('out of memory')

    before = path.read_bytes()
    with pytest.raises(RuntimeError, match='out of memory'):
        write_states(path, failing(), OFFSETS, 'tiny', 'other', torch.bfloat16)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
