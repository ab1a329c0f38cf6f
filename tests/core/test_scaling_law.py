"""Eq. 2 and its fit."""
import math
import warnings

import numpy as np
import pytest
from scipy.optimize import curve_fit

from csv_plugin.core import scaling_law as sigmoid
from csv_plugin.core.conventions import InputError
from csv_plugin.core.scaling_law import (PROBLEMS, Curve, diagnose,
                                         fit_sigmoid, scaling_law)

SCORES = np.array([
    0.71, 0.84, 0.95, 1.06, 1.10, 1.17, 1.21, 1.28, 1.33, 1.42, 1.55, 1.63,
    1.80, 1.94
])
# alpha, beta, floor, chance, whether the floor is learned. In order: both
# signs, every chance level, steep and flat, half-way points in and beside
# the range of scores, floors inside (0, chance).
CERTIFIED = [
    (-4.0, 1.3, 0.0, 0.0, False),
    (-4.0, 1.3, 0.25, 0.25, False),
    (-4.0, 1.3, 0.5, 0.5, False),
    (4.0, 1.3, 0.0, 0.0, False),
    (4.0, 1.3, 0.25, 0.25, False),
    (4.0, 1.3, 0.5, 0.5, False),
    (-25.0, 1.2, 0.0, 0.0, False),
    (-25.0, 1.2, 0.25, 0.25, False),
    (25.0, 1.4, 0.5, 0.5, False),
    (-0.2, 1.0, 0.0, 0.0, False),
    (-0.2, 3.0, 0.25, 0.25, False),
    (0.2, -1.0, 0.5, 0.5, False),
    (-3.0, 0.2, 0.25, 0.25, False),
    (-3.0, 2.4, 0.0, 0.0, False),
    (-6.0, 1.2, 0.11, 0.25, True),
    (-6.0, 1.2, 0.01, 0.25, True),
    (-6.0, 1.2, 0.31, 0.5, True),
    (-6.0, 1.2, 0.49, 0.5, True),
    (6.0, 1.2, 0.07, 0.25, True),
    (6.0, 1.2, 0.4, 0.5, True),
    (-25.0, 1.25, 0.2, 0.25, True),
    (-1.5, 1.0, 0.2, 0.5, True),
    (-4.0, 1.3, 0.25, 0.25, True),
    (-4.0, 1.3, 0.0, 0.25, True),
]
STARTS = [(1.0, 1.0), (1.0, 0.0), (-1e3, 10.0)]


def accuracies(alpha, beta, floor, scores=SCORES):
    return np.array([
        floor + (1 - floor) / (1 + math.exp(-alpha * (s - beta)))
        for s in scores
    ])


def noisy(seed, n=14, noise=0.05):
    """Scores, accuracies and a chance level: steep or flat, high or low."""
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.uniform(0.7, 2.0, n))
    chance = float(rng.choice([0, 0.25, 0.5]))
    alpha, beta = -10**rng.uniform(-0.3, 1.3), rng.uniform(0.9, 1.8)
    exact = accuracies(alpha, beta, chance * rng.uniform(0.2, 1), scores)
    return scores, np.clip(exact + noise * rng.normal(size=n), 0, 1), chance


@pytest.mark.parametrize('start', STARTS)
@pytest.mark.parametrize('alpha, beta, floor, chance, learn', CERTIFIED)
def test_certified_parameters_are_recovered(alpha, beta, floor, chance, learn,
                                            start):
    fit = fit_sigmoid(SCORES, accuracies(alpha, beta, floor), chance, learn,
                      start)
    assert fit.curve.alpha == pytest.approx(alpha, rel=1e-6)
    assert fit.curve.beta == pytest.approx(beta, rel=0, abs=1e-6)
    assert fit.curve.floor == pytest.approx(floor, rel=0, abs=1e-6)
    assert fit.mse < 1e-15
    assert fit.n_models == len(SCORES)
    assert fit.problems == (('slope_sign', ) if alpha > 0 else ())


