"""From losses and accuracies to predictors of token losses."""
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csc_array

from csv_plugin.core.features import (answer_mask, group_columns,
                                      mean_token_loss, text_columns)
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import LossTable
from csv_plugin.core.salience import Auto, NonNegative, Ridge
from csv_plugin.core.scaling_law import fit_curve
from csv_plugin.core.training import (FeatureSet, JoinedColumns,
                                      answers_by_source, loss_feature_sets,
                                      on_tokens)
from tests.core.training_worlds import (CHARACTERS, FAMILIES, FITTED, MODELS,
                                        OTHERS, TEXTS, make_training,
                                        make_training_world, table_of)

WORLD = DUMPS, ACCURACIES = make_training_world(CHARACTERS)
TRAINING = make_training(CHARACTERS, WORLD)
BLOCKS = loss_feature_sets(TRAINING.losses, TEXTS, CHARACTERS)


@pytest.fixture(scope='module')
def predictor():
    return TRAINING.fit(BLOCKS)


def predicted(predictor, models=OTHERS):
    return predictor.predict(DUMPS.select(models)).values[:, 0, 0]


def test_it_is_auto_among_the_blocks(predictor):
    source = JoinedColumns(BLOCKS)
    expected = fit_predictor(
        source.features(TRAINING.losses), ACCURACIES.select(FITTED),
        [FAMILIES[model] for model in FITTED], Auto(source.solvers('')))
    assert predictor.benchmarks[0].solver == expected.benchmarks[0].solver
    assert predictor.benchmarks[0].fit_models == FITTED
    predictions = predictor.predict(DUMPS)
    reference = expected.predict(
        source.features(table_of(CHARACTERS, DUMPS, MODELS)))
    for part in ('values', 'low', 'high'):
        np.testing.assert_allclose(
            getattr(predictions, part), getattr(reference, part), atol=1e-9)
    for part in ('extrapolated', 'in_sample'):
        np.testing.assert_array_equal(
            getattr(predictions, part), getattr(reference, part))
    assert predictions.in_sample[:, 0, 0].tolist() == [
        model in FITTED for model in MODELS
    ]


#: No solver of these tests takes the last columns.
SOURCE = JoinedColumns([*BLOCKS, replace(BLOCKS[1], name='unused')])


def narrowed(solver):
    """A predictor of all columns by one solver, and that of its tokens."""
    whole = fit_predictor(
        SOURCE.features(TRAINING.losses), ACCURACIES.select(FITTED),
        [FAMILIES[model] for model in FITTED],
        {each.name: each
         for each in SOURCE.solvers('')}[solver])
    return whole, on_tokens(whole, CHARACTERS, SOURCE)


def test_few_columns_stay_and_unused_ones_go():
    """A solver on the first block alone, so that no text can be taken."""
    whole, narrow = narrowed('groups nonnegative')
    n_groups = len(narrow.columns.units)
    assert narrow.columns.units == whole.columns.units[:n_groups] == (
        'groups: facts/answer', 'groups: facts/text', 'groups: sums/answer',
        'groups: sums/text')
    new, old = narrow.benchmarks[0].model, whole.benchmarks[0].model
    np.testing.assert_array_equal(new.coefficients,
                                  old.coefficients[:n_groups])
    assert not old.coefficients[n_groups:].any()


def test_scores_take_the_place_of_many_columns():
    """One fit and three folds; groups stay for the mean loss."""
    whole, narrow = narrowed('texts ridge')
    assert narrow.columns.units[:4] == whole.columns.units[:4]
    assert narrow.columns.units[4:] == tuple(f'sums: score {i}'
                                             for i in range(4))
    np.testing.assert_array_equal(narrow.columns.uniform,
                                  [*whole.columns.uniform[:4], 0, 0, 0, 0])
    features = SOURCE.features(table_of(CHARACTERS, DUMPS, MODELS))
    before, after = whole.predict(features), narrow.predict(DUMPS)
    for part in ('values', 'low', 'high'):
        np.testing.assert_allclose(
            getattr(after, part), getattr(before, part), atol=1e-9)


def test_answers_by_source_are_those_that_all_models_scored():
    found = answers_by_source(TRAINING.losses, TEXTS, CHARACTERS)
    assert list(found) == sorted({text.source for text in TEXTS})
    answers = answer_mask(TEXTS, CHARACTERS.spans)
    np.testing.assert_array_equal(sum(found.values()), answers)
    losses = TRAINING.losses.losses.copy()
    losses[0, np.flatnonzero(answers)[0]] = np.nan
    table = replace(TRAINING.losses, losses=losses)
    fewer = answers_by_source(table, TEXTS, CHARACTERS)
    assert sum(map(np.sum, fewer.values())) == answers.sum() - 1


