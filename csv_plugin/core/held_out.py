"""What fits predict of models of families that they were not fitted to."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience_model import SalienceModel


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What fits to other families predict of n models.

    Args:
        predicted (NDArray): Accuracies, `(n,)`.
        beyond (NDArray): Whether that is more than most of these families
            reach (see `stated_errors.reach`), `(n,)`.
    """
    predicted: NDArray[np.float64]
    beyond: NDArray[np.bool_]

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class FoldPredictions:
    """What F fold models predict of all n models, of which each saw some.

    Args:
        masks (NDArray): True where a fold was fitted to a model, `(F, n)`.
        exponents (NDArray): Of the folds' curves (Eq. 2), `(F, n)`.
        predicted (NDArray): Accuracies, fractions, `(F, n)`.
        slopes (NDArray): Accuracy per unit of exponent, `(F, n)`.
        accuracy (NDArray): The real ones, `(n,)`.
        families (NDArray): Of the models, `(n,)`.
    """
    masks: NDArray[np.bool_]
    exponents: NDArray[np.float64]
    predicted: NDArray[np.float64]
    slopes: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    families: NDArray

    __repr__ = short_repr

    @classmethod
    def of(cls, folds: SalienceModel, masks: NDArray, values: NDArray,
           accuracy: NDArray, families: NDArray) -> 'FoldPredictions':
        """Of fold models `(F, ...)`, from feature columns `(n, K)`."""
        # Each sum over all columns once: there may be many thousands.
        scores = folds.scores(values)
        return cls(masks, folds.curve.exponents(scores),
                   folds.curve.accuracies(scores), folds.curve.slopes(scores),
                   accuracy, families)

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

    def mean(self, values: NDArray) -> NDArray[np.float64]:
        """Means over the folds that have not seen a model.

        Args:
            values (NDArray): Such as `predicted`, `(F, n)`.

        Returns:
            NDArray: NaN where no fold has left a model out, `(n,)`.
        """
        count = np.sum(~self.masks, axis=0)
        total = np.where(self.masks, 0, values).sum(axis=0)
        return np.divide(
            total, count, where=count > 0, out=np.full(len(count), np.nan))
