"""The study of units: what it prints, and what it says of bad input."""
import pytest

from tests.tables import small_tables, write_tables
from tools.studies import study_units as script


@pytest.fixture
def arguments(tmp_path):
    tables = small_tables(12, n_units=6, n_families=4).only('easy', 'hard')
    splits = dict.fromkeys(tables.models, 'test') | dict.fromkeys(
        tables.models[:9], 'train')
    return [*write_tables(tmp_path, tables, splits), '--fit=train']


def test_rows(arguments, capsys):
    assert script.main([*arguments, '--units', '2', '--draws=2']) == 0
    two, every = [[cell.strip() for cell in line.strip('|').split('|')]
                  for line in capsys.readouterr().out.splitlines()[2:]]
    assert (two[0], every[0]) == ('2', 'all 6')
    assert float(two[1]) > 0 and '-' in two[2] and float(every[1]) > 0
    assert 0 <= float(two[3].split()[0]) <= 1


def test_more_units_than_there_are(arguments, capsys):
    assert script.main([*arguments, '--units=7']) == 2
    assert '1 to 6' in capsys.readouterr().err
