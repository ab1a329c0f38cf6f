"""Views of the joint distribution of accuracies."""
from dataclasses import replace
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t

from csv_plugin.core.calibration import Tails
from csv_plugin.core.curve import accuracy_of, item_variance, moments
from csv_plugin.core.joint import Joint
from tests.core.worlds import N_MODELS, fitted, plain

LEVELS = .5, .9, .99
N = 5
#: Two models of one family, and three of others.
TWINS = ['x', 'x', 'y', 'z', 'w']
NAN = float('nan')


@pytest.fixture(scope='module')
def joint() -> Joint:
    return fitted().joint(plain().take(np.arange(0, 20, 4)), TWINS)


def correlated(joint, between):
    """The same with one correlation between all pairs of benchmarks."""
    model, left_out = object.__new__(type(joint.model)), joint.model.left_out
    unknown = np.full(left_out.errors.shape, NAN)
    model.__dict__.update(
        joint.model.__dict__,
        benchmark_correlation=between,
        left_out=replace(left_out, errors=unknown))
    rho = np.full(len(joint.mean), float(between))
    return replace(joint, model=model, rho=rho)


def ends(joint, level):
    """Ends of single intervals that are not clipped to 0..1."""
    half = joint.halves(level)
    return (joint.accuracies - np.hypot(half.down, half.noise_down),
            joint.accuracies + np.hypot(half.up, half.noise_up))


def difference(first, second, b):
    weights = np.zeros((N, 3))
    weights[first, b], weights[second, b] = 1, -1
    return weights


def test_intervals_hold_the_accuracy_and_grow_with_their_level(joint):
    low, high = zip(*map(joint.intervals, LEVELS))
    assert (low[0] < joint.accuracies).all()
    assert (high[0] > joint.accuracies).all()
    assert (np.diff(low, axis=0) <= 0).all()
    assert (np.diff(high, axis=0) >= 0).all()
    assert np.min(low) >= 0 and np.max(high) <= 1


def test_intervals_end_at_0_and_1(joint):
    certain = 1 - 1e-12
    low, high = replace(joint, variance=joint.variance + 9).intervals(certain)
    assert np.array_equal(low, np.zeros_like(low))
    assert np.array_equal(high, np.ones_like(high))


def test_a_sum_of_one_accuracy_is_that_accuracy(joint):
    for level in LEVELS:
        low, high = ends(joint, level)
        for m, b in product(range(N), range(3)):
            weights = np.zeros((N, 3))
            weights[m, b] = 1
            found = joint.sum(weights, level)
            expected = joint.accuracies[m, b], low[m, b], high[m, b]
            np.testing.assert_allclose(found[:3], expected, rtol=1e-10)


@pytest.mark.parametrize('between', [0, .4, .95])
def test_no_difference_goes_beyond_both_of_its_sides(joint, between):
    joint = correlated(joint, between)
    for level in LEVELS:
        low, high = ends(joint, level)
        for b in range(3):
            for i, j in combinations(range(N), 2):
                found = joint.sum(difference(i, j, b), level)
                assert low[i, b] - high[j, b] <= found.low + 1e-12
                assert found.high <= high[i, b] - low[j, b] + 1e-12
                assert found.low < found.value < found.high


@pytest.mark.parametrize('level', LEVELS)
def test_it_is_likely_if_and_only_if_the_interval_excludes_0(joint, level):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        found = joint.sum(rng.normal(size=(N, 3)), level)
        above, below = found.low > 0, found.high < 0
        assert above == (found.positive > (1 + level) / 2)
        assert below == (found.positive < (1 - level) / 2)
        assert (found.positive > .5) == (found.value > 0)
        seen |= {(above, below)}
    assert len(seen) > 1


def test_a_difference_is_that_of_the_other_side_turned_around(joint):
    first, second = (
        joint.sum(sign * difference(0, 3, 1), .9) for sign in (1, -1))
    np.testing.assert_allclose([second.low, second.high],
                               [-first.high, -first.low])
    assert first.positive + second.positive == pytest.approx(1)
    nothing = joint.sum(np.zeros((N, 3)), .9)
    assert nothing == (0, 0, 0, .5)


