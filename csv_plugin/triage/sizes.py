"""Losses of models that do not exist yet, from those of other sizes.

The loss on each unit follows `log L = E + E_f + A N^-0.2 + B D^-0.2` with N
parameters and D training tokens. E, A and B belong to the unit. E_f of a
family is pulled to 0 as by one more model, so small families share the law.

This is the simplest of the best forms on larger models of four collections
(tools/studies/LOG.md).

Errors of the law are vectors of logarithms of losses: models with less compute
predict those with more, and the others predict each model (or each family).
Those of the larger mean square count.
"""
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.future_losses import LossForecast, worse_and_better

#: Power of parameters and of tokens.
POWER = 0.2
#: How many times more compute errors were measured for, on few models beyond.
FAR = 30
#: Family of a model that is like none of the others.
NEW = ''


def amounts_of(models: Sequence[ModelInfo]) -> NDArray[np.float64]:
    """Return parameters in billions and tokens of n models, `(n, 2)`."""
    return np.array([(row.params_b, row.tokens) for row in models])


def log_compute(models: Sequence[ModelInfo]) -> NDArray[np.float64]:
    """Return logarithms of parameters times tokens, `(n,)`."""
    return np.log(amounts_of(models)).sum(axis=1)


class LossLaw:
    """The law of K losses, fitted to their logarithms, `(n, K)`."""

    def __init__(self, models: Sequence[ModelInfo], logs: NDArray) -> None:
        powers = amounts_of(models)**-POWER
        self.centre, self.spread = powers.mean(axis=0), powers.std(axis=0)
        self.families = sorted({row.family for row in models})
        design = self._design(models)
        # It decides where all models have the same number of tokens per
        # parameter.
        slope_penalty = 1e-3
        penalty = [0, *[slope_penalty] * 2, *[1] * len(self.families)]
        self.coefficients = np.linalg.solve(
            design.T @ design + np.diag(penalty), design.T @ logs)

    def logs(self, models: Sequence[ModelInfo]) -> NDArray[np.float64]:
        """Return logarithms of losses of m models, `(m, K)`."""
        logs: NDArray = self._design(models) @ self.coefficients
        return logs

    def _design(self, models: Sequence[ModelInfo]) -> NDArray:
        powers = (amounts_of(models)**-POWER - self.centre) / self.spread
        same = np.array([[float(row.family == name) for name in self.families]
                         for row in models])
        return np.hstack([np.ones((len(models), 1)), powers, same])


def forecast_sizes(
        logs: NDArray, models: Sequence[ModelInfo],
        targets: Sequence[ModelInfo]) -> list[Optional[LossForecast]]:
    """Forecast the losses of other models, the targets, from their sizes.

    `logs`, `(n, K)`, are logarithms of the losses of n models. The family of a
    target is one of the models', or `NEW`. None for a target if nothing shows
    the errors of the law.
    """
    expected = LossLaw(models, logs).logs(targets)
    families = {row.family for row in models}
    are_new = [row.family not in families for row in targets]
    tests = {is_new: back_test(logs, models, is_new) for is_new in {*are_new}}
    found: list[Optional[LossForecast]] = []
    for row, is_new, growth in zip(expected, are_new, _growth(targets,
                                                              models)):
        errors = growth * tests[is_new]
        found.append(LossForecast(row, errors) if len(errors) else None)
    return found


def back_test(logs: NDArray, models: Sequence[ModelInfo],
              is_new: bool) -> NDArray[np.float64]:
    """Return errors of the law in logarithms of losses, `(S, K)`.

    `logs` are those of n models, `(n, K)`. Errors are those within the range
    of compute; there is none if nothing shows them. `is_new` is True for a
    target of a new family: families are left out whole.
    """
    rows = np.arange(len(models))
    groups = np.array([row.family for row in models]) if is_new else rows
    left_out = [(rows[groups != group], rows[groups == group])
                for group in np.unique(groups)]
    larger = [*worse_and_better(log_compute(models))]
    both = [
        np.concatenate([
            _errors(logs, models, kept, held_out, is_new)
            for kept, held_out in splits
        ]) for splits in (left_out, larger)
    ]
    known = [errors for errors in both if len(errors)]
    return max(known, key=lambda errors: np.mean(errors**2), default=both[0])


def _errors(logs: NDArray, models: Sequence[ModelInfo], kept: NDArray,
            held_out: NDArray, is_new: bool) -> NDArray[np.float64]:
    """Errors of a law on models that are held out; it is fitted to others.

    None if these have one size or one number of tokens.
    """
    fitted = [models[row] for row in kept]
    new = [models[row] for row in held_out]
    if not fitted or not np.ptp(amounts_of(fitted), axis=0).all():
        return np.zeros((0, logs.shape[1]))
    if is_new:
        new = [replace(row, family=NEW) for row in new]
    found: NDArray = logs[held_out] - LossLaw(fitted, logs[kept]).logs(new)
    return found / _growth(new, fitted)


def _growth(models: Sequence[ModelInfo],
            known: Sequence[ModelInfo]) -> NDArray[np.float64]:
    """Growth of errors beyond the compute of known models, `(m, 1)`.

    It is 1 within, and 2 at one standard deviation of its logarithm beyond.
    """
    # Smaller standard deviations of log compute count as this one.
    least_spread = 0.5
    reached = log_compute(known)
    beyond = np.maximum(log_compute(models) - reached.max(), 0)
    return 1 + beyond[:, None] / max(reached.std(), least_spread)


def check_sizes(where: str, models: Mapping[str, ModelInfo]) -> None:
    """Raise an `InputError` for too few models, unknown or equal sizes."""
    # Fewest models for a law.
    least = 6
    if len(models) < least:
        raise InputError(where, f'{least} models or more to fit to',
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
