"""Looks, names and files of all pictures."""
import matplotlib
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.pictures import capability_picture, save
from csv_plugin.extras.pictures.style import (GREY, MOST_NAMES, OTHERS, looks,
                                              plain)
from tests.extras.pictures.samples import HOSTILE, some_points


def test_names_that_occur_least_share_the_last_look():
    names = [*map(str, range(20)), *map(str, range(6, 20))]
    by_name = looks(names)
    own = [name for name in by_name if by_name[name] != by_name[OTHERS]]
    # Of those that occur once, the first nine would be one too many.
    assert own == ['0', *map(str, range(6, 20))] and len(own) == MOST_NAMES
    assert by_name['1'].colour == GREY and list(by_name)[-1] == OTHERS
    assert OTHERS not in looks(own)


def test_plain_keeps_names_apart():
    drawn = [plain(name) for name in (*HOSTILE, 'a b', '模', '型')]
    assert len(set(drawn)) == len(drawn)
    assert plain('$x_1$ <b>') == '$x_1$ <b>'
    assert plain('\U0010fffd') == '\\U0010fffd'
    assert plain('a\nb') == 'a\\nb'


@pytest.mark.parametrize('suffix', ['SVG', 'png'])
def test_same_bytes(tmp_path, suffix):
    """Whatever the settings of the user."""
    with matplotlib.rc_context():
        for name in 'ab':
            save(
                capability_picture([some_points()]),
                tmp_path / f'{name}.{suffix}')
            matplotlib.rcParams['font.size'] = 30
            matplotlib.rcParams['svg.hashsalt'] = 'theirs'
            matplotlib.rcParams['axes.facecolor'] = 'red'
    first, second = ((tmp_path / f'{n}.{suffix}').read_bytes() for n in 'ab')
    assert first == second
    assert first.startswith(b'\x89PNG' if suffix == 'png' else b'<?xml')
    assert b'dc:date' not in first


@pytest.mark.parametrize('name, match', [('a.pdf', '.png or .svg'),
                                         ('a', '.png or .svg'),
                                         ('no/a.svg', 'existing folder')])
def test_save_refuses(tmp_path, name, match):
    with pytest.raises(InputError, match=match):
        save(capability_picture([some_points()]), tmp_path / name)
    assert not list(tmp_path.iterdir())