def test_models_of_a_family_differ_by_less():
    """What they lie off by together cancels."""
    losses = plain().take(np.arange(0, 20, 4))
    widths = []
    for families in (TWINS, [*'abcde']):
        found = fitted().joint(losses, families).sum(difference(0, 1, 0), .9)
        widths.append(found.high - found.low)
    assert widths[0] < .98 * widths[1]


@pytest.mark.parametrize('places', [[0, 1, 2], [2, 0], [1]])
def test_means_are_sums(joint, places):
    values, low, high = joint.means(np.array(places), .8)
    for m in range(N):
        weights = np.zeros((N, 3))
        weights[m, places] = 1 / len(places)
        found = joint.sum(weights, .8)
        np.testing.assert_allclose([values[m], low[m], high[m]], found[:3],
                                   rtol=1e-10)  # yapf: disable


def test_means_and_sums_end_at_0_and_1(joint):
    best = replace(joint, mean=joint.mean + 4)
    _, _, high = best.means(np.arange(3), .999)
    assert (high <= 1).all()
    weights = np.zeros((N, 3))
    weights[0] = 1 / 3
    assert best.sum(weights, .999).high == pytest.approx(high[0], rel=1e-12)


def test_a_sum_without_room_is_likely(joint):
    """Its interval ends at its value."""
    best = replace(joint, mean=joint.mean + 90, variance=0 * joint.variance)
    best.model.noise[:] *= 1
    weights = np.zeros((N, 3))
    weights[0, 0] = 1
    for sign in (1, -1):
        found = best.sum(sign * weights, .9)
        assert found.positive == pytest.approx((1 + sign) / 2, abs=1e-3)


def test_errors_to_expect_are_stretched_deviations(joint):
    """Draws also have heavy tails."""
    draws = joint.draws(40_000)
    found = np.sqrt(((draws - joint.accuracies)**2).mean(axis=0))
    degrees = joint.model.tails.degrees
    ratio = found / joint.expected_errors / np.sqrt(degrees / (degrees - 2))
    assert ratio.mean() == pytest.approx(1, abs=.15)


def test_errors_that_benchmarks_share_widen_means(joint):
    widths = []
    for between in (0, .5, .95):
        _, low, high = correlated(joint, between).means(np.arange(3), .9)
        widths.append(high - low)
    assert (np.diff(widths, axis=0) > 0).all()


def test_draws_have_the_means_and_the_quantiles_of_intervals(joint):
    draws = joint.draws(20_000)
    assert draws.shape == (20_000, N, 3)
    np.testing.assert_allclose(
        np.median(draws, axis=0), joint.accuracies, atol=.015)
    low, high = joint.intervals(.8)
    width = high - low
    for share, end in ((.1, low), (.9, high)):
        away = np.quantile(draws, share, axis=0) - end
        assert np.abs(away / width).max() < .12
        assert np.abs(away / width).mean() < .05


def test_draws_of_differences_have_the_quantiles_of_sums(joint):
    joint = correlated(joint, .5)
    draws = joint.draws(20_000)
    rng = np.random.default_rng(3)
    for weights in (difference(0, 1,
                               0), difference(2, 4,
                                              1), rng.normal(size=(N, 3))):
        found = joint.sum(weights, .8)
        drawn = (draws * weights).sum(axis=(1, 2))
        width = found.high - found.low
        for share, end in ((.1, found.low), (.9, found.high)):
            assert abs(np.quantile(drawn, share) - end) < .12 * width
        assert (drawn > 0).mean() == pytest.approx(found.positive, abs=.06)


def test_some_models_are_taken_from_all(joint):
    rows = np.array([3, 0, 1])
    part = joint.take(rows)
    np.testing.assert_array_equal(part.accuracies, joint.accuracies[rows])
    np.testing.assert_allclose(part.model_correlations,
                               joint.model_correlations[:, rows][:, :, rows])


