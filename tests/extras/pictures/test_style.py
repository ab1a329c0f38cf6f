"""Looks, names and files of all pictures."""
import matplotlib
import pytest

from csv_plugin.extras.pictures import capability_picture, save
from tests.extras.pictures.samples import some_points


@pytest.mark.slow
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
