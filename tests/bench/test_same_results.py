"""Results of two versions are compared number by number."""
import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.bench.same_results import compare


@pytest.fixture
def folders(tmp_path):
    """A folder with a file of every kind that is compared, and a copy."""
    folder = tmp_path / 'first/zoo'
    folder.mkdir(parents=True)
    (folder / 'predictions.csv').write_text('model,value\na,0.25\nb,nan\n')
    (folder / 'triage.json').write_text('{"runs": [{"low": 0.5, "at": 3}]}')
    (folder / 'report.md').write_text('| method | MSE |\n| ridge | 7.63 |\n')
    save_file({'weights': np.array([1., 2.])}, folder / 'p.safetensors')
    (folder / 'unread.svg').write_text('<svg/>')
    second = shutil.copytree(tmp_path / 'first', tmp_path / 'second')
    return tmp_path / 'first', second


def test_equal_results_are_the_same(folders, capsys):
    assert compare(*folders) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.mark.parametrize('file, old, new', [
    ('predictions.csv', '0.25', '0.25001'),
    ('predictions.csv', 'nan', '0.25'),
    ('predictions.csv', 'a,', 'c,'),
    ('predictions.csv', 'b,nan\n', ''),
    ('triage.json', '0.5', '0.6'),
    ('report.md', '7.63', '7.64'),
])
def test_a_changed_value_is_a_difference(folders, file, old, new):
    path = folders[1] / 'zoo' / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert compare(*folders) == 1
    # What is less than the tolerance is none.
    assert compare(
        *folders, tolerance=.2) == (
            file == 'predictions.csv' and new != '0.25001')


def test_a_changed_array_or_a_missing_file_is_a_difference(folders, tmp_path):
    save_file({'weights': np.array([1., 2.1])},
              folders[1] / 'zoo/p.safetensors')
    assert compare(*folders) == 1
    (folders[1] / 'zoo/p.safetensors').unlink()
    assert compare(*folders) == 1
    assert compare(tmp_path / 'typo', tmp_path) == 1
