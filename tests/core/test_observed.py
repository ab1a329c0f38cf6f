"""Benchmarks at chance, and those that count."""
import numpy as np
import pytest
from scipy import optimize, stats

from csv_plugin.core.observed import Observed, at_chance

N = 20


@pytest.mark.parametrize('n_models', [3, 20, 150])
@pytest.mark.parametrize('chance, n_items', [(.25, 500), (.5, 60), (0, 1000),
                                             (.1, 5000)])
def test_benchmarks_of_binomial_noise_are_at_chance(n_models, chance, n_items):
    rng = np.random.default_rng(0)
    draws = rng.binomial(n_items, chance, (100, n_models)) / n_items
    assert sum(at_chance(draw, chance, n_items) for draw in draws) >= 95


def test_benchmarks_that_emerge_are_not():
    rng = np.random.default_rng(0)
    skill = np.linspace(0, 1, N)
    truth = .25 + .15 * np.maximum(skill - .6, 0)**2 / .16
    draws = rng.binomial(500, truth, (100, N)) / 500
    assert sum(at_chance(draw, .25, 500) for draw in draws) <= 5
    one_above = np.full(N, .25)
    one_above[3] = .5
    assert not at_chance(one_above, .25, 500)


def test_models_below_chance_are_at_chance():
    assert at_chance(np.linspace(.05, .25, N), .25, 500)


@pytest.mark.parametrize('n_models', [1, 3, 40])
@pytest.mark.parametrize('chance, share, n_items', [
    (.25, .25, 500), (0, .01, 100), (1, .99, 100), (.5, .5, 1), (.5, .5, 2),
    (.25, .25, 0)
])  # yapf: disable
def test_the_level_of_the_test_is_one_percent(n_models, chance, share,
                                              n_items):
    """By the mixture of distributions, half of the models below chance."""
    # An unknown number of items counts as 1,000, and 1 item as 2.
    used = max(n_items or 1000, 2)
    deviation = np.sqrt(share * (1 - share) / used)
    n_above = np.arange(n_models + 1)
    weights = stats.binom.pmf(n_above, n_models, .5)

    def p_value(rise):
        statistic = n_models * (rise / deviation)**2
        return weights[1:] @ stats.chi2.sf(statistic, n_above[1:])

    rise = optimize.brentq(lambda rise: p_value(rise) - .01, 1e-9, 2)
    for factor, may_guess in ((.999, True), (1.001, False)):
        accuracy = np.full(n_models, chance + factor * rise)
        assert at_chance(accuracy, chance, n_items) == may_guess


def test_unknown_items_are_many():
    accuracy = np.full(N, .28)
    assert not at_chance(accuracy, .25, 0)
    assert at_chance(accuracy, .25, 50)


def observed(*columns):
    n = len(columns)
    return Observed(
        np.stack(columns, axis=1), ('f', ) * N, np.full(n, .25),
        np.full(n, 500))


def test_what_is_at_chance_or_given_twice_does_not_count():
    curve = np.linspace(.3, .9, N)
    holes = np.where(np.arange(N) == 3, np.nan, curve)
    flat = np.full(N, .25)
    found = observed(curve, flat, holes, curve, holes)
    assert found.at_chance.tolist() == [False, True, False, False, False]
    assert found.learned_from.tolist() == [True, False, True, False, False]
    # Nor does what all models solve that were run on it.
    solved = np.where(np.arange(N) == 3, np.nan, 1.)
    one_fails = np.where(np.arange(N) == 3, .99, 1.)
    found = observed(curve, np.ones(N), solved, one_fails)
    assert found.unpredictable.tolist() == [False, True, True, False]
    assert observed(flat, 0 * flat).unpredictable.all()
    assert found.learned_from.tolist() == [True, False, False, True]
    # Unless there is nothing else: first what is solved, then guesses.
    assert observed(flat, np.ones(N)).learned_from.tolist() == [False, True]
    assert observed(flat, flat, flat - .01).learned_from.tolist() == [
        True, False, True
    ]  # yapf: disable
