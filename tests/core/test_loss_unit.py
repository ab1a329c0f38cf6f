"""Losses in another unit are noticed, and better models are not."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.loss_unit import (LEAST_FAMILIES, LEAST_RATIO, LossUnit,
                                       learn_loss_unit)

N_UNITS = 40
UNIFORM = np.full(N_UNITS, 1 / N_UNITS)
BITS = 1 / np.log(2)


def losses(skill, noise=0.02, seed=0):
    """Losses that fall with skill, more on some units than on others."""
    rng = np.random.default_rng(seed)
    level = np.random.default_rng(9).uniform(1, 5, N_UNITS)
    gain = np.random.default_rng(8).uniform(0, 1, N_UNITS)
    exact = level * np.exp(-np.outer(skill, gain))
    return exact * np.exp(noise * rng.normal(size=exact.shape))


def families(n, n_families=6):
    return [f'family {m % n_families}' for m in range(n)]


@pytest.fixture(scope='module')
def learned():
    return learn_loss_unit(
        losses(np.linspace(0, 1, 30)), UNIFORM, families(30))


@pytest.mark.parametrize('skill', [(0, .5, 1), (-.2, ), (1.3, 1.4)])
@pytest.mark.parametrize('factor', [BITS, 1 / BITS, 4, .25])
def test_another_unit_is_noticed(learned, skill, factor):
    """Also that of models which are better or worse than all fitted on."""
    new = losses(np.array(skill), seed=1)
    assert learned.unusual_ratio(new, UNIFORM) is None
    found = learned.unusual_ratio(factor * new, UNIFORM)
    assert found == pytest.approx(factor, rel=0.1)


def test_sizes_that_overlap_are_told_apart(learned):
    """Good models in bits have the mean losses of weak ones in nats."""
    good, weak = losses(np.array([.9])), losses(np.array([.3]))
    assert BITS * good.mean() == pytest.approx(weak.mean(), rel=0.15)
    assert learned.unusual_ratio(weak, UNIFORM) is None
    assert learned.unusual_ratio(BITS * good, UNIFORM) is not None


def test_one_odd_model_of_three_does_not_count(learned):
    new = losses(np.array([.2, .5, .8])) * np.array([[1], [3], [1]])
    assert learned.unusual_ratio(new, UNIFORM) is None


def test_the_limit_is_the_largest_error_on_families_left_out():
    """Where shares tell little of the size, only large factors are unusual."""
    rng = np.random.default_rng(0)
    values = losses(np.full(30, .5)) * np.exp(rng.normal(0, .5, (30, 1)))
    unit = learn_loss_unit(values, UNIFORM, families(30))
    sizes = np.log(values.mean(axis=1))
    assert unit.limit > np.exp(np.abs(sizes - sizes.mean()).max() * .8) > 2
    assert unit.unusual_ratio(BITS * values, UNIFORM) is None
    assert unit.unusual_ratio(100 * values, UNIFORM) > 50


def test_it_is_a_ridge_of_shares(learned):
    values = losses(np.linspace(0, 1, 30))
    mean = values @ UNIFORM
    shares = values / mean[:, None]
    centred = shares - shares.mean(axis=0)
    penalty = .1 * np.square(centred).sum() / 30
    slopes = np.linalg.solve(centred.T @ centred + penalty * np.eye(N_UNITS),
                             centred.T @ np.log(mean))
    np.testing.assert_allclose(learned.coefficients, slopes, atol=1e-9)
    assert learned.intercept == pytest.approx(
        np.log(mean).mean() - shares.mean(axis=0) @ slopes)
    assert learned.limit == LEAST_RATIO


def test_a_single_unit_has_one_share():
    """Then the spread of the losses themselves says what is unusual."""
    values = np.linspace(1, 2, 12)[:, None]
    unit = learn_loss_unit(values, np.ones(1), families(12))
    assert unit.coefficients.tolist() == [0]
    assert 1.3 < unit.limit < 2
    assert unit.unusual_ratio(values, np.ones(1)) is None
    assert unit.unusual_ratio(10 * values, np.ones(1)) > 9


def test_nothing_is_learned_of_few_families_or_of_losses_that_are_none():
    values = losses(np.linspace(0, 1, 30))
    few = families(30, LEAST_FAMILIES - 1)
    assert learn_loss_unit(values, UNIFORM, few) is None
    values[3] = 0
    assert learn_loss_unit(values, UNIFORM, families(30)) is None


def test_models_without_a_positive_mean_loss_have_no_ratio(learned):
    nothing = np.zeros((1, N_UNITS))
    assert learned.unusual_ratio(nothing, UNIFORM) is None
    both = np.vstack([nothing, 4 * losses(np.array([.5]))])
    assert learned.unusual_ratio(both, UNIFORM) > 3


def test_limits_that_cannot_be():
    for limit in (.9, np.nan):
        with pytest.raises(InputError, match='1 or more'):
            LossUnit(np.zeros(1), 0., limit)
