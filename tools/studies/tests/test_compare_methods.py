"""Methods side by side on tables: what is written, printed and refused."""
import csv

import numpy as np
import pytest

from csv_plugin.core.predictions import Predictions
from csv_plugin.core.salience import DEFAULT_SOLVER
from tests.tables import small_tables, write_tables
from tools.studies import compare_methods as script
from tools.studies.other_methods.comparison import Comparison

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
    assert '5 models predicted from 13' in printed
    assert f'{1e3 * float(methods[1]["mse"]):.3f}' in printed
    assert f'{1e3 * of_constant[0]:.2f}' in printed
    assert 'over 2 benchmarks' in printed and '5 families' in printed


def test_methods_by_their_errors():
    """The least error first; what lacks a benchmark has no means."""
    errors = np.array([[.01, .02, np.nan, .005], [.04, .01, .1, .005]])
    values = 0.5 + np.repeat(errors[None], 2, axis=0)
    flags = np.zeros(values.shape, bool)
    methods = ('ridge', 'pca', 'ladder', 'mean-loss')
    predictions = Predictions(('a', 'b'), ('easy|hard', 'other'), methods,
                              values, values - 0.03, values + 0.03, flags,
                              flags, np.full((2, 2), 0.5), 0.9)
    table = script.methods_table(
        Comparison(predictions, ('x', 'y'), dict.fromkeys(methods, 2.4)))
    rows = [[cell.strip() for cell in line.strip('|').split('|')]
            for line in table.splitlines()[2:]]
    assert [row[0] for row in rows] == ['mean-loss', 'pca', 'ridge', 'ladder']
    assert rows[2] == ['ridge', 'losses', '0.400', '1', '2.50', '0.50', '6.0',
                       '2']  # yapf: disable
    assert rows[1][2:4] == ['0.200', '0.50 (0.50 - 0.50)']
    assert rows[3] == ['ladder', 'size, tokens', *['-'] * 5, '2']


def test_families_left_out(options, tmp_path, capsys):
    options += ['--leave-family-out', '--methods', 'constant']
    assert script.main(options) == 0
    assert '18 models, each predicted from other families' in (
        capsys.readouterr().out)
    [easy, _] = rows(tmp_path / 'out/benchmarks.csv')[2:]
    assert float(easy['mse']) > TABLES.accuracies.column('easy').var()
