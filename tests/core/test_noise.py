"""Noise of paired differences, and verdicts, against oracles."""
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from csv_plugin.core.conventions import InputError
from csv_plugin.core.joint import Sum
from csv_plugin.core.noise import (LOSS, OBSERVED, PREDICTED, Difference,
                                   Noise, combine, items_noise, run_noise,
                                   text_noise)


def noise_of(differences, sources):
    """Noise of a plain mean over texts."""
    n = len(differences)
    return text_noise(np.array(differences) / n, np.full(n, 1 / n), sources)


def difference(value, kind=OBSERVED, level=.95, margin=1, **noises):
    return Difference(kind, 'x', value, noises, level, margin)


def test_noise_of_texts_is_that_of_a_stratified_mean():
    rng = np.random.default_rng(0)
    sources = np.repeat(['a', 'b', 'c'], [3, 30, 7])
    differences = rng.normal(size=40) * np.repeat([9, 1], [3, 37])
    differences += 10 * (sources == 'b')
    variance = sum(n * differences[sources == source].var(ddof=1)
                   for source, n in (('a', 3), ('b', 30), ('c', 7)))
    noise = noise_of(differences, sources)
    assert noise.error == pytest.approx(math.sqrt(variance) / 40, rel=0.07)
    assert noise.freedom == 37


@pytest.mark.parametrize('sources, pooled',
                         [('abcd', 'aaaa'), ('aaab', 'aaaa'),
                          ('aabc', 'aabb')])
def test_sources_of_a_single_text_are_pooled(sources, pooled):
    values = [0.3, 0.1, 0.7, 0.2]
    assert noise_of(values, [*sources]) == noise_of(values, [*pooled])
    assert noise_of(values, [*'aabb']).freedom == 2


def test_long_texts_count_more():
    """Against all 4^3 bootstrap samples of three of four texts."""
    parts, shares = np.array([.1, .2, 0, .4]), np.array([.1, .2, .3, .4])
    means = [
        parts[list(drawn)].sum() / shares[list(drawn)].sum()
        for drawn in itertools.product(range(4), repeat=3)
    ]
    noise = text_noise(parts, shares, [''] * 4)
    assert noise.error == pytest.approx(np.std(means), rel=0.07)


def test_a_single_text_has_no_noise_to_measure():
    with pytest.raises(InputError, match='two or more'):
        noise_of([0.1], ['a'])


def test_noise_of_runs():
    noise = run_noise([[1.0, 2.0, 3.0]])
    assert noise == pytest.approx(
        (math.sqrt(2), math.sqrt(2), 1 / (1 / 2 + 1 / 5)))
    with pytest.raises(InputError, match='same recipe.*two or more'):
        run_noise([[1.0], [2.0]])


def test_runs_of_two_recipes_scatter_alike():
    """As in the t-test of Student, but for the tails."""
    a, b = [1.0, 2.0, 3.0], [11.0, 13.0]
    noise = run_noise([a, b], (3, 2))
    pooled = (2 * 1 + 1 * 2) / 3
    assert noise.error == pytest.approx(math.sqrt(pooled * (1 / 3 + 1 / 2)))
    # Means of two runs or more have lighter tails than single runs.
    assert noise.freedom == pytest.approx(1 / (1 / 3 + 1 / 6))


@pytest.mark.parametrize('value, error, verdict, opposite', [
    (3.0, 1.0, 'better', 'worse'),
    (0.1, 0.02, 'better', 'worse'),
    (0.1, 0.4, 'no difference', 'no difference'),
    (0.3, 0.5, 'cannot tell', 'cannot tell'),
])
def test_verdicts(value, error, verdict, opposite):
    found = difference(value, items=Noise.even(error))
    assert found.verdict == verdict
    assert difference(-value, items=Noise.even(error)).verdict == opposite
    # Lower losses are better.
    assert difference(-value, LOSS, items=Noise.even(error)).verdict == verdict
    assert (found.probability > 0.975) == (found.low > 0)


