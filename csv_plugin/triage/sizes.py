"""Forecast losses of models that do not exist yet, from fitted models.

The loss on each unit follows `log L = E + E_f + A N^-0.2 + B D^-0.2` with N
parameters and D training tokens. Each unit has its own E, A and B. The offset
E_f of a family has a ridge penalty of 1, as if the family had one more model
with offset 0. Families with few models therefore stay close to the common law.

Several forms predicted the larger models of four collections equally well
(tools/studies/LOG.md); this is the simplest of them.

Errors of the law are estimated in two ways. Either models with less compute
predict models with more compute, or each model (for a target of a new family,
each family) is left out and predicted from all other models. The errors of the
way with the larger mean squared error are used.
"""
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import short_count
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.future_losses import (LossForecast, Split,
                                             worse_and_better)

#: Errors of the law were measured on targets with up to this many times the
#: compute of the largest fitted model. Few measurements lie beyond.
MOST_TIMES_COMPUTE = 30
#: Stands for the name of a family that no fitted model belongs to.
NEW = ''


def forecast_sizes(
        logs: NDArray, models: Sequence[ModelInfo],
        targets: Sequence[ModelInfo]) -> list[Optional[LossForecast]]:
    """Forecast the losses of models that do not exist yet, the targets.

    `logs`, `(n, K)`, are logarithms of the losses of n `models` on K units.
    The family of a target is `NEW`, or the family of at least one of `models`.
    The result has one entry per target, which is None if no back-test is
    possible.
    """
    law = LossLaw(models, logs)
    expected = law.logs(targets)
    growths = _growth(targets, models)
    families = {row.family for row in models}
    # Errors of the back-tests; the key is True for targets of a new family.
    tests: dict[bool, NDArray] = {}
    found = []
    for target, target_logs, growth in zip(targets, expected, growths):
        is_new = target.family not in families
        if is_new not in tests:
            tests[is_new] = back_test(logs, models, is_new)
        errors = growth * tests[is_new]
        forecast = None
        if len(errors):
            forecast = LossForecast(target_logs, errors)
        found.append(forecast)
    return found


class LossLaw:
    """The law of the losses on K units, fitted by regularised least squares.

    `logs`, `(n, K)`, are the logarithms of the losses of n models. In
    `coefficients`, each column belongs to a unit. The first row is E, the next
    two rows are A and B for the standardised powers of N and D, and each
    further row is the offset of a family.
    """

    def __init__(self, models: Sequence[ModelInfo], logs: NDArray) -> None:
        powers = _powers(models)
        self._centre = powers.mean(axis=0)
        self._spread = powers.std(axis=0)
        families = {row.family for row in models}
        self._families = sorted(families)
        design = self._design(models)
        n_coefficients = design.shape[1]
        # The penalty of the offset of each family.
        penalties = np.ones(n_coefficients)
        # If all models have the same number of tokens per parameter, the
        # powers of N and D are collinear. This small penalty makes the
        # solution unique.
        slope_penalty = 1e-3
        penalties[:3] = 0, slope_penalty, slope_penalty
        penalised = design.T @ design
        penalised += np.diag(penalties)
        products = design.T @ logs
        self.coefficients = np.linalg.solve(penalised, products)

    def logs(self, models: Sequence[ModelInfo]) -> Floats:
        """Return expected logarithms of the losses of m models, `(m, K)`."""
        design = self._design(models)
        logs: NDArray = design @ self.coefficients
        return logs

    def _design(self, models: Sequence[ModelInfo]) -> Floats:
        """Return the design matrix of m models, `(m, coefficients)`."""
        ones = np.ones(len(models))
        standardised = _powers(models) - self._centre
        standardised /= self._spread
        families = np.array([row.family for row in models])
        columns = [ones, standardised]
        for family in self._families:
            is_member = families == family
            columns.append(is_member)
        return np.column_stack(columns)


def back_test(logs: NDArray, models: Sequence[ModelInfo],
              is_new: bool) -> Floats:
    """Return errors of the law in logarithms of losses, `(n_errors, K)`.

    `logs`, `(n, K)`, are logarithms of the losses of n models. Errors are
    divided by `_growth`. There are none (n_errors = 0) if no back-test is
    possible. `is_new` says that the errors are for a target of a new family:
    then whole families are left out, not single models.
    """
    one_left_out = _one_left_out(models, is_new)
    left_out = _errors(logs, models, one_left_out, is_new)
    # Models with more compute are predicted from models with less compute.
    compute = log_compute(models)
    by_compute = worse_and_better(compute)
    beyond = _errors(logs, models, by_compute, is_new)
    if not len(left_out):
        return beyond
    if not len(beyond):
        return left_out
    square_left_out = np.mean(left_out**2)
    square_beyond = np.mean(beyond**2)
    if square_beyond > square_left_out:
        return beyond
    return left_out


def _one_left_out(models: Sequence[ModelInfo],
                  is_new: bool) -> Iterator[Split]:
    """Yield a split for each model, into all other models and this model.

    With `is_new`, yield a split for each family.
    """
    rows = np.arange(len(models))
    groups = rows
    if is_new:
        families = [row.family for row in models]
        groups = np.array(families)
    for group in np.unique(groups):
        is_held_out = groups == group
        yield rows[~is_held_out], rows[is_held_out]