def test_it_sees_no_accuracy_of_other_models():
    values = ACCURACIES.values.copy()
    values[len(FITTED):] = np.nan
    blind = replace(TRAINING, accuracies=replace(ACCURACIES, values=values))
    np.testing.assert_array_equal(
        predicted(blind.fit(BLOCKS[1:])), predicted(TRAINING.fit(BLOCKS[1:])))


def test_the_baseline_of_the_own_answers():
    baseline = TRAINING.label_token_loss()
    assert baseline.names == ('sums', )
    assert baseline.benchmarks[0].solver == 'label-token loss'
    own = answer_mask(TEXTS, CHARACTERS.spans)
    own[len(CHARACTERS.spans[0]):] = False
    weights = baseline.token_weights('sums')
    np.testing.assert_array_equal(weights > 0, own)
    assert np.ptp(weights[own]) == pytest.approx(0)
    loss = mean_token_loss(TRAINING.losses, own)
    curve, _ = fit_curve(loss, ACCURACIES.select(FITTED).values[:, 0], 0.)
    np.testing.assert_allclose(
        predicted(baseline, FITTED), curve.accuracies(loss), atol=1e-6)


def test_all_baselines_by_name():
    baselines = TRAINING.baselines()
    assert {
        name: predictor.benchmarks[0].solver
        for name, predictor in baselines.items()
    } == {
        'mean-loss': 'mean-loss',
        'constant': 'constant',
        'label-token': 'label-token loss'
    }
    np.testing.assert_allclose(baselines['mean-loss'].token_weights('sums'), 1)
    np.testing.assert_allclose(
        predicted(baselines['constant']),
        ACCURACIES.select(FITTED).values.mean())
    renamed = replace(
        TRAINING, accuracies=replace(ACCURACIES, benchmarks=('exam', )))
    assert list(renamed.baselines()) == ['mean-loss', 'constant']


RNG = np.random.default_rng(0)
TABLE = LossTable(('m', 'n'), ('a', 'b'), RNG.uniform(1, 2, (2, 5)),
                  np.array([0, 2, 5]), np.array([4, 6]), np.array([4, 6]),
                  'f')  # yapf: disable
GROUPS = group_columns(TABLE, ['x', 'y', 'x', 'x', 'y'])
BY_TEXT = text_columns(TABLE)
JOINED = JoinedColumns(
    [FeatureSet('groups', GROUPS, ()),
     FeatureSet('texts', BY_TEXT, ())])


def test_columns_stand_side_by_side():
    assert JOINED.columns.units == ('groups: x', 'groups: y', 'texts: a',
                                    'texts: b')
    features = JOINED.features(TABLE)
    assert features.columns.fingerprint == TABLE.fingerprint
    assert features.columns.scored.all()
    np.testing.assert_allclose(
        features.values,
        np.hstack([
            GROUPS.features(TABLE).values,
            BY_TEXT.features(TABLE).values,
        ]))
    np.testing.assert_allclose(features.mean_loss,
                               TABLE.losses.sum(axis=1) / 10)


def test_sums_of_columns_are_sums_of_tokens():
    coefficients = RNG.normal(size=(4, 3)) * [[1], [0], [1], [1]]
    combined = JOINED.combine(csc_array(coefficients))
    dense = np.hstack([GROUPS.matrix.toarray(), BY_TEXT.matrix.toarray()])
    assert combined.shape == (5, coefficients.shape[1])
    np.testing.assert_allclose(
        combined.toarray(), dense @ coefficients, atol=1e-12)
    # What a nat of a token adds: features and sums agree.
    np.testing.assert_allclose(
        TABLE.losses @ combined.toarray(),
        JOINED.features(TABLE).values @ coefficients,
        atol=1e-12)


def test_answers_of_other_sources_are_not_offered():
    columns = JoinedColumns([
        FeatureSet('groups', GROUPS, (NonNegative(), )),
        FeatureSet('answers of a', BY_TEXT, (Ridge(), ), 'a'),
        FeatureSet('answers of b', BY_TEXT, (Ridge(), ), 'b')
    ])
    offered = {
        name: [(solver.name, solver.columns.tolist())
               for solver in columns.solvers(name)]
        for name in 'abc'
    }
    solver, *_ = columns.solvers('c')
    assert (solver.name, solver.solver) == ('groups nonnegative',
                                            NonNegative())
    np.testing.assert_array_equal(solver.uniform, GROUPS.columns.uniform)
    groups, of_a, of_b = offered['c']
    assert offered['a'] == [groups, of_a]
    assert offered['b'] == [groups, of_b]
    assert (groups[1], of_a[1], of_b[1]) == ([0, 1], [2, 3], [4, 5])
    # Its own answers are the favourite of a benchmark.
    assert [columns.auto(name).favourite for name in 'abc'
            ] == ['answers of a ridge', 'answers of b ridge', None]
