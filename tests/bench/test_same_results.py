"""Results of two versions are compared number by number."""
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.bench.same_results import compare


@pytest.fixture
def results(tmp_path):
    """A folder with a file of every kind that is compared."""
    folder = tmp_path / 'first/zoo'
    folder.mkdir(parents=True)
    (folder / 'predictions.csv').write_text('model,value\na,0.25\nb,nan\n')
    (folder / 'triage.json').write_text('{"runs": [{"low": 0.5, "at": 3}]}')
    (folder / 'report.md').write_text('| method | MSE |\n| ridge | 7.63 |\n')
    save_file({'weights': np.array([1., 2.])}, folder / 'p.safetensors')
    (folder / 'unread.svg').write_text('<svg/>')
    return tmp_path / 'first'


def copied(results):
    return Path(shutil.copytree(results, results.parent / 'second'))


def test_equal_results_are_the_same(results, capsys):
    assert compare(results, copied(results)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert 'zoo/predictions.csv: 6 values, largest difference 0.0e+00' in lines


def test_rounding_is_no_difference(results):
    second = copied(results)
    path = second / 'zoo/predictions.csv'
    path.write_text(path.read_text().replace('0.25', '0.25000000000001'))
    assert compare(results, second) == 0
    assert compare(results, second, tolerance=1e-15) == 1


@pytest.mark.parametrize('file, old, new', [
    ('predictions.csv', '0.25', '0.25001'),
    ('predictions.csv', '0.25', 'nan'),
    ('predictions.csv', 'nan', '0.25'),
    ('predictions.csv', 'a,', 'c,'),
    ('predictions.csv', 'b,nan\n', ''),
    ('triage.json', '0.5', '0.6'),
    ('triage.json', '0.5', 'null'),
    ('report.md', '7.63', '7.64'),
])
def test_a_changed_value_is_a_difference(results, file, old, new):
    second = copied(results)
    path = second / 'zoo' / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert compare(results, second) == 1


def test_a_changed_array_is_a_difference(results):
    second = copied(results)
    save_file({'weights': np.array([1., 2.1])}, second / 'zoo/p.safetensors')
    assert compare(results, second) == 1


def test_a_missing_file_is_a_difference(results, capsys):
    second = copied(results)
    (second / 'zoo/report.md').unlink()
    assert compare(results, second) == 1
    assert 'zoo/report.md: missing' in capsys.readouterr().out


def test_nothing_is_not_the_same(tmp_path, capsys):
    assert compare(tmp_path / 'typo', tmp_path) == 1
    assert 'no results' in capsys.readouterr().out
