"""What the model sees of losses, and covariances of exponents."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.families import family_numbers
from csv_plugin.core.kernels import (PARTS, AnswerStandardiser, Standardiser,
                                     UnitLosses, covariances, noise_of_units,
                                     shared_parts, typical_losses, variances,
                                     wiener)
from csv_plugin.core.settings import Settings
from tests.core.worlds import FAMILIES, KINDS, N_MODELS, N_UNITS, plain

SETTINGS = Settings()
#: Whether values are logarithms.
FORMS = True, False
NUMBERS = family_numbers(FAMILIES)


def placed(losses, logarithms):
    return Standardiser(losses, logarithms,
                        SETTINGS).standardise(losses, NUMBERS)


def test_typical_losses_are_medians_of_losses_above_zero():
    losses = np.array([[3., 1, 0, 0], [5, 2, 4, 0], [1, 8, 2, 0], [9, 6, 0, 0],
                       [7, 0, 9, 0]])
    found = typical_losses(losses.copy())
    assert found.tolist() == [5, 4, 4, 1]


@pytest.mark.parametrize('logarithms', FORMS)
@pytest.mark.parametrize('kind', ['plain', 'sources'])
def test_units_of_losses_change_nothing(kind, logarithms):
    losses = KINDS[kind]()
    first = placed(losses, logarithms)
    second = placed(replace(losses, table=3.7 * losses.table), logarithms)
    np.testing.assert_array_equal(first.mean_losses, second.mean_losses)
    np.testing.assert_array_equal(first.unit_deviations,
                                  second.unit_deviations)


@pytest.mark.parametrize('logarithms', FORMS)
def test_better_models_have_lower_mean_losses(logarithms):
    losses = plain()
    standardiser = Standardiser(losses, logarithms, SETTINGS)
    better = standardiser.standardise(
        replace(losses, table=.8 * losses.table), NUMBERS)
    assert (better.mean_losses
            < standardiser.standardise(losses, NUMBERS).mean_losses).all()


@pytest.mark.parametrize('logarithms', FORMS)
def test_a_broken_model_does_not_set_the_scale(logarithms):
    """However far off it is, others are as far apart, or half as far."""
    losses = plain()
    broken = losses.table.copy()
    usual = np.ptp(placed(losses, logarithms).mean_losses[:, 0])
    for loss in (1e2, 1e4):
        broken[0] = loss
        found = placed(replace(losses, table=broken), logarithms)
        assert .4 < np.ptp(found.mean_losses[1:, 0]) / usual < 1.1
        assert found.mean_losses[0, 0] > SETTINGS.sound


def test_most_models_may_have_one_mean_loss():
    table = plain().table.copy()
    table[:N_MODELS * 3 // 5] = table[0]
    found = placed(replace(plain(), table=table), False)
    assert np.abs(found.mean_losses[:, 0]).max() < 10


@pytest.mark.parametrize('kind', ['plain', 'sources'])
def test_groups_are_sources_or_units_that_go_together(kind):
    standardiser = Standardiser(KINDS[kind](), True, SETTINGS)
    np.testing.assert_allclose(standardiser.groups.sum(axis=0), 1)
    members = [tuple(np.flatnonzero(group)) for group in standardiser.groups.T]
    assert (0, 1, 2, 3) in members and (4, 5, 6, 7) in members
    assert (len(members) == 2) == (kind == 'sources')


def test_one_unit_is_enough():
    one = UnitLosses.of(plain().units[:, :1])
    place = placed(one, True)
    assert place.mean_losses.shape == (N_MODELS, 1)
    assert not place.unit_deviations.any()


def test_noise_of_units_is_what_they_do_not_share():
    rng = np.random.default_rng(0)
    noise, slopes = np.tile([.5, 1., 2.], 10), np.repeat([1., 2.], 15)
    factor = rng.normal(size=(2000, 1))
    values = factor * slopes + noise * rng.normal(size=(2000, 30))
    expected = np.hypot(noise, .3 * values.std(axis=0))
    np.testing.assert_allclose(noise_of_units(values, .3), expected, rtol=.06)


def test_the_bend_is_a_wiener_process_integrated_once():
    ends = np.array([.7, 1.3])
    grid = (np.arange(1300) + .5) / 1000
    low = np.minimum(grid[:, None], grid)
    expected = [[
        low[:int(1000 * a)][:, :int(1000 * b)].sum() / 1e6 for b in ends
    ] for a in ends]
    np.testing.assert_allclose(wiener(ends, ends), expected, rtol=1e-3)
    assert not wiener(np.array([-1.]), ends).any()


@pytest.mark.parametrize('kind', KINDS)
def test_variances_are_diagonals_of_covariances(kind):
    losses = KINDS[kind]()
    place = placed(losses, True)
    means = np.stack([
        place.mean_losses[:, 0],
        place.mean_losses.mean(axis=1), place.mean_losses[:, -1]
    ])
    worst = means.max(axis=1) - .5
    shared = dict(shared_parts(place, place, .1, True))
    whole = covariances(place, means, worst, shared)
    single = variances(place, means, worst, .1)
    assert [*single] == [*PARTS]
    for part, expected in zip(whole, single.values()):
        diagonal = np.diagonal(part, axis1=1, axis2=2)
        np.testing.assert_allclose(diagonal, expected, atol=1e-12)
        np.testing.assert_allclose(part, part.transpose(0, 2, 1))


def test_own_answers_are_seen_by_token():
    losses = np.random.default_rng(0).uniform(.1, 3, (12, 5))
    standardiser = AnswerStandardiser(losses, .1)
    means, deviations = standardiser.standardise(losses)
    np.testing.assert_allclose(deviations.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose((deviations**2).sum(axis=1).mean(), 1)
    lower, _ = standardiser.standardise(.5 * losses)
    assert (lower < means).all()


def test_models_are_taken_in_all_their_parts():
    losses = KINDS['answers']()
    rows = np.array([5, 2])
    place = Standardiser(losses, True, SETTINGS).standardise(losses, NUMBERS)
    part = Standardiser(losses, True, SETTINGS).standardise(
        losses.take(rows), NUMBERS[rows])
    taken = place.take(rows)
    assert len(taken) == 2
    np.testing.assert_allclose(taken.mean_losses, part.mean_losses)
    np.testing.assert_allclose(taken.unit_deviations, part.unit_deviations)
    np.testing.assert_array_equal(taken.families, part.families)
    for b in (0, 2):
        np.testing.assert_allclose(taken.answer_deviations[b],
                                   part.answer_deviations[b])
    assert losses.take(rows).units.shape == (2, N_UNITS)


@pytest.mark.parametrize('logarithms', FORMS)
@pytest.mark.parametrize('n_zero', [13, N_MODELS])
def test_units_that_most_models_know_by_heart(logarithms, n_zero):
    """Their losses are 0."""
    units = plain().units.copy()
    units[:n_zero, 2] = 0
    losses = replace(plain(), table=units)
    standardiser = Standardiser(losses, logarithms, SETTINGS)
    place = standardiser.standardise(losses, NUMBERS)
    assert np.isfinite(place.mean_losses).all() and np.isfinite(
        place.unit_deviations).all()
    assert standardiser.slope(units[0])[2] == 0
    assert np.isfinite(standardiser.slope(units[0])).all()
