"""Distributions of accuracies for methods that predict one number only.

The mean-loss baseline and the method of the paper predict accuracies along a
curve (Eq. 2), but say nothing of errors. This file adds a distribution, from
the errors of each model when its family is left out of the fit. On a
benchmark, the exponents of all models scatter about the curve independently,
with the same standard deviation. `core.joint` uses a `CurveModel` in the same
way as the full model of accuracies (core.accuracy_model).
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Booleans, Floats, Integers
from csv_plugin.core.baselines import fit_mean_loss
from csv_plugin.core.calibration import LeftOut, model_errors
from csv_plugin.core.curve import SHARES, accuracy_of
from csv_plugin.core.families import families_by_number, numbers_of
from csv_plugin.core.joint import Joint
from csv_plugin.core.kernels import TINY
from csv_plugin.core.observed import Observed, filled_items
from csv_plugin.core.settings import Settings


@dataclass(frozen=True, eq=False)
class Exponents:
    """Exponents of M models on B benchmarks.

    `values` are the exponents, `(M, B)`, and `families` is the number of each
    model's family, `(M,)`.
    """
    values: Floats
    families: Integers

    def take(self, rows: NDArray) -> 'Exponents':
        """Return the exponents of the models in these rows."""
        return Exponents(self.values[rows], self.families[rows])


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves (Eq. 2) of B benchmarks.

    The exponent on a benchmark is `alpha (score - beta)`. `alpha`, `beta` and
    `floor` are `(B,)`. Unlike with `scaling_law.Curve`, a model has a separate
    score for each benchmark.
    """
    alpha: Floats
    beta: Floats
    floor: Floats

    def exponents(self, scores: NDArray) -> Floats:
        """Return the exponents at scores, which are `(M, B)` or `(M, 1)`."""
        return self.alpha * (scores - self.beta)


