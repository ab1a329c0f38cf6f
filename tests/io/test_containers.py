"""Containers: round trip, layout, and any damage is noticed."""
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from csv_plugin.core.conventions import InputError
from csv_plugin.io import containers
from csv_plugin.io.containers import (PLACEHOLDER, read_container, read_header,
                                      write_container)

KIND = 'csv_plugin.test'
HEADER = {'name': '猫', 'rows': [1, 2.5, None]}
ARRAYS = {
    'a': np.arange(6.0).reshape(2, 3),
    'b': np.array([True, False]),
    'empty': np.empty((0, 3), np.uint8)
}


def read(path):
    return read_container(path, KIND, 'Repair it.')


@pytest.fixture
def path(tmp_path):
    path = tmp_path / 'x.safetensors'
    write_container(path, KIND, HEADER, ARRAYS)
    return path


def test_round_trip(path):
    header, arrays = read(path)
    assert header == {
        'format_version': 1,
        'digest': header['digest'],
        **HEADER
    } == read_header(str(path), KIND, '')
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_any_reader_of_safetensors_reads_the_arrays(path):
    np.testing.assert_array_equal(load_file(path)['a'], ARRAYS['a'])


def test_arrays_with_strides_are_written_as_they_are_seen(path):
    write_container(path, KIND, {}, {'a': ARRAYS['a'].T})
    np.testing.assert_array_equal(read(path)[1]['a'], ARRAYS['a'].T)


def test_the_digest_is_that_of_the_file_with_zeros_in_its_place(path):
    data, digest = path.read_bytes(), read(path)[0]['digest']
    assert data.count(digest.encode()) == 1
    blank = data.replace(digest.encode(), PLACEHOLDER.encode())
    assert digest == f'csv_plugin sha256:{hashlib.sha256(blank).hexdigest()}'


def assert_flips_are_noticed(path, bits):
    with path.open('r+b', buffering=0) as file:
        for bit in bits:
            byte, = os.pread(file.fileno(), 1, bit // 8)
            os.pwrite(file.fileno(), bytes([byte ^ 1 << bit % 8]), bit // 8)
            for reader in (read_container, read_header):
                with pytest.raises(InputError, match=f'^{path}'):
                    reader(path, KIND, 'Repair it.')
            os.pwrite(file.fileno(), bytes([byte]), bit // 8)
    read(path)


def test_every_flipped_bit_is_noticed(path):
    n_bits = 8 * path.stat().st_size
    assert_flips_are_noticed(path, range(0, n_bits, 7))


def test_lost_ends_are_noticed(path):
    data = path.read_bytes()
    for size in range(0, len(data), 9):
        path.write_bytes(data[:size])
        with pytest.raises(InputError, match=f'^{path}'):
            read(path)


@pytest.mark.parametrize('metadata, problem', [
    ({}, f'of the kind {KIND}, found another safetensors'),
    ({'csv_plugin.other': '{}'}, f'of the kind {KIND}'),
    ({KIND: '{'}, 'JSON in UTF-8'),
    ({KIND: '[' * 10**5}, 'JSON in UTF-8'),
    ({KIND: '[1]'}, 'the header with named fields'),
    ({KIND: '{}'}, 'format version 1, found version None'),
    ({KIND: '{"format_version": true}'}, 'found version True'),
    ({KIND: '{"format_version": 2, "versions": {"csv_plugin": "9"}}'},
     "found version 2. .*'csv_plugin': '9'"),
    ({KIND: '{"format_version": 1}'}, 'the digest of the file .* None'),
    ({KIND: '{"format_version": 1, "digest": "x"}'}, "found 'x'"),
    ({KIND: json.dumps({'format_version': 1, 'digest': PLACEHOLDER})},
     'the file is damaged'),
])  # yapf: disable
def test_other_files_are_refused(path, metadata, problem):
    path.write_bytes(save(ARRAYS, metadata))
    with pytest.raises(InputError, match=problem) as error:
        read(path)
    assert str(error.value).startswith(f'{path}: ')


def test_names_that_spell_the_digest_are_refused(path):
    before = path.read_bytes()
    with pytest.raises(InputError, match='its digest once, found 2 times'):
        write_container(path, KIND, {'name': PLACEHOLDER}, ARRAYS)
    assert path.read_bytes() == before


def test_a_write_that_breaks_off_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()

    def break_off(self, data):
        with self.open('wb') as file:
            file.write(data[:len(data) // 2])
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(Path, 'write_bytes', break_off)
    with pytest.raises(InputError, match='No space .*Make room on the disk'):
        write_container(path, KIND, {}, {})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_huge_headers_are_not_read(path, monkeypatch):
    monkeypatch.setattr(containers, '_LONGEST', 100)
    path.write_bytes((2**62).to_bytes(8, 'little') + bytes(1000))
    with pytest.raises(InputError, match=f'100 bytes of a header of {2**62}'):
        read(path)
