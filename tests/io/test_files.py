"""Files that are read with clear errors and written whole or not at all."""
import errno
import os
from functools import partial
from unittest.mock import Mock

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.dumps import read_dump
from csv_plugin.io.files import (atomic_path, check_target, read_bytes,
                                 read_lines, read_text, write_text)
from csv_plugin.io.json_files import read_json
from csv_plugin.io.parquet_tables import read_numbers
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.tables import read_models
from csv_plugin.io.text_sets import read_texts


def test_atomic_path_replaces_only_at_the_end(tmp_path):
    path, ordinary = tmp_path / 'p.safetensors', tmp_path / 'ordinary'
    path.write_bytes(b'old')
    ordinary.touch()
    with atomic_path(path) as temporary:
        temporary.write_bytes(b'new')
        assert temporary.parent == path.parent
        assert temporary.suffix == '.safetensors'
        assert path.read_bytes() == b'old'
    assert path.read_bytes() == b'new'
    assert path.stat().st_mode == ordinary.stat().st_mode
    assert {*tmp_path.iterdir()} == {path, ordinary}


def test_targets_that_cannot_be_written(tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    check_target(tmp_path / 'table.csv')
    for path, message in ((tmp_path / 'none/a',
                           "no folder '.*none'"), (tmp_path, 'found a folder'),
                          (tmp_path / 'pipe', 'found a device or a pipe'),
                          (tmp_path / ('a' * 256), 'a shorter name')):
        for write in (check_target, lambda path: write_text(path, '')):
            with pytest.raises(InputError, match=message):
                write(path)
    assert os.listdir(tmp_path) == ['pipe'] and (tmp_path / 'pipe').is_fifo()


def test_write_text(tmp_path):
    # The longest name that there is, of 254 bytes.
    path = tmp_path / f'{"é" * 124}a.json'
    path.write_text('old')
    write_text(str(path), 'né\r\n')
    assert path.read_bytes() == b'n\xc3\xa9\r\n'
    # Half characters stand for bytes in names of files that are not UTF-8.
    write_text(path, 'half a character: \ud800')
    assert path.read_bytes() == b'half a character: \\ud800'
    assert list(tmp_path.iterdir()) == [path]


def test_errors_of_the_system_leave_the_old_file(tmp_path):
    path = tmp_path / 'a.json'
    path.write_text('old')
    with pytest.raises(InputError, match=f'{path}: .*Make room on the disk'):
        with atomic_path(path) as temporary:
            temporary.write_text('half')
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    # Errors from elsewhere stay what they are.
    for other in (OSError('of a library'),
                  FileNotFoundError(errno.ENOENT, 'No such file', '/font')):
        with pytest.raises(OSError) as raised, atomic_path(path):
            raise other
        assert raised.value is other
    assert path.read_text() == 'old'
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_on_the_disk_before_it_is_renamed(tmp_path, monkeypatch):
    system = Mock(wraps=os)
    monkeypatch.setattr('csv_plugin.io.files.os.fsync', system.fsync)
    monkeypatch.setattr('csv_plugin.io.files.os.replace', system.replace)
    write_text(tmp_path / 'a', 'x')
    assert [call[0] for call in system.method_calls] == ['fsync', 'replace']


@pytest.mark.slow
def test_files_that_the_memory_cannot_hold_are_not_read(tmp_path):
    path = tmp_path / 'sparse.jsonl'
    path.touch()
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    os.truncate(path, 4 * memory)
    expected = f'{path}: expected at most .* GB, half of the memory, found'
    readers = (read_bytes, read_text, read_models, load_predictor, read_dump,
               read_texts, partial(read_json, remedy='Check it.'),
               partial(read_numbers, key='model'))
    for read in readers:
        with pytest.raises(InputError, match=expected):
            read(path)
    # Long files are read by lines, and a line has an end.
    with pytest.raises(InputError, match='expected lines of at most'):
        next(read_lines(path))


def test_only_files_are_read(tmp_path):
    (tmp_path / 'a').write_bytes(b'\r\n\x00')
    assert read_bytes(str(tmp_path / 'a')) == b'\r\n\x00'
    (tmp_path / 'endless').symlink_to('/dev/zero')
    for path, message in ((tmp_path / 'none', 'found no such file or folder'),
                          (tmp_path / 'endless',
                           "a file, found a folder or a device. Name"),
                          ('a\0b', 'read, .*null')):
        with pytest.raises(InputError, match=message):
            read_bytes(path)
