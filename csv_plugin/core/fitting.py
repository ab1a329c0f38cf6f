"""Fits of a `Predictor` to losses and observed accuracies."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional, Union

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from csv_plugin import __version__
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.held_out_errors import FoldPredictions, typical_error
from csv_plugin.core.intervals import (LOSS_EXPONENT, TIMES_COMPUTE, Intervals,
                                       deviation, learn_rate, mean_distances,
                                       shared_variances, worse_models)
from csv_plugin.core.predictor import (BenchmarkPredictor, Predictor,
                                       TrainingScores)
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import (ChoosingSolver, Constant, JointSolver,
                                      MeanLoss, Plain, SalienceFit, Solver,
                                      Task, fold_masks, predicts_better)
from csv_plugin.core.salience.base import SharedFeatures
from csv_plugin.core.salience_model import MOST, outside, scores_of
from csv_plugin.core.scaling_law import AT_CHANCE, PROBLEMS, Curve

#: Solver of all benchmarks, or of each.
Solvers = Union[Solver, Mapping[str, Solver]]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Fit of a task; its predictions are made once, when first needed."""
    task: Task
    fit: SalienceFit

    @cached_property
    def folds(self) -> FoldPredictions:
        """Predictions of its folds."""
        return fold_predictions(self.task, self.fit.folds.curve,
                                self.scores[:-1], self.fit.masks)

    @cached_property
    def scores(self) -> NDArray:
        """Capability scores by each fold, then by the fit, `(F + 1, n)`."""
        return self.fit.scores_of(self.task)

    @cached_property
    def held_out(self) -> NDArray:
        """See `SalienceFit.held_out_of`."""
        return self.fit.held_out_of(self.scores)

    @property
    def is_mean(self) -> bool:
        """True if it predicts the mean accuracy."""
        return self.fit.solver == Constant.name

    @property
    def typical_error(self) -> float:
        """Median error of families that are predicted by the others."""
        return typical_error(self.task.families,
                             self.held_out - self.task.accuracy)


def fold_predictions(task: Task, curves: Curve, scores: NDArray,
                     masks: NDArray) -> FoldPredictions:
    """Predict all models of a task by F models, fitted to those of masks.

    Scores are `(F, n)`.
    """
    return FoldPredictions(masks, curves.exponents(scores),
                           curves.accuracies(scores), curves.slopes(scores),
                           task.accuracy, task.families, task.features.rows)


def fit_predictor(features: FeatureTable,
                  accuracies: AccuracyTable,
                  families: Sequence[str],
                  solver: Solvers,
                  seed: int = 0,
                  progress: Progress = iter) -> Predictor:
    """Fit a predictor to losses and accuracies of training models.

    A benchmark from which nothing can be learned (see `scaling_law.PROBLEMS`)
    is predicted by its mean accuracy, with a note; where models are at chance,
    the baseline `MeanLoss` is a curve none the less.

    Features contain every model of `accuracies`, the training models; those
    without a score on a benchmark are left out of its fit. `families` has that
    of each of them. The solver is one of `salience.SOLVERS` or your own, for
    all benchmarks or by benchmark; the seed is that of the cross-validation
    folds. `progress` wraps the benchmarks, and then the back-tests.

    Raises:
        InputError: A model has no features.
    """
    features = features.select(accuracies.models)
    # Thousands of small systems: threads of the BLAS would only wait.
    with threadpool_limits(limits=1, user_api='blas'):
        tasks = _tasks(features, accuracies, np.asarray(families))
        fitted = _fit_all(tasks, solver, seed, progress)
        intervals = learn_intervals(
            fitted,
            run_backtests(features, tasks, fitted, solver, seed, progress))
        held_out = np.full(accuracies.values.shape, np.nan)
        benchmarks = []
        for b, (name, part) in enumerate(fitted.items()):
            task, fit, rows = part.task, part.fit, part.task.features.rows
            held_out[rows, b] = part.held_out
            benchmarks.append(
                BenchmarkPredictor(name, task.chance,
                                   int(accuracies.n_items[b]),
                                   tuple(features.models[row] for row in rows),
                                   fit.solver, fit.penalty, fit.cv_mse,
                                   fit.model, intervals[name], fit.notes,
                                   part.typical_error, task.main))
    mean_losses = np.sort(features.mean_loss)
    versions = dict(
        csv_plugin=__version__, numpy=np.__version__, scipy=scipy.__version__)
    return Predictor(
        features.columns,
        tuple(benchmarks),
        versions,
        training_scores=TrainingScores(
            tuple(families), accuracies.values, held_out),
        mean_losses=mean_losses[[0, -1]] if len(mean_losses) else None)


def _tasks(features: FeatureTable, accuracies: AccuracyTable,
           families: NDArray) -> dict[str, Task]:
    """Tasks by benchmark, each with the models that were run on it."""
    shared = SharedFeatures(features.values, features.columns.uniform)
    tasks = {}
    for name, chance in zip(accuracies.benchmarks, accuracies.chance):
        accuracy = accuracies.column(name)
        rows = ~np.isnan(accuracy)
        tasks[name] = Task(
            shared.select(rows), accuracy[rows], float(chance), families[rows],
            name in accuracies.main)
    return tasks


