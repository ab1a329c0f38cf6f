"""From losses and observed accuracies to a `Predictor`."""
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, Optional, Union

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from csv_plugin import __version__
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, Progress, check_list
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.held_out_families import held_out_families
from csv_plugin.core.intervals import (Intervals, learn_all_intervals,
                                       run_backtests)
from csv_plugin.core.partial_scores import learn_partial_scores
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.salience import (ChoosingSolver, Constant, HeldOut,
                                      JointSolver, SalienceFit, Solver, Task,
                                      fold_masks, held_out_predictions,
                                      predicts_better)
from csv_plugin.core.salience.base import SharedFeatures
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import AT_CHANCE, PROBLEMS
from csv_plugin.core.stated_errors import errors_by_reach
from csv_plugin.core.witnesses import LABEL_TOKEN_LOSS, learn_witnesses

#: Called with a benchmark, what was fitted to, and the fit.
Watch = Callable[[str, Task, SalienceFit], None]

#: One for all benchmarks, or one for each.
Solvers = Union[Solver, Mapping[str, Solver]]

#: Squares of smaller numbers are too small for float64.
LEAST_LOSS = 1e-150


class _Fitted(NamedTuple):
    """What was fitted to a benchmark, and by which solver.

    Args:
        task (Task): The models that were run on the benchmark.
        solver (Solver): What made the fit.
        fit (SalienceFit): The fit.
        problems (tuple[str, ...]): Why it is the mean accuracy, if it is.
    """
    task: Task
    solver: Solver
    fit: SalienceFit
    problems: tuple[str, ...]


def fit_predictor(
        features: FeatureTable,
        accuracies: AccuracyTable,
        families: Sequence[str],
        solver: Solvers,
        seed: int = 0,
        progress: Progress = iter,
        watch: Optional[Watch] = None,
        labels: Mapping[str, int] = MappingProxyType({}),
) -> Predictor:
    """Learn from models whose losses and accuracies are known.

    A benchmark on which nothing can be learned (see `scaling_law.PROBLEMS`) is
    predicted by its mean accuracy, and its notes say so.

    Args:
        features (FeatureTable): Holds every model of `accuracies`.
        accuracies (AccuracyTable): What was observed, `(M, B)`; the fit to
            a benchmark leaves out models that were not run on it.
        families (Sequence[str]): Family of each model of `accuracies`.
        solver (Solvers): One of `salience.SOLVERS` or your own, for all
            benchmarks or for each.
        seed (int): Of the cross-validation folds; same seed, same result.
        progress (Progress): Wraps the benchmarks to show progress, first
            while they are fitted, then while their intervals are made.
        watch (Optional[Watch]): Is told of every fit.
        labels (Mapping[str, int]): The column that is the label-token loss of
            a benchmark, for those that have one; it may contradict
            predictions, and so may the mean loss then.

    Raises:
        InputError: A model has no features or no family, or losses are too
            small for their squares to be numbers.
    """
    features = _checked(features, accuracies, families)
    groups = np.asarray(families)
    # Thousands of small systems: threads of the BLAS would only wait.
    with threadpool_limits(limits=1, user_api='blas'):
        fitted = _fit_all(
            _tasks(features, accuracies, groups), solver, seed, progress,
            watch)
        intervals = _intervals(fitted, seed, progress)
        benchmarks = tuple(
            _benchmark(features, accuracies, name, fitted[name],
                       intervals[name], labels.get(name))
            for name in accuracies.benchmarks)
        partial = learn_partial_scores(accuracies.benchmarks,
                                       accuracies.values,
                                       _held_out(accuracies, fitted), groups)
    versions = {
        'csv_plugin': __version__,
        'numpy': np.__version__,
        'scipy': scipy.__version__
    }
    return Predictor(
        features.columns, benchmarks, versions, partial_scores=partial)


def fit_models(features: FeatureTable,
               accuracies: AccuracyTable,
               families: Sequence[str],
               solver: Solver,
               seed: int = 0,
               progress: Progress = iter,
               watch: Optional[Watch] = None) -> list[SalienceModel]:
    """What `fit_predictor` predicts by, without the rest of a predictor.

    Arguments and errors as there.
    """
    features = _checked(features, accuracies, families)
    tasks = _tasks(features, accuracies, np.asarray(families))
    with threadpool_limits(limits=1, user_api='blas'):
        fitted = _fit_all(tasks, solver, seed, progress, watch)
        return [part.fit.model for part in fitted.values()]


def _checked(features: FeatureTable, accuracies: AccuracyTable,
             families: Sequence[str]) -> FeatureTable:
    """The features of the models with accuracies, if they can be fitted to."""
    if isinstance(families, Mapping):
        raise InputError(
            'families', 'a list, in the order of the accuracies',
            f'a {type(families).__name__}',
            'Give [families[model] for model in accuracies.models].')
    check_list('families', families)
    if len(families) != len(accuracies.models):
        raise InputError('families',
                         f'{len(accuracies.models)}, one per model',
                         f'{len(families)}', 'Name the family of each model.')
    features = features.select(accuracies.models)
    largest = np.abs(features.values).max(initial=0)
    if 0 < largest < LEAST_LOSS:
        raise InputError('features', f'losses of {LEAST_LOSS} or more',
                         f'{largest} at most', 'Give them in another unit.')
    return features