@pytest.mark.parametrize('unit', [1e-6, 1e6])
@pytest.mark.parametrize('learn', [False, True])
def test_the_unit_of_the_score_does_not_matter(unit, learn):
    scores, observed, chance = noisy(3)
    one = fit_sigmoid(scores, observed, chance, learn)
    other = fit_sigmoid(unit * scores, observed, chance, learn)
    assert other.curve.alpha * unit == pytest.approx(one.curve.alpha, 1e-6)
    assert other.curve.beta / unit == pytest.approx(one.curve.beta, 1e-6)
    assert other.curve.floor == pytest.approx(one.curve.floor, 1e-6)


def best_of_many_starts(scores, observed, chance, learn):
    """Lowest mean squared residual that scipy's curve_fit reaches."""

    def error(params):
        return np.mean((scaling_law(scores, *params) - observed)**2)

    reached = []
    for alpha in (-30, -10, -3, -1, 1, 10):
        for beta in np.linspace(0.6, 2.1, 5):
            try:
                if learn:
                    params, _ = curve_fit(
                        scaling_law,
                        scores,
                        observed, (alpha, beta, chance / 2),
                        bounds=([-np.inf, -np.inf,
                                 0], [np.inf, np.inf, chance]))
                else:
                    params, _ = curve_fit(
                        lambda s, a, b: scaling_law(s, a, b, chance), scores,
                        observed, (alpha, beta))
                    params = (*params, chance)
            except RuntimeError:  # This start leads nowhere.
                continue
            reached.append(error(params))
    return min(reached)


@pytest.mark.filterwarnings('ignore:Covariance of the parameters')
@pytest.mark.filterwarnings('ignore:overflow encountered')
@pytest.mark.parametrize('learn, seeds', [(False, range(30)),
                                          (True, range(6))])
def test_no_noisy_fit_is_worse_than_scipy_from_many_starts(learn, seeds):
    for seed in seeds:
        scores, observed, chance = noisy(seed)
        if learn and chance == 0:
            chance = 0.25
        fit = fit_sigmoid(scores, observed, chance, learn)
        assert not fit.problems
        assert fit.mse == pytest.approx(
            np.mean((fit.curve(scores) - observed)**2), 1e-12)
        assert fit.mse <= best_of_many_starts(scores, observed, chance,
                                              learn) * (1 + 1e-8)


def test_a_start_far_off_is_only_one_of_the_starts():
    scores, observed, chance = noisy(1)
    plain = fit_sigmoid(scores, observed, chance)
    for start in STARTS:
        started = fit_sigmoid(scores, observed, chance, start=start)
        assert started.mse == pytest.approx(plain.mse, 1e-9)


@pytest.mark.parametrize('learn', [False, True])
def test_the_best_starts_are_tried_the_given_one_among_them(
        monkeypatch, learn):
    """All other starts sit on a plateau, where no step leads anywhere."""
    monkeypatch.setattr(
        sigmoid, '_starts',
        lambda *_: [np.array([1e3 + i, 0.0]) for i in range(5)])
    observed = accuracies(-6, 1.2, 0.2)
    fit = fit_sigmoid(SCORES, observed, 0.2, learn, start=(-5.0, 1.3))
    assert fit.curve.alpha == pytest.approx(-6, 1e-6)
    assert fit_sigmoid(SCORES, observed, 0.2, learn).mse > 0.01


def test_a_floor_is_learned_only_when_asked_for():
    observed = accuracies(-6, 1.2, 0.1)
    fixed = fit_sigmoid(SCORES, observed, 0.25)
    assert fixed.curve.floor == 0.25
    assert fixed.mse > 1e-4
    assert fixed.covariance.shape == (2, 2)


@pytest.mark.parametrize('low, floor', [(0.4, 0.25), (-0.1, 0.0)])
def test_a_learned_floor_stays_between_zero_and_chance(low, floor):
    observed = np.maximum(accuracies(-12, 1.2, low), 0)
    fit = fit_sigmoid(SCORES, observed, 0.25, learn_floor=True)
    assert fit.curve.floor == floor
    assert fit.covariance.shape == (2, 2)


