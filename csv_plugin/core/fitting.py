"""Fit a `Predictor` to losses and observed accuracies.

Before the fit, models without any accuracy are left out. Of models with equal
losses and accuracies, and of columns with equal losses, only one is kept. The
remaining models and columns are put into a fixed order. So predictions depend
neither on copies nor on the order of models, columns and families.
"""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Optional, Union

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from csv_plugin import __version__
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.accuracy_model import AccuracyModel
from csv_plugin.core.arrays import Integers
from csv_plugin.core.conventions import InputError
from csv_plugin.core.curve_model import CurveModel, mean_loss_model
from csv_plugin.core.features import Columns, FeatureTable, distinct_rows
from csv_plugin.core.observed import LEAST_MODELS, Observed
from csv_plugin.core.predictor import BenchmarkFit, Fit, Predictor, Units
from csv_plugin.core.progress import Progress
from csv_plugin.core.settings import Settings


def fit_predictor(
    features: FeatureTable,
    accuracies: AccuracyTable,
    families: Sequence[str],
    units: Optional[Units] = None,
    settings: Settings = Settings(),
    progress: Progress = iter
) -> Predictor:  # yapf: disable
    """Fit the statistical model of accuracies to losses and accuracies.

    `features` must contain every model of `accuracies`. Models and benchmarks
    without any accuracy are left out. `families` has the family of each model
    of `accuracies`, in the same order. `units` says which columns are texts of
    which source, and which columns are tokens of a benchmark's own answers. By
    default, all columns of the mean loss are texts without a source.
    `progress` wraps the steps of the fit.

    Raises:
        InputError: A model of `accuracies` has no features; fewer than
            `LEAST_MODELS` models have an accuracy; two models with the same
            losses and accuracies are of different families; or a loss is
            negative.
    """
    fit = _prepared(features, accuracies, families, units)
    if (fit.losses < 0).any():
        raise InputError('losses', '0 or more', f'{fit.losses.min():g}',
                         'Losses are -log p: change the sign of '
                         'log-likelihoods.')  # yapf: disable
    # Matrices are small, so several threads of the BLAS would only wait.
    with threadpool_limits(limits=1, user_api='blas'):
        losses = fit.units.losses(fit.losses, fit.benchmarks)
        model = AccuracyModel(losses, fit.observed, settings, progress)
    return predictor_of(features.columns, fit, model)


def fit_mean_loss_predictor(features: FeatureTable,
                            accuracies: AccuracyTable,
                            families: Sequence[str],
                            units: Optional[Units] = None) -> Predictor:
    """Fit the baseline: a curve of the mean loss, with a learned floor.

    Arguments and errors are as in `fit_predictor`, except that losses may be
    negative, and that tokens of answers (`units.answers`) are not used.
    """
    if units:
        units = replace(units, answers={})
    fit = _prepared(features, accuracies, families, units)
    mean_losses = fit.losses @ features.columns.uniform
    model = mean_loss_model(mean_losses, fit.observed)
    return predictor_of(features.columns, fit, model)


def _prepared(features: FeatureTable, accuracies: AccuracyTable,
              families: Sequence[str], units: Optional[Units]) -> Fit:
    """Return the data to fit to, without copies and in a fixed order.

    Arguments are as in `fit_predictor`.
    """
    losses = features.select(accuracies.models).values
    accuracies = accuracies.select(benchmarks=accuracies.benchmarks_run)
    was_run = ~np.isnan(accuracies.values)
    known = was_run.any(axis=1)
    if units is None:
        units = Units.of(features.columns)
    rows = _in_order(losses, accuracies.values, known, units.columns, families)
    if len(rows) < LEAST_MODELS:
        raise InputError(
            'fit', f'{LEAST_MODELS} models or more with losses '
            'and an accuracy', f'{len(rows)}',
            'Fit to more models. Models with the same losses and accuracies '
            'count once.')
    losses = losses[rows]
    units = units.without_twins(losses)
    observed = Observed(
        accuracies=accuracies.values[rows],
        families=tuple(families[row] for row in rows),
        chance=accuracies.chance,
        n_items=accuracies.n_items)
    # The file of a predictor keeps losses of tokens in 32 bits. Fit to the
    # rounded losses, so that a loaded predictor is the same.
    tokens = units.tokens
    losses[:, tokens] = losses[:, tokens].astype(np.float32)
    return Fit(
        models=tuple(accuracies.models[row] for row in rows),
        benchmarks=accuracies.benchmarks,
        main=accuracies.main,
        losses=losses,
        observed=observed,
        units=units)


