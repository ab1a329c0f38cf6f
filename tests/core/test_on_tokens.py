"""Scores in the place of columns: the same predictions, fewer columns."""
import numpy as np
import pytest
from scipy.sparse import csc_array, hstack

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import TokenColumns, group_columns, text_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import TargetTokens, TokenLosses
from csv_plugin.core.salience import Auto, Ridge
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.core.training import FeatureSet, JoinedColumns, on_tokens

N_TEXTS, N_MODELS = 30, 16
TEXTS = TextSet(tuple(Text(f't{i}', 'abcd') for i in range(N_TEXTS)))
SPANS = TokenSpans.from_token_bytes([b'ab', b'cd'], 'abcd')
TARGETS = TargetTokens.of(TEXTS, [SPANS] * N_TEXTS)
FAMILIES = [f'f{i % 4}' for i in range(N_MODELS)]
#: 1 fit and as many folds as there are families.
N_SCORES = 1 + 4


@pytest.fixture(scope='module')
def world():
    """'all' falls with every loss, 'few' with those of three texts."""
    rng = np.random.default_rng(0)
    skills = rng.normal(size=(2, N_MODELS))
    losses = {
        f'm{m}': [
            TokenLosses(
                text.text_id,
                2 - .2 * skills[int(i < 3), m] + .02 * rng.normal(size=2),
                SPANS,
                4,
                sha256=text.sha256) for i, text in enumerate(TEXTS)
        ]
        for m in range(N_MODELS)
    }
    accuracies = AccuracyTable(
        tuple(losses), ('all', 'few'), 1 / (1 + np.exp(-2 * skills.T)),
        np.zeros(2), np.zeros(2, int))
    return TARGETS.table(losses), accuracies


def trained(world, columns, solver, families=FAMILIES):
    """A predictor of features, which knows no tokens yet."""
    table, accuracies = world
    return fit_predictor(columns.features(table), accuracies, families, solver)


def with_all_columns(predictor, columns):
    """The predictor of token losses with all of the columns."""
    matrix = csc_array(
        hstack([block.source.matrix for block in columns.feature_sets]))
    return predictor.with_tokens(TARGETS, TokenColumns(columns.columns,
                                                       matrix))


def joined(world, *solvers):
    """Two groups, which make the all-token loss, and a column per text."""
    table = world[0]
    groups = group_columns(table, ['x', 'y'] * N_TEXTS)
    columns = JoinedColumns([
        FeatureSet('groups', groups, solvers),
        FeatureSet('texts', text_columns(table), (Ridge(), ))
    ])
    return columns, columns.solvers('')


def assert_same(world, narrow, whole, columns):
    """The same predictions and token weights of the same losses."""
    predictors = narrow, with_all_columns(whole, columns)
    tables = [predictor.predict(world[0]) for predictor in predictors]
    for part in ('values', 'low', 'high'):
        np.testing.assert_allclose(
            *(getattr(table, part) for table in tables), atol=1e-10)
    np.testing.assert_array_equal(*(table.extrapolated for table in tables))
    np.testing.assert_array_equal(*(table.in_sample for table in tables))
    for benchmark in whole.names:
        np.testing.assert_allclose(
            *(predictor.token_weights(benchmark) for predictor in predictors),
            atol=1e-10)


def test_scores_take_the_place_of_many_columns(world):
    columns, solvers = joined(world)
    whole = trained(world, columns, Auto(solvers))
    assert whole.benchmarks[1].solver == 'texts ridge'
    narrow = on_tokens(whole, TARGETS, columns)
    names = [
        part.benchmark for part in whole.benchmarks
        if part.solver == 'texts ridge'
    ]
    units, uniform = narrow.columns.units, narrow.columns.uniform
    assert units == ('groups: x', 'groups: y', *(f'{name}: score {i}'
                                                 for name in names
                                                 for i in range(N_SCORES)))
    assert narrow.matrix.shape == (2 * N_TEXTS, len(units))
    np.testing.assert_array_equal(uniform[:2], whole.columns.uniform[:2])
    assert not uniform[2:].any()
    assert_same(world, narrow, whole, columns)


def test_few_columns_stay_and_unused_ones_go(world):
    columns, _ = joined(world)
    _, solvers = joined(world, Ridge())
    # The solver on groups alone, so that no benchmark can take texts.
    whole = trained(world, columns, solvers[0])
    narrow = on_tokens(whole, TARGETS, columns)
    assert narrow.columns.units == ('groups: x', 'groups: y')
    assert [part.solver for part in narrow.benchmarks] == ['groups ridge'] * 2
    for new, old in zip(narrow.benchmarks, whole.benchmarks):
        np.testing.assert_array_equal(new.model.coefficients,
                                      old.model.coefficients[:2])
    assert_same(world, narrow, whole, columns)
