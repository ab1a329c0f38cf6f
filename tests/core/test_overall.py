"""Means over benchmarks: which count, whose ranks agree."""
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from csv_plugin.core.overall import (MeanView, NamedJoint, Overall, RankRanges,
                                     column_ranks, mean_misses)
from csv_plugin.core.predictions import NOT_YET, Predictions
from csv_plugin.report.leaderboard_tables import as_text
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.notes import findings
from tests.runs import dump, model_losses, train

NAN = float('nan')
OBSERVED = np.random.default_rng(0).uniform(0.1, 0.9, (6, 3))
#: The first method is right, the second has the order turned round.
VALUES = np.stack([OBSERVED, 1 - OBSERVED], axis=2)
MODELS = tuple(f'm{i}' for i in range(6))
BENCHMARKS = 'b0', 'b1', 'b2'


def overall(observed=OBSERVED, values=VALUES, in_sample=np.array(False)):
    return Overall.of(
        Predictions(MODELS[:len(observed)], BENCHMARKS[:observed.shape[1]],
                    ('p0', 'p1'), values, values, values, np.array(False),
                    in_sample, observed, 0.9))


def test_means_outside_their_interval():
    """By the limits themselves, without training models."""
    observed = np.array([.5, .6, .405, .3949, .7, NAN])[:, None] * [1, 1]
    in_sample = np.zeros((6, 2, 1), bool)
    in_sample[1] = True
    predictions = Predictions(MODELS, BENCHMARKS[:2], ('p', ),
                              np.full((6, 2, 1),
                                      .5), np.array(.4), np.array(.6),
                              np.array(False), in_sample, observed, 0.9)
    of_means = Overall.of(predictions)
    assert mean_misses(of_means, predictions, 'p') == []
    limits = np.full(6, .409), np.full(6, .591)
    view = MeanView(*limits, RankRanges.unknown(6))
    of_means = replace(of_means, views={'p': view})
    near, below, far = mean_misses(of_means, predictions, 'p')[::-1]
    few = replace(predictions, more_noise=np.full((6, 2, 1), .01))
    assert mean_misses(of_means, few, 'p') == []
    assert (below.model, below.benchmark) == ('m3', 'mean of 2')
    assert (below.observed, below.low, below.high) == (.3949, .409, .591)
    assert near.model == 'm2' and near.distance == pytest.approx(-95 / 91)
    assert far.model == 'm4' and far.distance == pytest.approx(200 / 91)
    note, = [
        n for n in findings(predictions, of_means) if 'bserved means' in n
    ]
    assert note == ('Observed means outside of their interval: m4 (70.0, '
                    'interval 40.9-59.1), m3 (39.5, interval 40.9-59.1), m2 '
                    '(40.5, interval 40.9-59.1).')


def without(numbers, *places):
    """The numbers, but for those in some places."""
    found = numbers.copy()
    for place in places:
        found[place] = NAN
    return found


def test_means():
    found = overall()
    assert found.benchmarks == BENCHMARKS
    np.testing.assert_allclose(found.observed, OBSERVED.mean(axis=1))
    np.testing.assert_allclose(found.values[:, 1], 1 - found.observed)
    assert found.mean_differences()[0] == 0
    np.testing.assert_allclose(found.differences()[:, 1],
                               1 - 2 * found.observed)


def test_benchmarks_that_were_run_count():
    # One was not run at all, and another failed.
    found = overall(without(OBSERVED, np.s_[:, 0], (2, 1)))
    assert found.benchmarks == ('b1', 'b2')
    assert np.isnan(found.observed).tolist() == [i == 2 for i in range(6)]
    np.testing.assert_allclose(found.values[:, 0], VALUES[:, 1:,
                                                          0].mean(axis=1))
    nothing = overall(OBSERVED * NAN)
    assert nothing.benchmarks == BENCHMARKS
    assert not np.isnan(nothing.values).any()
    neither = overall(OBSERVED * NAN, VALUES * NAN)
    assert neither.benchmarks == BENCHMARKS
    nowhere = overall(OBSERVED[:, :0], VALUES[:, :0])
    assert nowhere.methods == () and np.isnan(nowhere.observed).all()