@pytest.mark.parametrize('learn', [False, True])
def test_covariance_is_that_of_curve_fit(learn):
    rng = np.random.default_rng(0)
    floor = 0.15 if learn else 0.25
    observed = accuracies(-6, 1.2, floor) + 0.01 * rng.normal(size=len(SCORES))
    fit = fit_sigmoid(SCORES, observed, 0.25, learn)
    if learn:
        _, expected = curve_fit(scaling_law, SCORES, observed, (-6, 1.2, .15))
    else:
        _, expected = curve_fit(lambda s, a, b: scaling_law(s, a, b, 0.25),
                                SCORES, observed, (-6, 1.2))
    np.testing.assert_allclose(fit.covariance, expected, 1e-3)


def test_covariance_is_the_spread_of_repeated_fits():
    rng = np.random.default_rng(0)
    exact = accuracies(-5, 1.0, 0.25)
    fits = [
        fit_sigmoid(SCORES, exact + 0.005 * rng.normal(size=len(SCORES)), 0.25)
        for _ in range(1000)
    ]
    found = np.cov([(f.curve.alpha, f.curve.beta) for f in fits], rowvar=False)
    stated = np.mean([f.covariance for f in fits], axis=0)
    # The standard error of a variance of 1000 draws is 4.5 %.
    np.testing.assert_allclose(np.diag(stated), np.diag(found), rtol=0.15)
    size = np.sqrt(np.prod(np.diag(found)))
    assert stated[0, 1] / size == pytest.approx(found[0, 1] / size, abs=0.1)


@pytest.mark.parametrize('alpha', [-400.0, -1e4])
def test_a_saturated_curve_has_no_covariance(alpha):
    """Any steeper curve would fit as well."""
    fit = fit_sigmoid(
        np.array([1.0, 2, 3, 4]), np.array([1.0, 1, 0.25, 0.25]), 0.25,
        start=(alpha, 2.5))  # yapf: disable
    assert fit.mse < 1e-12
    assert np.isnan(fit.covariance).all()


def test_as_many_parameters_as_models_leave_no_covariance():
    scores = np.array([1.0, 1.3, 1.7])
    fit = fit_sigmoid(scores, accuracies(-3, 1.2, 0.1, scores), 0.25, True)
    assert fit.mse < 1e-15
    assert np.isnan(fit.covariance).all()


@pytest.mark.parametrize('scores, observed', [
    ([-1.0, -1.0, 1.0, 1.0], [0.5, 0.9, 0.9, 0.5]),
    ([0.0, 1.0, 2.0], [0.2, 0.5, 0.2]),
    ([0.0, 1.0, 2.0, 3.0], [0.5, 0.9, 0.9, 0.5]),
])
@pytest.mark.parametrize('learn', [False, True])
def test_a_flat_optimum_predicts_the_mean(scores, observed, learn):
    fit = fit_sigmoid(np.array(scores), np.array(observed), 0.1, learn)
    np.testing.assert_allclose(
        fit.curve(np.array(scores)), np.mean(observed), rtol=1e-5)
    assert np.isfinite([fit.curve.alpha, fit.curve.beta]).all()


UNFIT = {
    'too_few_models': ([1.0, 2.0], [0.5, 0.9], 0.25),
    'constant_score': ([0.1 + 0.2, 0.3, 0.3], [0.5, 0.6, 0.9], 0.25),
    'constant_accuracy': ([1.0, 2.0, 3.0], [0.5, 0.5, 0.5], 0.25),
    'at_chance': ([1.0, 2.0, 3.0], [0.1, 0.2, 0.27], 0.25),
    'slope_sign': ([1.0, 2.0, 3.0], [0.3, 0.5, 0.9], 0.25),
}


def test_every_problem_has_a_case():
    assert UNFIT.keys() == PROBLEMS.keys()


