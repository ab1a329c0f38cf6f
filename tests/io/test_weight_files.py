"""Weights that change under one path are noticed, copies of them are not."""
import os
import shutil

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.weight_files import weights_mark, weights_newer


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / 'model'
    folder.mkdir()
    (folder / 'model.safetensors').write_bytes(bytes(1_000_000))
    (folder / 'config.json').write_text('{"rope_theta": 10000}')
    (folder / 'README.md').write_text('A model.')
    return folder


def test_copies_have_the_same_mark(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / 'copy')
    os.utime(copy / 'model.safetensors', (1, 1))
    (copy / 'README.md').write_text('A copy.')
    assert weights_mark(folder) == weights_mark(copy)
    assert len(weights_mark(folder)) == 16


def test_changes_of_a_layer_are_noticed(folder):
    marks = {weights_mark(folder)}
    weights = folder / 'model.safetensors'
    for start in range(0, 1_000_000, 100_000):
        data = bytearray(1_000_000)
        data[start:start + 20_000] = b'1' * 20_000
        weights.write_bytes(data)
        marks.add(weights_mark(folder))
    weights.write_bytes(bytes(999_999) + b'1')
    marks.add(weights_mark(folder))
    weights.write_bytes(bytes(1_000_001))
    marks.add(weights_mark(folder))
    (folder / 'config.json').write_text('{"rope_theta": 90000}')
    marks.add(weights_mark(folder))
    assert len(marks) == 14


def test_a_pipe_is_not_waited_for_and_folders_do_not_count(folder):
    mark = weights_mark(folder)
    (folder / 'x.safetensors').mkdir()
    assert weights_mark(folder) == mark
    os.mkfifo(folder / 'y.safetensors')
    with pytest.raises(InputError, match='y.safetensors: .* a pipe or a dev'):
        weights_mark(folder)


def test_a_file_and_no_files(folder, tmp_path):
    file = tmp_path / 'model-f32.gguf'
    file.write_bytes(b'GGUF')
    mark = weights_mark(file)
    file.write_bytes(b'')
    assert mark and weights_mark(file) not in ('', mark)
    assert weights_mark('organisation/name') == ''


def test_weights_that_were_written_later(folder, tmp_path):
    made = tmp_path / 'losses'
    made.touch()
    for later, newer in ((0, False), (1, True), (-1, False)):
        time = made.stat().st_mtime_ns + later * 10**9
        for file in folder.iterdir():
            os.utime(file, ns=(time, time))
        assert weights_newer(folder, made) is newer
    # What is no weight does not count.
    late = made.stat().st_mtime_ns + 10**9
    os.utime(folder / 'README.md', ns=(late, late))
    assert not weights_newer(folder, made)
    assert not weights_newer('organisation/name', made)
