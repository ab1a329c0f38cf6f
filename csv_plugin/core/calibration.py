"""How far predictions err, by families left out.

Standard deviations of the posterior are right only if the model is. So every
fitted model is predicted without its family. An error of its accuracy over the
predicted deviation is a standardised error, `(M, B)` in all. From these this
file computes by how much intervals must be stretched, how heavy the tails of
errors are, how far errors of one model go together on several benchmarks, and
which models lie far off. The formulas stand in docs/appendix/method.md,
"Families left out" and "Tails".

The tails are fitted to errors of accuracies, but `core.joint` applies them to
deviations of exponents as well: the curve is nearly a line over one interval.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtrit

from csv_plugin.core.curve import moments

#: Candidates for the degrees of freedom of Student's t.
CANDIDATE_DEGREES = (3., 4., 6., 10., 30.)
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

    def calibrate(self, families: NDArray, teaching: NDArray,
                  least_degrees: float,
                  least_stretch: float) -> tuple[Tails, float]:
        """Return the tails and the correlation between benchmarks.

        They are fitted to the benchmarks of `teaching`, a mask `(B,)`.
        `families` are numbers, equal in a family, `(M,)`.
        """
        errors = self.errors[:, teaching]
        seen = ~np.isnan(errors)
        n_families = len(np.unique(families[seen.any(axis=1)]))
        weight = seen * weights_of_models(families)[:, None]
        tails = fit_tails(errors, weight, n_families, least_degrees,
                          least_stretch)
        between = fit_correlation(errors / tails.stretch,
                                  self.uncertain[:, teaching], weight)
        return tails, between


def fit_tails(errors: NDArray, weight: NDArray, n_families: int,
              least_degrees: float, least_stretch: float) -> Tails:
    """Fit tails to standardised errors of families left out.

    Errors and their weights are `(M, B)`; an error is NaN without an accuracy.
    There are fewer degrees of freedom than families, but at least
    `least_degrees`, and the stretch is at least `least_stretch`.
    """
    most_degrees = max(n_families - 1., least_degrees)
    all_degrees = np.unique(np.minimum(CANDIDATE_DEGREES, most_degrees))
    stretches = np.geomspace(least_stretch, MOST_STRETCH, N_STRETCHES)
    least_cost = np.inf
    for degrees in all_degrees.tolist():
        for stretch in stretches.tolist():
            candidate = Tails(stretch, degrees)
            cost = _cost_of_tails(candidate, errors, weight)
            if cost < least_cost:
                best, least_cost = candidate, cost
    return best


def _cost_of_tails(tails: Tails, errors: NDArray, weight: NDArray) -> float:
    """Minus the weighted log likelihood of errors, less a constant."""
    degrees, power = tails.degrees, (tails.degrees + 1) / 2
    norm = gammaln(degrees / 2) - gammaln(power) + .5 * np.log(degrees)
    ratio = (errors / tails.stretch)**2 / degrees
    cost = power * np.log1p(ratio) + np.log(tails.stretch) + norm
    return float(np.nansum(weight * cost))


def fit_correlation(errors: NDArray, share: NDArray, weight: NDArray) -> float:
    """Return the correlation of a model's exponents between benchmarks.

    Errors are those of `fit_tails` over their stretch. `share`, `(M, B)`, is
    the share of their variance that is not noise of items.

    The product of a model's standardised errors on two benchmarks has the
    expectation correlation x root(share_1 share_2), as noise of items is
    independent. The correlation is that of least squares over all pairs, with
    `PAIRS_WITHOUT` pairs of product 0 added.
    """
    seen = ~np.isnan(errors)
    root = np.where(seen, np.sqrt(share), 0)
    errors = np.where(seen, errors, 0)
    errors = np.clip(errors, -LARGEST_ERROR, LARGEST_ERROR)
    of_model = weight.max(axis=1)
    products = of_model @ _sums_over_pairs(errors * root)
    expected = of_model @ _sums_over_pairs(root**2)
    correlation = products / (expected + PAIRS_WITHOUT)
    return float(np.clip(correlation, 0, MOST_CORRELATED))


def _sums_over_pairs(values: NDArray) -> NDArray[np.float64]:
    """Sums, over pairs of different benchmarks, of products, `(M,)`.

    Values are `(M, B)`. Each pair counts once.
    """
    square_of_sum = values.sum(axis=1)**2
    sum_of_squares = (values**2).sum(axis=1)
    return (square_of_sum - sum_of_squares) / 2


def model_errors(errors: NDArray) -> NDArray[np.float64]:
    """Return root mean squared standardised errors of models, `(M,)`.

    Errors are `(M, B)`, NaN without an accuracy. The result is NaN for models
    without any.
    """
    return np.sqrt(_mean_squares(errors))


def doubt_of(errors: NDArray, deviations: NDArray, teaching: NDArray,
             outlier: float) -> NDArray[np.float64]:
    """Return the variance to add for models that others do not explain.

    It is their predicted variance, times what their mean squared error exceeds
    the square of `outlier` by. Errors over deviations, and these, are
    `(M, B)`, the errors NaN where there is no accuracy. Mean squares are over
    the benchmarks of `teaching`, `(B,)`.
    """
    beyond = _mean_squares(errors[:, teaching]) - outlier**2
    # 0 also for models without an accuracy, whose mean square is NaN.
    beyond = np.fmax(beyond, 0)
    return np.where(np.isnan(errors), 0, deviations**2 * beyond[:, None])


def _mean_squares(errors: NDArray) -> NDArray[np.float64]:
    """Mean squared errors of models, `(M,)`, NaN without any."""
    n_seen = (~np.isnan(errors)).sum(axis=1)
    return np.nansum(errors**2, axis=1) / np.where(n_seen, n_seen, np.nan)


def weights_of_models(families: NDArray) -> NDArray[np.float64]:
    """Return weights of models by the size of their family, `(M,)`.

    Models of a family are alike. So each of k models of a family weighs one
    over the root of k, and together they weigh the root of k. All models of
    the family among these M count, also on benchmarks where few of them have
    an accuracy. `families`, `(M,)`, are numbers, equal in a family.
    """
    return 1 / np.sqrt(np.bincount(families)[families])
