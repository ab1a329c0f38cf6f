"""Files that are read with clear errors and written whole or not at all."""
import errno
import os

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import (atomic_path, check_fields, check_plain_files,
                                 check_target, read_bytes, write_text)


def test_atomic_path_replaces_only_at_the_end(tmp_path) -> None:
    path = tmp_path / 'predictor.safetensors'
    path.write_bytes(b'old')
    with atomic_path(path) as temporary:
        temporary.write_bytes(b'new')
        assert temporary.parent == path.parent
        assert temporary.suffix == '.safetensors'
        assert path.read_bytes() == b'old'
    assert path.read_bytes() == b'new'
    assert list(path.parent.iterdir()) == [path]


def test_atomic_path_gives_the_permissions_of_an_ordinary_file(
        tmp_path) -> None:
    ordinary = tmp_path / 'ordinary'
    ordinary.touch()
    with atomic_path(tmp_path / 'atomic') as temporary:
        temporary.touch()
    assert (tmp_path / 'atomic').stat().st_mode == ordinary.stat().st_mode


def test_atomic_path_needs_the_folder(tmp_path) -> None:
    with pytest.raises(InputError, match="no folder '.*none'"):
        with atomic_path(tmp_path / 'none' / 'table.csv'):
            raise AssertionError('the body must not run')


def test_atomic_path_does_not_replace_a_folder(tmp_path) -> None:
    with pytest.raises(InputError, match='name of a file, found a folder'):
        with atomic_path(tmp_path):
            raise AssertionError('the body must not run')


def test_pipes_and_devices_keep_their_place(tmp_path) -> None:
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    with pytest.raises(InputError, match='pipe: .*found a device or a pipe'):
        write_text(pipe, '')
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_check_target_writes_nothing(tmp_path) -> None:
    check_target(tmp_path / 'table.csv')
    with pytest.raises(InputError, match="no folder '.*none'. Create the"):
        check_target(tmp_path / 'none' / 'table.csv')
    with pytest.raises(InputError, match='found a folder. Add a file name'):
        check_target(str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_write_text(tmp_path) -> None:
    path = tmp_path / 'a.md'
    path.write_text('old')
    write_text(str(path), 'né\r\n')
    assert path.read_bytes() == b'n\xc3\xa9\r\n'
    # Half characters stand for bytes in names of files that are not UTF-8.
    write_text(path, 'half a character: \ud800')
    assert path.read_bytes() == b'half a character: \\ud800'
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="no folder '.*none'"):
        write_text(tmp_path / 'none' / 'a.md', '')


def test_read_bytes(tmp_path) -> None:
    (tmp_path / 'a').write_bytes(b'\x00\r\n')
    assert read_bytes(str(tmp_path / 'a')) == b'\x00\r\n'
    with pytest.raises(InputError, match="none: .*'No such file"):
        read_bytes(tmp_path / 'none')


@pytest.mark.parametrize('expected, value, wrong', [
    ('a text', '', 3),
    ('a number', 0.5, True),
    ('a number', 2, float('inf')),
    ('a number or null', None, 'x'),
    ('a count', 0, -1),
    ('a count', 7, 7.0),
    ('a list', [1], {}),
    ('a list of texts', ['x'], ['x', 1]),
    ('pairs of texts', [['x', 'y']], [['x']]),
    ('texts by name', {
        'x': 'y'
    }, {
        'x': 1
    }),
])
def test_fields_have_types(expected, value, wrong) -> None:
    check_fields('f.json', 'the header', {'x': value}, {'x': expected}, 'Do.')
    with pytest.raises(
            InputError, match=f"^f.json: expected {expected} as 'x' in the h"):
        check_fields('f.json', 'the header', {'x': wrong}, {'x': expected},
                     'Do.')


def test_fields_must_be_there() -> None:
    with pytest.raises(InputError, match="'x' in the header, found none. Do"):
        check_fields('f.json', 'the header', {'y': 1}, {'x': 'a text'}, 'Do.')
    with pytest.raises(InputError, match='the header with named fields'):
        check_fields('f.json', 'the header', [1], {}, 'Do.')


