"""Predicting, weights, and what a prediction carries."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.model_losses import mixed_engine_notes
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from tests.runs import TEXTS, dump, model_losses, train
from tests.tables import Tables, small_tables


def fit(tables: Tables) -> Predictor:
    return fit_predictor(tables.features, tables.accuracies, tables.groups)


@pytest.fixture(scope='module')
def tables() -> Tables:
    return small_tables()


@pytest.fixture(scope='module')
def predictor(tables) -> Predictor:
    return fit(tables)


@pytest.fixture(scope='module')
def predicted(tables, predictor) -> Predictions:
    return predictor.predict(tables.features)


def shifted(features: FeatureTable, by: float) -> FeatureTable:
    """Models that were never fitted on, whose losses differ by a constant."""
    return replace(
        features,
        models=tuple(f'{model}{by:+}' for model in features.models),
        values=features.values + by)


def test_accuracies_and_intervals_are_those_of_the_joint(
        tables, predictor, predicted):
    joint = predictor.joint(tables.features)
    np.testing.assert_array_equal(predicted.values[:, :, 0], joint.accuracies)
    for part, expected in zip((predicted.low, predicted.high),
                              joint.intervals(.9)):
        np.testing.assert_array_equal(part[:, :, 0], expected)
    np.testing.assert_array_equal(predicted.expected_error[:, :, 0],
                                  joint.expected_errors)
    again = predictor.predictions(joint, tables.models, .9)
    np.testing.assert_array_equal(again.high, predicted.high)


def test_the_level_moves_the_interval_around_the_value(tables, predictor):
    narrow, usual, wide = (
        predictor.predict(tables.features, **level)
        for level in (dict(level=.5), {}, dict(level=.95)))
    assert (narrow.level, usual.level, wide.level) == (.5, .9, .95)
    np.testing.assert_array_equal(narrow.values, wide.values)
    for table in (narrow, wide):
        assert ((table.low <= table.values) &
                (table.values <= table.high)).all()
    assert ((narrow.high - narrow.low) < (wide.high - wide.low)).all()


@pytest.mark.parametrize('level', [0, 1, 90, float('nan')])
def test_levels_that_are_none(tables, predictor, level):
    with pytest.raises(InputError, match=r'a number in \(0, 1\), found'):
        predictor.predict(tables.features, level)


@pytest.mark.parametrize('wrong, message', [
    (dict(known=[[.5]]), 'known: expected an AccuracyTable, found a list'),
    (dict(known={'org/model-0': .5}), 'an AccuracyTable, found a dict'),
    (dict(families=['a']), 'families: .* found a list'),
    (dict(families={'org/model-0': 'a'}), "found None of 'org/model-1'"),
])
def test_arguments_of_another_kind(tables, predictor, wrong, message):
    with pytest.raises(InputError, match=message):
        predictor.predict(tables.features, **wrong)


def test_losses_of_another_kind(tables, predictor):
    """The error is about the losses, not about the predictor."""
    for wrong in (tables.features.values, [[1.]], None):
        with pytest.raises(InputError, match=r'^losses: .*of_losses\('):
            predictor.predict(wrong)


def test_in_sample_marks_models_with_a_score(tables, predictor, predicted):
    accuracies = tables.accuracies.select(benchmarks=predictor.names)
    scored = ~np.isnan(accuracies.values)
    np.testing.assert_array_equal(predicted.in_sample[:, :, 0], scored)
    # 'pair' differs, so the mark is by benchmark; nobody was run on 'none'.
    assert scored.sum(axis=0).tolist() == [15, 15, 15, 15, 2]
    for b, part in enumerate(predictor.benchmarks):
        assert {*part.fit_models} == {*np.array(tables.models)[scored[:, b]]}


def test_a_benchmark_at_chance_is_marked(predictor, predicted):
    marked = [part.benchmark for part in predictor.benchmarks
              if part.at_chance]  # yapf: disable
    assert marked == ['chance']
    column = predicted.benchmarks.index('chance')
    assert predicted.at_chance[:, column].all()
    assert predicted.at_chance.sum() == len(predicted.models)


@pytest.mark.slow
def test_features_go_by_name(tables):
    tables = tables.only('easy')
    predicted = fit(tables).predict(tables.features)
    order = tables.models[::-1]
    more = FeatureTable(
        (*order, 'other'), tables.features.columns,
        np.vstack([tables.features.select(order).values,
                   np.ones(4)]))
    again = fit_predictor(more, tables.accuracies, tables.groups)
    reordered = again.predict(tables.features)
    np.testing.assert_allclose(reordered.values, predicted.values, rtol=1e-9)


def test_better_losses_mean_better_accuracies(tables, predictor):
    worse, better = (
        predictor.predict(shifted(tables.features, by)).values[:, :2]
        for by in (.1, -.1))
    assert (better > worse).all()


def test_models_far_from_the_fitted_ones_are_marked(tables, predictor,
                                                    predicted):
    assert not predicted.extrapolated[:, :2].any()
    far = shifted(tables.features, 2)
    assert predictor.predict(far).extrapolated[:, :2].all()


def test_half_as_large_again_as_usual_is_far(tables, predictor):
    """By the standard deviation of the exponent."""
    joint = predictor.joint(tables.features)
    factors = np.resize([1.49, 1.51], joint.mean.shape)
    deviation = factors * predictor.model.usual_deviations
    found = predictor.predictions(
        replace(joint, variance=deviation**2), tables.models, .9)
    np.testing.assert_array_equal(found.extrapolated[:, :, 0], factors > 1.5)


@pytest.mark.slow
def test_a_model_that_was_fitted_is_not_extrapolated_by_rounding():
    """Sums differ in their last bits, alone or among other models."""
    tables = small_tables(n_units=200).only('easy', 'hard')
    predictor = fit(tables)
    together = predictor.predict(tables.features)
    for m, model in enumerate(tables.models):
        alone = predictor.predict(tables.features.select([model]))
        assert alone.in_sample.all() and not alone.extrapolated.any()
        np.testing.assert_allclose(alone.values[0], together.values[m])


# ---- weights


def test_weights_are_1_on_average(tables, predictor):
    for name in 'easy', 'hard':
        weights = predictor.weights(name)
        uniform = tables.features.columns.uniform
        assert weights @ uniform == pytest.approx(uniform.sum())
        # Accuracies follow the first half of the units.
        assert weights[:2].mean() > 1.5 * weights[2:].mean()


def test_weights_say_how_accuracies_change(tables, predictor):
    """At typical losses, where the slopes of exponents are taken."""
    typical = np.median(predictor.fit.losses, axis=0)
    step = 1e-3
    rows = [typical] + [typical + step * row for row in np.eye(4)]
    features = FeatureTable(tuple('abcde'), predictor.columns, np.array(rows))
    exponents = predictor.joint(features).mean
    for b, name in enumerate(predictor.names[:2]):
        slopes = (exponents[1:, b] - exponents[0, b]) / step
        np.testing.assert_allclose(
            predictor.slopes(name), slopes, rtol=.02, atol=.02)
        np.testing.assert_allclose(
            predictor.weights(name), 4 * slopes / slopes.sum(), atol=.05)


def test_a_column_outside_the_mean_loss_has_no_weight(tables):
    tables = tables.only('easy')
    columns = replace(
        tables.features.columns, uniform=np.array([.5, 0, .2, .3]))
    predictor = fit(
        replace(tables, features=replace(tables.features, columns=columns)))
    weights = predictor.weights('easy')
    assert np.isnan(weights).tolist() == [False, True, False, False]
    counted = columns.uniform > 0
    assert weights[counted] @ columns.uniform[counted] == pytest.approx(1)


# ---- known accuracies


def known(tables, models, benchmark, values):
    return AccuracyTable(
        tuple(models), (benchmark, 'unknown benchmark'),
        np.column_stack([values, values]), np.full(2, .25), np.full(2, 500))


@pytest.mark.slow
def test_known_accuracies_move_predictions_of_their_family(tables):
    predictor = fit(tables.only('easy', 'hard'))
    features = shifted(tables.features.select(tables.models[:4]), .05)
    first, second, third, _ = features.models
    families = dict(zip(features.models, 'aabc'))
    before = predictor.predict(features, families=families)
    real = before.at(first, 'easy').value + .05
    after = predictor.predict(
        features,
        families=families,
        known=known(tables, [first, 'unknown model'], 'easy', [real, .5]))
    assert after.at(first, 'easy').value > before.at(first, 'easy').value
    assert after.at(second, 'easy').value > before.at(second, 'easy').value
    np.testing.assert_array_equal(after.values[2:], before.values[2:])
    np.testing.assert_array_equal(after.low[2:], before.low[2:])
    width = before.high - before.low
    assert ((after.high - after.low)[:2, 0] < width[:2, 0]).all()
    # Cells of its family, but for the one that is known.
    assert after.with_scores[:, :, 0].tolist() == [
        [False, True], [True, True], [False, False], [False, False]
    ]  # yapf: disable


@pytest.mark.slow
def test_known_accuracies_far_from_predictions_are_named(tables):
    """The known accuracy itself is taken as it is."""
    predictor = fit(tables.only('easy', 'hard'))
    features = shifted(tables.features.select(tables.models[:2]), .05)
    first, second = features.models
    before = predictor.predict(features)
    predicted = before.at(first, 'easy').value
    good = predictor.predict(
        features, known=known(tables, [first], 'easy', [predicted]))
    assert good.contradictions() == []
    odd = predictor.predict(
        features,
        known=known(tables, [first, second], 'easy',
                    [.01, before.at(second, 'easy').value]))
    cell = odd.at(first, 'easy')
    assert cell.value == cell.low == cell.high == .01
    assert not cell.extrapolated
    note, = odd.contradictions()
    assert note.startswith('Known accuracies far from what losses predict: '
                           f'{first} on easy (1.0, predicted '
                           f'{100 * predicted:.1f}). Check that')
    assert odd.notes[-1] == note and note in str(odd).replace('\n  ', ' ')
    # Predictions of some models keep the note on these models.
    assert odd.select([first]).contradictions() == [note]
    assert odd.select([second]).contradictions() == []


@pytest.mark.slow
def test_many_known_accuracies_far_from_predictions(tables):
    """The first ones are named, each with both numbers."""
    predictor = fit(tables.only('easy', 'hard'))
    features = shifted(tables.features.select(tables.models[:10]), .05)
    odd = predictor.predict(
        features, known=known(tables, features.models, 'easy', [.01] * 10))
    note, = odd.contradictions()
    assert note.count(' on easy (1.0, predicted ') == 8
    assert '), ' in note and ') and 2 more. Check that' in note


def test_known_accuracies_of_others_change_nothing(tables, predictor,
                                                   predicted):
    after = predictor.predict(
        tables.features, known=known(tables, ['nobody'], 'easy', [.9]))
    np.testing.assert_array_equal(after.values, predicted.values)
    assert not after.with_scores.any()


# ---- errors, notes and names


def test_what_cannot_be_fitted(tables, predictor):
    with pytest.raises(
            InputError,
            match="easy.*found 'esay'. Did you mean 'easy'. Train"):
        predictor.weights('esay')
    few = tables.features.select(tables.models[:-1])
    with pytest.raises(InputError, match="none of 'org/model-14'"):
        fit_predictor(few, tables.accuracies, tables.groups)


def test_a_predictor_of_nothing_is_refused(predictor):
    with pytest.raises(InputError, match='expected a benchmark or more'):
        replace(predictor, benchmarks=())
    with pytest.raises(InputError, match="'easy' twice"):
        replace(predictor, benchmarks=2 * predictor.benchmarks[:1])


@pytest.mark.parametrize('factor', [1e-3, 1e3])
def test_losses_in_another_unit(tables, predictor, factor):
    one = tables.features.select(tables.models[:1])
    wrong = replace(one, values=factor * one.values)
    with pytest.raises(InputError, match='within a factor of 100'):
        predictor.predict(wrong)


@pytest.mark.parametrize('factor', [1.01 / 100, 99])
def test_losses_may_be_100_times_those_of_the_training(tables, factor):
    """Less than the smallest mean loss, or more than the largest."""
    tables = tables.only('easy')
    predictor = fit_mean_loss_predictor(tables.features, tables.accuracies,
                                        tables.groups)
    means = tables.features.mean_loss
    farthest = means.argmin() if factor < 1 else means.argmax()
    one = tables.features.select([tables.models[farthest]])
    far = replace(one, values=factor * one.values)
    assert np.isfinite(predictor.predict(far).values).any()


def test_columns_of_tables_are_found_by_their_names(tables, predictor):
    """As the command finds them: in any order, beside others."""
    features = tables.features
    units = [*features.columns.units[::-1], 'other']
    values = np.column_stack([features.values[:, ::-1], features.values[:, 0]])
    other = FeatureTable.of_losses(features.models, units, values)
    found = predictor.predict(other)
    assert np.array_equal(found.values, predictor.predict(features).values)


def test_losses_of_other_columns_are_refused(tables, predictor):
    columns = replace(tables.features.columns, units=tuple('abcd'))
    with pytest.raises(
            InputError,
            match="the 4 columns of the predictor, found no column 't0' .4"):
        predictor.predict(replace(tables.features, columns=columns))
    with pytest.raises(InputError, match='token losses'):
        predictor.token_weights('easy')


@pytest.mark.slow
def test_it_says_what_it_is(tables, predictor):
    baseline = fit_mean_loss_predictor(tables.features, tables.accuracies,
                                       tables.groups)
    for each in (predictor, baseline):
        assert repr(each) == (
            'Predictor(5 benchmarks: easy, hard, chance, same, pair;\n'
            '  fitted to 15 models;\n'
            '  Columns(4 columns, texts texts))')
        assert repr(each.benchmark('easy')).startswith(
            "BenchmarkFit(benchmark='easy', chance=0.25,")
        assert each.names == tables.accuracies.benchmarks_run
        assert each.main == each.names


@pytest.mark.slow
def test_means_leave_benchmarks_out(tables):
    tables = tables.only('easy', 'hard', 'same')
    accuracies = replace(tables.accuracies, outside_means=('hard', 'same'))
    predictor = fit(replace(tables, accuracies=accuracies))
    assert predictor.main == ('easy', )
    predicted = predictor.predict(tables.features)
    assert predicted.outside_means == ('hard', 'same')


def test_notes_say_if_models_were_scored_in_different_ways():
    info = dump('m', model_losses(1.), TEXTS).info
    infos = {'a': info, 'b': replace(info, engine='vllm')}
    before = train()
    for old, new in zip(before.benchmarks, before.noted(infos).benchmarks):
        assert new.notes == (*old.notes, *mixed_engine_notes(infos))
        assert len(new.notes) > len(old.notes)
    same = before.noted({'a': info})
    assert [part.notes for part in same.benchmarks
            ] == [part.notes for part in before.benchmarks]
