"""One form of the model: what benchmarks follow, and exact weights."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.member import (Member, rows_to_learn_from, shares_by,
                                    spread_out)
from csv_plugin.core.settings import Settings
from csv_plugin.core.standardised import Standardiser, UnitLosses
from tests.core.worlds import KINDS, N_MODELS, fitted, observed

#: A family that was not fitted to.
NEW = np.array([-1])


@pytest.mark.parametrize('kind', KINDS)
def test_shares_sum_to_1(kind):
    for member in fitted(kind).members:
        shares = member.fitted.shares
        np.testing.assert_allclose(shares.sum(axis=0), 1)
        assert (shares >= 0).all()
    np.testing.assert_allclose(fitted(kind).shares.sum(axis=0), 1)


def test_own_answers_are_found_where_they_matter():
    """By their benchmark, and by no other."""
    for member in fitted('answers').members:
        shares = member.fitted.shares
        own = member.standardiser.columns_of_answers
        assert [*own] == [0, 2]
        assert shares[own[0], 0] > .9 and shares[own[2], 2] > .9
        assert not shares[own[0], [1, 2]].any()
        assert not shares[own[2], [0, 1]].any()


def test_own_answers_that_say_nothing_are_not_followed():
    rng = np.random.default_rng(0)
    losses = KINDS['answers']()
    noise = {b: rng.permutation(part) for b, part in losses.answers.items()}
    member = fit(replace(losses, answers=noise))
    shares, own = member.fitted.shares, member.standardiser.columns_of_answers
    assert shares[own[0], 0] < .2 and shares[own[2], 2] < .2


def fit(losses, settings=Settings(), accuracies=None):
    form = settings.forms[1]
    standardiser = Standardiser(losses, form.logarithms, settings)
    standardised = standardiser.standardise(losses, np.arange(N_MODELS) // 4)
    known = observed()
    if accuracies is not None:
        known = replace(known, accuracies=accuracies)
    return Member(standardiser, standardised, known, None, form, settings,
                  lambda: None)


def exponents(member, losses):
    """Of one model, `(B,)`."""
    return member.exponents(member.standardiser.standardise(losses, NEW))[0][0]


def moved(losses, standardised, factor, b=None):
    """Losses of a model with one multiplied, on a unit or on a token."""
    if b is None:
        units = losses.units.copy()
        units[0, standardised] *= factor
        return replace(losses, table=units)
    part = losses.answers[b].copy()
    part[0, standardised] *= factor
    return replace(losses, answers={**losses.answers, b: part})


def slopes_of(member, losses, standardised, of=None):
    """Finite differences of the exponents, `(B,)`."""
    step = 1e-4
    values = losses.units if of is None else losses.answers[of]
    up, down = (
        exponents(member, moved(losses, standardised, 1 + sign * step, of))
        for sign in (1, -1))
    return (up - down) / (2 * step * values[0, standardised])


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('form', [0, 1, 2])
@pytest.mark.parametrize('model', [0, 9])
def test_slopes_are_finite_differences(kind, form, model):
    losses = KINDS[kind]().take(np.array([model]))
    member = fitted(kind).members[form]
    by_units = np.array(
        [slopes_of(member, losses, k) for k in range(losses.units.shape[1])])
    for b in range(3):
        by_unit, by_token = member.slopes(losses, b)
        np.testing.assert_allclose(
            by_unit, by_units[:, b], rtol=1e-4, atol=1e-5)
        expected = [
            slopes_of(member, losses, k, b)[b] for k in range(len(by_token))
        ]
        assert (len(expected) > 0) == (b in losses.answers)
        np.testing.assert_allclose(by_token, expected, rtol=1e-4, atol=1e-5)


def test_covariances_of_models_have_their_variances():
    member = fitted().members[0]
    standardised = member.standardiser.standardise(
        KINDS['plain'](), np.arange(100, 100 + N_MODELS))
    covariance = member.covariance(standardised)
    _, variance = member.exponents(standardised)
    np.testing.assert_allclose(
        np.diagonal(covariance, axis1=1, axis2=2).T, variance, rtol=1e-8)
    assert np.linalg.eigvalsh(covariance).min() > -1e-10


def test_many_models_are_predicted_as_alone():
    """More than are predicted at a time."""
    member = fitted().members[0]
    rows = np.arange(500) % N_MODELS
    standardised = member.standardiser.standardise(KINDS['plain']().take(rows),
                                                   100 + np.arange(500))
    for many, few in zip(
            member.exponents(standardised),
            member.exponents(standardised.take(np.arange(N_MODELS)))):
        assert len(many) == 500
        np.testing.assert_allclose(many, few[rows], rtol=1e-9)


def test_hyper_parameters_are_those_of_some_of_the_models():
    """The posterior is that of all of them."""
    plain = KINDS['plain']()
    member = fit(plain, Settings(most_models=12))
    assert len(member.fitted.standardised) == N_MODELS
    rows = rows_to_learn_from(member.fitted.standardised.mean_losses[:, 0],
                              observed().accuracies, 12)
    changed = observed().accuracies.copy()
    changed[np.setdiff1d(np.arange(N_MODELS), rows)] = .5
    again = fit(plain, Settings(most_models=12), changed)
    np.testing.assert_array_equal(member.fitted.hyper, again.fitted.hyper)
    assert np.abs(member.fitted.dual - again.fitted.dual).max() > .01


def test_models_that_lie_far_off_count_less_among_many():
    values = observed().accuracies.copy()
    best = np.nanargmax(values[:, 0])
    values[best] = .05
    member = fit(KINDS['plain'](), Settings(most_models=20), values)
    assert len(member.fitted.standardised) > 20
    assert member.fitted.doubt[best].max() > 0


def test_every_benchmark_has_models_to_learn_from():
    values = np.arange(40.)
    accuracies = np.full((40, 2), .5)
    accuracies[1::2, 1] = np.nan
    accuracies[2:, 0] = np.nan
    rows = rows_to_learn_from(values, accuracies, 4)
    assert {0, 1} <= {*rows}
    assert (rows % 2 == 0).sum() >= 10
    assert rows_to_learn_from(values, accuracies, 40).tolist() == [*range(40)]
    # Ten models with an accuracy are enough.
    some = rows_to_learn_from(values, accuracies[:, 1:], 21)
    assert some.tolist() == spread_out(values, 21).tolist()
    assert (some % 2 == 0).sum() >= 10


def test_places_are_spread_out():
    values = np.array([5., 1, 9, 3, 7, 0, 8])
    assert spread_out(values, 3).tolist() == [0, 2, 5]
    assert spread_out(values, 7).tolist() == list(range(7))


def test_likelier_candidates_have_larger_shares():
    scores = np.array([[900., 3.], [900 + np.log(3), np.inf]])
    np.testing.assert_allclose(shares_by(scores), [[.75, 1], [.25, 0]])


def test_one_column_is_followed():
    one = UnitLosses.of(KINDS['plain']().units[:, :1])
    member = fit(one)
    np.testing.assert_array_equal(member.fitted.shares, np.ones((1, 3)))
    better = replace(one, table=.9 * one.table)
    found = [
        member.exponents(
            member.standardiser.standardise(losses,
                                            np.arange(50, 50 + N_MODELS)))
        for losses in (one, better)
    ]
    assert (found[1][0] > found[0][0]).all()
