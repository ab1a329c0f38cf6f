"""How far predictions err, by families left out in closed form.

Standard deviations of the posterior are right only if the model is. So every
fitted model is predicted without its family. The errors of its accuracies,
over their predicted deviations, show by how much intervals must be stretched,
how heavy the tails of errors are, how far errors of one model go together on
several benchmarks, and which models lie far off.

The tails are fitted to errors of accuracies, but `core.joint` applies them to
deviations of exponents as well: the curve is nearly a line over one interval.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtrit

from csv_plugin.core.curve import moments

#: Candidates for the degrees of freedom of Student's t.
DEGREES = (3., 4., 6., 10., 30.)
#: Largest candidate for the stretch of deviations, and number of candidates.
MOST_STRETCH, N_STRETCHES = 2., 15
#: The correlation between benchmarks is shrunk toward 0, as if this number of
#: uncorrelated pairs of errors had been seen as well.
PAIRS_WITHOUT = 15
#: Standardised errors beyond this count as this in the correlation.
LARGEST_ERROR = 3.
#: Largest correlation between benchmarks.
MOST_CORRELATED = .95


@dataclass(frozen=True)
class Tails:
    """Distribution of errors over predicted deviations: stretched Student's t.
    """
    stretch: float
    degrees: float

    def quantile(self, level: float) -> float:
        """Return half the width of an interval, in predicted deviations."""
        return float(self.stretch * stdtrit(self.degrees, (1 + level) / 2))


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of fitted models by the other families, `(M, B)`.

    `accuracies` are predicted ones and `deviations` their standard deviations,
    fractions. `errors` are observed minus predicted accuracies, over the
    deviations. `uncertain` is the share of the variance that is not noise of
    items. All are NaN where no accuracy is observed.
    """
    accuracies: NDArray[np.float64]
    deviations: NDArray[np.float64]
    errors: NDArray[np.float64]
    uncertain: NDArray[np.float64]

    @classmethod
    def of(cls, mean: NDArray, variance: NDArray, observed: NDArray,
           floor: NDArray, noise: NDArray) -> 'LeftOut':
        """Return them from means and variances of exponents, `(M, B)`."""
        missing = np.isnan(observed)
        mean = np.where(missing, np.nan, mean)
        accuracies, deviations = moments(mean, variance, floor, noise)
        _, without_noise = moments(mean, variance, floor, 0 * noise)
        errors = (observed - accuracies) / deviations
        return cls(accuracies, deviations, errors,
                   (without_noise / deviations)**2)

    def calibrate(self, families: NDArray, counts: NDArray,
                  least_degrees: float,
                  least_stretch: float) -> tuple[Tails, float]:
        """Return the tails and the correlation between benchmarks.

        They are fitted to the benchmarks that count, a mask `(B,)`. `families`
        are numbers, equal in a family, `(M,)`.
        """
        errors = self.errors[:, counts]
        seen = ~np.isnan(errors)
        n_families = len(np.unique(families[seen.any(axis=1)]))
        # Models of a family are alike, so k of them count as the root of k.
        weight = seen / np.sqrt(np.bincount(families)[families])[:, None]
        tails = fit_tails(errors, weight, n_families, least_degrees,
                          least_stretch)
        between = fit_correlation(errors / tails.stretch,
                                  self.uncertain[:, counts], weight)
        return tails, between


def fit_tails(errors: NDArray, weight: NDArray, n_families: int,
              least_degrees: float, least_stretch: float) -> Tails:
    """Fit tails to standardised errors of families left out.

    Errors and their weights are `(M, B)`; an error is NaN without an accuracy.
    There are fewer degrees of freedom than families, but at least
    `least_degrees`, and the stretch is at least `least_stretch`.
    """
    most_degrees = max(n_families - 1., least_degrees)
    stretches = np.geomspace(least_stretch, MOST_STRETCH, N_STRETCHES)
    best = np.inf, Tails(1., DEGREES[0])
    for degrees in sorted({min(each, most_degrees) for each in DEGREES}):
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
    return best[1]


def fit_correlation(errors: NDArray, share: NDArray, weight: NDArray) -> float:
    """Return the correlation of a model's exponents between benchmarks.

    Errors are those of `fit_tails` over their stretch. `share`, `(M, B)`, is
    the share of their variance that is not noise of items. The correlation is
    that of least squares over all pairs of benchmarks, shrunk toward 0.
    """
    seen = ~np.isnan(errors)
    errors = np.where(seen, errors, 0)
    expected = np.where(seen, np.sqrt(share), 0)
    errors = np.clip(errors, -LARGEST_ERROR, LARGEST_ERROR) * expected
    squares = expected**2
    # A sum over pairs of unlike benchmarks, from sums over benchmarks.
    products = .5 * errors.sum(axis=1)**2 - .5 * (errors**2).sum(axis=1)
    pairs = .5 * squares.sum(axis=1)**2 - .5 * (squares**2).sum(axis=1)
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
