"""Small operations on matrices."""
import numpy as np

from csv_plugin.core.numerics import correlations_of


def test_correlations_are_at_most_1():
    """Where rounding makes a covariance larger than both variances, too."""
    covariance = np.array([[[4., 1.], [1., 1.]], [[1., 1.1], [1.1, 1.]],
                           [[1., -1.1], [-1.1, 1.]]])
    assert correlations_of(covariance).tolist() == [[[1, .5], [.5, 1]],
                                                    [[1, 1], [1, 1]],
                                                    [[1, -1], [-1, 1]]]
