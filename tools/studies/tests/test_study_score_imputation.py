"""The study of known scores, on a world where their worth is known."""
import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import ModelInfo
from tests.tables import small_tables, write_tables
from tools.studies import study_score_imputation as script
from tools.studies.study_score_imputation import (ScoreImputationStudy,
                                                  score_imputation_study)


@pytest.fixture(scope='module')
def study():
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
    return score_imputation_study(
        ModelTables(FeatureTable(models, columns, losses), accuracies, info),
        [('a', 'again')], 1)


def test_scores_help_where_they_know_more(study):
    losses, scores, both = study.errors()
    assert study.squares.shape == (3, 1, 32, 2)
    assert np.all(both < .5 * losses) and np.all(both < 1.1 * scores)
    # A copy of the score itself was not told.
    assert scores[0] > .01**2 / 2
    low, high = study.interval()
    assert low < study.gain() < high
    assert np.mean(study.covered) > .8
    assert np.mean(study.widths[1]) < np.mean(study.widths[0])


def test_errors_count_real_scores_alone():
    squares = np.full((3, 1, 2, 1), np.nan)
    squares[:, 0, 0, 0] = 4, 2, 1
    part = ScoreImputationStudy(('a', ), np.array(['f', 'g']), squares,
                                squares[:2], squares[:2])
    assert part.gain() == .5
    np.testing.assert_array_equal(part.errors(), [[4], [2], [1]])


@pytest.mark.parametrize('doubles, code', [('easy=hard', 0),
                                           ('easy=easier', 2)])
def test_command(tmp_path, capsys, doubles, code):
    tables = small_tables(24, n_families=8).only('easy', 'hard', 'chance')
    options = write_tables(tmp_path, tables,
                           dict.fromkeys(tables.models, 'train'))
    assert script.main([*options, '--seeds=1', f'--doubles={doubles}']) == code
    printed = capsys.readouterr()
    assert ('| hard ' in printed.out) == (code == 0)
    assert ("found 'easier'" in printed.err) == (code == 2)
