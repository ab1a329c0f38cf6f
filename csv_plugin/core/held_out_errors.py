"""Held-out predictions and cross-validated errors.

Errors on held-out families are a mixture: of models within the reach of most
other families, and of better ones. Both are reported apart.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.formatting import short_repr
from csv_plugin.core.salience_model import SalienceModel, outside

#: With fewer families there is no error.
LEAST_FAMILIES = 3
#: The share of families that are most of them. On the eight series of the zoo
#: 1 divided errors slightly better than 3/4, and 3/4 better than 1/2; but
#: hardly any accuracy is reached by all families of the 89 public models.
MOST = 3 / 4
#: Columns of tables of benchmarks (see `error_cells`), and their legend.
ERROR_HEADER = ('error', 'typical family', '3 times the compute', '10 times',
                '30 times')
ERROR_LEGEND = (
    'Errors are root mean squares over the models, in points, each predicted '
    'by fits to other families. Half of the families have errors below that '
    'of the typical one; where the error over all is much larger, a few '
    'families make most of it. With fewer than three families there is no '
    'error. The last columns are errors to expect at 3, 10 and 30 times the '
    'compute of the best training model, with losses 6, 13 and 18 % lower. '
    'Benchmarks at chance have none: they are not predictable yet.')


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of n models by fits to other families, `(n,)`.

    `beyond` is True for those above the `reach` of these families.
    """
    predicted: NDArray[np.float64]
    beyond: NDArray[np.bool_]

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class FoldPredictions:
    """Predictions of n models by F fold models, each fitted to some of them.

    `masks` is True for the training models of a fold. Exponents (Eq. 2),
    predicted accuracies (fractions) and slopes (accuracy per unit of exponent)
    are `(F, n)`; real accuracies and families are `(n,)`, and so are
    `models`, the places of the models among those of all benchmarks.
    """
    masks: NDArray[np.bool_]
    exponents: NDArray[np.float64]
    predicted: NDArray[np.float64]
    slopes: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    families: NDArray
    models: NDArray[np.int64]

    __repr__ = short_repr

    @classmethod
    def of(cls, folds: SalienceModel, masks: NDArray, values: NDArray,
           accuracy: NDArray, families: NDArray,
           models: NDArray) -> 'FoldPredictions':
        """Predict from feature columns `(n, K)`."""
        # Each sum over all columns once: there may be many thousands.
        scores = folds.scores(values)
        return cls(masks, folds.curve.exponents(scores),
                   folds.curve.accuracies(scores), folds.curve.slopes(scores),
                   accuracy, families, models)

    @property
    def distances(self) -> NDArray[np.float64]:
        """Distances of all models from those of each fold, `(F, n)`."""
        if not self.exponents.size:
            return self.exponents
        seen = np.where(self.masks, self.exponents, np.nan)
        ends = (
            part(seen, axis=1, keepdims=True)
            for part in (np.nanmin, np.nanmax, np.nanstd))
        return outside(self.exponents, *ends)

    @property
    def n_families(self) -> int:
        """Families of the n models."""
        return len(np.unique(self.families))

    @property
    def unseen(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Folds and models of the N predictions of unseen models, `(N,)`."""
        fold, model = np.nonzero(~self.masks)
        return fold, model

    @property
    def errors(self) -> NDArray[np.float64]:
        """Predicted minus real accuracies of unseen models, `(N,)`."""
        _, model = self.unseen
        return self.predicted[self.unseen] - self.accuracy[model]


def mean_unseen(values: NDArray, masks: NDArray) -> NDArray[np.float64]:
    """Return means over the folds that were not fitted to a model, `(n,)`.

    Values and masks, as in `FoldPredictions`, are `(F, n)`; NaN where all
    folds were fitted to a model.
    """
    count = np.sum(~masks, axis=0)
    total = np.where(masks, 0, values).sum(axis=0)
    return np.divide(
        total, count, where=count > 0, out=np.full(len(count), np.nan))


@dataclass(frozen=True)
class HeldOutFamily:
    """One family of the training models, predicted by the others.

    Lowest and highest real accuracy of its models; mean (`bias`) and root mean
    square (`error`) of predicted minus real accuracies, or NaN.
    """
    family: str
    n_models: int
    lowest: float
    highest: float
    bias: float
    error: float


def held_out_families(families: Sequence[str], accuracies: NDArray,
                      predicted: NDArray) -> tuple[HeldOutFamily, ...]:
    """Return errors of predictions by fits to other families, by family.

    Arguments are those of n models; predictions may be NaN.
    """
    names = np.asarray(families)
    found = []
    for name in sorted(set(families)):
        rows = names == name
        observed, errors = accuracies[rows], (predicted - accuracies)[rows]
        found.append(
            HeldOutFamily(
                str(name), int(rows.sum()), float(observed.min()),
                float(observed.max()), float(errors.mean()),
                float(np.sqrt(np.mean(errors**2)))))
    return tuple(found)


def typical_error(families: Sequence[HeldOutFamily]) -> float:
    """Return the median over families of their root mean square errors.

    It does not depend on one unusual family. NaN with fewer than three
    families.
    """
    if len(families) < LEAST_FAMILIES:
        return float('nan')
    return float(np.median([family.error for family in families]))


def reach(predicted: NDArray, families: NDArray) -> float:
    """Return the prediction that most families reach with their best models.

    A fraction from predictions and families of n training models, `(n,)`;
    infinite without a model.
    """
    best = sorted((predicted[families == family].max()
                   for family in np.unique(families)),
                  reverse=True)
    return float(best[int(np.ceil(MOST * len(best))) - 1]) if best else np.inf


def is_beyond(predicted: NDArray, limit: ArrayLike) -> NDArray[np.bool_]:
    """Return True for predictions above a `reach`; both of any shape."""
    # The last bits of a prediction depend on the models beside it.
    return predicted > np.asarray(limit) + 1e-9


@dataclass(frozen=True)
class CrossValidatedError:
    """Cross-validated mean squared error on some models.

    NaN with fewer than three families.
    """
    mse: float
    n_models: int
    n_families: int

    @classmethod
    def of(cls, squares: NDArray, models: NDArray,
           families: NDArray) -> 'CrossValidatedError':
        """Make the error of N predictions as in `ErrorsByReach.of`."""
        n_families = len(np.unique(families))
        enough = n_families >= LEAST_FAMILIES
        return cls(
            float(squares.mean()) if enough else np.nan,
            len(np.unique(models)), n_families)


@dataclass(frozen=True)
class ErrorsByReach:
    """Cross-validated errors within the reach of most families, and beyond.

    `reach` is the predicted accuracy that most training families reach, a
    fraction.
    """
    reach: float
    within: CrossValidatedError
    beyond: CrossValidatedError

    @classmethod
    def of(cls, limit: float, squares: NDArray, models: NDArray,
           families: NDArray, beyond: NDArray) -> 'ErrorsByReach':
        """Make errors of N predictions of held-out models.

        Squared errors, models, their families and `beyond` are `(N,)`; a model
        may occur several times. `beyond` is True for predictions beyond the
        reach of the families that were fitted to.
        """
        kinds = (
            CrossValidatedError.of(squares[rows], models[rows], families[rows])
            for rows in (~beyond, beyond))
        return cls(limit, *kinds)

    def is_beyond(self, predicted: NDArray) -> NDArray[np.bool_]:
        """Return True for accuracies beyond the reach of most families."""
        return is_beyond(predicted, self.reach)


def errors_by_reach(
        fitted: NDArray,
        folds: FoldPredictions,
        nested: Optional[HeldOut] = None) -> Optional[ErrorsByReach]:
    """Return cross-validated errors of a fit; None if nothing was held out.

    A held-out model is beyond the reach of most families if the fit to the
    other families predicts more than most of these reach. `fitted` are
    predictions of the n training models, `(n,)`. `nested` replaces the
    predictions of the folds if the solver was chosen by them.
    """
    if not len(folds.masks):
        return None
    families = folds.families
    if nested is not None:
        models = np.arange(len(fitted))
        errors, beyond = nested.predicted - folds.accuracy, nested.beyond
    else:
        fold, models = folds.unseen
        reaches = [
            reach(row[mask], families[mask])
            for row, mask in zip(folds.predicted, folds.masks)
        ]
        errors = folds.errors
        beyond = is_beyond(folds.predicted[fold, models],
                           np.array(reaches)[fold])
    return ErrorsByReach.of(
        reach(fitted, families), errors**2, models, families[models], beyond)