# ---- the formulas, written out

BETWEEN, STRETCH, DEGREES = .3, 1.2, 5.


def by_hand(covariances):
    """Three models on two benchmarks, with these covariances of exponents."""
    model = SimpleNamespace(
        floor=np.array([.1, .25]),
        noise=np.array([.01, .002]),
        tails=Tails(STRETCH, DEGREES),
        benchmark_correlation=BETWEEN,
        covariance=lambda _: covariances)
    mean = np.array([[-1, .5], [.3, 2], [1, -.5]])
    variance = np.diagonal(covariances, axis1=1, axis2=2).T
    return Joint.of(model, [], mean, variance)


@pytest.fixture(scope='module')
def covariances():
    rng = np.random.default_rng(8)
    parts = rng.normal(size=(2, 3, 4))
    return .3 * parts @ parts.transpose(0, 2, 1)


def correlations_of(covariances):
    deviation = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return covariances / deviation[:, :, None] / deviation[:, None]


def test_intervals_and_sums_are_as_by_the_formulas(covariances):
    joint, level = by_hand(covariances), .8
    model, quantile = joint.model, STRETCH * t.ppf(.9, DEGREES)
    deviation = np.sqrt(joint.variance)
    expected, errors = moments(joint.mean, joint.variance, model.floor,
                               model.noise)
    np.testing.assert_allclose(joint.accuracies, expected)
    np.testing.assert_allclose(joint.expected_errors, STRETCH * errors)
    ends = [
        accuracy_of(joint.mean + sign * quantile * deviation, model.floor)
        for sign in (-1, 1)
    ]
    halves = np.abs(expected - ends)
    noises = quantile * np.sqrt(model.noise * item_variance(np.array(ends)))
    low = expected - np.hypot(halves, noises)[0]
    high = expected + np.hypot(halves, noises)[1]
    np.testing.assert_allclose(
        joint.intervals(level), np.clip([low, high], 0, 1))
    # Correlations of all pairs of models on all pairs of benchmarks.
    alone = correlations_of(covariances)
    mean = alone.mean(axis=0)
    within = (1 - BETWEEN) * alone + BETWEEN * mean
    np.testing.assert_allclose(joint.model_correlations, within)
    rng = np.random.default_rng(9)
    for _ in range(5):
        weights = rng.normal(size=(3, 2))
        value = (weights * expected).sum()
        squares = np.zeros(2)
        for side in (0, 1):
            # The side of each accuracy on which the sum falls, or rises.
            of = np.where(weights > 0, side, 1 - side)
            for i, b in np.ndindex(3, 2):
                squares[side] += (weights[i, b] * noises[of[i, b], i, b])**2
                for j, c in np.ndindex(3, 2):
                    r = within[b, i, j] if b == c else BETWEEN * mean[i, j]
                    squares[side] += (
                        weights[i, b] * halves[of[i, b], i, b] * r *
                        weights[j, c] * halves[of[j, c], j, c])
        found = joint.sum(weights, level)
        below, above = np.sqrt(squares)
        # No end lies beyond the same sum of the ends of single intervals.
        limits = np.sort(weights * joint.intervals(level), axis=0)
        least, most = limits.sum(axis=(1, 2))
        ends = max(value - below, least), min(value + above, most)
        np.testing.assert_allclose(found[:3], [value, *ends])
        half = value - ends[0] if value > 0 else ends[1] - value
        positive = t.cdf(value / half * quantile / STRETCH, DEGREES)
        assert found.positive == pytest.approx(positive)


