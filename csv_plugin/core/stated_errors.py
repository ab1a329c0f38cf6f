"""The errors that a predictor states, near where families are and beyond.

Errors on held-out families are a mixture: of models of which most of the
other families have as good ones, and of better ones, about which few families
tell. A new model is of one kind, so the mean over both is wrong for it.
"""
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.cells import number, percent
from csv_plugin.core.conventions import InputError
from csv_plugin.core.salience import SalienceFit, Task
from csv_plugin.core.salience.choice import LEAST_FAMILIES, is_beyond, reach

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
class StatedError:
    """The error on held-out models of one kind.

    Args:
        mse (float): Mean squared error, finite; NaN where the models are of
            fewer than three families, which is too few to state it.
        n_models (int): How many models.
        n_families (int): How many families they are of.

    Raises:
        InputError: A number is out of its range.
    """
    mse: float
    n_models: int
    n_families: int

    def __post_init__(self) -> None:
        # NaN is neither.
        no_square = self.mse < 0 or np.isinf(self.mse)
        if no_square or not 0 <= self.n_families <= self.n_models:
            raise InputError(
                'stated error', 'a finite mean square of 0 or more, and no '
                'more families than models', f'{self.mse}, {self.n_families} '
                f'families, {self.n_models} models',
                'Fit the predictor again.')

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

    Raises:
        InputError: The reach is no fraction.
    """
    reach: float
    within: StatedError
    beyond: StatedError

    def __post_init__(self) -> None:
        if not 0 <= self.reach <= 1:
            raise InputError('reach of families', 'a fraction in 0..1',
                             str(self.reach), 'Fit the predictor again.')

    def is_beyond(self, predicted: NDArray) -> NDArray[np.bool_]:
        """Which predictions are beyond the reach of most families.

        Args:
            predicted (NDArray): Accuracies, of any shape.
        """
        return is_beyond(predicted, self.reach)


def errors_by_reach(task: Task, fit: SalienceFit) -> Optional[ErrorsByReach]:
    """What a fit states; None where nothing was held out.

    Whether a held-out model is beyond the reach of most families is told by
    the fit to the others and by how far these reach.

    Args:
        task (Task): What `fit` was fitted on.
        fit (SalienceFit): The fit and its folds.
    """
    if not len(fit.masks):
        return None
    if fit.held_out is not None:
        models = np.arange(len(task.accuracy))
        predicted, beyond = fit.held_out.predicted, fit.held_out.beyond
    else:
        fold, models = np.nonzero(~fit.masks)
        by_fold = fit.folds.predict(task.values)
        reaches = [
            reach(row[mask], task.families[mask])
            for row, mask in zip(by_fold, fit.masks)
        ]
        predicted = by_fold[fold, models]
        beyond = is_beyond(predicted, np.array(reaches)[fold])
    return divided_by_reach(
        reach(fit.model.predict(task.values),
              task.families), (predicted - task.accuracy[models])**2, models,
        task.families[models], beyond)


def divided_by_reach(limit: float, squares: NDArray, models: NDArray,
                     families: NDArray, beyond: NDArray) -> ErrorsByReach:
    """Errors of N predictions, divided.

    Args:
        limit (float): The reach of the families fitted on.
        squares (NDArray): As in `StatedError.of`, like the two next ones.
        models (NDArray): `(N,)`.
        families (NDArray): `(N,)`.
        beyond (NDArray): Which are beyond the reach of the families that the
            prediction was made from, `(N,)`.
    """
    kinds = (
        StatedError.of(squares[rows], models[rows], families[rows])
        for rows in (~beyond, beyond))
    return ErrorsByReach(limit, *kinds)


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
