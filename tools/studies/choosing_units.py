"""Choice of the few units, such as items, that predict best.

Losses are taken as noisy measurements of a few hidden factors of the models.
"""
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.salience import Ridge, Task, fold_masks
from csv_plugin.core.salience.base import SharedFeatures, grouped_folds

#: Most factors, and least models and units for each of them.
MOST_FACTORS, MODELS_PER_FACTOR, UNITS_PER_FACTOR = 24, 2, 10
#: Folds of families, for the noise of units.
N_FOLDS = 12
#: Units that compete for a place, at least, where there are as many.
RIVALS = 10
#: Least variance of the noise, relative to the variance of the losses.
LEAST_NOISE = 1e-9


class _Factors(NamedTuple):
    """Hidden factors of n models, and how K units measure them.

    Values are uncorrelated and of variance 1, `(n, R)`; loadings are
    standardised losses per factor, `(K, R)`; noise is the variance of the
    rest, `(K,)`.
    """
    values: NDArray
    loadings: NDArray
    noise: NDArray


def choose_units(features: FeatureTable,
                 accuracies: AccuracyTable,
                 families: Mapping[str, str],
                 n: int,
                 seed: int = 0) -> tuple[str, ...]:
    """Return the units that predict all benchmarks together best.

    A ridge on all units predicts each benchmark. The principal components of
    the standardised losses are the factors; the noise of a unit is its error
    on held-out families. Of the K units, the `max(sqrt(n K), 10 n)` that
    follow the predictions most, relative to their noise, compete. They are
    chosen one by one: each lowers most the sum, over benchmarks, of the
    logarithms of the expected squared errors, which are the error of the
    ridge and the variance of its prediction given the chosen units. This is
    Bayesian experimental design (Chaloner and Verdinelli, Statistical Science
    10, 1995) with greedy choices (Krause, Singh and Guestrin, JMLR 9, 2008).

    Judge a choice on models of other families than it was made from.

    Args:
        features (FeatureTable): Losses of every model of `accuracies` on K
            units.
        accuracies (AccuracyTable): Observed, `(M, B)`. Benchmarks on which
            nothing can be learned, or no model is above chance, are ignored.
        families (Mapping): Family of each model of `accuracies`.
        n (int): How many units to choose, from 1 to K.
        seed (int): Seed of the folds of families.

    Returns:
        tuple[str, ...]: n names, in the order of the columns.

    Raises:
        InputError: n is out of its range, a model has no features or no
            family, or nothing can be learned on any benchmark.
    """
    units = features.columns.units
    if not 1 <= n <= len(units):
        raise InputError('number of units to choose', f'1 to {len(units)}',
                         str(n), 'Choose another number.')
    groups = _families_of(accuracies, families)
    features = features.select(accuracies.models)
    with threadpool_limits(limits=1, user_api='blas'):
        predicted, errors = _predictions(features, accuracies, groups, seed)
        factors = _factors(features.values, groups, seed)
        # The factors have a variance of 1, so slopes are covariances.
        slopes = factors.values.T @ (predicted - predicted.mean(0))
        slopes /= len(predicted)
        able = _ablest(factors, slopes / np.sqrt(errors),
                       max(RIVALS * n, round((n * len(units))**0.5)))
        best = _most_telling(
            _Factors(factors.values, factors.loadings[able],
                     factors.noise[able]), slopes, errors, n)
    return tuple(units[k] for k in np.sort(able[best]))


def _families_of(accuracies: AccuracyTable, families: Mapping[str,
                                                              str]) -> NDArray:
    for model in accuracies.models:
        if model not in families:
            raise InputError('families', 'the family of every model',
                             f'none of {model!r}', 'Name its family.')
    return np.array([families[model] for model in accuracies.models])