@pytest.mark.parametrize('name', UNFIT)
@pytest.mark.parametrize('learn', [False, True])
def test_a_fit_says_why_it_cannot_be_trusted(name, learn):
    scores, observed, chance = UNFIT[name]
    fit = fit_sigmoid(np.array(scores), np.array(observed), chance, learn)
    assert fit.problems == (name, )
    if name == 'slope_sign':
        assert fit.curve.alpha > 0
    else:
        mean = np.mean(observed)
        assert fit.curve.alpha == 0
        assert fit.curve(np.array([-9.0, 9.0])) == pytest.approx([mean] * 2)
        assert fit.mse == pytest.approx(np.var(observed), abs=1e-15)
        assert np.isnan(fit.covariance).all()


def test_chance_has_a_margin():
    scores = np.array([1.0, 2.0, 3.0])
    just_above = np.array([0.27 + 1e-9, 0.2, 0.1])
    assert diagnose(scores, just_above, 0.25) == ()
    assert diagnose(scores, just_above - 2e-9, 0.25) == ('at_chance', )


def test_several_problems_are_all_named():
    assert diagnose(np.ones(2), np.full(2, 0.2),
                    0.25) == ('too_few_models', 'constant_score',
                              'constant_accuracy', 'at_chance')


def test_no_model_at_all_predicts_chance():
    fit = fit_sigmoid(np.zeros(2), np.full(2, np.nan), 0.25)
    assert fit.curve(np.array([1.0])) == pytest.approx([0.25])
    assert (fit.n_models, fit.mse) == (0, 0.0)
    assert 'too_few_models' in fit.problems


def test_models_without_accuracy_are_left_out():
    observed = accuracies(-4, 1.3, 0.25)
    gaps = np.where(np.arange(len(SCORES)) % 3 == 0, np.nan, observed)
    fit = fit_sigmoid(SCORES, gaps, 0.25)
    assert fit.curve.alpha == pytest.approx(-4, 1e-6)
    assert fit.n_models == np.count_nonzero(~np.isnan(gaps))


@pytest.mark.parametrize('scores, observed, chance, message', [
    ([1.0, 2.0], [0.5], 0.25, r'\(2,\) and \(1,\)'),
    ([[1.0]], [[0.5]], 0.25, r'\(1, 1\)'),
    ([1.0, np.nan, 2.0], [0.1, 0.2, 0.3], 0.0, 'finite scores'),
    ([1.0, -np.inf, 2.0], [0.1, 0.2, 0.3], 0.0, 'finite scores'),
    ([1.0, 3.0, 2.0], [0.1, np.inf, 0.3], 0.0, 'found infinity'),
    ([1.0, 2.0, 3.0], [0.1, 0.2, 0.3], 1.0, r'chance in \[0, 1\), found 1.0'),
    ([1.0, 2.0, 3.0], [0.1, 0.2, 0.3], -0.1, 'found -0.1'),
    ([1.0, 2.0, 3.0], [0.1, 0.2, 0.3], math.nan, 'found nan'),
])
def test_bad_input_is_refused(scores, observed, chance, message):
    with pytest.raises(InputError, match=message):
        fit_sigmoid(np.array(scores), np.array(observed), chance)


def test_scaling_law_is_equation_2_and_broadcasts():
    alpha = np.array([[-2.0], [3.0]])
    found = scaling_law(SCORES, alpha, 1.1, 0.2)
    expected = [accuracies(a, 1.1, 0.2) for a in (-2.0, 3.0)]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_scaling_law_saturates_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        far = scaling_law(np.array([-1e300, 1e300]), -1e3, 0.0, 0.25)
    assert far.tolist() == [1.0, 0.25]


@pytest.mark.parametrize('accuracy', [0.0, 0.3, 1.0])
def test_a_constant_curve_ignores_the_score(accuracy):
    flat = Curve.constant(accuracy)(np.array([-5.0, 0.0, 1e6]))
    np.testing.assert_allclose(flat, accuracy, rtol=0, atol=1e-15)
