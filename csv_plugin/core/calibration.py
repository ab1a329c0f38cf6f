"""Calibrate intervals by the errors of predictions without the own family.

Standard deviations of the posterior are right only if its assumptions are. So
every fitted model is also predicted without its family. The error of its
accuracy divided by the predicted standard deviation is its standardised error;
M models on B benchmarks have `(M, B)` of them. From these errors, this file
computes by which factor intervals must be stretched, how heavy the tails of
the errors are, how strongly the errors of one model on several benchmarks are
correlated, and which models lie far off. The formulas are in
docs/appendix/method.md, "Families left out" and "Tails".

The tails are fitted to errors of accuracies, but `core.joint` applies them to
deviations of exponents, too. This is nearly the same, as the curve from
exponents to accuracies is nearly a line over one interval.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtrit

from csv_plugin.core.arrays import Floats
from csv_plugin.core.curve import moments
from csv_plugin.core.families import weights_of_models

#: Candidates for the degrees of freedom of Student's t, from heavy tails (3)
#: to nearly normal errors (30).
CANDIDATE_DEGREES = (3., 4., 6., 10., 30.)
#: Largest candidate for the factor that stretches predicted deviations. Errors
#: of more than twice their predicted size would show a wrong model, which no
#: stretch mends.
MOST_STRETCH = 2.
#: The correlation between benchmarks is shrunk toward 0, as if the data had
#: this number of uncorrelated pairs of errors more: as many as one model has
#: on six benchmarks.
PAIRS_WITHOUT = 15
#: Larger standardised errors are clipped to this (or to minus this) before
#: correlations are computed, so that no single error decides them.
LARGEST_ERROR = 3.
#: Largest correlation between benchmarks that is returned. With a correlation
#: of 1, a known accuracy on one benchmark would leave no doubt about the
#: accuracies on all other benchmarks.
MOST_CORRELATED = .95


@dataclass(frozen=True)
class Tails:
    """The distribution of standardised errors, a stretched Student's t.

    An error divided by its predicted standard deviation is `stretch` times a
    variable with Student's t distribution of `degrees` degrees of freedom.
    """
    stretch: float
    degrees: float

    def quantile(self, level: float) -> float:
        """Return half the width of the interval with this level.

        The unit is the predicted standard deviation. `level` is a fraction.
        """
        probability = (1 + level) / 2
        quantile = stdtrit(self.degrees, probability)
        return float(self.stretch * quantile)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of M fitted models, each from all families but its own.

    All attributes are `(M, B)`, and NaN where no accuracy is observed.
    `accuracies` are the predicted accuracies and `deviations` their predicted
    standard deviations, as fractions. `errors` are observed minus predicted
    accuracies, divided by the deviations. `exponent_share` is the share of the
    predicted variance that comes from the uncertain exponent, not from the
    noise of items.
    """
    accuracies: Floats
    deviations: Floats
    errors: Floats
    exponent_share: Floats

    @classmethod
    def of(cls, mean: NDArray, variance: NDArray, observed: NDArray,
           floor: NDArray, noise: NDArray) -> 'LeftOut':
        """Compute the predictions from means and variances of exponents.

        `mean`, `variance` and the accuracies `observed` are `(M, B)`. `floor`
        and `noise` are `(B,)`, as in `curve.moments`.
        """
        missing = np.isnan(observed)
        mean = np.where(missing, np.nan, mean)
        accuracies, deviations = moments(mean, variance, floor, noise)
        errors = observed - accuracies
        errors /= deviations
        no_noise = np.zeros_like(noise)
        _, without_noise = moments(mean, variance, floor, no_noise)
        ratio = without_noise / deviations
        return cls(accuracies, deviations, errors, exponent_share=ratio**2)

    def calibrate(self, families: NDArray, learned_from: NDArray,
                  least_degrees: float,
                  least_stretch: float) -> tuple[Tails, float]:
        """Return the tails of errors, and the correlation between benchmarks.

        Both are fitted to the errors on the benchmarks where `learned_from`,
        `(B,)`, is True. `families` is the number of each model's family,
        `(M,)`. The limits `least_degrees` and `least_stretch` are as in
        `fit_tails`.
        """
        errors = self.errors[:, learned_from]
        seen = ~np.isnan(errors)
        has_errors = seen.any(axis=1)
        with_errors = np.unique(families[has_errors])
        n_families = len(with_errors)
        of_models = weights_of_models(families)
        weight = seen * of_models[:, None]
        tails = fit_tails(errors, weight, n_families, least_degrees,
                          least_stretch)
        calibrated = errors / tails.stretch
        exponent_share = self.exponent_share[:, learned_from]
        correlation = fit_correlation(calibrated, exponent_share, weight)
        return tails, correlation


