"""The estimator of perplexity correlations and its projection."""
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from csv_plugin.core.salience import fold_masks
from tests.core.worlds import make_world
from tools.studies.other_methods import perplexity_correlations as method
from tools.studies.other_methods.perplexity_correlations import (
    PerplexityCorrelations, linear_projection, rank_estimate)

RNG = np.random.default_rng(0)
#: Rounded, so that some are equal.
LOSSES = RNG.normal(2, 1, (12, 30)).round(1)
ERRORS = RNG.uniform(0, 1, 12).round(1)


def test_estimate_by_pairs_of_models(monkeypatch):
    """As the paper defines it: signs of errors times distribution values."""
    n = len(ERRORS)
    below = (LOSSES[:, None] > LOSSES).sum(axis=1)
    equal = (LOSSES[:, None] == LOSSES).sum(axis=1)
    share = (below + (equal + 1) / 2) / n
    expected = sum(
        np.sign(ERRORS[g] - ERRORS[k]) * (share[g] - share[k])
        for g, k in product(range(n), repeat=2)) / (
            n * (n - 1))
    np.testing.assert_allclose(rank_estimate(LOSSES, ERRORS), expected)
    monkeypatch.setattr(method, 'COLUMNS', 7)
    np.testing.assert_allclose(rank_estimate(LOSSES, ERRORS), expected)


@pytest.mark.parametrize('share', [1.0, 0.5, 0.37, 0.1, 0.01])
def test_projection_solves_the_linear_program(share):
    estimate = RNG.normal(size=20)
    weights = linear_projection(estimate, share)
    solved = linprog(
        -estimate,
        A_eq=np.ones((1, 20)),
        b_eq=[1],
        bounds=(0, min(1, 1 / (share * 20))))
    assert weights.sum() == pytest.approx(1)
    assert weights @ estimate == pytest.approx(-solved.fun)
    np.testing.assert_allclose(weights, solved.x, atol=1e-9)


def test_the_units_that_tell_are_found():
    world = make_world(
        n=60, n_families=6, salience=(1, ) + (0, ) * 7, noise=0.01)
    fit = PerplexityCorrelations().fit(world.task,
                                       fold_masks(world.task.families, 0))
    assert fit.notes[0].startswith('units: 1, ')
    assert np.flatnonzero(fit.model.coefficients).tolist() == [0]
    np.testing.assert_allclose(
        fit.model.predict(world.task.values), world.truth, atol=0.02)