def test_noise_adds_up_in_quadrature():
    found = difference(0.0, LOSS, texts=Noise.even(3), runs=Noise.even(4))
    assert found.error == 5 and found.high == pytest.approx(5 * 1.959964)
    # Student's t of two degrees of freedom, from a table.
    few = difference(0.0, LOSS, texts=Noise.even(3), runs=Noise.even(1, 2))
    assert few.high == pytest.approx(math.hypot(3 * 1.959964, 4.302653))


def test_the_probability_is_that_of_the_interval_that_ends_at_0():
    noises = dict(
        texts=Noise.even(1), runs=Noise.even(2, 3), items=Noise.even(0))
    for value in (.3, 7.0, -7.0):
        found = difference(value, PREDICTED, **noises)
        likelier = max(found.probability, 1 - found.probability)
        limit = difference(0.0, LOSS, 2 * likelier - 1, **noises)
        assert limit.high == pytest.approx(abs(value))
        assert (found.probability > .5) == (value > 0)
    for value in (-2.0, 0.0, 1e9):
        single = difference(value, LOSS, runs=Noise.even(1, 3))
        assert single.probability == pytest.approx(stats.t(3).cdf(-value))
    nothing = difference(0.0, runs=Noise.even(0))
    assert (nothing.probability, nothing.verdict) == (.5, 'no difference')
    assert difference(.1, LOSS, runs=Noise.even(0)).probability == 0


def test_the_combination_is_the_best_weighted_mean():
    runs = Noise.even(0.05, 4)
    predicted = difference(
        .1, PREDICTED, predictor=Noise.even(.03, 2), runs=runs)
    observed = difference(.5, items=Noise.even(.01), runs=runs)
    both = combine(predicted, observed)
    variances = {
        w: (w * .03)**2 + ((1 - w) * .01)**2
        for w in np.linspace(0, 1, 1001)
    }
    weight = min(variances, key=variances.get)
    assert both.value == pytest.approx(
        weight * .1 + .5 * (1 - weight), abs=0.001)
    # Both differences have the same noise of runs, which counts once.
    assert both.error == pytest.approx(
        math.hypot(math.sqrt(variances[weight]), .05), rel=1e-3)
    assert both.noises['predictor'].freedom == 2


def test_differences_of_accuracies_are_100_points_at_most():
    for value, ends in ((.9, (.9 - .98, 1)), (-.9, (-1, .98 - .9))):
        found = difference(value, PREDICTED, items=Noise.even(.5))
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-3)
    assert difference(.9, LOSS, items=Noise.even(.5)).high > 1


def test_both_sides_of_noise():
    """The side on which 0 lies decides."""
    noises = dict(predictor=Noise(.02, .1), runs=Noise.even(.01))
    found = difference(.05, PREDICTED, **noises)
    assert found.low == pytest.approx(.05 - 1.959964 * math.hypot(.02, .01))
    assert found.high == pytest.approx(.05 + 1.959964 * math.hypot(.1, .01))
    assert found.verdict == 'better' and found.probability > .975
    other = difference(-.05, PREDICTED, margin=.01, **noises)
    assert other.verdict == 'cannot tell' and other.probability > .025
    assert found.error == pytest.approx(
        math.sqrt((.02**2 + .1**2) / 2 + .01**2))
    assert other.detectable > found.detectable


def test_noise_of_a_predicted_sum():
    """From its interval, of Student's t with two degrees of freedom."""
    noise = Noise.of_sum(Sum(.3, .1, .4, .9), .95, 2)
    assert noise == pytest.approx((.2 / 4.302653, .1 / 4.302653, 2))
    assert noise.times(.5) == pytest.approx((.1 / 4.302653, .05 / 4.302653, 2))


def test_accuracies_of_0_or_1_have_noise():
    """Two models that solve none of 30 items may differ by some points."""
    half = .5 / 30
    variance = half * (1 - half) / 30
    for pair in ((0., 0.), (1., 1.), (1., 0.)):
        found = items_noise(pair, 30, (1, 1))
        assert found.error == pytest.approx(math.sqrt(2 * variance))
        same = difference(0., items=found, margin=.01)
        assert same.verdict == 'cannot tell'
        # Other accuracies keep the binomial noise.
        found = items_noise((pair[0], 1 / 30), 30, (1, 4))
        assert found.error**2 == pytest.approx(variance + 29 / 900 / 30 / 4)