def _fit_all(tasks: Mapping[str, Task],
             solver: Solvers,
             seed: int,
             progress: Progress = iter,
             final: bool = True) -> dict[str, Fitted]:
    """Fits of all benchmarks, by name; cross-validated less if not `final`.

    Joint solvers then make no fold models.
    """
    masks = {
        name: fold_masks(task.families, seed, n_repeats=3 if final else 1)
        for name, task in tasks.items()
    }
    sound = [name for name, task in tasks.items() if not task.problems]
    if isinstance(solver, JointSolver):
        found = solver.fit_together([tasks[name] for name in sound],
                                    [masks[name] for name in sound], progress,
                                    final)
    else:
        found = [
            _fit(tasks[name],
                 solver[name] if isinstance(solver, Mapping) else solver,
                 masks[name], final) for name in progress(sound)
        ]
    fits = dict(zip(sound, found))
    return {
        name: Fitted(task, _unless_mean(task, fits.get(name), masks[name]))
        for name, task in tasks.items()
    }


def _fit(task: Task, solver: Solver, masks: NDArray,
         nested: bool) -> SalienceFit:
    """Fit, with the error of predictions that took no part in any choice."""
    fit = solver.fit(task, masks)
    if not (nested and len(masks) and isinstance(solver, ChoosingSolver)):
        return fit
    held_out = solver.held_out(task, masks)
    error = float(np.mean((held_out - task.accuracy)**2))
    note = f'MSE {error:.2e} on families that had no part in the choice'
    return replace(
        fit, cv_mse=error, held_out=held_out, notes=(*fit.notes, note))


def _unless_mean(task: Task, fit: Optional[SalienceFit],
                 masks: NDArray) -> SalienceFit:
    """The fit, or the mean accuracy where nothing can be learned."""
    # Its priors keep the baseline from leading anywhere by noise.
    is_baseline = fit is not None and fit.solver == MeanLoss.name
    if fit is not None and (is_baseline or not task.at_chance):
        return fit
    # Accuracies about the chance level may be noise, and a curve through
    # noise leads anywhere.
    mean = Constant().fit(task, masks)
    if fit is not None and predicts_better(task, fit, mean):
        return fit
    problems = (*task.problems, *([AT_CHANCE] if task.at_chance else []))
    return replace(
        mean,
        notes=tuple(f'predicted by the mean accuracy: {PROBLEMS[problem]}'
                    for problem in problems))


def learn_intervals(
    fitted: Mapping[str, Fitted],
    backtests: Sequence[Mapping[str,
                                FoldPredictions]]) -> dict[str, Intervals]:
    """Return intervals by benchmark.

    Benchmarks share the shape of the variance of errors and the rate at which
    errors grow. Back-tests are those of `run_backtests`.
    """
    parts = [*fitted.values()]
    shared = shared_variances([part.folds for part in parts])
    variances = dict(zip(fitted, shared))
    learned = [part for part in parts if not part.is_mean]
    rate = learn_rate(backtests, variances)
    distances = mean_distances([part.folds for part in learned or parts])
    rises = [
        np.std(part.fit.model.curve.exponents(part.scores[-1]))
        for part in learned
    ]
    rise = float(max(rises, default=MOST))
    further = np.zeros(len(TIMES_COMPUTE))
    if learned:
        further = np.mean([_further(part) for part in learned], axis=0)
    return {
        name: _intervals(part, variances[name], rate, distances, further, rise)
        for name, part in fitted.items()
    }


def _further(part: Fitted) -> NDArray[np.float64]:
    """Distances of better models by one score; see `Intervals.further`."""
    features = part.task.features
    best = features.values[[features.mean_loss.argmin()]]
    factors = np.power(TIMES_COMPUTE, -LOSS_EXPONENT)
    score = part.fit.model.scores(factors[:, None] * best)
    seen = part.scores[-1]
    return outside(score, seen.min(), seen.max(), seen.std())


def _intervals(part: Fitted, variance: NDArray, rate: float,
               distances: NDArray, further: NDArray, rise: float) -> Intervals:
    task, fit, folds = part.task, part.fit, part.folds
    fold, model = folds.unseen
    deviations = deviation(variance, folds.slopes[folds.unseen])
    rise = rise if part.is_mean and task.at_chance else 0.0
    if not rise:
        deviations *= 1 + rate * distances[folds.models[model]]
    score = part.scores[-1]
    # With the many columns of other solvers, sound models are beyond in some.
    few = fit.solver == Plain.name
    return Intervals(fit.folds, len(score),
                     np.abs(folds.errors) / deviations, fold, variance,
                     folds.n_families, float(score.min(initial=np.inf)),
                     float(score.max(initial=-np.inf)),
                     float(score.std()) if len(score) else np.inf, rate,
                     further, rise,
                     task.values.max(axis=0) if few else None)


def run_backtests(features: FeatureTable, tasks: Mapping[str, Task],
                  fitted: Mapping[str, Fitted], solver: Solvers, seed: int,
                  progress: Progress) -> list[dict[str, FoldPredictions]]:
    """Fit to the worse models and predict the better ones, by benchmark.

    Benchmarks without a curve, here or in the fit to all models, are left out.
    """
    learned = {name: tasks[name] for name in tasks if not fitted[name].is_mean}
    found: list[dict[str, FoldPredictions]] = []
    for worse in progress(list(worse_models(features.mean_loss))):
        parts = {
            name: task.select(worse[task.features.rows])
            for name, task in learned.items()
        }
        fits = _fit_all(parts, solver, seed, final=False)
        curved = [name for name in learned if not fits[name].is_mean]
        models = [fits[name].fit.model for name in curved]
        scores = scores_of(models, features.values)
        found.append({})
        for name, model, score in zip(curved, models, scores):
            task, rows = learned[name], learned[name].features.rows
            part = fold_predictions(task, model.curve[None], score[None, rows],
                                    worse[None, rows])
            found[-1][name] = part
    return found