def test_a_model_without_a_benchmark_has_no_mean():
    fitted = np.arange(6)[:, None, None] < np.full((6, 3, 2), 2)
    found = overall(values=without(VALUES, (1, 2, 0)), in_sample=fitted)
    assert np.argwhere(np.isnan(found.values)).tolist() == [[1, 0]]
    # Nor does it have a mark without a mean.
    np.testing.assert_array_equal(
        found.in_sample[:3], [[True, True], [False, True], [False, False]])


def test_a_benchmark_of_few_models_does_not_count():
    found = overall(without(OBSERVED, np.s_[1:, 2]))
    assert found.benchmarks == ('b0', 'b1')
    assert np.isfinite(found.observed).all()
    # Without a benchmark that all have, nothing is lost by any.
    gaps = without(OBSERVED[:3], (0, 0), (1, 1), (2, 2))
    assert overall(gaps, VALUES[:3]).benchmarks == BENCHMARKS


def test_a_benchmark_that_no_model_ran_does_not_count():
    """Even if no model ran all of the others."""
    observed = np.full((2, 3), NAN)
    observed[0, 0] = observed[1, 1] = .5
    assert overall(observed, VALUES[:2]).benchmarks == ('b0', 'b1')


def test_benchmarks_that_the_first_method_predicts():
    values = without(VALUES, np.s_[:, 0, 0], np.s_[:, 1, 1])
    for observed in (OBSERVED, OBSERVED * NAN):
        found = overall(observed, values)
        assert found.benchmarks == ('b1', 'b2')
        assert found.methods == ('p0', )
    nothing = overall(values=values * NAN)
    assert nothing.benchmarks == BENCHMARKS and nothing.methods == ()
    # Ranks by observed means need no prediction.
    assert np.isfinite(nothing.observed_ranks()).all()
    # Observed accuracies only where nothing is predicted.
    found = overall(without(OBSERVED, np.s_[:, 1:]), values)
    assert found.benchmarks == ('b0', )


def test_equal_means_share_a_rank():
    """Whatever the order of the accuracies, whose sums differ by it."""
    observed = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]] * 3)
    assert len(set(observed.mean(axis=1))) == 2
    found = overall(observed, np.stack([OBSERVED, observed], axis=2))
    np.testing.assert_array_equal(column_ranks(found.observed), np.ones(6))
    np.testing.assert_array_equal(
        column_ranks([0.2, NAN, 0.7, 0.7, 0.1]), [3, NAN, 1, 1, 4])
    # All models are equal: there is no order to agree with.
    for method in found.methods:
        value, n_models = found.agreement(method)
        assert np.isnan(value) and n_models == 6


def test_equal_values_share_the_better_rank():
    values = np.random.default_rng(0).integers(0, 5, (20, 3)).astype(float)
    np.testing.assert_array_equal(
        column_ranks(values), stats.rankdata(-values, method='min', axis=0))
    assert column_ranks([.3, NAN, .5, .3]).tolist()[::2] == [2, 1]


def test_ranks_are_among_all_models_with_the_mean():
    observed = np.arange(6)[:, None] / np.full(3, 10)
    values = without(np.stack([observed, observed], axis=2), (4, 0, 1))
    found = overall(without(observed, [1, 5]), values)
    np.testing.assert_array_equal(found.observed_ranks(),
                                  [4, NAN, 3, 2, 1, NAN])
    np.testing.assert_array_equal(found.predicted_ranks().T,
                                  [[6, 5, 4, 3, 2, 1], [5, 4, 3, 2, NAN, 1]])
    # The first method without any mean has no say.
    mute = overall(observed, without(values, np.s_[:, :, 0]))
    assert mute.methods == ('p1', )
    np.testing.assert_array_equal(mute.observed_ranks(), [6, 5, 4, 3, 2, 1])
    np.testing.assert_array_equal(mute.predicted_ranks()[:, 0],
                                  [5, 4, 3, 2, NAN, 1])
    nothing = overall(observed * NAN, values)
    np.testing.assert_array_equal(nothing.predicted_ranks().T,
                                  [[6, 5, 4, 3, 2, 1], [5, 4, 3, 2, NAN, 1]])


