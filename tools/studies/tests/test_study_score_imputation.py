"""The study of known scores: what it writes, and what it says of bad input."""
import csv

import pytest

from tests.tables import small_tables, write_tables
from tools.studies import study_score_imputation as script


@pytest.fixture
def tables(tmp_path):
    tables = small_tables(24, n_families=8).only('easy', 'hard')
    write_tables(tmp_path, tables, dict.fromkeys(tables.models, 'train'))
    return [
        f'--{name}={tmp_path / name}.csv'
        for name in ('losses', 'scores', 'models', 'benchmarks')
    ]


def test_files(tables, tmp_path, capsys):
    out = tmp_path / 'new/out'
    assert script.main([
        *tables, '--seeds=1', '--solver=uniform', '--splits', 'train',
        f'--out={out}'
    ]) == 0
    with (out / 'score_imputation.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert [row['benchmark'] for row in rows] == ['easy', 'hard', 'mean']
    assert float(rows[-1]['mse_both']) > 0
    assert '| hard ' in capsys.readouterr().out


@pytest.mark.parametrize('option, found', [
    ('--doubles=easy=easier', "names of benchmarks, found 'easier'"),
    ('--splits=test', 'test'),
])
def test_bad_input(tables, tmp_path, capsys, option, found):
    assert script.main([*tables, option, f'--out={tmp_path / "out"}']) == 2
    assert found in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()
