"""Forecasts of the losses of pretraining runs, from earlier runs.

A state is the mean exponent of a run and the logarithms of its losses. The
forecast adds a gain to the state at the last checkpoint. The gain is predicted
by ridge regression on that state. It is fitted to the differences between the
states of earlier runs at their ends and their states at the same share of the
budget: so runs whose losses are alike gain alike, and better runs may gain
more, or catch up. The penalty is the one with the smallest error of the mean
exponent when each family of earlier runs is forecast from the others.

The same errors say how far forecasts are off. If a run is forecast to end
better than every earlier run, its errors are multiplied by a factor, which is
measured by forecasting the better earlier runs from the worse ones.
"""
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.triage.future_losses import LossForecast, worse_and_better
from csv_plugin.triage.runs import Run

#: Fewest earlier runs that a forecast is made from: its error is known from
#: one of them that is forecast from the others.
LEAST_RUNS = 2
#: Lower bound of mean squares, against divisions by 0.
LEAST_SQUARE = 1e-12


class GainLaw:
    """Ridge regression of gains between a share of the budget and the end.

    It is fitted to n earlier runs in its dual form: a gain is a sum of the n
    gains, weighted by how alike the runs are at the share.

    Args:
        runs (Sequence[str]): Names of the runs.
        families (Sequence[str]): Their families.
        now (NDArray): States at the share, the mean exponent first, then
            logarithms of K losses, `(n, 1 + K)`.
        end (NDArray): States at the end, `(n, 1 + K)`.

    Attributes:
        left_out: States at the end, each forecast from the runs of
            other families, `(n, 1 + K)`.
    """

    def __init__(self, runs: Sequence[str], families: Sequence[str],
                 now: NDArray, end: NDArray) -> None:
        self.runs, self.families = tuple(runs), tuple(families)
        self.now, self.end = now, end
        self._middle = now.mean(axis=0)
        self._weights = _inverse_squares(now - self._middle)
        covariances = self._covariances(now)
        gains = end - now
        # Candidates for the penalty. With 1, the noise of gains has the same
        # variance as the effect of a deviation of typical size.
        penalties = (.03, .1, .3, 1., 3., 10., 100.)
        least_cost = math.inf
        for penalty in penalties:
            inverse = np.linalg.inv(covariances + penalty * np.eye(len(now)))
            errors = _left_out_errors(inverse, gains, self.families)
            cost = float((errors[:, 0]**2).sum())
            if cost < least_cost:
                least_cost = cost
                self._dual = inverse @ gains
                self.left_out = end - errors

    def forecast(self, states: NDArray) -> NDArray[np.float64]:
        """Return states at the end from those at the share, `(m, 1 + K)`."""
        gains: NDArray = self._covariances(states) @ self._dual
        return states + gains

    @cached_property
    def growth(self) -> float:
        """Factor of the errors of a run that ends better than all others.

        This is the root mean square error of the mean exponent when the best
        earlier runs are forecast from the worst, over the usual one; at least
        1. Each run counts as a family here, since few are left.
        """
        errors = []
        for worse, better in worse_and_better(self.end[:, 0]):
            names = [self.runs[row] for row in worse]
            law = GainLaw(names, names, self.now[worse], self.end[worse])
            forecast = law.forecast(self.now[better])
            errors.append((self.end[better] - forecast)[:, 0])
        square = np.mean(np.concatenate(errors)**2)
        usual = np.mean((self.end - self.left_out)[:, 0]**2)
        return max(1.0, math.sqrt(square / max(usual, LEAST_SQUARE)))

    def _covariances(self, states: NDArray) -> NDArray[np.float64]:
        """Covariances of the gains of m states and of the n runs, `(m, n)`."""
        # Variance of the constant gain, in the unit of the penalty: it is
        # hardly pulled to 0.
        constant = 100.
        of_states = self._weights * (states - self._middle)
        of_runs = self.now - self._middle
        covariances: NDArray = constant + of_states @ of_runs.T
        return covariances


def _inverse_squares(deviations: NDArray) -> NDArray[np.float64]:
    """One over the mean square of the mean exponent and of all losses.

    So the mean exponent has the same weight as all K losses together. Takes
    deviations `(n, 1 + K)`, returns `(1 + K,)`.
    """
    squares = (deviations**2).mean(axis=0)
    n_losses = len(squares) - 1
    of_exponent = max(squares[0], LEAST_SQUARE)
    of_losses = max(squares[1:].sum(), LEAST_SQUARE)
    return np.append(1 / of_exponent, np.full(n_losses, 1 / of_losses))


def _left_out_errors(inverse: NDArray, gains: NDArray,
                     families: Sequence[str]) -> NDArray[np.float64]:
    """Errors of gains that are forecast from other families, `(n, 1 + K)`.

    `inverse` is that of A, the covariances plus the penalty. The errors of the
    rows F of a family are then (A^-1)_FF^-1 (A^-1 gains)_F. The weights and
    the middle of all runs are kept.
    """
    dual = inverse @ gains
    labels = np.array(families)
    errors = np.empty_like(gains)
    for family in np.unique(labels):
        rows = np.flatnonzero(labels == family)
        errors[rows] = np.linalg.solve(inverse[np.ix_(rows, rows)], dual[rows])
    return errors


class EarlierRuns:
    """Finished runs, from which other runs are forecast; perhaps none.

    `families` has the families of some runs, by name. A run without an entry
    is its own family. If all runs would be in one family, no family could be
    left out, so every run becomes its own family.

    Raises:
        InputError: A run is not finished.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        families: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.runs, self._families = tuple(runs), families
        self._laws: dict[float, GainLaw] = {}
        for run in self.runs:
            if not run.finished:
                raise InputError(
                    f'history, run {run.name!r}', 'runs that are finished',
                    f'its last checkpoint at {run.tokens[-1]:.6g} of '
                    f'{run.budget:.6g}',
                    'Leave unfinished runs out of the history.')

    def covering(self, share: float) -> list[Run]:
        """Return the runs that have a state at a share of their budgets."""
        return [run for run in self.runs if run.covers(share)]

    def law(self, share: float) -> Optional[GainLaw]:
        """Return the law of gains from a share on.

        None if too few runs cover the share, or if it is NaN.
        """
        members = self.covering(share)
        if len(members) < LEAST_RUNS:
            return None
        if share not in self._laws:
            self._laws[share] = self._fitted_law(members, share)
        return self._laws[share]

    def _fitted_law(self, members: Sequence[Run], share: float) -> GainLaw:
        """The law of gains of some runs."""
        names, families, now, end = [], [], [], []
        for run in members:
            names.append(run.name)
            families.append(self._families.get(run.name, run.name))
            now.append(run.at(share))
            end.append(run.states[-1])
        if len(set(families)) == 1:
            families = names
        return GainLaw(names, families, np.array(now), np.array(end))

    def forecast(self, run: Run) -> Optional[LossForecast]:
        """Forecast the losses of an unfinished run at its budget.

        None if the budget is unknown, or if too few earlier runs have
        checkpoints as early.
        """
        law = self.law(float(run.shares[-1]))
        if law is None:
            return None
        [state] = law.forecast(run.states[-1:])
        exponent, logs = state[0], state[1:]
        is_best = exponent > law.end[:, 0].max()
        growth = law.growth if is_best else 1.0
        errors = growth * (law.end - law.left_out)[:, 1:]
        # Growth multiplies variances by growth^2. What it adds, a share of
        # 1 - growth^-2, counts as common to all runs, whose order it leaves.
        return LossForecast(logs, errors, common=1 - growth**-2)
