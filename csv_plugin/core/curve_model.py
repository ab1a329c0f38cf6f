"""Accuracies along a given curve, with errors of families left out.

The baseline of the mean loss, and the paper's method, predict one accuracy for
each model and no distribution. Here they get one, from their errors when
families are left out: on a benchmark, exponents of all models have the same
standard deviation about the curve, independently of each other. `core.joint`
takes it like the model of accuracies.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.baselines import fit_mean_loss
from csv_plugin.core.calibration import LeftOut, model_errors
from csv_plugin.core.curve import SHARES, accuracy_of
from csv_plugin.core.joint import Joint
from csv_plugin.core.kernels import TINY, families_by_number, numbers_of
from csv_plugin.core.observed import Observed, filled_items
from csv_plugin.core.settings import Settings


@dataclass(frozen=True, eq=False)
class Exponents:
    """Exponents of M models on B benchmarks, `(M, B)`.

    `families`, `(M,)`, are numbers, equal in a family.
    """
    values: NDArray[np.float64]
    families: NDArray[np.int64]

    def take(self, rows: NDArray) -> 'Exponents':
        """Some of the models."""
        return Exponents(self.values[rows], self.families[rows])


@dataclass(frozen=True, eq=False)
class Curves:
    """Eq. 2 of B benchmarks, `(B,)` each.

    The exponent is `alpha (score - beta)`. Unlike in `scaling_law.Curve`, each
    benchmark has scores of its own.
    """
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    floor: NDArray[np.float64]

    def exponents(self, scores: NDArray) -> NDArray[np.float64]:
        """Return exponents of scores, `(M, B)`."""
        return self.alpha * (scores - self.beta)


class CurveModel:
    """Accuracies along curves, and their distribution.

    `left_out_accuracies`, `(M, B)`, lie along curves that were fitted without
    the model's family; they are NaN where there are none. A benchmark without
    any has the median variance of the others. The attributes are those of
    `AccuracyModel`.
    """

    def __init__(self,
                 curves: Curves,
                 left_out_accuracies: NDArray,
                 observed: Observed,
                 settings: Settings = Settings()) -> None:
        self.curves, self.observed, self.settings = curves, observed, settings
        self.left_out_accuracies = left_out_accuracies
        self.floor = curves.floor
        self.noise = 1 / filled_items(observed.n_items)
        # The share of the way from the floor to 1, and the slope there.
        rest = np.maximum(1 - self.floor, TINY)
        share = np.clip((left_out_accuracies - self.floor) / rest, *SHARES)
        errors = observed.accuracies - left_out_accuracies
        seen = ~np.isnan(errors)
        self.variance = self._variance(errors, share)
        self.usual_deviations = np.sqrt(self.variance)
        exponents = np.log(share / (1 - share))
        families = families_by_number(observed.families)
        self._left_out_rows = Exponents(exponents, families)
        mean, variance = self.exponents([self._left_out_rows])
        accuracies = np.where(seen, observed.accuracies, np.nan)
        self.left_out = LeftOut.of(mean, variance, accuracies, self.floor,
                                   self.noise)
        # Tails are fitted to all benchmarks. With a least stretch below 1,
        # intervals would be narrower than the errors that they come from.
        self.tails, self.between = self.left_out.calibrate(
            families,
            teaching=np.ones(len(self.floor), bool),
            least_degrees=settings.least_degrees,
            least_stretch=1.)

    def _variance(self, errors: NDArray, share: NDArray) -> NDArray:
        """Variances of exponents about the curves, `(B,)`.

        `errors`, `(M, B)`, are observed accuracies less those along curves of
        other families, and `share` the share of the way from floor to 1.
        """
        slopes = (1 - self.floor) * share * (1 - share)
        accuracies = self.left_out_accuracies
        noise = self.noise * accuracies * (1 - accuracies)
        # E[error^2 - noise of items] = slope^2 x variance of the exponent,
        # summed over models.
        excess = np.nansum(errors**2 - noise, axis=0)
        square_slope = np.nansum(
            np.where(np.isnan(errors), 0, slopes**2), axis=0)
        # Least standard deviation of an exponent, and that without any error.
        least, unknown = 0.01, 1.
        variance = np.maximum(excess / np.maximum(square_slope, TINY),
                              least**2)
        is_known = ~np.isnan(errors).all(axis=0)
        usual = np.median(variance[is_known]) if is_known.any() else unknown**2
        return np.where(is_known, variance, usual)

    @property
    def model_errors(self) -> NDArray[np.float64]:
        """Root mean squared standardised errors of fitted models, `(M,)`."""
        return model_errors(self.left_out.errors)

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """No fitted model counts less than others, `(M,)`."""
        return np.zeros(len(self.observed.families), bool)

    def joint(self,
              scores: NDArray,
              families: Optional[Sequence[str]] = None) -> Joint:
        """Return the joint distribution of accuracies at scores, `(M, B)`."""
        numbers = numbers_of(families, len(scores))
        model_rows = [Exponents(self.curves.exponents(scores), numbers)]
        return Joint(self, model_rows, *self.exponents(model_rows))

    def left_out_joint(self) -> Joint:
        """Return the distribution of fitted models by the other families.

        See `AccuracyModel.left_out_joint`.
        """
        model_rows = [self._left_out_rows]
        return Joint(self, model_rows, *self.exponents(model_rows))

    def exponents(self,
                  model_rows: Sequence[Exponents]) -> tuple[NDArray, NDArray]:
        """Return means and variances of exponents, `(M, B)` each."""
        values = model_rows[0].values
        return values, np.broadcast_to(self.variance, values.shape)

    def covariance(self,
                   model_rows: Sequence[Exponents]) -> NDArray[np.float64]:
        """Return covariances of exponents between models, `(B, M, M)`."""
        return self.variance[:, None, None] * np.eye(len(model_rows[0].values))


def mean_loss_model(loss: NDArray, observed: Observed) -> CurveModel:
    """Fit the baseline to mean losses of the fitted models, `(M,)`."""
    accuracies = observed.accuracies
    curves = _mean_loss_curves(loss, accuracies, observed.chance)
    left_out = np.full(accuracies.shape, np.nan)
    names = np.asarray(observed.families)
    for family in np.unique(names):
        out = names == family
        if not out.all():
            part = _mean_loss_curves(loss[~out], accuracies[~out],
                                     observed.chance)
            left_out[out] = accuracy_of(
                part.exponents(loss[out, None]), part.floor)
            # Nothing is known of benchmarks on which no other family was run.
            alone = np.isnan(accuracies[~out]).all(axis=0)
            left_out[np.ix_(out, alone)] = np.nan
    left_out[np.isnan(accuracies)] = np.nan
    return CurveModel(curves, left_out, observed)


def _mean_loss_curves(loss: NDArray, accuracies: NDArray,
                      chance: NDArray) -> Curves:
    parts: list[tuple[float, float, float]] = []
    for column, level in zip(accuracies.T, chance):
        if np.isnan(column).all():
            parts.append((0., 0., float(level)))
            continue
        curve = fit_mean_loss(loss, column, float(level))
        parts.append(
            (float(curve.alpha), float(curve.beta), float(curve.floor)))
    return Curves(*np.array(parts, float).T)
