"""The errors that a predictor states: by family, and by families' reach.

Errors on held-out families are a mixture: of models of which most of the
other families have as good ones, and of better ones, about which few families
tell. A new model is of one kind, so the mean over both is wrong for it. The
range of all models would not say which: one family of many may span it alone.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.cells import number, percent
from csv_plugin.core.held_out import FoldPredictions, HeldOut

#: Fewer families do not tell how large errors are.
LEAST_FAMILIES = 3
#: The share of families that are most of them. In trials that no command
#: prints, on the eight series of the zoo left out, 1 divided errors slightly
#: better than 3/4, and 3/4 better than 1/2; but on the 89 public models next
#: to nothing is reached by all families.
MOST = 3 / 4
#: Columns of tables of benchmarks, see `stated_cells`, and what they mean.
STATED_HEADER = ('error', 'typical family', 'most families reach',
                 'error up to there', 'error above')
STATED_LEGEND = (
    'Errors are root mean squares over the models, in points, each predicted '
    'by fits to other families. Half of the families have errors below that '
    'of the typical one; where the error over all is much larger, a few '
    'families make most of it. At least three in four of the fitted families '
    'reach the predicted accuracy given; predictions above it rest on few '
    'families. In brackets, how many held-out models of how many families an '
    'error is of; with fewer than three families, none is stated.')


@dataclass(frozen=True)
class HeldOutFamily:
    """One family among the models that a predictor was fitted to.

    Args:
        family (str): Its name.
        n_models (int): How many of its models were fitted to, 1 or more.
        lowest (float): The lowest of their accuracies.
        highest (float): The highest of them.
        bias (float): Mean of predicted minus real accuracy, predicted by
            fits to other families; NaN if nothing could be held out.
        error (float): Root mean square of the same differences.
    """
    family: str
    n_models: int
    lowest: float
    highest: float
    bias: float
    error: float


def held_out_families(families: Sequence[str], accuracies: NDArray,
                      predicted: NDArray) -> tuple[HeldOutFamily, ...]:
    """Errors by family.

    Args:
        families (Sequence[str]): Family of each of n models.
        accuracies (NDArray): What was observed, `(n,)`.
        predicted (NDArray): Predictions by fits to other families, `(n,)`;
            NaN where nothing was held out.

    Returns:
        tuple[HeldOutFamily, ...]: Sorted by name.

    >>> both = held_out_families(['b', 'a', 'b'], np.array([.5, .5, .25]),
    ...                          np.array([.75, .5, .25]))
    >>> [(f.family, f.n_models, f.bias) for f in both]
    [('a', 1, 0.0), ('b', 2, 0.125)]
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
    """The error that half of the families stay below.

    One family that is like no other may make most of the mean over all
    models; it does not move this median.

    Args:
        families (Sequence[HeldOutFamily]): Each with its error.

    Returns:
        float: Root mean square; NaN with fewer than three families.

    >>> known = [HeldOutFamily(name, 1, 0.5, 0.5, 0.0, error)
    ...          for name, error in [('a', 0.1), ('b', 0.3), ('c', 0.02)]]
    >>> typical_error(known)
    0.1
    """
    if len(families) < LEAST_FAMILIES:
        return float('nan')
    return float(np.median([family.error for family in families]))


def reach(predicted: NDArray, families: NDArray) -> float:
    """The accuracy that most families reach with their best models.

    Args:
        predicted (NDArray): Predictions of n models that were fitted to,
            `(n,)`.
        families (NDArray): Their families, `(n,)`.

    Returns:
        float: A fraction; infinite without a model.

    >>> reach(np.array([.3, .9, .5, .6, .4]), np.array(list('aabcd')))
    0.5
    """
    best = sorted((predicted[families == family].max()
                   for family in np.unique(families)),
                  reverse=True)
    return float(best[int(np.ceil(MOST * len(best))) - 1]) if best else np.inf


def is_beyond(predicted: NDArray, limit: ArrayLike) -> NDArray[np.bool_]:
    """Which predictions are above a `reach`; both of any shape."""
    # The last bits of a prediction depend on the models beside it.
    return predicted > np.asarray(limit) + 1e-9


@dataclass(frozen=True)
class StatedError:
    """The error on held-out models of one kind.

    Args:
        mse (float): Mean squared error; NaN where the models are of fewer
            than three families, which is too few to state it.
        n_models (int): How many models.
        n_families (int): How many families they are of.
    """
    mse: float
    n_models: int
    n_families: int

    @classmethod
    def of(cls, squares: NDArray, models: NDArray,
           families: NDArray) -> 'StatedError':
        """The error of N predictions of held-out models.

        Args:
            squares (NDArray): Squared errors, `(N,)`.
            models (NDArray): Which model was predicted; one may be more than
                once. `(N,)`.
            families (NDArray): Its family, `(N,)`.
        """
        n_families = len(np.unique(families))
        enough = n_families >= LEAST_FAMILIES
        return cls(
            float(squares.mean()) if enough else np.nan,
            len(np.unique(models)), n_families)


@dataclass(frozen=True)
class ErrorsByReach:
    """Stated errors of models within the reach of most families, and beyond.

    Args:
        reach (float): The predicted accuracy that most families reach, of
            those fitted on; a fraction.
        within (StatedError): The error of predictions up to there.
        beyond (StatedError): That of predictions above.
    """
    reach: float
    within: StatedError
    beyond: StatedError

    @classmethod
    def of(cls, limit: float, squares: NDArray, models: NDArray,
           families: NDArray, beyond: NDArray) -> 'ErrorsByReach':
        """Errors of N predictions, divided.

        Args:
            limit (float): The reach of the families fitted on.
            squares (NDArray): As in `StatedError.of`, like the two next ones.
            models (NDArray): `(N,)`.
            families (NDArray): `(N,)`.
            beyond (NDArray): Which are beyond the reach of the families that
                the prediction was made from, `(N,)`.
        """
        kinds = (
            StatedError.of(squares[rows], models[rows], families[rows])
            for rows in (~beyond, beyond))
        return cls(limit, *kinds)

    def is_beyond(self, predicted: NDArray) -> NDArray[np.bool_]:
        """Which predictions are beyond the reach of most families.

        Args:
            predicted (NDArray): Accuracies, of any shape.
        """
        return is_beyond(predicted, self.reach)


def errors_by_reach(
        fitted: NDArray,
        folds: FoldPredictions,
        nested: Optional[HeldOut] = None) -> Optional[ErrorsByReach]:
    """What a fit states; None where nothing was held out.

    Whether a held-out model is beyond the reach of most families is told by
    the fit to the others and by how far these reach.

    Args:
        fitted (NDArray): What the fit to all n models predicts of them,
            `(n,)`.
        folds (FoldPredictions): What its folds predict of them.
        nested (Optional[HeldOut]): Predictions to take in place of those of
            the folds, of which the solver was chosen.
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


def stated_cells(mse: float, typical: float,
                 errors: Optional[ErrorsByReach]) -> tuple[str, ...]:
    """The columns of `STATED_HEADER`; '-' where nothing is stated.

    Args:
        mse (float): Mean squared error on held-out families, or NaN.
        typical (float): Error of the typical family, or NaN.
        errors (Optional[ErrorsByReach]): Near where families are and beyond.
    """
    both = number(percent(mse**0.5)), number(percent(typical))
    if errors is None:
        return *both, '-', '-', '-'
    return (*both, number(percent(errors.reach)), _cell(errors.within),
            _cell(errors.beyond))


def _cell(error: StatedError) -> str:
    return (f'{number(percent(error.mse**0.5))} ({error.n_models} of '
            f'{error.n_families})')