class CurveModel:
    """Predict accuracies along curves, with a distribution.

    `left_out_accuracies`, `(M, B)`, are predictions for the fitted models from
    curves that were fitted without the model's family, NaN where there is no
    such prediction. A benchmark without any of them gets the median variance
    of the other benchmarks. `variance`, `(B,)`, is the variance of exponents
    about each curve. The other attributes are as in `AccuracyModel`.
    """

    def __init__(self,
                 curves: Curves,
                 left_out_accuracies: NDArray,
                 observed: Observed,
                 settings: Settings = Settings()) -> None:
        self.curves = curves
        self.observed = observed
        self.settings = settings
        self.left_out_accuracies = left_out_accuracies
        self.floor = curves.floor
        self.noise = 1 / filled_items(observed.n_items)
        # How far accuracies are above the floor: 0 at the floor, 1 at 1.
        above = left_out_accuracies - self.floor
        most_above = np.maximum(1 - self.floor, TINY)
        share = np.clip(above / most_above, *SHARES)
        errors = observed.accuracies - left_out_accuracies
        self.variance = self._variance(errors, share)
        self.usual_deviations = np.sqrt(self.variance)
        exponents = np.log(share / (1 - share))
        families = families_by_number(observed.families)
        self._left_out_rows = Exponents(exponents, families)
        mean, variance = self.exponents([self._left_out_rows])
        self.left_out = LeftOut.of(mean, variance, observed.accuracies,
                                   self.floor, self.noise)
        # Tails are fitted to all benchmarks. If the stretch could be below 1,
        # intervals might be narrower than the errors from which they are made.
        all_teach = np.ones(len(self.floor), bool)
        self.tails, self.between = self.left_out.calibrate(
            families,
            teaching=all_teach,
            least_degrees=settings.least_degrees,
            least_stretch=1.)

    def _variance(self, errors: NDArray, share: NDArray) -> NDArray:
        """Return the variance of exponents about each curve, `(B,)`.

        `errors`, `(M, B)`, are observed minus predicted accuracies, where the
        curve was fitted to the other families. `share`, `(M, B)`, is
        (predicted accuracy - floor) / (1 - floor), clipped to `SHARES`.
        """
        # Least standard deviation of an exponent, and the standard deviation
        # if no benchmark has any error to estimate it from.
        least, unknown = 0.01, 1.
        seen = ~np.isnan(errors)
        slopes = (1 - self.floor) * share * (1 - share)
        predicted = self.left_out_accuracies
        noise = self.noise * predicted * (1 - predicted)
        # The variance follows from E[error^2 - noise of items] = slope^2 x
        # variance of the exponent, with both sides summed over models.
        excess_squares = errors**2 - noise
        excess = np.nansum(excess_squares, axis=0)
        square_slopes = np.where(seen, slopes**2, 0)
        square_slope = np.maximum(square_slopes.sum(axis=0), TINY)
        variance = np.maximum(excess / square_slope, least**2)
        is_known = seen.any(axis=0)
        usual = unknown**2
        if is_known.any():
            usual = np.median(variance[is_known])
        return np.where(is_known, variance, usual)

    @property
    def model_errors(self) -> Floats:
        """Return each fitted model's root mean squared error, `(M,)`.

        Each model is predicted without its family, and errors are divided by
        their predicted standard deviations.
        """
        return model_errors(self.left_out.errors)

    @property
    def outliers(self) -> Booleans:
        """Return the mask of models that lie far off, `(M,)`: always False."""
        n_models = len(self.observed.families)
        return np.zeros(n_models, bool)

    def joint(self,
              scores: NDArray,
              families: Optional[Sequence[str]] = None) -> Joint:
        """Return the joint distribution of the accuracies of new models.

        `scores` are `(M, B)` or `(M, 1)`. `families` has the family of each
        model; by default, every model is a family alone.
        """
        numbers = numbers_of(families, len(scores))
        exponents = self.curves.exponents(scores)
        return self._joint(Exponents(exponents, numbers))

    def left_out_joint(self) -> Joint:
        """Predict each fitted model from other families; return a `Joint`.

        The means and variances of a model come from a fit without its family;
        see `AccuracyModel.left_out_joint`.
        """
        return self._joint(self._left_out_rows)

    def _joint(self, rows: Exponents) -> Joint:
        mean, variance = self.exponents([rows])
        return Joint(self, [rows], mean, variance)

    def exponents(self,
                  model_rows: Sequence[Exponents]) -> tuple[NDArray, NDArray]:
        """Return the means and the variances of exponents, `(M, B)` each."""
        means = model_rows[0].values
        variances = np.broadcast_to(self.variance, means.shape)
        return means, variances

    def covariance(self, model_rows: Sequence[Exponents]) -> Floats:
        """Return covariances of exponents between models, `(B, M, M)`."""
        n_models = len(model_rows[0].values)
        return self.variance[:, None, None] * np.eye(n_models)


def mean_loss_model(loss: NDArray, observed: Observed) -> CurveModel:
    """Fit the mean-loss baseline, with and without each family.

    `loss` is the mean loss of each fitted model, `(M,)`.
    """
    accuracies, chance = observed.accuracies, observed.chance
    curves = _mean_loss_curves(loss, accuracies, chance)
    left_out = np.full(accuracies.shape, np.nan)
    names = np.asarray(observed.families)
    for family in np.unique(names):
        out = names == family
        if out.all():
            continue
        others = accuracies[~out]
        part = _mean_loss_curves(loss[~out], others, chance)
        exponents = part.exponents(loss[out, None])
        left_out[out] = accuracy_of(exponents, part.floor)
        # Where no model of another family was run, there is no prediction.
        alone = np.isnan(others).all(axis=0)
        left_out[np.ix_(out, alone)] = np.nan
    left_out[np.isnan(accuracies)] = np.nan
    return CurveModel(curves, left_out, observed)


def _mean_loss_curves(loss: NDArray, accuracies: NDArray,
                      chance: NDArray) -> Curves:
    """Fit a curve to each benchmark.

    `loss` is `(n,)`, `accuracies` are `(n, B)` and `chance` is `(B,)`. The
    curve of a benchmark without any accuracy is flat.
    """
    n_benchmarks = len(chance)
    alpha = np.zeros(n_benchmarks)
    beta = np.zeros(n_benchmarks)
    floor = np.array(chance, float)
    for b, column in enumerate(accuracies.T):
        if not np.isnan(column).all():
            curve = fit_mean_loss(loss, column, float(chance[b]))
            alpha[b] = curve.alpha
            beta[b] = curve.beta
            floor[b] = curve.floor
    return Curves(alpha, beta, floor)