def test_the_longest_names_are_written(tmp_path) -> None:
    path = tmp_path / f'{"é" * 124}a.json'  # 254 bytes
    write_text(path, '{}')
    write_text(path, '[]')
    assert path.read_text() == '[]'
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize('write', [write_text, lambda p, _: check_target(p)])
def test_longer_names_are_refused(tmp_path, write) -> None:
    with pytest.raises(InputError, match='name too long.*a shorter name'):
        write(tmp_path / ('a' * 256), 'x')


@pytest.mark.parametrize('number, remedy', [
    (errno.ENOSPC, 'Make room on the disk'),
    (errno.EFBIG, 'Raise the limit of the size of files'),
    (errno.EROFS, 'Choose a folder that you may write to'),
    (errno.EIO, 'Choose a folder that you may write to'),
])
def test_errors_of_the_system_are_plain(tmp_path, number, remedy) -> None:
    path = tmp_path / 'a.json'
    path.write_text('old')
    for name in (None, 'temporary'):
        with pytest.raises(InputError, match=f'{path}: .*{remedy}'):
            with atomic_path(path) as temporary:
                temporary.write_text('half')
                raise OSError(number, os.strerror(number), name
                              and str(temporary))
    assert path.read_text() == 'old'
    assert list(tmp_path.iterdir()) == [path]


def test_errors_from_elsewhere_stay_what_they_are(tmp_path) -> None:
    for error in (OSError('no network'), FileNotFoundError(2, 'No', 'other')):
        with pytest.raises(type(error)) as caught:
            with atomic_path(tmp_path / 'a'):
                raise error
        assert caught.value is error


def test_a_file_is_on_the_disk_before_it_is_renamed(tmp_path,
                                                    monkeypatch) -> None:
    events = []
    flush, rename = os.fsync, os.replace

    def flushed(opened):
        events.append(os.readlink(f'/proc/self/fd/{opened}'))
        flush(opened)

    def renamed(source, target):
        events.append('renamed')
        rename(source, target)

    monkeypatch.setattr(os, 'fsync', flushed)
    monkeypatch.setattr(os, 'replace', renamed)
    with atomic_path(tmp_path / 'a') as temporary:
        temporary.write_text('x')
    assert events == [str(temporary), 'renamed', str(tmp_path)]


def test_a_flush_that_fails_leaves_the_old_file(tmp_path, monkeypatch) -> None:

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_text(tmp_path / 'a', 'old')
    monkeypatch.setattr(os, 'fsync', full)
    with pytest.raises(InputError, match='Make room'):
        write_text(tmp_path / 'a', 'new')
    assert (tmp_path / 'a').read_text() == 'old'
    assert len(list(tmp_path.iterdir())) == 1


def test_only_files_are_read(tmp_path) -> None:
    os.mkfifo(tmp_path / 'pipe')
    (tmp_path / 'endless').symlink_to('/dev/zero')
    for name in ('pipe', 'endless'):
        with pytest.raises(InputError, match=f"{name}: .*'Not a file'"):
            read_bytes(tmp_path / name)
    with pytest.raises(InputError, match='can be read, .*null'):
        read_bytes('a\0b')


def test_files_that_fill_the_memory_are_refused(tmp_path) -> None:
    with (tmp_path / 'sparse').open('wb') as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match="sparse: .*'File too large'"):
        read_bytes(tmp_path / 'sparse')


def test_folders_with_what_has_no_end_are_refused(tmp_path) -> None:
    """Before a library opens it."""
    check_plain_files('a name on the hub')
    check_plain_files('a\0b')
    (tmp_path / 'parts').mkdir()
    (tmp_path / 'file').write_bytes(b'')
    (tmp_path / 'broken').symlink_to('nowhere')
    (tmp_path / 'ring').symlink_to('ring')
    check_plain_files(tmp_path)
    check_plain_files(tmp_path / 'file')
    for name in ('config.json', 'parts/a.jinja'):
        os.mkfifo(tmp_path / name)
        for path in (tmp_path, tmp_path / name):
            with pytest.raises(InputError, match=f'{name}: .* a pipe or a'):
                check_plain_files(path)
        (tmp_path / name).unlink()
    (tmp_path / 'endless').symlink_to('/dev/zero')
    with pytest.raises(InputError, match='endless: .* a device'):
        check_plain_files(tmp_path)
