"""Fitting, predicting, and what a prediction carries."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.intervals import OWN_SHARE
from csv_plugin.core.model_losses import MIXED, mixed_engines
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience import SOLVERS, Constant, Ridge, Uniform
from csv_plugin.core.scaling_law import PROBLEMS
from tests.runs import TEXTS, dump, model_losses, train
from tests.tables import CHANCE, Tables, small_tables

NOTHING_TO_LEARN = ('chance', 'same', 'pair', 'none')


def fit(tables: Tables, solver=Ridge(), seed: int = 0) -> Predictor:
    return fit_predictor(tables.features, tables.accuracies, tables.groups,
                         solver, seed)


def shifted(features: FeatureTable, by: float) -> FeatureTable:
    """Models that were never fitted on, whose losses differ by a constant."""
    return replace(
        features,
        models=tuple(f'{model}{by:+}' for model in features.models),
        values=features.values + by)


@pytest.fixture(scope='module')
def tables() -> Tables:
    return small_tables()


@pytest.fixture(scope='module')
def predictor(tables) -> Predictor:
    return fit(tables)


@pytest.fixture(scope='module')
def predicted(tables, predictor) -> Predictions:
    return predictor.predict(tables.features)


def test_level_moves_the_interval_around_the_value(tables, predictor):
    narrow, usual, wide = (
        predictor.predict(tables.features, **level)
        for level in (dict(level=.5), {}, dict(level=.95)))
    assert (narrow.level, usual.level, wide.level) == (.5, .9, .95)
    np.testing.assert_array_equal(narrow.values, wide.values)
    for table in (narrow, wide):
        assert ((table.low <= table.values) &
                (table.values <= table.high)).all()
    assert ((narrow.high - narrow.low) < (wide.high - wide.low))[:, :2].all()


def test_no_interval_is_narrower_than_a_models_own_noise(tables, predictor):

    def widths(n_items: int):
        parts = (
            replace(part, n_items=n_items) for part in predictor.benchmarks)
        table = replace(
            predictor, benchmarks=tuple(parts)).predict(tables.features)
        return (table.high - table.low)[:, 0, 0]

    np.testing.assert_array_equal(widths(10**9), widths(0))
    predicted = predictor.predict(tables.features).values[:, 0, 0]
    middle = np.abs(predicted - .5) < .2
    assert middle.any()
    assert np.all(
        widths(10)[middle] > 2 * 1.64 * np.sqrt(OWN_SHARE * .21 / 10))


def test_in_sample_marks_models_with_a_score(tables, predictor, predicted):
    scored = ~np.isnan(tables.accuracies.values)
    np.testing.assert_array_equal(predicted.in_sample[:, :, 0], scored)
    # 'pair' and 'none' differ, so the mark is by benchmark.
    assert scored.sum(axis=0).tolist() == [15, 15, 15, 15, 2, 0]
    for b, benchmark in enumerate(predictor.benchmarks):
        assert benchmark.fit_models == tuple(
            np.array(tables.models)[scored[:, b]])


def test_a_missing_score_is_left_out(tables):
    tables = tables.only('easy', 'same')
    values = tables.accuracies.values.copy()
    values[[0, 7], 0] = np.nan
    holes = replace(tables.accuracies, values=values)
    sparse = fit(replace(tables, accuracies=holes))
    rest = [m for i, m in enumerate(tables.models) if i not in (0, 7)]
    smaller = fit(replace(tables, accuracies=tables.accuracies.select(rest)))
    assert sparse.benchmark('easy').fit_models == tuple(rest)
    assert sparse.benchmark('same').fit_models == tables.models
    predicted = [p.predict(tables.features) for p in (sparse, smaller)]
    for part in ('values', 'low', 'high', 'extrapolated', 'in_sample'):
        easy, expected = (getattr(p, part)[:, 0] for p in predicted)
        np.testing.assert_array_equal(easy, expected)
    assert not predicted[0].in_sample[[0, 7], 0].any()
    assert predicted[0].in_sample[[0, 7], 1].all()


def test_features_go_by_name(tables, predictor, predicted):
    order = tables.models[::-1]
    more = FeatureTable(
        (*order, 'other'), tables.features.columns,
        np.vstack([tables.features.select(order).values,
                   np.ones(4)]))
    again = fit_predictor(more, tables.accuracies, tables.groups, Ridge())
    reordered = again.predict(tables.features)
    np.testing.assert_array_equal(reordered.values, predicted.values)


@pytest.mark.parametrize('solver', [*SOLVERS.values(), Constant()],
                         ids=lambda solver: solver.name)  # yapf: disable
def test_nothing_to_learn_means_the_mean(tables, solver):
    # The baseline is a curve at chance (see test_fitting.py).
    is_baseline = solver.name == 'mean-loss'
    poor = tables.only(*NOTHING_TO_LEARN[is_baseline:])
    predictor = fit(poor, solver)
    predicted = predictor.predict(shifted(tables.features, 0.3))
    problems = {
        'chance': ['at_chance'],
        'same': ['constant_accuracy'],
        'pair': ['too_few_models', 'constant_accuracy'],
        'none': ['too_few_models', 'at_chance'],
    }
    means = dict(
        chance=tables.accuracies.column('chance').mean(),
        same=0.5,
        pair=0.75,
        none=CHANCE)
    for b, benchmark in enumerate(predictor.benchmarks):
        np.testing.assert_allclose(
            predicted.values[:, b], means[benchmark.benchmark], rtol=1e-12)
        assert benchmark.solver == 'constant'
        assert benchmark.penalty == np.inf
        assert benchmark.notes == tuple(
            f'predicted by the mean accuracy: {PROBLEMS[problem]}'
            for problem in problems[benchmark.benchmark])


def test_nothing_known_means_the_widest_interval(tables, predicted):
    none = tables.accuracies.benchmarks.index('none')
    assert not predicted.low[:, none].any()
    assert (predicted.high[:, none] == 1).all()
    empty = replace(tables, accuracies=tables.accuracies.select(()))
    nothing = fit(empty).predict(tables.features)
    np.testing.assert_array_equal(nothing.values, CHANCE)
    assert not nothing.in_sample.any()


@pytest.mark.parametrize('n_scored', [1, 3])
def test_few_models(n_scored):
    tables = small_tables(n_families=1).only('easy', 'hard')
    few = tables.accuracies.select(tables.models[:n_scored])
    predictor = fit(replace(tables, accuracies=few))
    assert np.isfinite(predictor.predict(tables.features).low).all()
    easy = predictor.benchmarks[0]
    assert (easy.solver == 'constant') == (n_scored < 3)
    assert np.isnan(easy.cv_mse)
    assert any('one family only' in note for note in easy.notes) == (
        easy.solver != 'constant')


def test_no_fitted_model_is_extrapolated_by_rounding():
    """Sums differ in their last bits, alone or among other models."""
    tables = small_tables(n_units=200).only('easy', 'hard')
    predictor = fit(tables, Uniform())
    for model in tables.models:
        alone = predictor.predict(tables.features.select([model]))
        assert alone.in_sample.all() and not alone.extrapolated.any()
    for factor in (.1, 10):
        far = replace(tables.features, values=factor * tables.features.values)
        assert predictor.predict(far).extrapolated.all()


def test_a_column_outside_the_mean_loss_has_no_weight(tables):
    columns = replace(
        tables.features.columns, uniform=np.array([0.5, 0, 0.2, 0.3]))
    features = replace(tables.features, columns=columns)
    weights = fit(replace(tables, features=features), Uniform())
    np.testing.assert_allclose(
        weights.weights('easy'), [1, np.nan, 1, 1], rtol=1e-12)


def test_another_seed_holds_out_other_families():
    tables = small_tables(n_models=22, n_families=11).only('easy', 'hard')
    first, second = (fit(tables, Uniform(), seed) for seed in (0, 7))
    errors = [p.benchmarks[0].cv_mse for p in (first, second)]
    assert errors[0] != errors[1]
    # With the floor fixed, uniform weights leave nothing to choose.
    values = [p.predict(tables.features).values for p in (first, second)]
    np.testing.assert_allclose(*values, rtol=1e-9)


def test_what_cannot_be_fitted(tables, predictor):
    with pytest.raises(
            InputError,
            match="easy.*found 'esay'. Did you mean 'easy'. Train"):
        predictor.weights('esay')
    few = tables.features.select(tables.models[:-1])
    with pytest.raises(InputError, match="none of 'org/model-14'"):
        fit_predictor(few, tables.accuracies, tables.groups, Ridge())
    nothing = AccuracyTable(tables.models, (), np.zeros((15, 0)), np.zeros(0),
                            np.zeros(0, int))
    with pytest.raises(InputError, match='expected a benchmark or more'):
        fit(replace(tables, accuracies=nothing))


@pytest.mark.parametrize('factor', [1e-3, 1e3])
def test_losses_in_another_unit(tables, predictor, factor):
    one = tables.features.select(tables.models[:1])
    wrong = replace(one, values=factor * one.values)
    with pytest.raises(InputError, match='a mean loss like that of other'):
        predictor.predict(wrong)
    with pytest.raises(InputError, match='a mean loss like that of other'):
        replace(predictor, mean_losses=np.array([.5, 2])).predict(wrong)
    # Features other than losses have no such range.
    replace(predictor, mean_losses=np.array([-1., 1])).predict(wrong)


def test_notes_say_if_models_were_scored_in_different_ways():
    info = dump('m', model_losses(1.), TEXTS).info
    infos = {'a': info, 'b': replace(info, engine='vllm')}
    before = train()
    for old, new in zip(before.benchmarks, before.noted(infos).benchmarks):
        assert new.notes == (*old.notes, *mixed_engines(infos))
    for same in (before.noted({'a':
                               info}), train(solver=Constant()).noted(infos)):
        assert not any(
            note.startswith(MIXED) for part in same.benchmarks
            for note in part.notes)
