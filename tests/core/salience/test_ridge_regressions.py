"""Ridge regressions in the space of the models, against scipy's."""
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.special import expit

from csv_plugin.core.salience import ridge as ridge_regressions
from csv_plugin.core.salience.base import SharedFeatures
from csv_plugin.core.salience.ridge import Problems, RidgeRegressions


def made(seed=0, n=20, n_columns=5, n_problems=6):
    """Features of n models and noisy problems on them."""
    rng = np.random.default_rng(seed)
    values = 2 + rng.normal(size=(n, n_columns))
    truth = rng.normal(size=n_columns) * 0.7
    accuracy = 0.2 + 0.8 * expit((values - 2) @ truth)
    accuracy = np.clip(accuracy + 0.05 * rng.normal(size=n), 0, 1)
    masks = (rng.random((n_problems, n)) < 0.8).astype(float)
    return values, Problems(accuracy, masks,
                            rng.choice([0.0, 0.1, 0.2], n_problems))


def ridge_on(values):
    return RidgeRegressions.of(
        SharedFeatures(values, np.full(values.shape[1], 1 / values.shape[1])))


def solved(values, problems, *penalties):
    ridge = ridge_on(values)
    last = ridge.path(problems, penalties)[-1]
    return ridge.refined(problems, last, penalties[-1])


def residuals(theta, free, centred, problems, q, strength):
    """Those of the objective as `Problems` states it, literally."""
    kept = problems.masks[q] > 0
    exponents = free @ theta[:2] + centred @ theta[2:]
    floor = problems.floors[q]
    errors = floor + (1 - floor) * expit(exponents) - problems.accuracy
    return np.append(errors[kept] / np.sqrt(kept.sum()),
                     np.sqrt(strength) * theta[2:])


def fitted(problems, solutions):
    """Accuracies of the models that count."""
    floors = problems.floors[:, None]
    return problems.masks * (
        floors + (1 - floors) * expit(solutions.exponents))


@pytest.mark.parametrize('shape', [(20, 5), (8, 30), (40, 90)])
@pytest.mark.parametrize('penalty', [1e-3, 0.1, 10.0])
def test_no_solution_is_worse_than_those_of_scipy(penalty, shape):
    values, problems = made(1, *shape, n_problems=3)
    solutions = solved(values, problems, penalty)
    centre = ridge_on(values).centre
    free, centred = centre.free, centre.centred(values)
    variances = np.linalg.svd(centred, compute_uv=False)**2
    strength = penalty * variances[0] / shape[0]
    gradients = solutions.penalised @ centred
    for q, gradient in enumerate(gradients):
        theta = np.append(solutions.free[q], gradient)
        np.testing.assert_allclose(
            free @ theta[:2] + centred @ gradient,
            solutions.exponents[q], atol=1e-8)  # yapf: disable
        args = free, centred, problems, q, strength
        value = np.sum(residuals(theta, *args)**2)
        for start in (theta, np.zeros(len(theta))):
            best = least_squares(
                residuals, start, args=args, xtol=1e-15, ftol=1e-15,
                gtol=1e-15)  # yapf: disable
            assert value <= 2 * best.cost * (1 + 1e-9)


def test_few_known_directions_are_enough(monkeypatch):
    """The other directions cost iterations, not accuracy."""
    values, problems = made(2, 40, 90)
    exact = solved(values, problems, 1e-2)
    monkeypatch.setattr(ridge_regressions, 'MAX_DIRECTIONS', 1)
    np.testing.assert_allclose(
        fitted(problems, solved(values, problems, 1e-2)),
        fitted(problems, exact), atol=1e-6)  # yapf: disable


@pytest.mark.parametrize('n_columns', [5, 90])
def test_regressions_may_leave_products_early(monkeypatch, n_columns):
    """Those whose conjugate gradients have ended, where models are many."""
    values, problems = made(5, 40, n_columns)
    exact = solved(values, problems, 1e-2)
    monkeypatch.setattr(ridge_regressions, 'MAX_DIRECTIONS', 1)
    monkeypatch.setattr(ridge_regressions, 'MANY_MODELS', 40)
    times, sizes = ridge_regressions.InnerProducts.times, []

    def watched(self, multipliers):
        sizes.append(len(multipliers))
        return times(self, multipliers)

    monkeypatch.setattr(ridge_regressions.InnerProducts, 'times', watched)
    np.testing.assert_allclose(
        fitted(problems, solved(values, problems, 1e-2)),
        fitted(problems, exact), atol=1e-6)  # yapf: disable
    left = sum(sizes)
    monkeypatch.setattr(ridge_regressions, 'MANY_MODELS', 41)
    sizes.clear()
    solved(values, problems, 1e-2)
    assert left < sum(sizes)


def test_products_in_32_bits_are_exact_enough(monkeypatch):
    monkeypatch.setattr(ridge_regressions, 'MANY_MODELS', 40)
    values, problems = made(5, 60, 90)
    penalties = 1.0, 0.1, 1e-2, 1e-3
    short, long = ridge_on(values), ridge_on(values)
    assert short.products.others.dtype == np.float32
    vars(long)['products'] = replace(long.products, others=None)
    for one, other in zip(
            short.path(problems, penalties), long.path(problems, penalties)):
        np.testing.assert_allclose(
            fitted(problems, one), fitted(problems, other), atol=1e-7)


def test_a_path_ends_where_its_last_penalty_says():
    made_problems = made(3)
    np.testing.assert_allclose(
        solved(*made_problems, 1.0, 0.1, 1e-2, 1e-3).exponents,
        solved(*made_problems, 1e-3).exponents, atol=1e-5)  # yapf: disable


def test_a_regression_is_solved_alike_alone_and_among_others():
    values, problems = made(4)
    together = solved(values, problems, 1e-3)
    for q in range(len(problems.masks)):
        alone = solved(values, problems[q:q + 1], 1e-3)
        np.testing.assert_allclose(
            alone.exponents, together[q:q + 1].exponents, atol=1e-6)


def test_models_that_do_not_count_have_no_multiplier():
    values, problems = made(5)
    problems.masks[:, [0, 7]] = 0
    before = solved(values, problems, 1e-3)
    problems.accuracy[[0, 7]] = 0.987, 0.013
    after = solved(values, problems, 1e-3)
    assert not after.penalised[problems.masks == 0].any()
    np.testing.assert_allclose(after.exponents, before.exponents, atol=1e-6)


@pytest.mark.parametrize('scale', [1e-140, 1e300])
def test_the_scale_of_the_features_does_not_matter(scale):
    values, problems = made(6)
    np.testing.assert_allclose(
        solved(scale * values, problems, 1e-3).exponents,
        solved(values, problems, 1e-3).exponents, atol=1e-5)  # yapf: disable


@pytest.mark.parametrize('level', [0.25, 1.0])
def test_saturated_regressions_stay_finite(level):
    """No slope is left where all accuracies are at the floor, or at 1."""
    values, problems = made(7)
    flat = replace(
        problems,
        accuracy=np.full(20, level),
        floors=np.full(len(problems.masks), 0.25))
    solutions = solved(values, flat, 1.0, 1e-3, 1e-9)
    assert np.isfinite(solutions.exponents).all()
    np.testing.assert_allclose(
        fitted(flat, solutions), flat.masks * level, atol=0.01)


def test_a_mask_of_one_model_is_survived():
    values, problems = made(8)
    problems.masks[:] = 0
    problems.masks[:, 3] = 1
    assert np.isfinite(solved(values, problems, 1.0, 1e-6).exponents).all()
