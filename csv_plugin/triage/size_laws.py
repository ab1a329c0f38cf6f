"""Accuracies of models that do not exist yet, from losses of smaller ones.

The loss on each unit follows `log L = E + E_f + A N^-0.2 + B D^-0.2` with N
parameters and D training tokens. E, A and B belong to the unit. E_f of a
family is pulled to 0 as by one more model, so small families share the law.
The predictor turns the losses into accuracies.

This is the simplest of the best forms on larger models of four collections
(tools/studies/LOG.md).

Errors of the law are differences of the predictor's exponents at its losses
from those at the real ones. Models with less compute predict those with more,
and the others predict each model. The larger root mean square counts.
"""
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience_model import LEAST_TYPICAL, relative_logs
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.forecasting import worse_and_better
from csv_plugin.triage.ranking import LEVEL, curve_floors
from csv_plugin.triage.trajectories import clipped_exponents

#: Power of parameters and of tokens.
POWER = 0.2
#: Fewest models for a law.
LEAST_MODELS = 6
#: Folds in which models are left out.
N_FOLDS = 20
#: Smaller standard deviations of log compute count as this one.
LEAST_SPREAD = 0.5
#: Family of a model that is like none of the others.
NEW = ''
#: It decides where all models have the same number of tokens per parameter.
_SLOPE_PENALTY = 1e-3


def amounts_of(models: Sequence[ModelInfo]) -> NDArray[np.float64]:
    """Return parameters in billions and tokens of n models, `(n, 2)`."""
    return np.array([(row.params_b, row.tokens) for row in models])


def log_compute(models: Sequence[ModelInfo]) -> NDArray[np.float64]:
    """Return logarithms of parameters times tokens, `(n,)`."""
    return np.log(amounts_of(models)).sum(axis=1)


class LossLaw:
    """The law of K losses, fitted to those of n models, `(n, K)`."""

    def __init__(self, models: Sequence[ModelInfo], losses: NDArray) -> None:
        powers = amounts_of(models)**-POWER
        self.centre, self.spread = powers.mean(axis=0), powers.std(axis=0)
        self.families = sorted({row.family for row in models})
        self.typical = np.maximum(losses.mean(axis=0), LEAST_TYPICAL)
        design = self._design(models)
        penalty = [0, *[_SLOPE_PENALTY] * 2, *[1] * len(self.families)]
        self.coefficients = np.linalg.solve(
            design.T @ design + np.diag(penalty),
            design.T @ relative_logs(losses, self.typical))

    def losses(self, models: Sequence[ModelInfo]) -> NDArray[np.float64]:
        """Return losses of m models, `(m, K)`."""
        return self.typical * np.exp(self._design(models) @ self.coefficients)

    def _design(self, models: Sequence[ModelInfo]) -> NDArray:
        powers = (amounts_of(models)**-POWER - self.centre) / self.spread
        same = [[row.family == name for name in self.families]
                for row in models]
        return np.hstack([np.ones((len(models), 1)), powers, same])


def forecast_sizes(predictor: Predictor, features: FeatureTable,
                   models: Mapping[str, ModelInfo],
                   targets: Mapping[str, ModelInfo]) -> Predictions:
    """Predict accuracies of other models, the targets, from sizes alone.

    The family of a target is one of the models', or `NEW`. Each half of an
    interval is the root of the summed squares of its halves by the predictor
    and by the law.
    """
    fitted, known = features.select(tuple(models)), list(models.values())
    new = list(targets.values())
    table = FeatureTable(
        tuple(targets), features.columns,
        LossLaw(known, fitted.values).losses(new))
    predictions = predictor.predict(table, LEVEL)
    families = {row.family for row in known}
    is_new = [row.family not in families for row in new]
    errors = {
        flag: back_test(predictor, fitted, known, flag)
        for flag in {*is_new}
    }
    half = scipy.special.stdtrit(len(known) - 2, (1 + LEVEL) / 2) * np.array(
        [errors[flag] for flag in is_new]) * _growth(new, known)
    exponents = clipped_exponents(predictor, table)
    floors, values = curve_floors(predictor), predictions.values[:, :, 0]
    below, above = (np.hypot(end[:, :, 0] - values,
                             accuracy_at(edge, floors) - values)[:, :, None]
                    for end, edge in ((predictions.low, exponents - half),
                                      (predictions.high, exponents + half)))
    return replace(
        predictions,
        low=np.maximum(predictions.values - below, 0),
        high=np.minimum(predictions.values + above, 1))


