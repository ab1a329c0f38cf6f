"""How well a solver predicts models it has not seen, beside its baselines."""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import gmean

from csv_plugin.core import metrics
from csv_plugin.core.accuracies import AccuracyTable, standard_error
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.predictions import PredictionTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import Constant, Solver, Uniform
from csv_plugin.core.splits import grouped_folds


@dataclass(frozen=True)
class BenchmarkErrors:
    """Errors of one method's predictions on one benchmark.

    Args:
        n_models (int): Models that were not fitted on and have a score.
        mse (float): Mean squared error.
        mae (float): Mean absolute error.
        spearman (float): Rank correlation.
        pairwise (float): Share of pairs of models in the right order.
        coverage (float): Share of intervals that hold the observed value.
        width (float): Mean width of the intervals.
        noise (float): Mean squared standard error of the observed values,
            NaN if the number of items is unknown. A yardstick rather than
            a bound: models answer the same items, so their scores err
            together and a fit on other models' scores follows.
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
    """One solver and its baselines on the same models.

    Args:
        predictor (Predictor): Of the solver.
        predictions (Mapping[str, PredictionTable]): By method: the solver
            first, then baselines such as 'uniform' (all-token loss) and
            'constant'.
        observed (AccuracyTable): Of the predicted models, `(M, B)`.
    """
    predictor: Predictor
    predictions: Mapping[str, PredictionTable]
    observed: AccuracyTable

    @classmethod
    def of(cls, predictors: Mapping[str, Predictor],
           losses: Mapping[str, Sequence[TokenLosses]],
           observed: AccuracyTable) -> 'Study':
        """What predictors make of token losses.

        Args:
            predictors (Mapping[str, Predictor]): By method, the one under
                study first; the others may lack some of its benchmarks.
            losses (Mapping): Each model's losses on the texts.
            observed (AccuracyTable): Of the same models.

        Raises:
            InputError: As in `Predictor.predict_losses`.
        """
        first = next(iter(predictors.values()))
        predictions = {
            method:
            known.predict_losses(losses,
                                 first.fingerprint).on(observed.benchmarks)
            for method, known in predictors.items()
        }
        return cls(first, predictions, observed.select(tuple(losses)))

    def errors(self, method: str) -> dict[str, BenchmarkErrors]:
        """By benchmark; models that were fitted on do not count."""
        return {
            benchmark: _errors(self.predictions[method], self.observed, b)
            for b, benchmark in enumerate(self.observed.benchmarks)
        }


def geometric_mean(values: Iterable[float]) -> float:
    """Geometric mean without NaN; NaN if nothing is left.

    >>> round(geometric_mean([1e-4, 1e-2, float('nan')]), 6)
    0.001
    """
    known = [value for value in values if not np.isnan(value)]
    return float(gmean(known)) if known else float('nan')


def split_study(features: FeatureTable,
                accuracies: AccuracyTable,
                families: Mapping[str, str],
                fit_models: Sequence[str],
                solver: Solver,
                fingerprint: str,
                seed: int = 0,
                progress: Progress = iter) -> Study:
    """Fit on some models, predict all.

    Args:
        features (FeatureTable): Columns of M models.
        accuracies (AccuracyTable): Of the same models, in any order.
        families (Mapping[str, str]): Family of each model.
        fit_models (Sequence[str]): Models to fit on.
        solver (Solver): The method under study.
        fingerprint (str): Of the validation set.
        seed (int): Of the cross-validation folds.
        progress (Progress): Wraps the benchmarks of the solver's fit.

    Raises:
        InputError: If a model lacks features, accuracies or a family.
    """
    seen = accuracies.select(fit_models)
    groups = _groups(families, fit_models)
    methods = _methods(solver)
    predictors = {
        name:
        fit_predictor(features, seen, groups, method, fingerprint, seed,
                      progress if method is solver else iter)
        for name, method in methods.items()
    }
    predictions = {
        name: predictor.predict(features, fingerprint)
        for name, predictor in predictors.items()
    }
    return Study(predictors[solver.name], predictions,
                 accuracies.select(features.models))


def leave_families_out(features: FeatureTable,
                       accuracies: AccuracyTable,
                       families: Mapping[str, str],
                       solver: Solver,
                       fingerprint: str,
                       seed: int = 0,
                       n_folds: int = 8,
                       progress: Progress = iter) -> Study:
    """Predict every model from models of other families.

    Families are dealt to folds; each fold is predicted by a predictor that
    was fitted, cross-validation included, on the others. The study's
    predictor is fitted on all models. Arguments and errors as in
    `split_study`, but `progress` wraps the folds.
    """
    observed = accuracies.select(features.models)
    groups = _groups(families, features.models)
    folds = grouped_folds(groups, n_folds, seed)
    names = np.array(features.models, dtype=object)
    parts: dict[str, list[PredictionTable]] = {n: [] for n in _methods(solver)}
    for fold in progress(range(folds.max() + 1)):
        fitted = split_study(features, observed, families,
                             list(names[folds != fold]), solver, fingerprint,
                             seed)
        for name, table in fitted.predictions.items():
            parts[name].append(table.select(list(names[folds == fold])))
    predictor = fit_predictor(features, observed, groups, solver, fingerprint,
                              seed)
    predictions = {
        name: PredictionTable.concatenate(tables).select(features.models)
        for name, tables in parts.items()
    }
    return Study(predictor, predictions, observed)


def _groups(families: Mapping[str, str], models: Iterable[str]) -> list[str]:
    for model in models:
        if model not in families:
            raise InputError('families', 'the family of every model',
                             f'none of {model!r}', 'Name its family.')
    return [families[model] for model in models]


def _methods(solver: Solver) -> dict[str, Solver]:
    """The solver and the baselines it is compared to, by name."""
    methods: dict[str, Solver] = {solver.name: solver}
    for baseline in (Uniform(), Constant()):
        methods.setdefault(baseline.name, baseline)
    return methods


def _errors(table: PredictionTable, observed: AccuracyTable,
            benchmark: int) -> BenchmarkErrors:
    real = np.where(table.in_sample[:, benchmark], np.nan,
                    observed.values[:, benchmark])
    known = ~np.isnan(real)
    real = real[known]
    predicted = table.values[known, benchmark]
    low, high = table.low[known, benchmark], table.high[known, benchmark]
    noise = standard_error(real, observed.n_items[benchmark])**2
    return BenchmarkErrors(
        len(real), metrics.mse(real, predicted), metrics.mae(real, predicted),
        metrics.spearman(real, predicted),
        metrics.pairwise_accuracy(real, predicted),
        metrics.coverage(real, low, high), metrics.mean_width(low, high),
        float(noise.mean()) if len(real) else float('nan'))
