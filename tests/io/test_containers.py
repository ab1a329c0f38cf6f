"""Containers: round trip, layout, and any damage is noticed."""
import hashlib
import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from csv_plugin.core.conventions import InputError
from csv_plugin.io.containers import (PLACEHOLDER, read_container,
                                      write_container)

KIND = 'csv_plugin.test'
HEADER = {'name': '猫', 'rows': [1, 2.5, None]}
ARRAYS = {
    'a': np.arange(6.0).reshape(2, 3),
    'strided': np.arange(6.0).reshape(2, 3).T,
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
    header, arrays = read(str(path))
    digest = header['digest']
    assert header == {'format_version': 1, 'digest': digest, **HEADER}
    assert arrays.keys() == ARRAYS.keys()
    # Any reader of safetensors reads the arrays.
    for read_arrays in (arrays, load_file(path)):
        for name, array in ARRAYS.items():
            assert read_arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(read_arrays[name], array)
    blank = path.read_bytes().replace(digest.encode(), PLACEHOLDER.encode())
    assert digest == f'csv_plugin sha256:{hashlib.sha256(blank).hexdigest()}'


@pytest.mark.parametrize('metadata, problem', [
    ({}, f'of the kind {KIND}, found another safetensors'),
    ({'csv_plugin.other': '{}'}, f'of the kind {KIND}'),
    ({KIND: '['}, 'JSON in UTF-8'),
    ({KIND: '[1]'}, 'the header with named fields'),
    ({KIND: '{}'}, 'found version None'),
    ({KIND: '{"format_version": 2, "versions": {"csv_plugin": "9"}}'},
     "found version 2. .*'csv_plugin': '9'"),
    ({KIND: '{"format_version": 1, "digest": ""}'}, 'the file is damaged'),
    ({KIND: json.dumps({'format_version': 1, 'digest': PLACEHOLDER})},
     'the file is damaged'),
])  # yapf: disable
def test_other_files_are_refused(path, metadata, problem):
    path.write_bytes(save({'a': ARRAYS['a']}, metadata))
    with pytest.raises(InputError, match=f'^{path}: .*{problem}'):
        read(path)
