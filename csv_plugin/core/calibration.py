"""How far errors really go, by families left out in closed form.

Posterior deviations hold if the model is right. What families left out differ
by says how far it is: their errors, over their deviations, give a common
stretch of all intervals and the degrees of freedom of their tails, the
correlation of a model's errors between benchmarks, and models that lie far
off.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtrit

#: Degrees of freedom that are tried.
DEGREES = (3., 4., 6., 10., 30.)
#: Largest stretch of deviations that is tried, and how many are.
MOST_STRETCH, N_STRETCHES = 2., 15
#: The correlation between benchmarks is shrunk as if so many pairs of errors
#: with none had been seen.
PAIRS_WITHOUT = 30
MOST_CORRELATED = .95


@dataclass(frozen=True)
class Tails:
    """Student's t of errors, over their posterior deviations."""
    stretch: float
    degrees: float

    def quantile(self, level: float) -> float:
        """Return the half width of an interval, in deviations."""
        return float(self.stretch * stdtrit(self.degrees, (1 + level) / 2))


def fit_tails(errors: NDArray, weight: NDArray, n_families: int,
              least_degrees: float, least_stretch: float) -> Tails:
    """Fit tails to standardised errors of families left out.

    Errors are `(M, B)`, NaN without an accuracy; weights are theirs. There are
    fewer degrees of freedom than families; at least so many, and so much
    stretch, are taken.
    """
    stretches = np.geomspace(least_stretch, MOST_STRETCH, N_STRETCHES)
    best = np.inf, Tails(1., DEGREES[0])
    for degrees in DEGREES:
        norm = (
            gammaln(degrees / 2) - gammaln(
                (degrees + 1) / 2) + .5 * np.log(degrees))
        for stretch in stretches:
            squares = (errors / stretch)**2 / degrees
            cost = (degrees + 1) / 2 * np.log1p(squares)
            cost += np.log(stretch) + norm
            total = float(np.nansum(weight * cost))
            if total < best[0]:
                best = total, Tails(float(stretch), degrees)
    found = best[1]
    degrees = max(min(found.degrees, n_families - 1.), least_degrees)
    return Tails(found.stretch, degrees)


def fit_correlation(errors: NDArray, share: NDArray,
                    weight: NDArray) -> float:
    """Return the correlation of a model's exponents between benchmarks.

    Errors are those of `fit_tails`, `share` is the share of their variance
    that is not noise of items, `(M, B)`. Least squares over all pairs of
    benchmarks, shrunk toward 0.
    """
    seen = ~np.isnan(errors)
    errors = np.where(seen, errors, 0)
    expected = np.where(seen, np.sqrt(share), 0)
    # Large errors count by their size.
    errors = np.clip(errors, -3, 3) * expected
    squares = expected**2
    # A sum over pairs of unlike benchmarks, from sums over benchmarks.
    products = errors.sum(axis=1)**2 - (errors**2).sum(axis=1)
    pairs = squares.sum(axis=1)**2 - (squares**2).sum(axis=1)
    each = weight.max(axis=1)
    found = (each * products).sum() / ((each * pairs).sum() + PAIRS_WITHOUT)
    return float(np.clip(found, 0, MOST_CORRELATED))


def model_errors(errors: NDArray) -> NDArray[np.float64]:
    """Return root mean squared standardised errors of models, `(M,)`.

    NaN for models without an accuracy.
    """
    n_seen = (~np.isnan(errors)).sum(axis=1)
    squares = np.nansum(errors**2, axis=1)
    return np.sqrt(squares / np.where(n_seen, n_seen, np.nan))
