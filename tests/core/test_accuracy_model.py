"""The mixture of forms, calibrated by families left out."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracy_model import AccuracyModel
from csv_plugin.core.member import Member
from csv_plugin.core.standardised import UnitLosses
from tests.core.worlds import KINDS, fitted, observed, plain


def test_the_mixture_has_the_moments_of_its_members():
    model = fitted()
    rng = np.random.default_rng(0)
    parts = [(rng.normal(size=(2, 3)), rng.uniform(.5, 1, (2, 3)))
             for _ in model.members]
    mean, variance = model.mixed(parts)
    draws = []
    for share, (middle, square) in zip(model.shares, parts):
        for b, n in enumerate((200_000 * share).astype(int)):
            draw = middle[0, b] + np.sqrt(square[0, b]) * rng.normal(size=n)
            draws.append((b, draw))
    for b in range(3):
        drawn = np.concatenate([draw for place, draw in draws if place == b])
        assert drawn.mean() == pytest.approx(mean[0, b], abs=.02)
        assert drawn.var() == pytest.approx(variance[0, b], rel=.02)


@pytest.mark.slow
@pytest.mark.parametrize('kind', KINDS)
def test_all_steps_of_a_fit_are_shown(kind):
    shown = []

    def progress(steps):
        for step in steps:
            yield step
            shown.append(step)

    model = AccuracyModel(KINDS[kind](), observed(), progress=progress)
    assert shown == [*range(Member.N_STEPS * len(model.members))]
    np.testing.assert_array_equal(model.left_out.errors,
                                  fitted(kind).left_out.errors)


@pytest.mark.parametrize('kind', KINDS)
def test_it_is_restored_as_it_was_found(kind):
    model = fitted(kind)
    again = AccuracyModel.restored(KINDS[kind](), observed(), model.settings,
                                   model.floor, model.shares,
                                   [member.state for member in model.members])
    first, second = (each.joint(KINDS[kind]()) for each in (model, again))
    for part in ('mean', 'variance'):
        np.testing.assert_array_equal(
            getattr(first, part), getattr(second, part))
    assert model.tails == again.tails
    assert model.benchmark_correlation == again.benchmark_correlation
    np.testing.assert_array_equal(model.left_out.errors, again.left_out.errors)


@pytest.mark.slow
def test_errors_of_families_left_out_are_errors_of_refits_nearly():
    """Hyper-parameters of a refit are its own."""
    model, families = fitted(), np.array(observed().families)
    for family in 'ad':
        out = np.flatnonzero(families == family)
        rest = np.flatnonzero(families != family)
        part = AccuracyModel(
            plain().take(rest),
            replace(
                observed(),
                accuracies=observed().accuracies[rest],
                families=tuple(families[rest])))
        refit = part.joint(plain().take(out), families[out]).accuracies
        closed = model.left_out.accuracies[out]
        seen = ~np.isnan(closed)
        np.testing.assert_allclose(refit[seen], closed[seen], atol=.05)
        assert np.abs(refit - closed)[seen].mean() < .015


def test_sound_models_are_not_outliers():
    for kind in KINDS:
        assert not fitted(kind).outliers.any()


@pytest.fixture(scope='module')
def wrong():
    """Fitted to bits per token of one model, to nats per character else."""
    units = plain().units.copy()
    units[7] *= 2.8
    return AccuracyModel(UnitLosses.of(units), observed())


def test_models_with_wrong_losses_are_outliers(wrong):
    assert np.flatnonzero(wrong.outliers).tolist() == [7]


@pytest.mark.slow
def test_models_with_wrong_accuracies_are_outliers():
    """Rows of the best and the worst models were exchanged."""
    values = observed().accuracies.copy()
    order = np.argsort(values[:, 0])
    best, worst = order[-1], order[0]
    values[[best, worst]] = values[[worst, best]]
    model = AccuracyModel(plain(), replace(observed(), accuracies=values))
    assert {best, worst} <= {*np.flatnonzero(model.outliers)}
    assert model.outliers.sum() <= 3


def test_an_outlier_hardly_moves_others(wrong):
    rest = np.arange(len(plain().units)) != 7
    first, second = (
        each.joint(plain()).accuracies[rest] for each in (wrong, fitted()))
    assert np.abs(first - second).mean() < .02


def test_families_of_new_models_are_new_ones():
    """Also if they are named like fitted ones."""
    model = fitted()
    alone = model.joint(plain())
    named = model.joint(plain(), observed().families)
    np.testing.assert_allclose(alone.mean, named.mean, atol=1e-12)
    of_alone = alone.model_correlations[0]
    of_named = named.model_correlations[0]
    assert of_alone[0, 1] < of_named[0, 1]
