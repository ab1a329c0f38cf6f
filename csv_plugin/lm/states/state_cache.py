"""Files of the hidden states of a scoring LM at all tokens.

A file is in the safetensors format: the tensor `states`, float32 or bfloat16,
shape `(T, H)`, for the tokens of all texts in order. Its metadata say of
which model and of which texts the states are, and hold the digest of the file
(`io.digests`).
"""
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import Tensor

from csv_plugin.core.conventions import InputError
from csv_plugin.io.digests import (PLACEHOLDER, WITH_DIGEST, check_seal,
                                   check_version, digest_of)
from csv_plugin.io.files import FilePath, atomic_path, check_fields, open_file
from csv_plugin.io.json_files import parse_json
from csv_plugin.io.safetensors_files import read_metadata
from csv_plugin.lm.states.hidden_states import StateChunk

FORMAT = 'csv_plugin.states'
FORMAT_VERSION = 2
NAME = 'states'

_REMEDY = 'Collect the hidden states again.'

#: Names of the stored types in the file's header.
_DTYPES = {torch.float32: 'F32', torch.bfloat16: 'BF16'}
#: The numbers of each type as whole numbers, and the bits that are all set
#: in those that are not finite.
_BITS = {torch.float32: ('<u4', 0x7F800000), torch.bfloat16: ('<u2', 0x7F80)}
#: Bytes that are read at a time; files may be larger than the memory.
_BLOCK = 2**20


def write_states(path: FilePath, chunks: Iterable[StateChunk],
                 token_offsets: NDArray[np.int64], model: str,
                 fingerprint: str, dtype: torch.dtype) -> None:
    """Write hidden states as they come; the file appears whole or not at all.

    Args:
        path (FilePath): The file to create or replace.
        chunks (Iterable[StateChunk]): From `hidden_states`, any order.
        token_offsets (NDArray): Tokens of text `s` are
            `token_offsets[s]:token_offsets[s + 1]`. Shape `(S + 1,)`.
        model (str): What identifies the scoring LM.
        fingerprint (str): Of the validation set; see `texts.fingerprint`.
        dtype (torch.dtype): Stored type, bfloat16 or float32.

    Raises:
        InputError: If the chunks do not cover those tokens exactly, or the
            folder does not exist.
    """
    seen = np.zeros(token_offsets[-1], dtype=bool)
    key = {'model': model, 'fingerprint': fingerprint}
    # The file is opened at the first chunk, which has the width H.
    with atomic_path(path) as temporary, ExitStack() as stack:
        file: Optional[BinaryIO] = None
        for chunk in chunks:
            start = int(token_offsets[chunk.text]) + chunk.first
            stop, width = start + len(chunk.states), chunk.states.shape[1]
            if stop > token_offsets[chunk.text + 1] or seen[start:stop].any():
                raise _wrong_count(chunk.text)
            seen[start:stop] = True
            if file is None:
                file = stack.enter_context(open(temporary, 'w+b'))
                header = _header(len(seen), width, key, dtype)
                data = file.write(header)
            file.seek(data + dtype.itemsize * start * width)
            file.write(_bytes(chunk.states, dtype))
        if not seen.all() or file is None:
            first = int(seen.argmin()) if len(seen) else 0
            text = np.searchsorted(token_offsets, first, side='right') - 1
            raise _wrong_count(int(text))
        file.seek(0)
        digest = digest_of(_blocks(file))
        file.seek(header.index(PLACEHOLDER.encode()))
        file.write(digest.encode())


def open_states(path: FilePath, model: str, fingerprint: str,
                n_tokens: int) -> Tensor:
    """The states of a file, mapped into memory.

    The file is read once, to check it, but not held. A file of format
    version 1 has no digest: a warning says so.

    Args:
        path (FilePath): A file of `write_states`.
        model (str): What identifies the scoring LM, as it was written.
        fingerprint (str): Of the validation set, as it was written.
        n_tokens (int): T, the tokens of all texts.

    Returns:
        Tensor: In the stored type, shape `(T, H)`, read from disk as it is
            used.

    Raises:
        InputError: If the file is missing, damaged, no file of hidden
            states, of a later format, or of another model, validation set or
            number of tokens, or a state is not finite.
    """
    where = os.fspath(path)
    try:
        with open_file(where) as file:
            metadata = read_metadata(where, file)
            digest = _check_key(where, metadata, model, fingerprint)
            states = _tensor(where, n_tokens)
            start = file.tell()
            file.seek(0)
            head = file.read(start)
            blocks = _finite_blocks(where, file, states.dtype)
            if digest is None:
                for _ in blocks:
                    pass
            else:
                check_seal(where, head, digest, _REMEDY, blocks)
    except (OSError, SafetensorError) as error:
        raise InputError(where, 'a readable file of hidden states', f'{error}',
                         _REMEDY) from error
    return states


