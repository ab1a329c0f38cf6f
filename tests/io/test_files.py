"""Files that are read with clear errors and written whole or not at all."""
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import (atomic_path, check_fields, check_target,
                                 read_bytes, write_text)


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
    with pytest.raises(UnicodeEncodeError):
        write_text(path, 'half a character: \ud800')
    assert path.read_bytes() == b'n\xc3\xa9\r\n'
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
