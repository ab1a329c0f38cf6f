"""Methods side by side on tables: what is written, printed and refused."""
import csv
import json

import numpy as np
import pytest

from csv_plugin.core.salience import DEFAULT_SOLVER
from tests.tables import small_tables, write_tables
from tools.studies import compare_methods as script

TABLES = small_tables(18, n_families=6).only('easy', 'hard')
SPLITS = {
    model: 'seen' if m < 13 else 'test'
    for m, model in enumerate(TABLES.models)
}


@pytest.fixture
def options(tmp_path):
    return [
        *write_tables(tmp_path, TABLES, SPLITS), '--fit', 'seen', '--out',
        str(tmp_path / 'out')
    ]


def rows(path):
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def test_files_and_the_screen(options, tmp_path, capsys):
    options += ['--methods', 'constant', 'completion', 'ladder', 'constant']
    assert script.main(options) == 0
    out = tmp_path / 'out'
    methods = rows(out / 'methods.csv')
    assert [row['method'] for row in methods
            ] == [DEFAULT_SOLVER, 'constant', 'completion', 'ladder']
    assert float(methods[0]['ratio']) == 1
    benchmarks = rows(out / 'benchmarks.csv')
    assert [row['benchmark'] for row in benchmarks] == ['easy', 'hard'] * 4
    of_constant = [float(row['mse']) for row in benchmarks[2:4]]
    assert float(methods[1]['mse']) == pytest.approx(np.prod(of_constant)**0.5)
    printed = capsys.readouterr().out
    report = (out / 'comparison.md').read_text()
    for text in (printed, report):
        assert '5 models predicted from 13' in text
        assert f'{1e3 * float(methods[1]["mse"]):.3f}' in text
        assert f'{1e3 * of_constant[0]:.2f}' in text
        assert '| ladder ' in text and '|   ladder |' in text
    assert '--methods constant' in report
    assert 'over 2 benchmarks' in report and '5 families' in report


def test_families_left_out_as_json(options, capsys):
    options += ['--leave-family-out', '--methods', 'constant', '--json']
    assert script.main(options) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['title'] == '18 models, each predicted from other families'
    constant = answer['methods']['constant']
    assert constant['looks_at'] == 'nothing'
    assert constant['mae'] == pytest.approx(
        np.mean([constant['benchmarks'][name]['mae']
                 for name in ('easy', 'hard')]))  # yapf: disable
    real = TABLES.accuracies.column('easy')
    assert constant['benchmarks']['easy']['mse'] > real.var()