def test_errors_are_added_as_by_the_formulas(covariances):
    """A part of each variance is common to all models."""
    joint = by_hand(covariances)
    rng = np.random.default_rng(10)
    parts = rng.normal(size=(3, 2, 3))
    added, common = parts @ parts.transpose(0, 2, 1), np.array([0, .3, .8])
    found = joint.with_errors(added, common)
    np.testing.assert_array_equal(found.mean, joint.mean)
    within = joint.model_correlations * 0
    for b, i, j in np.ndindex(2, 3, 3):
        deviations = np.sqrt(joint.variance[[i, j], b].prod())
        within[b, i, j] = joint.model_correlations[b, i, j] * deviations
        one, two = added[i, b, b], added[j, b, b]
        within[b, i, j] += one if i == j else np.sqrt(common[i] * one *
                                                      common[j] * two)
    variance = np.diagonal(within, axis1=1, axis2=2).T
    np.testing.assert_allclose(found.variance, variance)
    np.testing.assert_allclose(found.model_correlations,
                               correlations_of(within))
    # With two benchmarks, there is one covariance between them.
    for m in range(3):
        covariance = BETWEEN * np.sqrt(joint.variance[m].prod())
        covariance += added[m, 0, 1]
        expected = covariance / np.sqrt(variance[m].prod())
        assert found.rho[m] == pytest.approx(np.clip(expected, 0, 1))
    assert 0 in found.rho and found.rho.max() > 0


# ---- known accuracies


def known(*cells):
    observed = np.full((N, 3), NAN)
    for m, b, value in cells:
        observed[m, b] = value
    return observed


def test_a_known_accuracy_moves_the_model_and_its_family_alone(joint):
    joint = correlated(joint, .5)
    better = joint.accuracies[0, 1] + .1
    given = joint.given(known((0, 1, better)))
    rise = given.mean - joint.mean
    # The benchmark itself most, then others, then the other of the family.
    assert rise[0, 1] > rise[0, 0] > 0 and rise[0, 1] > rise[0, 2] > 0
    assert (rise[1] > 0).all() and (rise[1] < rise[0]).all()
    assert not rise[2:].any()
    assert (given.variance[:2] < joint.variance[:2]).all()
    np.testing.assert_array_equal(given.variance[2:], joint.variance[2:])
    low, high = given.intervals(.9)
    before = joint.intervals(.9)
    assert (high - low)[0, 1] < (before[1] - before[0])[0, 1]


def test_nothing_known_changes_nothing(joint):
    given = joint.given(known())
    np.testing.assert_array_equal(given.mean, joint.mean)
    assert given is joint


def test_known_accuracies_keep_what_others_are_off_by_together(joint):
    uncertain = joint.with_errors(
        np.tile(.5 * np.eye(3), (N, 1, 1)), np.full(N, .9))
    given = uncertain.given(known((0, 1, .7)))
    others = np.ix_(range(3), [2, 3, 4], [2, 3, 4])
    np.testing.assert_allclose(given.model_correlations[others],
                               uncertain.model_correlations[others])
    assert (uncertain.model_correlations[others] > .3).all()


@pytest.mark.parametrize('between', [0, .5, .95])
def test_known_accuracies_leave_a_covariance(joint, between):
    """Between all models, of which some are known to lie off."""
    observed = known((0, 1, .7), (1, 1, .6), (3, 0, .4))
    given = correlated(joint, between).given(observed)
    assert np.linalg.eigvalsh(given.model_correlations).min() > -1e-9
    for b, (i, j) in product(range(3), combinations(range(N), 2)):
        found = given.sum(difference(i, j, b), .9)
        if np.isnan(observed[[i, j], b]).any():
            assert found.low < found.value < found.high
        else:
            difference_of_known = observed[i, b] - observed[j, b]
            assert found.low == found.high == pytest.approx(
                difference_of_known)


