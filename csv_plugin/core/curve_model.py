"""Distributions of accuracies for methods that predict one number only.

The mean-loss baseline and the method of the paper predict accuracies along a
curve (Eq. 2), without any estimate of their errors. This file adds a
distribution, which is estimated from predictions that check the curves. For
the baseline, each model is predicted by curves that were fitted without its
family. For the method of the paper, the validation models are predicted. On a
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
from csv_plugin.core.curve import CLIPPED, accuracy_of
from csv_plugin.core.families import family_numbers, numbers_of_new_models
from csv_plugin.core.joint import Joint
from csv_plugin.core.numerics import TINY
from csv_plugin.core.observed import Observed, filled_items
from csv_plugin.core.settings import Settings


@dataclass(frozen=True, eq=False)
class ModelsOnCurves:
    """M models by their exponents on the curves of B benchmarks.

    A `CurveModel` has a single form, and sees models in this form (see
    `joint.ModelsOfForm`). `exponents` are `(M, B)`, and `families` is the
    number of each model's family, `(M,)`.
    """
    exponents: Floats
    families: Integers

    def take(self, rows: NDArray) -> 'ModelsOnCurves':
        """Return the models with the given row indices."""
        exponents = self.exponents[rows]
        return ModelsOnCurves(exponents, self.families[rows])


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

    `checked_accuracies`, `(M, B)`, are the predictions for the M fitted models
    whose errors show how far accuracies scatter about the curves, NaN where
    there is no such prediction. For the baseline, a prediction comes from
    curves that were fitted without the model's family. For `paper`, there are
    predictions of the validation models, or of all fitted models on a
    benchmark where no validation model was run. A benchmark without any such
    prediction gets the median variance of the other benchmarks.

    `variance`, `(B,)`, is the variance of exponents about each curve. It does
    not grow with the distance from the fitted models, so `usual_deviations`,
    its root, is also the deviation of every prediction, and no prediction is
    marked as far from the fitted models. The other attributes are as in
    `AccuracyModel`; `left_out` contains the checked accuracies.
    """

    def __init__(self,
                 curves: Curves,
                 checked_accuracies: NDArray,
                 observed: Observed,
                 settings: Settings = Settings()) -> None:
        self.curves = curves
        self.observed = observed
        self.settings = settings
        self.checked_accuracies = checked_accuracies
        self.floor = curves.floor
        self.noise = 1 / filled_items(observed.n_items)
        # How far accuracies are above the floor: 0 at the floor, 1 at 1.
        above = checked_accuracies - self.floor
        most = np.maximum(1 - self.floor, TINY)
        share = np.clip(above / most, *CLIPPED)
        errors = observed.accuracies - checked_accuracies
        self.variance = self._variance(errors, share)
        self.usual_deviations = np.sqrt(self.variance)
        odds = share / (1 - share)
        exponents = np.log(odds)
        families = family_numbers(observed.families)
        self._checked = ModelsOnCurves(exponents, families)
        mean, variance = self.exponents([self._checked])
        self.left_out = LeftOut.of(mean, variance, observed.accuracies,
                                   self.floor, self.noise)
        # Tails are fitted to all benchmarks. If the stretch could be below 1,
        # intervals might be narrower than the errors from which they are made.
        all_teach = np.ones_like(self.floor, bool)
        calibrated = self.left_out.calibrate(
            families,
            learned_from=all_teach,
            least_degrees=settings.least_degrees,
            least_stretch=1.)
        self.tails, self.benchmark_correlation = calibrated

    def _variance(self, errors: NDArray, share: NDArray) -> NDArray:
        """Return the variance of exponents about each curve, `(B,)`.

        `errors`, `(M, B)`, are observed minus checked accuracies. `share`,
        `(M, B)`, is (checked accuracy - floor) / (1 - floor), clipped to
        `CLIPPED`.
        """
        # Least standard deviation of an exponent, and the standard deviation
        # if no benchmark has any error to estimate it from.
        least = 0.01
        unknown = 1.
        seen = ~np.isnan(errors)
        slopes = (1 - self.floor) * share * (1 - share)
        squares = np.where(seen, slopes**2, 0)
        square_slope = squares.sum(axis=0)
        predicted = self.checked_accuracies
        noise = self.noise * predicted * (1 - predicted)
        # The variance follows from E[error^2 - noise of items] = slope^2 x
        # variance of the exponent, with both sides summed over models.
        excess = errors**2 - noise
        variance = np.nansum(excess, axis=0)
        variance /= np.maximum(square_slope, TINY)
        variance = np.maximum(variance, least**2)
        is_known = seen.any(axis=0)
        usual = unknown**2
        if is_known.any():
            known = variance[is_known]
            usual = np.median(known)
        return np.where(is_known, variance, usual)

    @property
    def model_errors(self) -> Floats:
        """Return each fitted model's root mean squared error, `(M,)`.

        These are errors of checked accuracies, divided by their predicted
        standard deviations.
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
        numbers = numbers_of_new_models(families, len(scores))
        exponents = self.curves.exponents(scores)
        return self._joint(ModelsOnCurves(exponents, numbers))

    def left_out_joint(self) -> Joint:
        """Return the joint distribution about the checked accuracies.

        For the baseline, it predicts each fitted model from other families,
        like `AccuracyModel.left_out_joint`.
        """
        return self._joint(self._checked)

    def _joint(self, models: ModelsOnCurves) -> Joint:
        """Return the joint distribution of these models."""
        models_by_form = [models]
        mean, variance = self.exponents(models_by_form)
        return Joint.of(self, models_by_form, mean, variance)

    def exponents(
            self, models_by_form: Sequence[ModelsOnCurves]
    ) -> tuple[NDArray, NDArray]:
        """Return the means and the variances of exponents, `(M, B)` each."""
        (models, ) = models_by_form
        means = models.exponents
        variances = np.broadcast_to(self.variance, means.shape)
        return means, variances

    def covariance(self, models_by_form: Sequence[ModelsOnCurves]) -> Floats:
        """Return covariances of exponents between models, `(B, M, M)`."""
        (models, ) = models_by_form
        identity = np.eye(len(models.exponents))
        return self.variance[:, None, None] * identity


def mean_loss_model(loss: NDArray, observed: Observed) -> CurveModel:
    """Fit the mean-loss baseline, with and without each family.

    `loss` is the mean loss of each fitted model, `(M,)`.
    """
    accuracies = observed.accuracies
    chance = observed.chance
    curves = _mean_loss_curves(loss, accuracies, chance)
    # Predictions for each family from all other families.
    checked = np.full(accuracies.shape, np.nan)
    names = np.asarray(observed.families)
    for family in np.unique(names):
        out = names == family
        kept = ~out
        if not kept.any():
            continue
        accuracies_kept = accuracies[kept]
        curves_kept = _mean_loss_curves(loss[kept], accuracies_kept, chance)
        one_column = loss[out, None]
        exponents = curves_kept.exponents(one_column)
        predicted = accuracy_of(exponents, curves_kept.floor)
        # Where no model of another family was run, there is no prediction.
        alone = np.isnan(accuracies_kept).all(axis=0)
        predicted[:, alone] = np.nan
        checked[out] = predicted
    was_not_run = np.isnan(accuracies)
    checked[was_not_run] = np.nan
    return CurveModel(curves, checked, observed)


def _mean_loss_curves(loss: NDArray, accuracies: NDArray,
                      chance: NDArray) -> Curves:
    """Fit a curve to each benchmark.

    `loss` is `(n,)`, `accuracies` are `(n, B)` and `chance` is `(B,)`. The
    curve of a benchmark without any accuracy is flat.
    """
    n_benchmarks = len(chance)
    alpha = np.zeros(n_benchmarks)
    beta = np.zeros(n_benchmarks)
    floor = chance.astype(float)
    was_run = ~np.isnan(accuracies)
    for b in np.flatnonzero(was_run.any(axis=0)):
        of_benchmark = accuracies[:, b]
        curve = fit_mean_loss(loss, of_benchmark, float(chance[b]))
        alpha[b] = curve.alpha
        beta[b] = curve.beta
        floor[b] = curve.floor
    return Curves(alpha, beta, floor)