def _errors(logs: NDArray, models: Sequence[ModelInfo],
            splits: Iterable[Split], is_new: bool) -> Floats:
    """Return the errors of laws on held-out models, `(E, K)`.

    In each split, a law is fitted to the first group of models, and predicts
    the second group. Errors are divided by `_growth`, so that they hold for
    compute within the range. A split gives no errors if all models of the
    first group have the same size or the same number of tokens.
    """
    n_units = logs.shape[1]
    found = [np.zeros((0, n_units))]
    for kept, held_out in splits:
        fitted = [models[row] for row in kept]
        if not fitted or not _differ_in_both(fitted):
            continue
        targets = [models[row] for row in held_out]
        if is_new:
            targets = [replace(target, family=NEW) for target in targets]
        law = LossLaw(fitted, logs[kept])
        errors = logs[held_out] - law.logs(targets)
        found.append(errors / _growth(targets, fitted))
    return np.concatenate(found)


def _differ_in_both(models: Sequence[ModelInfo]) -> bool:
    """Return whether models differ in size, and also in number of tokens."""
    ranges = np.ptp(amounts_of(models), axis=0)
    return bool(ranges.all())


def _growth(models: Sequence[ModelInfo], known: Sequence[ModelInfo]) -> Floats:
    """Return the factor by which errors grow with compute, `(m, 1)`.

    It is 1 up to the largest compute of the `known` models. Beyond, it rises
    by 1 for each standard deviation of the logarithm of their compute.
    """
    # The standard deviation counts as at least this number.
    least_spread = 0.5
    reached = log_compute(known)
    spread = max(reached.std(), least_spread)
    beyond = log_compute(models) - reached.max()
    beyond = np.maximum(beyond, 0)
    growth = 1 + beyond / spread
    return growth[:, None]


def amounts_of(models: Sequence[ModelInfo]) -> Floats:
    """Return parameters in billions and tokens of n models, `(n, 2)`."""
    params = [row.params_b for row in models]
    tokens = [row.tokens for row in models]
    return np.column_stack([params, tokens])


def _powers(models: Sequence[ModelInfo]) -> Floats:
    """Return N^-0.2 and D^-0.2 of n models, `(n, 2)`."""
    exponent = -0.2
    amounts = amounts_of(models)
    return amounts**exponent


def log_compute(models: Sequence[ModelInfo]) -> Floats:
    """Return logarithms of parameters times tokens, `(n,)`."""
    logs = np.log(amounts_of(models))
    return logs.sum(axis=1)


def check_sizes(where: str, models: Mapping[str, ModelInfo]) -> None:
    """Raise an `InputError` if a law cannot be fitted to these models.

    This is so if there are too few models, or if their numbers of parameters
    or of tokens are unknown or all the same.
    """
    # The smallest number of models that a law is fitted to.
    least = 6
    if len(models) < least:
        raise InputError(where, f'{least} models or more to fit to',
                         f'{len(models)}', 'Name other splits by --fit.')
    params, tokens = amounts_of([*models.values()]).T
    columns = {'params_b': params, 'tokens': tokens}
    for column, amounts in columns.items():
        for name, amount in zip(models, amounts):
            if math.isnan(amount):
                raise InputError(f'{where}, model {name!r}, column {column!r}',
                                 'a number', 'none',
                                 'Fill in the number in the table of models.')
        if np.ptp(amounts) == 0:
            raise InputError(f'{where}, column {column!r}',
                             'two numbers or more', f'{amounts[0]:g} alone',
                             'Fit to models of several sizes.')


def check_target(models: Mapping[str, ModelInfo], params: float,
                 tokens: float) -> None:
    """Raise an `InputError` if a model to forecast is far too small.

    `params` and `tokens` are its numbers of parameters and of training tokens.
    Numbers far below those of all `models` are taken for numbers in billions.
    """
    # Numbers below this share of the smallest one are refused.
    least_share = 1e-3
    amounts = amounts_of([*models.values()])
    least_params, least_tokens = least_share * amounts.min(axis=0)
    # Each option with its number, the least number and the unit in messages.
    checks = (
        ('--params', params, 1e9 * least_params, 'parameters'),
        ('--tokens', tokens, least_tokens, 'tokens'),
    )
    for option, number, least, unit in checks:
        if number < least:
            # The number is probably meant in billions if that makes it a
            # thousandth (`least`) to a thousand times of the smallest model.
            in_billions = 1e9 * number
            most = least / least_share**2
            remedy = 'Forecast a model of a size like those of the models.'
            if least <= in_billions <= most:
                remedy = f'Did you mean {short_count(in_billions)}?'
            raise InputError(
                option, f'{short_count(least)} {unit} or more, a thousandth '
                'of the smallest model to forecast from', f'{number:g} {unit}',
                remedy)


def targets_of(models: Mapping[str, ModelInfo], params_b: float,
               tokens: float) -> dict[str, ModelInfo]:
    """Return targets of one size and number of tokens, by name.

    There is a target of each family that has models of several sizes and, if
    there are several families, a target of a new family.
    """
    sizes: dict[str, set[float]] = {}
    for row in models.values():
        own_sizes = sizes.setdefault(row.family, set())
        own_sizes.add(row.params_b)
    families = []
    for family, own_sizes in sizes.items():
        if len(own_sizes) > 1:
            families.append(family)
    if len(sizes) > 1:
        families.append(NEW)
    size = f'{short_count(1e9 * params_b)}-{short_count(tokens)}'
    targets = {}
    for family in families:
        name = f'{size} {family or "new family"}'
        targets[name] = ModelInfo(family, '', params_b, tokens)
    return targets
