"""Forecasts of the losses of pretraining runs, from earlier runs.

A state is the level and the logarithms of the losses of a run. The forecast
adds a gain to the state at the last checkpoint. The gain is predicted by ridge
regression on that state. It is fitted to the differences between the states of
earlier runs at their ends and their states at the same share of the budget: so
runs whose losses are alike gain alike, and better runs may gain more, or catch
up. The penalty is the one with the smallest error of the level when each
family of earlier runs is forecast from the others.

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

    It is fitted to n earlier runs. Their states at the share (`now`) and at
    the end are `(n, 1 + K)`: the level, and the logarithms of losses. Level
    and losses have the same weight. `runs` and `families` are names.

    Attributes:
        cross_validated: States at the end, each forecast from the runs of
            other families, `(n, 1 + K)`.
    """

    def __init__(self, runs: Sequence[str], families: Sequence[str],
                 now: NDArray, end: NDArray) -> None:
        self.runs, self.families = tuple(runs), tuple(families)
        self.now, self.end = now, end
        self._middle = now.mean(axis=0)
        self._away = now - self._middle
        square = (self._away**2).mean(axis=0)
        # One over the mean square of a run: of its level, and of its logs.
        parts = np.maximum([square[0], square[1:].sum()], LEAST_SQUARE)
        self._weights = np.append(1 / parts[0],
                                  np.full(len(square) - 1, 1 / parts[1]))
        kernel, gains = self._kernel(now), end - now
        labels = np.array(self.families)
        best = math.inf
        # Candidates for the penalty. With 1, the noise of gains has the same
        # variance as the effect of a deviation of typical size.
        penalties = (.03, .1, .3, 1., 3., 10., 100.)
        for penalty in penalties:
            inverse = np.linalg.inv(kernel + penalty * np.eye(len(now)))
            dual = inverse @ gains
            # With A = kernel + penalty, the errors of family f, forecast from
            # the others, are inverse(inverse(A)_ff) (inverse(A) gains)_f. The
            # weights and the middle of all runs are kept.
            errors = np.empty_like(gains)
            for family in np.unique(labels):
                rows = np.flatnonzero(labels == family)
                errors[rows] = np.linalg.solve(inverse[np.ix_(rows, rows)],
                                               dual[rows])
            cost = float((errors[:, 0]**2).sum())
            if cost < best:
                best, self._dual = cost, dual
                self.cross_validated = end - errors

    def _kernel(self, states: NDArray) -> NDArray[np.float64]:
        """Covariances of gains with those of the n runs, `(m, n)`."""
        away = self._weights * (states - self._middle)
        # Variance of the constant gain, in the same unit: it is hardly pulled
        # to 0.
        constant = 100.
        covariances: NDArray = constant + away @ self._away.T
        return covariances

    def forecast(self, states: NDArray) -> NDArray[np.float64]:
        """Return states at the end from those at the share, `(m, 1 + K)`."""
        forecast: NDArray = states + self._kernel(states) @ self._dual
        return forecast

    @cached_property
    def growth(self) -> float:
        """Growth of errors of the level where better runs are forecast.

        This is the root mean square of errors when the best runs are forecast
        from the worst, over the usual one; at least 1. Each run counts as a
        family here, since few are left.
        """
        errors: list[float] = []
        for worse, better in worse_and_better(self.end[:, 0]):
            names = [self.runs[row] for row in worse]
            law = GainLaw(names, names, self.now[worse], self.end[worse])
            found = law.forecast(self.now[better])
            errors += (self.end[better] - found)[:, 0].tolist()
        usual = np.mean((self.end - self.cross_validated)[:, 0]**2)
        ratio = np.mean(np.square(errors)) / max(usual, LEAST_SQUARE)
        return max(1.0, math.sqrt(ratio))


class EarlierRuns:
    """Finished runs, from which other runs are forecast; perhaps none.

    `families` has the families of some runs, by name. A run without an entry
    is its own family. If all runs would be in one family, no family could be
    left out, so every run becomes its own family. An `InputError` for a run
    that is not finished.
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
            names = [run.name for run in members]
            families = [self._families.get(name, name) for name in names]
            if len(set(families)) == 1:
                families = names
            self._laws[share] = GainLaw(
                names, families, np.array([run.at(share) for run in members]),
                np.array([run.states[-1] for run in members]))
        return self._laws[share]

    def forecast(self, run: Run) -> Optional[LossForecast]:
        """Forecast the losses of an unfinished run at its budget.

        None if the budget is unknown, or if too few earlier runs have
        checkpoints as early.
        """
        law = self.law(float(run.shares[-1]))
        if law is None:
            return None
        [state] = law.forecast(run.states[-1:])
        is_ahead = state[0] > law.end[:, 0].max()
        growth = law.growth if is_ahead else 1.0
        errors = growth * (law.end - law.cross_validated)[:, 1:]
        # Growth multiplies variances by growth^2. What it adds, a share of
        # 1 - growth^-2, counts as common to all runs, whose order it leaves.
        return LossForecast(state[1:], errors, 1 - growth**-2)