def _tasks(features: FeatureTable, accuracies: AccuracyTable,
           families: NDArray) -> dict[str, Task]:
    """All benchmarks by name, each of the models that were run on it."""
    shared = SharedFeatures(features.values, features.columns.uniform)
    tasks = {}
    for name, chance in zip(accuracies.benchmarks, accuracies.chance):
        accuracy = accuracies.column(name)
        rows = ~np.isnan(accuracy)
        tasks[name] = Task(
            shared.select(rows), accuracy[rows], float(chance), families[rows])
    return tasks


def _fit_all(tasks: Mapping[str, Task], solver: Solvers, seed: int,
             progress: Progress, watch: Optional[Watch]) -> dict[str, _Fitted]:
    """Fits to all benchmarks, by name."""
    if isinstance(solver, JointSolver):
        sound = [name for name, task in tasks.items() if not task.problems]
        together = solver.fit_together(
            [tasks[name] for name in sound],
            [fold_masks(tasks[name].families, seed)
             for name in sound], progress)
        joint = dict(zip(sound, together))
        fitted = {
            name: _fit_or_mean(task, joint.get(name), solver, seed)
            for name, task in tasks.items()
        }
    else:
        solvers = solver if isinstance(solver, Mapping) else dict.fromkeys(
            tasks, solver)
        fitted = {
            name: _fit_or_mean(tasks[name], None, solvers[name], seed)
            for name in progress(list(tasks))
        }
    if watch:
        for name, (task, _, fit, _) in fitted.items():
            watch(name, task, fit)
    return fitted


def _fit_or_mean(task: Task, joint: Optional[SalienceFit], solver: Solver,
                 seed: int) -> _Fitted:
    """A fit, or the mean accuracy where nothing can be learned."""
    masks, problems = fold_masks(task.families, seed), task.problems
    if not problems:
        fit = joint or solver.fit(task, masks)
        if isinstance(solver, ChoosingSolver) and len(masks):
            fit = _stated(fit, solver.held_out(task, masks), task.accuracy)
        # Accuracies about the chance level may be noise, and a curve through
        # noise leads anywhere.
        if not task.at_chance or predicts_better(task, fit,
                                                 Constant().fit(task, masks)):
            return _Fitted(task, solver, fit, ())
    if task.at_chance:
        problems = (*problems, AT_CHANCE)
    constant = Constant()
    return _Fitted(task, constant, constant.fit(task, masks), problems)


def _stated(fit: SalienceFit, held_out: HeldOut,
            accuracy: NDArray) -> SalienceFit:
    """A fit that states the error of predictions that no choice saw."""
    error = float(np.mean((held_out.predicted - accuracy)**2))
    note = f'MSE {error:.2e} on families that had no part in the choice'
    return replace(
        fit, cv_mse=error, held_out=held_out, notes=(*fit.notes, note))


def _intervals(fitted: Mapping[str, _Fitted], seed: int,
               progress: Progress) -> dict[str, Intervals]:
    """Of all benchmarks, back-tested by the solvers that fitted them."""

    def backtest(name: str, variance: NDArray) -> NDArray:
        """Errors of back-tests in standard deviations, `(n_b,)`."""
        part = fitted[name]
        return run_backtests(part.task, part.solver, seed, variance)

    return learn_all_intervals(
        {
            name: (part.task, part.fit)
            for name, part in fitted.items()
        }, backtest, progress)


def _benchmark(features: FeatureTable, accuracies: AccuracyTable,
               benchmark: str, fitted: _Fitted, intervals: Intervals,
               label: Optional[int]) -> BenchmarkPredictor:
    """All that is known of a benchmark."""
    task, _, fit, problems = fitted
    index = accuracies.benchmarks.index(benchmark)
    rows = np.flatnonzero(~np.isnan(accuracies.values[:, index]))
    notes = tuple(f'predicted by the mean accuracy: {PROBLEMS[problem]}'
                  for problem in problems)
    measures = {}
    if label is not None:
        measures[LABEL_TOKEN_LOSS] = np.eye(1, len(task.uniform), label)[0]
    return BenchmarkPredictor(
        benchmark, task.chance, int(accuracies.n_items[index]),
        tuple(features.models[row] for row in rows), fit.solver, fit.penalty,
        fit.cv_mse, fit.model, intervals, notes + fit.notes,
        held_out_families(task.families.tolist(), task.accuracy,
                          held_out_predictions(task, fit)),
        learn_witnesses(task, fit, measures) if measures else (),
        errors_by_reach(task, fit))


def _held_out(accuracies: AccuracyTable, fitted: Mapping[str,
                                                         _Fitted]) -> NDArray:
    """What folds say of models they have not seen; else NaN, `(M, B)`."""
    held_out = np.full(accuracies.values.shape, np.nan)
    for b, name in enumerate(accuracies.benchmarks):
        rows = ~np.isnan(accuracies.values[:, b])
        held_out[rows, b] = held_out_predictions(fitted[name].task,
                                                 fitted[name].fit)
    return held_out
