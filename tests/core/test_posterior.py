"""Modes, gradients, and families left out in closed form."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.curve import Line
from csv_plugin.core.posterior import Posterior
from tests.core.worlds import KINDS, fitted

EVERY, TWO = np.array([[True, True, True], [True, False, True]])
NEAR = dict(rtol=1e-8, atol=1e-8)


def posterior(kind, learned_from=EVERY) -> Posterior:
    """That of the first form, as it was found, which can be fitted again."""
    member, observed = fitted(kind).members[0], fitted(kind).observed
    part = Posterior(member.fitted.standardised, observed.accuracies,
                     observed.n_items, member.fitted.floor, learned_from,
                     member.form.straight, member.settings)
    part.follow(member.fitted.shares)
    part.hyper, part.doubt = member.fitted.hyper, member.fitted.doubt
    part.solve_with_tangents_at(member.fitted.tangent_dual)
    return part


@pytest.mark.parametrize('included', [EVERY, TWO, ~TWO])
@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('name', ['evidence_cost', 'cost_of_exponents'])
def test_gradients_are_finite_differences(kind, name, included):
    part = posterior(kind, TWO)
    cost = getattr(part, name)
    _, gradient = cost(part.hyper, part.line, included)
    differences = []
    for step in 1e-5 * np.eye(len(part.hyper)):
        up, down = (
            cost(part.hyper + sign * step, part.line, included)[0]
            for sign in (1, -1))
        differences.append((up - down) / 2e-5)
    np.testing.assert_allclose(differences, gradient, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize('kind', KINDS)
def test_families_left_out_are_refits(kind):
    """In closed form as by a solution without the family."""
    model = fitted(kind)
    member = model.members[0]
    part = posterior(kind)
    mean, variance = part.families_left_out()
    for family in range(6):
        out = part.standardised.families == family
        rest = Posterior(
            part.standardised.take(~out), part.accuracies[~out],
            model.observed.n_items, part.floor, EVERY, part.straight,
            part.settings)
        rest.item_variance = part.item_variance[~out]
        rest.follow(part.shares)
        rest.worst, rest.hyper = part.worst, part.hyper
        rest.parts = [each[:, ~out][:, :, ~out] for each in part.parts]
        solution = rest._solve(
            rest._applied(part.hyper),
            Line(*(cells[~out] for cells in part.line)))
        left_out = part.standardised.take(out)
        crosses = member.fitted.cross_covariances(left_out)
        priors = member.fitted.prior_covariances(left_out)
        for b, (cross, prior) in enumerate(zip(crosses, priors)):
            seen, cross = part.seen[out][:, b], cross[:, ~out]
            expected = part.settings.level - part.scales[
                b] * part.followed_losses[b]
            expected = expected[out] + cross @ solution.dual[b]
            known = (cross @ solution.inverse[b] * cross).sum(axis=1)
            np.testing.assert_allclose(mean[out][seen, b], expected[seen],
                                       **NEAR)
            np.testing.assert_allclose(variance[out][seen, b],
                                       (np.diag(prior) - known)[seen], **NEAR)
            assert np.isnan(mean[out][~seen, b]).all()


def test_the_mode_has_the_least_cost():
    part = posterior('plain')
    applied = part._applied(part.hyper)
    least = part._cost(applied, part.tangent_dual).copy()
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, .1, 1.):
        step = size * rng.normal(size=part.tangent_dual.shape) * part.seen.T
        more = part._cost(applied, part.tangent_dual + step)
        assert (more > least - 1e-3).all()
        assert (size < .1) or (more > least).all()


def test_models_that_nobody_explains_get_doubt():
    """One model's accuracies are far too low for its losses."""
    part = posterior('plain')
    wrong = part.accuracies.copy()
    best = np.nanargmax(wrong[:, 0])
    wrong[best] = .05
    again = Posterior(part.standardised, wrong,
                      fitted().observed.n_items, part.floor, EVERY,
                      part.straight, part.settings)
    again.follow(part.shares)
    again.learn(2, lambda: None)
    doubted = again.doubt.max(axis=1) > 0
    assert doubted[best]
    assert doubted.sum() == 1


def test_an_absurd_weight_of_the_prior_is_felt():
    """Scores of families left out need some slope on the mean loss."""
    part = posterior('plain')
    before = part.accuracy_scores()
    flat = Posterior(part.standardised, part.accuracies,
                     fitted().observed.n_items, part.floor, EVERY,
                     part.straight, replace(part.settings, typical=-6.))
    flat.follow(part.shares)
    flat.hyper[:6] = -6
    flat.find_mode()
    assert (flat.accuracy_scores() > before).all()


def test_noise_of_benchmarks_that_do_not_count_is_like_that_of_others():
    """Their prior is about the noise of those that count."""
    part = posterior('plain', TWO)
    part.hyper = part.hyper.copy()
    part.hyper[10:] = part.log_item_noise + part.settings.noise + [2., 9., 2.]
    costs = []
    for noise in (2., 9.):
        part.hyper[11] = part.log_item_noise[1] + part.settings.noise + noise
        costs.append(part._prior(part.hyper, ~TWO)[0])
    assert costs[1] - costs[0] == pytest.approx(.5 * 7**2)


def test_noise_is_that_of_independent_items_at_first():
    part = posterior('plain')
    again = Posterior(part.standardised, part.accuracies,
                      np.array([100, 100, 400]), part.floor, EVERY,
                      part.straight, replace(part.settings, noise=0.))
    again.follow(part.shares)
    again.find_mode()
    np.testing.assert_allclose(again.noise, [.01, .01, .0025])


def test_the_width_of_priors_holds_for_the_typical_scale():
    part = posterior('plain')
    moved = part.hyper + np.eye(len(part.hyper))[6] * 3
    costs = []
    for width in (1., 2.):
        part.settings = replace(part.settings, width=width)
        moved[7:10] = moved[6]
        start = np.where(np.arange(len(moved)) < 6, -1., moved)
        costs.append(part._prior(start, EVERY)[0])
        start[6:10] = part.settings.typical
        costs[-1] -= part._prior(start, EVERY)[0]
    assert costs[0] == pytest.approx(4 * costs[1])


def test_benchmarks_that_do_not_count_move_no_others():
    """Amounts and the typical scale are those of the others."""
    found = []
    for change in (0, .3):
        part = posterior('plain', TWO)
        part.accuracies = part.accuracies.copy()
        part.accuracies[:, 1] = np.roll(part.accuracies[:, 1], 5)
        part.accuracies[:, 1] *= 1 - change
        again = Posterior(part.standardised, part.accuracies,
                          fitted().observed.n_items, part.floor, TWO,
                          part.straight, part.settings)
        again.follow(part.shares)
        again.learn(2, lambda: None)
        again.choose_amounts()
        found.append(again)
    first, second = found
    np.testing.assert_allclose(first.hyper[:7], second.hyper[:7], rtol=1e-3)
    np.testing.assert_allclose(
        first.solution.dual[[0, 2]],
        second.solution.dual[[0, 2]],
        rtol=.01,
        atol=.02)
    assert np.abs(first.hyper[8] - second.hyper[8]) > .01
