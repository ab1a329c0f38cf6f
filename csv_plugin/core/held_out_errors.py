"""Held-out predictions and cross-validated errors."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.salience_model import outside

#: With fewer families there is no error.
LEAST_FAMILIES = 3
#: Columns of tables of benchmarks (see `error_cells`), and their legend.
ERROR_HEADER = ('error', 'typical family', '3 times the compute', '10 times',
                '30 times')
ERROR_LEGEND = (
    'Errors are root mean squares over the models, in points, each predicted '
    'by fits to other families; there is none with fewer than three families. '
    'Half of the families have errors below that of the typical one. The last '
    'columns are errors to expect at 3, 10 and 30 times the compute of the '
    'best training model, with losses 6, 13 and 18 % lower; benchmarks at '
    'chance have none, as they are not predictable yet.')


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


def typical_error(families: NDArray, errors: NDArray) -> float:
    """Return the median over families of their root mean square errors.

    It does not depend on one unusual family. NaN with fewer than three
    families. Both arguments are of n models, `(n,)`.
    """
    names = np.unique(families)
    if len(names) < LEAST_FAMILIES:
        return float('nan')
    return float(
        np.median(
            [np.sqrt(np.mean(errors[families == name]**2)) for name in names]))