def back_test(predictor: Predictor, features: FeatureTable,
              models: Sequence[ModelInfo], is_new: bool) -> NDArray:
    """Return root mean square errors of the law in exponents, `(B,)`.

    They are those within the range of compute, infinite if none was found.
    `is_new` is True for a target of a new family: families are left out whole.
    """
    actual = clipped_exponents(predictor, features)
    rows = np.arange(len(models))
    groups = rows % N_FOLDS
    if is_new:
        groups = np.array([row.family for row in models])

    def errors(kept: NDArray, held_out: NDArray) -> NDArray:
        fitted = [models[row] for row in kept]
        new = [models[row] for row in held_out]
        if is_new:
            new = [replace(row, family=NEW) for row in new]
        table = replace(
            features,
            models=tuple(features.models[row] for row in held_out),
            values=LossLaw(fitted, features.values[kept]).losses(new))
        distance = actual[held_out] - clipped_exponents(predictor, table)
        return distance / _growth(new, fitted)

    left_out = [(rows[groups != group], rows[groups == group])
                for group in np.unique(groups)]
    larger = worse_and_better(log_compute(models)[:, None])
    amounts, squares = amounts_of(models), []
    for splits in (left_out, larger):
        found = [
            errors(kept, held_out) for kept, held_out in splits
            if len(kept) and np.ptp(amounts[kept], axis=0).all()
        ]
        if found:
            squares.append(np.mean(np.concatenate(found)**2, axis=0))
    if not squares:
        return np.full(actual.shape[1], np.inf)
    return np.sqrt(np.max(squares, axis=0))


def _growth(models: Sequence[ModelInfo],
            known: Sequence[ModelInfo]) -> NDArray[np.float64]:
    """Growth of errors beyond the compute of known models, `(m, 1)`.

    It is 1 within, and 2 at one standard deviation of its logarithm beyond.
    """
    reached = log_compute(known)
    beyond = np.maximum(log_compute(models) - reached.max(), 0)
    return 1 + beyond[:, None] / max(reached.std(), LEAST_SPREAD)


def check_sizes(where: str, models: Mapping[str, ModelInfo]) -> None:
    """Raise an `InputError` for too few models, unknown or equal sizes."""
    if len(models) < LEAST_MODELS:
        raise InputError(where, f'{LEAST_MODELS} models or more to fit to',
                         f'{len(models)}', 'Name other splits by --fit.')
    for column in ('params_b', 'tokens'):
        amounts = [getattr(row, column) for row in models.values()]
        for name, amount in zip(models, amounts):
            if math.isnan(amount):
                raise InputError(f'{where}, model {name!r}, column {column!r}',
                                 'a number', 'none', 'Fill it in.')
        if min(amounts) == max(amounts):
            raise InputError(f'{where}, column {column!r}',
                             'two numbers or more', f'{amounts[0]:g} alone',
                             'Fit to models of several sizes.')


def targets_of(models: Mapping[str, ModelInfo], params_b: float,
               tokens: float) -> dict[str, ModelInfo]:
    """Return a model of one size by family, and one of a new family.

    Families have models of two sizes or more.
    """
    sizes: dict[str, set[float]] = {}
    for row in models.values():
        sizes.setdefault(row.family, set()).add(row.params_b)
    families = [family for family, own in sizes.items() if len(own) > 1]
    if len(sizes) > 1:
        families.append(NEW)
    return {
        f'{params_b:g}B-{tokens / 1e9:g}B {family or "new family"}':
        ModelInfo(family, '', params_b, tokens)
        for family in families
    }
