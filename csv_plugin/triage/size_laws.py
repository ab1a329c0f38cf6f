"""Accuracies of models that do not exist yet, from losses of smaller ones.

The loss on each unit follows `log L = E + E_f + A N^-0.2 + B D^-0.2` with N
parameters and D training tokens. E, A and B belong to the unit. E_f of a
family is pulled to 0 as by one more model, so small families share the law.
The predictor turns the losses into accuracies.

This is the simplest of the best forms on larger models of four collections
(tools/studies/LOG.md). Laws of capability scores err more, and so do slopes by
family. Fitted powers go astray far beyond the models.

Errors of the law are differences of the predictor's exponents at its losses
from those at the real ones. Models with less compute predict those with more,
and the others predict each model. The larger root mean square counts, and it
grows with the distance beyond the largest compute.
"""
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience_model import LEAST_TYPICAL, relative_logs
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.forecasting import worse_and_better
from csv_plugin.triage.ranking import curve_floors
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


@dataclass(frozen=True, eq=False)
class Sizes:
    """Parameters and tokens of n models, `(n, 2)`, and their families."""
    amounts: NDArray[np.float64]
    families: NDArray[np.str_]

    @classmethod
    def of(cls, models: Mapping[str, ModelInfo]) -> 'Sizes':
        """Return the sizes of models, parameters in billions."""
        rows = models.values()
        return cls(
            np.array([(row.params_b, row.tokens) for row in rows]),
            np.array([row.family for row in rows]))

    def __getitem__(self, rows: NDArray) -> 'Sizes':
        return Sizes(self.amounts[rows], self.families[rows])

    @property
    def vary(self) -> bool:
        """True if neither parameters nor tokens are all the same."""
        return all(len({*column}) > 1 for column in self.amounts.T.tolist())

    @property
    def log_compute(self) -> NDArray[np.float64]:
        """Logarithm of parameters times tokens, `(n,)`."""
        return np.log(self.amounts).sum(axis=1)


class LossLaw:
    """The law of K losses, fitted to those of n models, `(n, K)`."""

    def __init__(self, sizes: Sizes, losses: NDArray) -> None:
        powers = sizes.amounts**-POWER
        self.centre, self.spread = powers.mean(axis=0), powers.std(axis=0)
        self.families = np.unique(sizes.families)
        self.typical = np.maximum(losses.mean(axis=0), LEAST_TYPICAL)
        design = self._design(sizes)
        penalty = [0, *[_SLOPE_PENALTY] * 2, *[1] * len(self.families)]
        self.coefficients = np.linalg.solve(
            design.T @ design + np.diag(penalty),
            design.T @ relative_logs(losses, self.typical))

    def losses(self, sizes: Sizes) -> NDArray[np.float64]:
        """Return losses of m models, `(m, K)`."""
        return self.typical * np.exp(self._design(sizes) @ self.coefficients)

    def _design(self, sizes: Sizes) -> NDArray:
        powers = (sizes.amounts**-POWER - self.centre) / self.spread
        same = sizes.families[:, None] == self.families
        return np.hstack([np.ones((len(powers), 1)), powers, same])


def forecast_sizes(predictor: Predictor,
                   features: FeatureTable,
                   models: Mapping[str, ModelInfo],
                   targets: Mapping[str, ModelInfo],
                   level: float = 0.9) -> Predictions:
    """Predict accuracies of other models, the targets, from sizes alone.

    The law is fitted to the losses of the models. The family of a target is
    one of theirs, or `NEW`. Each half of an interval is the root of the summed
    squares of its halves by the predictor and by the law. Accuracies are
    fractions.
    """
    fitted, sizes, new = (features.select(tuple(models)), Sizes.of(models),
                          Sizes.of(targets))
    table = FeatureTable(
        tuple(targets), features.columns,
        LossLaw(sizes, fitted.values).losses(new))
    predictions = predictor.predict(table, level)
    is_new = (~np.isin(new.families, sizes.families)).tolist()
    errors = {
        flag: back_test(predictor, fitted, sizes, flag)
        for flag in {*is_new}
    }
    half = stdtrit(len(models) - 2, (1 + level) / 2) * np.array(
        [errors[flag] for flag in is_new]) * _growth(new, sizes)
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


def back_test(predictor: Predictor, features: FeatureTable, sizes: Sizes,
              is_new: bool) -> NDArray[np.float64]:
    """Return root mean square errors of the law in exponents, `(B,)`.

    They are those within the range of compute, infinite if none was found.
    `is_new` is True for a target of a new family: families are left out whole.
    """
    actual = clipped_exponents(predictor, features)

    def errors(kept: NDArray, held_out: NDArray) -> NDArray:
        law, new = LossLaw(sizes[kept], features.values[kept]), sizes[held_out]
        if is_new:
            new = replace(new, families=np.full(len(held_out), NEW))
        table = replace(
            features,
            models=tuple(features.models[row] for row in held_out),
            values=law.losses(new))
        distance = actual[held_out] - clipped_exponents(predictor, table)
        return distance / _growth(new, sizes[kept])

    n = len(sizes.families)
    groups = sizes.families if is_new else np.arange(n) % N_FOLDS
    left_out = [(np.flatnonzero(groups != group),
                 np.flatnonzero(groups == group))
                for group in np.unique(groups)]
    larger = worse_and_better(sizes.log_compute[:, None])
    squares = []
    for splits in (left_out, larger):
        found = [errors(*split) for split in splits if sizes[split[0]].vary]
        if found:
            squares.append(np.mean(np.concatenate(found)**2, axis=0))
    if not squares:
        return np.full(actual.shape[1], np.inf)
    return np.sqrt(np.max(squares, axis=0))


def _growth(sizes: Sizes, known: Sizes) -> NDArray[np.float64]:
    """Growth of errors beyond the compute of known models, `(m, 1)`.

    It is 1 within, and 2 at one standard deviation of its logarithm beyond.
    """
    beyond = sizes.log_compute - known.log_compute.max()
    spread = max(known.log_compute.std(), LEAST_SPREAD)
    return 1 + np.maximum(beyond, 0)[:, None] / spread


def check_sizes(where: str, models: Mapping[str, ModelInfo]) -> None:
    """Raise an `InputError` for models that no law can be fitted to.

    They are too few, or parameters or tokens are unknown or all the same. The
    error calls their table `where`.
    """
    if len(models) < LEAST_MODELS:
        raise InputError(where, f'{LEAST_MODELS} models or more to fit to',
                         f'{len(models)}', 'Name other splits by --fit.')
    for column in ('params_b', 'tokens'):
        amounts = {name: getattr(row, column) for name, row in models.items()}
        for name, amount in amounts.items():
            if math.isnan(amount):
                raise InputError(f'{where}, model {name!r}, column {column!r}',
                                 'a number', 'none', 'Fill it in.')
        if len({*amounts.values()}) == 1:
            raise InputError(f'{where}, column {column!r}',
                             'two numbers or more', f'{amount:g} alone',
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


def times_beyond(models: Mapping[str, ModelInfo], params_b: float,
                 tokens: float) -> float:
    """Return the compute of a size over the largest of the models."""
    return params_b * tokens / max(row.params_b * row.tokens
                                   for row in models.values())
