"""Newton steps with weights that cannot be negative."""
import numpy as np
from scipy.optimize import nnls

from csv_plugin.core.salience.nonnegative_steps import (Curvature, ModelSpace,
                                                        Step)


def test_equations_of_the_models_solve_what_scipy_solves():
    """With more columns than models, from no weight and from all of them."""
    rng = np.random.default_rng(0)
    n, n_columns, strength = 12, 40, 0.01
    columns = rng.normal(size=(n, n_columns))
    diagonal = rng.uniform(0.5, 2, (2, n))
    gradient = 30 * rng.normal(size=(2, n))
    lines, rest = np.zeros((2, 2, n)), np.zeros((2, n))
    curvature = Curvature(gradient, diagonal, lines, lines, rest, rest, rest,
                          rest[:, 0])
    start = np.stack([np.zeros(n_columns), np.ones(n_columns)])
    scores = start @ columns.T
    weights, moved = ModelSpace(columns).step(
        np.arange(2), curvature, strength, start, scores)
    np.testing.assert_allclose(moved, weights @ columns.T)
    for row in (0, 1):
        roots = np.sqrt(diagonal[row])
        target = diagonal[row] * scores[row] - gradient[row]
        expected, _ = nnls(
            np.vstack([
                roots[:, None] * columns,
                np.sqrt(strength) * np.eye(n_columns)
            ]),
            np.concatenate(
                [target / roots,
                 np.full(n_columns, np.sqrt(strength))]))
        assert 0 < (expected > 0).sum() < n_columns
        np.testing.assert_allclose(weights[row], expected, atol=1e-9)


def test_equations_of_weights_and_of_models_make_the_same_step():
    rng = np.random.default_rng(1)
    n, n_columns, strength = 12, 8, 0.1
    columns = rng.normal(size=(n, n_columns))
    slopes, squares = rng.uniform(-2, 2, (3, 1)), rng.uniform(.5, 2, (3, n))
    weights = np.maximum(rng.normal(size=(3, n_columns)), 0)
    scores = weights @ columns.T
    curvature = Curvature.of(scores, slopes, .3 * rng.normal(size=(3, n)),
                             squares)
    gradient = curvature.gradient @ columns + strength * (weights - 1)
    free = np.ones(weights.shape, dtype=bool)
    step = Step(columns, curvature, strength, weights, gradient, free)
    change = step.direct(scores)
    assert np.any(weights + change == 0) and np.any(weights + change > 0)
    by_models = [
        step._by_models(row, free[row], scores) for row in range(len(free))
    ]
    np.testing.assert_allclose(change, by_models, atol=1e-8)
