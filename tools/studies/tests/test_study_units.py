"""The study of units: what it writes, and what it says of bad input."""
import csv

import pytest

from tests.tables import small_tables, write_tables
from tools.studies import study_units as script


@pytest.fixture
def arguments(tmp_path):
    tables = small_tables(12, n_units=6, n_families=4).only('easy', 'hard')
    splits = {model: 'train' for model in tables.models[:9]}
    options = write_tables(tmp_path, tables,
                           {m: splits.get(m, 'test')
                            for m in tables.models})
    return [*options, '--fit=train', f'--out={tmp_path / "new/out"}']


def test_files(arguments, tmp_path, capsys):
    assert script.main([*arguments, '--units', '2', '--draws=2']) == 0
    with (tmp_path / 'new/out/units.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert [(row['units'], row['n_units'], row['seed'])
            for row in rows] == [('chosen', '2', '0'), ('random', '2', '0'),
                                 ('random', '2', '1'), ('all', '6', '0')]
    assert all(float(row['mse']) > 0 for row in rows)
    assert all(0 <= float(row['coverage']) <= 1 for row in rows)
    assert all(0 < float(row['width']) <= 1 for row in rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith('|       2 |') and lines[3].count('|') == 4


def test_more_units_than_there_are(arguments, tmp_path, capsys):
    assert script.main([*arguments, '--units=7']) == 2
    assert '1 to 6' in capsys.readouterr().err
    assert not (tmp_path / 'new').exists()
