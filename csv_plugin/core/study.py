"""How well a solver predicts models it has not seen, beside its baselines."""
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gmean

from csv_plugin.core import metrics
from csv_plugin.core.accuracies import AccuracyTable, standard_error
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Losses, Predictor


@dataclass(frozen=True)
class BenchmarkErrors:
    """Errors of one method's predictions on one benchmark.

    Args:
        n_models (int): Models with an accuracy that was not fitted on.
        mse (float): Mean squared error.
        mae (float): Mean absolute error.
        spearman (float): Rank correlation.
        pairwise (float): Share of pairs of models in the right order.
        coverage (float): Share of intervals that hold the observed value.
        width (float): Mean width of the intervals.
        noise (float): Mean squared standard error of the observed values,
            NaN if the number of items is unknown. A yardstick and no lower
            bound: all models answer the same items, so their accuracies
            deviate together, and a fit to other models follows.
    """
    n_models: int
    mse: float
    mae: float
    spearman: float
    pairwise: float
    coverage: float
    width: float
    noise: float


@dataclass(frozen=True, eq=False)
class Study:
    """One method and its baselines on the same models.

    Args:
        predictor (Predictor): Of the method under study.
        predictions (Predictions): Beside the real accuracies; the method
            under study first, then baselines such as 'uniform' (all-token
            loss) and 'constant'.
        n_items (NDArray): Items of each benchmark, 0 where unknown, `(B,)`.
    """
    predictor: Predictor
    predictions: Predictions
    n_items: NDArray[np.int64]

    @classmethod
    def of(cls, predictors: Mapping[str, Predictor], losses: Losses,
           observed: AccuracyTable) -> 'Study':
        """Predictions of several predictors from the same losses.

        Args:
            predictors (Mapping[str, Predictor]): By method, the one under
                study first; the others may lack some of its benchmarks.
            losses (Losses): Of the observed models; dumps are mapped onto
                the tokens of the first predictor, which all share.
            observed (AccuracyTable): Of the same models and perhaps more.

        Raises:
            InputError: As in `Predictor.predict`, or a model was not
                observed.
        """
        first = next(iter(predictors.values()))
        if not isinstance(losses, (FeatureTable, LossTable)):
            losses = first.loss_table(losses)
        by_method = {
            method: predictor.predict(losses)
            for method, predictor in predictors.items()
        }
        models = next(iter(by_method.values())).models
        predictions = Predictions.side_by_side(by_method, models,
                                               observed.benchmarks)
        return cls(first, predictions.with_real(observed), observed.n_items)

    def __repr__(self) -> str:
        return f'Study({self.predictions})'

    def errors(self, method: str) -> dict[str, BenchmarkErrors]:
        """By benchmark; models that were fitted on do not count."""
        table = self.predictions.select(methods=[method])
        return {
            benchmark: _errors(table, b, int(self.n_items[b]))
            for b, benchmark in enumerate(table.benchmarks)
        }


def geometric_mean(values: Iterable[float]) -> float:
    """Geometric mean without NaN; NaN if nothing is left.

    >>> round(geometric_mean([1e-4, 1e-2, float('nan')]), 6)
    0.001
    """
    numbers = [value for value in values if not np.isnan(value)]
    return float(gmean(numbers)) if numbers else float('nan')


def _errors(table: Predictions, b: int, n_items: int) -> BenchmarkErrors:
    """Of the only method of a table, on its benchmark b."""
    # Models without a prediction count; the measures leave them out.
    rows = ~np.isnan(table.real[:, b]) & ~table.in_sample[:, b, 0]
    real = table.real[rows, b]
    predicted, low, high = (
        part[rows, b, 0] for part in (table.values, table.low, table.high))
    noise = standard_error(real, n_items)**2
    return BenchmarkErrors(
        len(real), metrics.mse(real, predicted), metrics.mae(real, predicted),
        metrics.spearman(real, predicted),
        metrics.pairwise_accuracy(real, predicted),
        metrics.coverage(real, low, high), metrics.mean_width(low, high),
        float(noise.mean()) if len(real) else float('nan'))