def _predictions(features: FeatureTable, accuracies: AccuracyTable,
                 families: NDArray, seed: int) -> tuple[NDArray, NDArray]:
    """Predictions `(M, B)` from all units, and their mean squared errors."""
    shared = SharedFeatures(features.values, features.columns.uniform)
    predicted, errors = [], []
    for accuracy, chance in zip(accuracies.values.T, accuracies.chance):
        rows = np.flatnonzero(~np.isnan(accuracy))
        task = Task(
            shared.select(rows), accuracy[rows], float(chance), families[rows])
        if task.problems or task.at_chance:
            continue
        fit = Ridge().fit(task, fold_masks(task.families, seed))
        predicted.append(fit.model.predict(features.values))
        # With one family, nothing was held out.
        in_sample = np.mean((predicted[-1][rows] - task.accuracy)**2)
        errors.append(in_sample if np.isnan(fit.cv_mse) else fit.cv_mse)
    if not predicted:
        raise InputError('accuracies', 'a benchmark to choose units by',
                         'none on which anything can be learned',
                         'Add models, or benchmarks on which they differ.')
    return np.array(predicted).T, np.array(errors)


def _factors(values: NDArray, families: NDArray, seed: int) -> _Factors:
    """Principal components of standardised losses `(n, K)`."""
    n_models, n_units = values.shape
    values = values - values.mean(0)
    spread = values.std(0)
    values /= np.where(spread > 0, spread, 1)
    _, directions = np.linalg.eigh(values @ values.T)
    n_factors = min(MOST_FACTORS, n_models // MODELS_PER_FACTOR,
                    max(1, n_units // UNITS_PER_FACTOR))
    factors = directions[:, ::-1][:, :n_factors] * n_models**0.5
    loadings = values.T @ factors / n_models
    if len(np.unique(families)) < 2:
        rest = values - factors @ loadings.T
    else:
        rest = _held_out_rest(values, factors,
                              grouped_folds(list(families), N_FOLDS, seed))
    return _Factors(factors, loadings, np.mean(rest**2, axis=0) + LEAST_NOISE)


def _held_out_rest(values: NDArray, factors: NDArray,
                   folds: NDArray) -> NDArray:
    """Residuals of held-out models from regressions on factors, `(n, K)`."""
    rest = np.empty_like(values)
    design = np.column_stack([np.ones(len(factors)), factors])
    for fold in range(folds.max() + 1):
        out = folds == fold
        loadings, *_ = np.linalg.lstsq(design[~out], values[~out], rcond=None)
        rest[out] = values[out] - design[out] @ loadings
    return rest


def _ablest(factors: _Factors, slopes: NDArray, number: int) -> NDArray:
    """Indices of the units whose losses fall most where accuracies rise.

    The slopes are accuracies per factor, in units of the errors, `(R, B)`.
    """
    signal = -(factors.loadings @ slopes).sum(axis=1)
    order = np.argsort(-signal / np.sqrt(factors.noise), kind='stable')
    return np.sort(order[:number])


def _most_telling(factors: _Factors, slopes: NDArray, errors: NDArray,
                  n: int) -> NDArray:
    """Indices of n units, chosen one by one.

    The slopes are accuracies per factor, `(R, B)`; the errors squared ones
    with all units, `(B,)`.
    """
    _, loadings, noise = factors
    # Of the factors, given the losses on the chosen units.
    covariance = np.eye(loadings.shape[1])
    free, chosen = np.ones(len(noise), dtype=bool), []
    for _ in range(n):
        by_accuracy = covariance @ slopes
        left = errors + np.sum(slopes * by_accuracy, axis=0)
        measured = loadings @ covariance
        variance = noise + np.sum(measured * loadings, axis=1)
        explained = (loadings @ by_accuracy)**2 / variance[:, None]
        gains = -np.log1p(-np.minimum(explained / left, 1 - 1e-12)).sum(axis=1)
        unit = int(np.argmax(np.where(free, gains, -1)))
        free[unit] = False
        chosen.append(unit)
        covariance -= np.outer(measured[unit], measured[unit]) / variance[unit]
    return np.array(chosen)
