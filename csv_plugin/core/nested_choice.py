"""Errors on families that had no part in the choice of the units.

The models that cross-validation holds out helped to choose the units, so its
errors are too small. Here the units are chosen anew without them.
"""
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.choosing_units import choose_units
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_models
from csv_plugin.core.held_out import HeldOut
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.salience import Solver
from csv_plugin.core.splits import grouped_folds
from csv_plugin.core.stated_errors import (ErrorsByReach, held_out_families,
                                           is_beyond, reach)

#: Families are left out in as many parts.
N_FOLDS = 5


def nested_predictions(features: FeatureTable,
                       accuracies: AccuracyTable,
                       families: Sequence[str],
                       n: int,
                       by: Sequence[str],
                       solver: Solver,
                       seed: int = 0,
                       progress: Progress = iter) -> HeldOut:
    """Predict each model by units that were chosen by other families.

    Args:
        features (FeatureTable): Holds every model of `accuracies`.
        accuracies (AccuracyTable): What was observed, `(M, B)`.
        families (Sequence[str]): Family of each model of `accuracies`.
        n (int): How many units.
        by (Sequence[str]): The benchmarks to choose them by.
        solver (Solver): Fits to them.
        seed (int): Of the folds.
        progress (Progress): Wraps the folds.

    Returns:
        HeldOut: Of shape `(M, B)`; NaN where the other families tell
        nothing, such as for a single family.
    """
    groups, models = np.asarray(families), np.asarray(accuracies.models,
                                                      object)
    predicted = np.full(accuracies.values.shape, np.nan)
    beyond = np.zeros(predicted.shape, bool)
    if len(set(families)) < 2:
        return HeldOut(predicted, beyond)
    folds = grouped_folds(list(families), N_FOLDS, seed)
    for fold in progress(range(folds.max() + 1)):
        out = folds == fold
        others = accuracies.select(list(models[~out]))
        try:
            units = choose_units(features, others.select(benchmarks=by),
                                 list(groups[~out]), n, seed)
        except InputError:
            # On no benchmark do the accuracies of the others differ.
            continue
        chosen = _on_units(features, units)
        fitted = fit_models(chosen, others, list(groups[~out]), solver, seed)
        values = chosen.select(accuracies.models).values
        for b, model in enumerate(fitted):
            every = model.predict(values)
            rows = ~out & ~np.isnan(accuracies.values[:, b])
            predicted[out, b] = every[out]
            beyond[out, b] = is_beyond(every[out],
                                       reach(every[rows], groups[rows]))
    return HeldOut(predicted, beyond)


def _on_units(features: FeatureTable, units: Sequence[str]) -> FeatureTable:
    """Some of the columns; the mean loss is that over them."""
    columns = features.columns
    taken = np.isin(columns.units, units)
    uniform = columns.uniform[taken]
    uniform = uniform * (columns.uniform.sum() / uniform.sum())
    return FeatureTable(features.models,
                        replace(columns, units=tuple(units), uniform=uniform),
                        features.values[:, taken])


def with_nested_errors(predictor: Predictor, accuracies: AccuracyTable,
                       families: Sequence[str], nested: HeldOut) -> Predictor:
    """A predictor whose intervals are as wide as nested errors are large.

    Each benchmark states the errors of the nested predictions if their mean
    square is the larger one, and the errors of its intervals grow alike.

    Args:
        predictor (Predictor): Fitted to the chosen units.
        accuracies (AccuracyTable): That it was fitted to, `(M, B)`.
        families (Sequence[str]): Family of each model of `accuracies`.
        nested (HeldOut): From `nested_predictions`, `(M, B)`.
    """
    groups = np.asarray(families)
    return replace(
        predictor,
        benchmarks=tuple(
            _with_error(part, accuracies.values[:, b], groups,
                        HeldOut(nested.predicted[:, b], nested.beyond[:, b]))
            for b, part in enumerate(predictor.benchmarks)))


def _with_error(part: BenchmarkPredictor, accuracy: NDArray, families: NDArray,
                nested: HeldOut) -> BenchmarkPredictor:
    """The part of one benchmark, of which accuracies `(M,)` may be NaN."""
    squares = np.square(nested.predicted - accuracy)
    known = np.flatnonzero(~np.isnan(squares))
    error = float(squares[known].mean()) if len(known) else np.nan
    # Also where one of them is not known.
    if not error > part.cv_mse > 0:
        return part
    errors = part.errors_by_reach and ErrorsByReach.of(
        part.errors_by_reach.reach, squares[known], known, families[known],
        nested.beyond[known])
    factor = np.sqrt(error / part.cv_mse)
    # The errors of intervals are in standard deviations, which forecasts of
    # pretraining runs use, too.
    intervals = replace(
        part.intervals, variance=factor**2 * part.intervals.variance)
    note = (f'intervals {factor:.2f} times as wide, as errors are where held-'
            'out families had no part in the choice of the units')
    return replace(
        part,
        cv_mse=error,
        families=held_out_families(families[known].tolist(), accuracy[known],
                                   nested.predicted[known]),
        intervals=intervals,
        notes=(*part.notes, note),
        errors_by_reach=errors)