def fit_tails(errors: NDArray, weight: NDArray, n_families: int,
              least_degrees: float, least_stretch: float) -> Tails:
    """Fit the distribution of standardised errors by maximum likelihood.

    `errors`, `(M, B)`, are of models that are predicted without their family,
    NaN where there is no accuracy. `weight`, `(M, B)`, are their weights. The
    degrees of freedom are at most the number of families minus one, but at
    least `least_degrees`. The stretch is at least `least_stretch`.
    """
    most_degrees = max(n_families - 1., least_degrees)
    limited = np.minimum(CANDIDATE_DEGREES, most_degrees)
    all_degrees = np.unique(limited)
    # Fifteen candidates are so dense that neighbours differ by 4 or 5 %.
    stretches = np.geomspace(least_stretch, MOST_STRETCH, 15)
    least_cost = np.inf
    for degrees in all_degrees.tolist():
        for stretch in stretches.tolist():
            candidate = Tails(stretch, degrees)
            cost = _cost_of_tails(candidate, errors, weight)
            if cost < least_cost:
                least_cost = cost
                best = candidate
    return best


def _cost_of_tails(tails: Tails, errors: NDArray, weight: NDArray) -> float:
    """Return minus the weighted log likelihood of errors, up to a constant.
    """
    degrees = tails.degrees
    stretch = tails.stretch
    power = (degrees + 1) / 2
    norm = gammaln(degrees / 2) - gammaln(power)
    norm += .5 * np.log(degrees)
    standardised = errors / stretch
    ratio = standardised**2 / degrees
    costs = power * np.log1p(ratio)
    costs += np.log(stretch)
    costs += norm
    costs *= weight
    total = np.nansum(costs)
    return float(total)


def fit_correlation(errors: NDArray, exponent_share: NDArray,
                    weight: NDArray) -> float:
    """Return the correlation between a model's exponents on two benchmarks.

    It is one number for all pairs of benchmarks. `errors`, `(M, B)`, are
    standardised errors divided by the stretch of the tails. `exponent_share`,
    `(M, B)`, is as in `LeftOut`, and `weight`, `(M, B)`, is as in `fit_tails`.

    The product of a model's errors on benchmarks 1 and 2 has the expectation
    correlation x root_1 root_2, where root is the square root of
    `exponent_share`, because the noise of items on the two is independent. The
    correlation is fitted to all products by least squares, which weighs each
    product by root_1 root_2. `PAIRS_WITHOUT` products of 0 are added.
    """
    errors, root = clipped_errors(errors, exponent_share)
    # A model has the same weight on all benchmarks with an accuracy.
    of_model = weight.max(axis=1)
    products = _sums_over_pairs(errors * root)
    expected = _sums_over_pairs(root**2)
    total = of_model @ products
    total_expected = of_model @ expected
    correlation = total / (total_expected + PAIRS_WITHOUT)
    limited = np.clip(correlation, 0, MOST_CORRELATED)
    return float(limited)


def clipped_errors(errors: NDArray,
                   exponent_share: NDArray) -> tuple[Floats, Floats]:
    """Return errors to estimate correlations from, `(M, B)`, and their roots.

    Errors are clipped at `LARGEST_ERROR`. The roots, `(M, B)`, are the square
    roots of `exponent_share` (see `fit_correlation`). Both are 0 where there
    is no accuracy; there, the given errors are NaN.
    """
    seen = ~np.isnan(errors)
    share = np.where(seen, exponent_share, 0)
    errors = np.where(seen, errors, 0)
    errors = np.clip(errors, -LARGEST_ERROR, LARGEST_ERROR)
    return errors, np.sqrt(share)


def _sums_over_pairs(values: NDArray) -> Floats:
    """Return, for each model, the sum of products of its values, `(M,)`.

    The sum is over all pairs of different benchmarks, each of which counts
    once. Values are `(M, B)`.
    """
    squares = values**2
    square_of_sum = values.sum(axis=1)**2
    sum_of_squares = squares.sum(axis=1)
    return (square_of_sum - sum_of_squares) / 2


def model_errors(errors: NDArray) -> Floats:
    """Return each model's root mean squared standardised error, `(M,)`.

    `errors` are `(M, B)`, NaN where there is no accuracy. The result is NaN
    for a model without any accuracy.
    """
    mean_squares = _mean_squares(errors)
    return np.sqrt(mean_squares)


def doubt_of(errors: NDArray, deviations: NDArray, learned_from: NDArray,
             outlier: float) -> Floats:
    """Return the variance to add to the noise of models that lie far off.

    The result is `(M, B)`: the predicted variance, times (mean squared error -
    outlier^2). It is 0 for models whose mean squared error is less than
    outlier^2 (`Settings.outlier`), and grows from 0 beyond, without a jump.
    `errors`, `(M, B)`, are divided by the predicted `deviations`, `(M, B)`,
    and are NaN where there is no accuracy. Mean squares are over the
    benchmarks where `learned_from`, `(B,)`, is True.
    """
    mean_squares = _mean_squares(errors[:, learned_from])
    beyond = mean_squares - outlier**2
    # The mean square of a model without any accuracy is NaN; it becomes 0.
    beyond = np.fmax(beyond, 0)
    doubt = deviations**2 * beyond[:, None]
    is_missing = np.isnan(errors)
    doubt[is_missing] = 0
    return doubt


def _mean_squares(errors: NDArray) -> Floats:
    """Return the mean squared error of each model, `(M,)`.

    `errors` are `(M, B)`, NaN where there is no accuracy. The result is NaN
    for a model without any accuracy.
    """
    seen = ~np.isnan(errors)
    n_seen = seen.sum(axis=1)
    sums = np.nansum(errors**2, axis=1)
    n_or_nan = np.where(n_seen, n_seen, np.nan)
    return sums / n_or_nan
