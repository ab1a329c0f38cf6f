"""Newton steps with weights that cannot be negative."""
import numpy as np
from scipy.optimize import nnls

from csv_plugin.core.salience.nonnegative_steps import Curvature, ModelSpace


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


def test_a_penalty_that_is_lost_in_rounding_leaves_weights_finite():
    """Curvature along two lines is 0, and products are many times larger."""
    rng = np.random.default_rng(5)
    n, n_columns = 12, 300
    columns = 1e6 * rng.normal(size=(n, n_columns))
    lines = np.linalg.qr(rng.normal(size=(n, 2)))[0].T[None]
    rest = np.zeros((1, n))
    curvature = Curvature(
        rng.normal(size=(1, n)), np.ones((1, n)), lines, lines, rest, rest,
        rest, rest[:, 0])
    start = np.ones((1, n_columns))
    weights, scores = ModelSpace(columns).step(
        np.arange(1), curvature, 1e-3, start, start @ columns.T)
    assert np.isfinite(weights).all() and np.isfinite(scores).all()