def test_a_known_accuracy_is_certain(joint):
    """In its cell, in means, in draws and after `take`; others are not."""
    observed = known((0, 1, .7), (2, 0, 0.))
    seen = ~np.isnan(observed)
    given = joint.given(observed)
    second = given.given(known((1, 2, .4)))
    for found in (given, given.take(np.arange(N)), second):
        low, high = found.intervals(.9)
        for values in (found.accuracies, low, high, *found.draws(3)):
            np.testing.assert_array_equal(values[seen], observed[seen])
        assert (found.expected_errors[seen] == 0).all()
    np.testing.assert_array_equal(given.is_known, seen)
    assert second.accuracies[1, 2] == .4
    assert (given.intervals(.9)[1] > given.intervals(.9)[0])[~seen].all()
    # The mean of a model of which all is known is the mean of what is known.
    all_known = known((0, 0, .2), (0, 1, .3), (0, 2, .7))
    means, low, high = joint.given(all_known).means(np.arange(3), .9)
    assert means[0] == low[0] == high[0] == pytest.approx(.4)
    assert low[1] < means[1] < high[1]


def test_accuracies_far_from_predictions_are_surprising(joint):
    errors = joint.expected_errors
    observed = joint.accuracies + 2 * errors
    assert not joint.is_surprising(observed).any()
    low, high = joint.intervals(.999)
    far = np.maximum(high, joint.accuracies + 3.1 * errors)
    assert joint.is_surprising(far).all()
    assert not joint.is_surprising(far * np.nan).any()


def test_a_known_benchmark_uses_up_what_benchmarks_share(joint):
    given = correlated(joint, .9).given(known((0, 0, .5)))
    assert given.rho[0] < .8
    np.testing.assert_array_equal(given.rho[2:], .9)


def test_correlations_are_mixed_once(joint):
    """An accuracy that says nothing, of a benchmark of no items."""
    joint = correlated(joint, .6)
    joint.model.noise = np.array([1e12, 1e-3, 1e-3])
    given = joint.given(known((0, 0, .5)))
    np.testing.assert_allclose(
        given.model_correlations, joint.model_correlations, atol=1e-6)
    np.testing.assert_allclose(given.rho, .6, rtol=1e-6)


def test_without_a_correlation_no_other_benchmark_moves(joint):
    given = correlated(joint, 0.).given(known((0, 1, .9)))
    moved = given.mean != joint.mean
    assert moved[0, 1] and moved[1, 1] and moved.sum() == 2


def test_pairs_that_go_together_move_each_other_more(joint):
    """Errors of families left out are alike on the first two benchmarks."""
    joint = correlated(joint, .3)
    rng, shape = np.random.default_rng(0), joint.model.left_out.errors.shape
    errors = rng.normal(size=shape)
    errors[:, 1] = errors[:, 0] + .3 * errors[:, 1]
    joint.model.left_out = replace(
        joint.model.left_out, errors=errors, exponent_share=np.ones(shape))
    given = joint.given(known((2, 0, joint.accuracies[2, 0] + .1)))
    rise = (given.mean - joint.mean)[2] / np.sqrt(joint.variance[2])
    assert rise[0] > rise[1] > 1.5 * rise[2] > 0


def test_correlations_that_cannot_be_are_replaced_by_the_nearest(joint):
    """Benchmark 0 goes with 1 and with 2, which are opposites."""
    joint = correlated(joint, .3)
    shape = joint.model.left_out.errors.shape
    errors = np.full(shape, NAN)
    for first, i, j, sign in ((0, 0, 1, 1), (8, 0, 2, 1), (16, 1, 2, -1)):
        errors[first:first + 8, i] = 1
        errors[first:first + 8, j] = sign
    joint.model.left_out = replace(
        joint.model.left_out, errors=errors, exponent_share=np.ones(shape))
    given = joint.given(known((2, 0, joint.accuracies[2, 0] + .02)))
    rise = (given.mean - joint.mean)[2] / np.sqrt(joint.variance[2])
    # The correlations .95, .95 and -.95 become .5, .5 and -.5: without the
    # negative eigenvalue, and with diagonal elements of 1.
    np.testing.assert_allclose(rise / rise[0], [1, .5, .5], rtol=1e-6)


