"""The study of known scores, on a world where their worth is known."""
import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import ModelInfo
from tests.tables import small_tables, write_tables
from tools.studies import study_score_imputation as script


@pytest.fixture(scope='module')
def found():
    """Three benchmarks share what losses do not tell; one is a double."""
    rng = np.random.default_rng(0)
    skill, taste = rng.normal(size=(2, 32))
    losses = 3 - .5 * skill[:, None] + .02 * rng.normal(size=(32, 2))
    values = .5 + .05 * skill[:, None] + .05 * taste[:, None] + .01 * (
        rng.normal(size=(32, 4)))
    values[:, 3] = values[:, 0]
    models = tuple(f'm{i}' for i in range(32))
    names = ('a', 'b', 'c', 'again')
    accuracies = AccuracyTable(
        models,
        names,
        values,
        np.zeros(4),
        np.zeros(4, int),
        outside_means=('c', 'again'))
    info = {
        model: ModelInfo(f'family-{i % 8}', '', 1.0)
        for i, model in enumerate(models)
    }
    columns = Columns(('x', 'y'), np.full(2, .5), 'texts')
    return script.predict_all(
        ModelTables(FeatureTable(models, columns, losses), accuracies, info),
        [('a', 'again')])


def test_scores_help_where_they_know_more(found):
    alone, both = found.squares.mean(axis=1)
    assert found.squares.shape == (2, 32, 2)
    assert (both < .5 * alone).all()
    # A copy of the score itself was not told.
    assert both[0] > .01**2 / 2
    assert found.coverage.mean() > .8
    widths = (found.high - found.low).mean(axis=(1, 2))
    assert widths[1] < widths[0]


def test_unknown_scores_do_not_count():
    real = np.array([[.5], [np.nan]])
    values = np.array([[[.6], [.9]], [[.5], [.1]]])
    part = script.Found(real, values, values - .2, values + .05)
    assert np.nanmean(part.squares, axis=1).ravel() == pytest.approx([.01, 0])
    assert part.coverage.ravel().tolist() == [1, 1]
    last = script.table(part, ['a'], ['f', 'g']).splitlines()[3]
    assert last.split('|')[2].strip() == '10.000'


@pytest.mark.parametrize('doubles, code', [('easy=hard', 0),
                                           ('easy=easier', 2)])
def test_command(tmp_path, capsys, doubles, code):
    tables = small_tables(24, n_families=8).only('easy', 'hard', 'chance')
    options = write_tables(tmp_path, tables,
                           dict.fromkeys(tables.models, 'train'))
    assert script.main([*options, f'--doubles={doubles}']) == code
    printed = capsys.readouterr()
    assert ('| hard ' in printed.out) == (code == 0)
    assert ("found 'easier'" in printed.err) == (code == 2)