@pytest.mark.parametrize('n_fitted', [0, 1, 2])
def test_agreement_of_the_orders_of_enough_models(n_fitted):
    fitted = np.zeros((6, 3, 2), bool)
    fitted[:n_fitted, 1, 0] = True  # on one benchmark
    found = overall(in_sample=fitted)
    assert found.in_sample.sum() == n_fitted
    value, n_models = found.agreement('p0')
    assert n_models == 6 - n_fitted
    assert np.isnan(value) == (n_models < 5)
    assert n_models < 5 or value == pytest.approx(1)
    assert found.agreement('p1') == (pytest.approx(-1), 6)


@pytest.fixture(scope='module')
def predicted():
    """Predictions of three models, the first two nearly equal."""
    predictor = train()
    losses = {
        name: dump(name, model_losses(skill))
        for name, skill in zip('abc', (.7, .705, 1.3))
    }
    table, joint = predictor.predict_jointly(losses)
    return table, NamedJoint(table.models, table.benchmarks, joint)


def test_views_of_the_joint_distribution(predicted):
    table, named = predicted
    view = Overall.of(table, {'predicted': named}).views['predicted']
    mean, low, high = named.joint.means(np.arange(2), table.level)
    np.testing.assert_array_equal(view.low, low)
    np.testing.assert_array_equal(view.high, high)
    np.testing.assert_allclose(mean, table.values.mean(axis=(1, 2)))
    assert view.ranks.first.tolist() == [
        2, 2, 1
    ] and view.ranks.last.tolist() == [3, 3, 1]
    assert view.ranks.best[2] == 1 and view.ranks.best.sum() == 1
    # Without the best model, the others are as likely as each other.
    two = named.renamed({'B': 'b', 'A': 'a', 'none': 'd'})
    assert two.models == ('B', 'A')
    part = table.select({'B': 'b', 'A': 'a'})
    view = Overall.of(part, {'predicted': two}).views['predicted']
    assert view.ranks.last.tolist() == [2, 2] and view.ranks.best.sum() == 1
    assert (abs(view.ranks.best - .5) < .4).all()
    np.testing.assert_allclose(view.low, low[[1, 0]])


def test_means_of_some_benchmarks_and_models(predicted):
    """Benchmarks without observed accuracies have no part in any view."""
    table, named = predicted
    observed = np.array([[.3, NAN], [.4, NAN], [NAN, NAN]])
    overall = Overall.of(
        replace(table, observed=observed), {'predicted': named})
    view = overall.views['predicted']
    assert overall.benchmarks == ('easy', )
    _, low, _ = named.joint.means(np.array([0]), table.level)
    np.testing.assert_array_equal(view.low, low)
    # The best model has no observed mean, but a predicted one.
    assert view.ranks.first[2] == 1 and view.ranks.best[2] > .9
    assert view.ranks.last.tolist() == [3, 3, 1]


def test_a_lone_model_has_no_rank(predicted):
    table, named = predicted
    found = Overall.of(
        table.select(['a']), {'predicted': named.renamed({'a': 'a'})})
    view = found.views['predicted']
    assert np.isnan([*view.ranks.first, *view.ranks.last,
                     *view.ranks.best]).all()
    assert not np.isnan(view.low).any()
    assert np.isnan(found.predicted_ranks()).all()
    assert np.isnan(found.observed_ranks()).all()


def test_what_is_not_predictable_yet_takes_part_in_no_mean(predicted):
    table, named = predicted
    unknown = np.array([False, True])[:, None]
    found = Overall.of(replace(table, at_chance=unknown), {'predicted': named})
    assert found.benchmarks == ('easy', )
    np.testing.assert_allclose(found.values, table.values[:, 0])
    nothing = replace(table, at_chance=np.array(True))
    none = Overall.of(nothing, {'predicted': named})
    assert none.benchmarks == none.methods == () and not none.views
    text = as_text(Leaderboard.of(nothing, joints={'predicted': named}))
    assert 'mean of' not in text and 'rank' not in text
    assert ')?' in text and ' '.join(NOT_YET.split()) in ' '.join(text.split())
