"""The study of models: what it writes, and what it says of bad input."""
import csv

import pytest

from tests.tables import small_tables, write_tables
from tools.studies import study_models as script
from tools.studies.tests.small_study import shrink


@pytest.fixture
def tables(tmp_path):
    tables = small_tables(24, n_families=8).only('easy')
    write_tables(tmp_path, tables, dict.fromkeys(tables.models, 'train'))
    return [
        f'--{name}={tmp_path / name}.csv'
        for name in ('losses', 'scores', 'models', 'benchmarks')
    ]


@pytest.mark.slow
def test_files(tables, tmp_path, capsys, monkeypatch):
    shrink(monkeypatch)
    out = tmp_path / 'new/out'
    assert script.main([*tables, '--draws=1', f'--out={out}']) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        'models.csv', 'models.png', 'models.svg'
    ]
    with (out / 'models.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert [(row['series'], row['n_models'], row['n_families'])
            for row in rows[::2]] == [('models', '14', '6'),
                                      ('families', '6', '2')]
    assert len(capsys.readouterr().out.splitlines()) == 2 + 2


def test_too_few_models(tables, tmp_path, capsys):
    assert script.main([*tables, f'--out={tmp_path / "out"}']) == 2
    assert '48 to fit to' in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()