def _in_order(losses: NDArray, accuracies: NDArray, known: NDArray,
              columns: NDArray, families: Sequence[str]) -> Integers:
    """Return the indices of the models to fit to, in a fixed order.

    They are sorted by the sum of their losses in `columns`. Of models with
    equal losses and accuracies, only the first is kept. Models that are not in
    the mask `known`, `(M,)`, are left out. `losses` are `(M, K)` and
    `accuracies` are `(M, B)`. Raises an `InputError` if equal models have
    different families.
    """
    # NaN is not equal to itself.
    comparable = np.nan_to_num(accuracies, nan=-1)
    n_columns = len(columns)
    n_benchmarks = comparable.shape[1]
    cells = np.empty((len(losses), n_columns + n_benchmarks))
    # One row at a time, as a copy of all losses would take much memory.
    for row, of_model in enumerate(losses):
        cells[row, :n_columns] = of_model[columns]
    cells[:, n_columns:] = comparable
    distinct, first = distinct_rows(cells)
    for row, twin in enumerate(first):
        # With the family of one left out, it would be predicted from its copy.
        if known[row] and families[row] != families[twin]:
            raise InputError(
                'families', 'one family for models with the same losses and '
                'accuracies', f'{families[twin]!r} and {families[row]!r}',
                'Leave out one of the two models, or give both the same '
                'family.')
    kept = distinct[known[distinct]]
    # The losses of a model are sorted before they are summed, so that rounding
    # does not depend on the order of columns. Models with equal sums are
    # ordered by their smallest losses.
    del cells  # They take as much memory as the losses.
    ascending = losses[np.ix_(kept, columns)]
    ascending.sort(axis=1)
    smallest = ascending[:, :3]
    sums = ascending.sum(axis=1)
    # `lexsort` sorts by its last key first.
    in_order = np.lexsort((*smallest.T, sums))
    return kept[in_order]


def predictor_of(
    columns: Columns,
    fit: Fit,
    model: Union[AccuracyModel, CurveModel],
    notes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> Predictor:
    """Return the predictor of a model of accuracies that was fitted just now.

    `columns` describes the columns of `fit.losses`. `notes` are as in
    `benchmark_fits`.
    """
    mean_losses = fit.losses @ columns.uniform
    lowest = mean_losses.min()
    highest = mean_losses.max()
    versions = {
        'csv_plugin': __version__,
        'numpy': np.__version__,
        'scipy': scipy.__version__
    }
    return Predictor(
        columns,
        fit,
        model,
        benchmarks=benchmark_fits(fit, model, notes),
        versions=versions,
        mean_losses=np.array([lowest, highest]))


def benchmark_fits(
    fit: Fit,
    model: Union[AccuracyModel, CurveModel],
    notes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> tuple[BenchmarkFit, ...]:
    """Return a summary of the fit of each benchmark.

    `notes` has remarks for users by the name of the benchmark.
    """
    observed = fit.observed
    left_out = model.left_out
    families = np.array(observed.families)
    # These errors are in accuracies; `left_out.errors` are standardised.
    accuracy_errors = left_out.accuracies - observed.accuracies
    fits = []
    for b, name in enumerate(fit.benchmarks):
        was_run = ~np.isnan(observed.accuracies[:, b])
        rows = np.flatnonzero(was_run)
        errors = accuracy_errors[rows, b]
        families_run = np.unique(families[rows])
        # Errors are only known with models of two or more families.
        error = expected = np.nan
        if len(families_run) > 1 and np.isfinite(errors).any():
            mean_square = np.nanmean(errors**2)
            error = np.sqrt(mean_square)
            deviations = left_out.deviations[rows, b]
            expected = model.tails.stretch * np.nanmedian(deviations)
        of_benchmark = BenchmarkFit(
            benchmark=name,
            chance=float(observed.chance[b]),
            n_items=int(observed.n_items[b]),
            fit_models=tuple(fit.models[row] for row in rows),
            main=name in fit.main,
            at_chance=bool(observed.unpredictable[b]),
            error=float(error),
            expected_error=float(expected),
            notes=notes.get(name, ()))
        fits.append(of_benchmark)
    return tuple(fits)