def test_a_known_accuracy_is_weighed_as_by_the_formula(joint):
    """The mode of the posterior of all exponents of a family, by steps."""
    joint = correlated(joint, .5)
    near = joint.accuracies + 2 * joint.expected_errors
    observed = known((0, 1, near[0, 1]), (1, 2, near[1, 2]))
    model = joint.model
    given = joint.given(observed)
    family = joint.take(np.array([0, 1]))
    r = family.model_correlations
    covariance = np.empty((6, 6))
    for i, j in product(range(6), repeat=2):
        (m, b), (n, c) = divmod(i, 3), divmod(j, 3)
        value = r[b, m, n] if b == c else .5 * r[:, m, n].mean()
        scale = joint.variance[m, b] * joint.variance[n, c]
        covariance[i, j] = value * np.sqrt(scale)
    prior = joint.mean[:2].ravel()
    seen = [1, 5]
    values = observed[:2].ravel()[seen]
    floor, noise = (part[[1, 2]] for part in (model.floor, model.noise))
    noise = noise * item_variance(values)
    mode = prior
    for _ in range(50):
        at = accuracy_of(mode[seen], floor)
        slope = (at - floor) * (1 - at) / (1 - floor)
        matrix = covariance[np.ix_(seen, seen)] + np.diag(noise / slope**2)
        gain = covariance[:, seen] @ np.linalg.inv(matrix)
        target = mode[seen] + (values - at) / slope
        mode = prior + gain @ (target - prior[seen])
    np.testing.assert_allclose(given.mean[:2].ravel(), mode, atol=1e-3)
    left = np.diag(covariance - gain @ covariance[seen])
    np.testing.assert_allclose(given.variance[:2].ravel(), left, rtol=1e-2)


@pytest.mark.parametrize('sign, absurd', [(1, .98), (-1, .26)])
def test_absurd_accuracies_move_other_benchmarks_little(joint, sign, absurd):
    """At most as if they were three expected errors off."""
    joint = correlated(joint, .5)
    joint.model.noise = np.full(3, 1e-6)
    far = joint.accuracies[3, 0] + sign * 3 * joint.expected_errors[3, 0]
    assert sign * (absurd - far) > .05
    moved = [
        sign * (joint.given(known((3, 0, value))).mean - joint.mean)[3, 1]
        for value in (far, absurd)
    ]
    assert 0 < moved[1] < 2 * moved[0]


@pytest.mark.parametrize('value', [0., .1, .25, .9, 1.])
def test_absurd_accuracies_leave_accuracies(joint, value):
    """Those far below the floor, too."""
    given = joint.given(known((0, 0, value), (2, 1, value)))
    rise = np.sign(value - joint.accuracies)
    assert rise[0, 0] == np.sign(given.mean - joint.mean)[0, 0]
    assert rise[2, 1] == np.sign(given.mean - joint.mean)[2, 1]
    assert (0 < given.variance).all()
    assert (given.variance <= joint.variance + 1e-12).all()
    assert np.abs(given.mean).max() < 20


def test_conditioned_models_are_taken_from_all(joint):
    given = correlated(joint, .5).given(known((0, 1, .7), (3, 0, .4)))
    rows = np.array([3, 4, 1, 0])
    part = given.take(rows)
    np.testing.assert_array_equal(part.accuracies, given.accuracies[rows])
    np.testing.assert_allclose(part.model_correlations,
                               given.model_correlations[:, rows][:, :, rows])
    weights = difference(0, 1, 2)
    np.testing.assert_allclose(
        part.sum(weights[rows], .9), given.sum(weights, .9))


@pytest.mark.slow
def test_known_models_agree_with_what_they_are_known_to_be():
    """Many items leave little doubt about the benchmark itself."""
    every = fitted().joint(plain())
    observed = np.full((N_MODELS, 3), NAN)
    observed[:, 0] = every.accuracies[:, 0] + .03
    given = every.given(observed)
    rise = given.accuracies - every.accuracies
    assert (rise[:, 0] > .01).all() and (rise[:, 0] < .035).all()