def _tensor(where: str, n_tokens: int) -> Tensor:
    with safe_open(where, framework='pt') as file:
        if list(file.keys()) != [NAME]:
            raise InputError(where, f'the tensor {NAME!r} alone',
                             f'{list(file.keys())}'[:80], _REMEDY)
        states = file.get_tensor(NAME)
    if states.dtype not in _DTYPES or states.ndim != 2:
        raise InputError(where, 'bfloat16 or float32 states of shape (T, H)',
                         f'{states.dtype} {tuple(states.shape)}', _REMEDY)
    if len(states) != n_tokens:
        raise InputError(where, f'states of {n_tokens} tokens',
                         str(len(states)), _REMEDY)
    return states


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file, in parts."""
    while block := file.read(_BLOCK):
        yield block


def _finite_blocks(where: str, file: BinaryIO,
                   dtype: torch.dtype) -> Iterator[bytes]:
    """The numbers of a file, in parts, of which none may be infinite."""
    unsigned, exponent = _BITS[dtype]
    for block in _blocks(file):
        numbers = np.frombuffer(block, unsigned)
        if np.any(numbers & exponent == exponent):
            raise InputError(where, 'finite hidden states', 'NaN or infinity',
                             _REMEDY)
        yield block


def state_chunks(states: Tensor,
                 token_offsets: NDArray[np.int64]) -> Iterator[StateChunk]:
    """Stored states as one chunk per text, as `hidden_states` yields them.

    Args:
        states (Tensor): From `open_states`, shape `(T, H)`.
        token_offsets (NDArray): As in `write_states`.

    Yields:
        StateChunk: All tokens of one text, in the order of the texts.
    """
    for text, (start,
               stop) in enumerate(zip(token_offsets[:-1], token_offsets[1:])):
        yield StateChunk(text, 0, states[start:stop].float().cpu().numpy())


def _header(n_tokens: int, width: int, key: dict[str, str],
            dtype: torch.dtype) -> bytes:
    """The length of a JSON text, and that text.

    Together they are a multiple of 8 bytes, as the format asks for.
    """
    described = json.dumps({
        'format_version': FORMAT_VERSION,
        'digest': PLACEHOLDER,
        **key
    })
    text = json.dumps({
        '__metadata__': {
            FORMAT: described
        },
        NAME: {
            'dtype': _DTYPES[dtype],
            'shape': [n_tokens, width],
            'data_offsets': [0, dtype.itemsize * n_tokens * width]
        }
    }).encode('ascii')
    text += b' ' * (-len(text) % 8)
    return len(text).to_bytes(8, 'little') + text


def _bytes(states: NDArray[np.float32], dtype: torch.dtype) -> bytes:
    if dtype == torch.float32:
        return states.astype('<f4').tobytes()
    rounded = torch.from_numpy(np.ascontiguousarray(states)).bfloat16()
    return rounded.view(torch.int16).numpy().astype('<i2').tobytes()


def _check_key(where: str, metadata: dict[str, str], model: str,
               fingerprint: str) -> Any:
    """What the file says is its digest; None if it is too old for one."""
    if FORMAT not in metadata:
        raise InputError(where, 'hidden states of csv_plugin',
                         'another safetensors file', _REMEDY)
    key = parse_json(metadata[FORMAT], where, _REMEDY)
    check_fields(where, 'the header', key, {}, _REMEDY)
    version = check_version(where, key, FORMAT_VERSION,
                            'Remove it to have them collected again.')
    for name, value in (('model', model), ('fingerprint', fingerprint)):
        if key.get(name) != value:
            raise InputError(where, f'{name} {value!r}',
                             repr(key.get(name))[:80], _REMEDY)
    return (key.get('digest') or '') if version >= WITH_DIGEST else None


def _wrong_count(text: int) -> InputError:
    return InputError(f'hidden states of text {text}',
                      'one state for each of its tokens',
                      'too many or too few',
                      "Count tokens with the scoring LM's own tokenizer.")
