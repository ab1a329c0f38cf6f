"""Forecast the losses of pretraining runs from earlier runs.

The state of a run at a checkpoint is its mean exponent, followed by the
logarithms of its losses. The forecast is the state at the last checkpoint plus
a gain. The gain is predicted from this state by ridge regression. The
regression is fitted to the gains of earlier runs: their states at the end
minus their states at the same share of the budget. Runs with similar losses
therefore get similar gains, and the gains of better runs may be larger or
smaller than those of worse runs. The penalty is chosen to minimise the error
of the mean exponent when each family of earlier runs is forecast from all
other families.

The errors of forecasts are taken from the forecasts of these left-out
families. If a run is forecast to end better than every earlier run, its errors
are multiplied by a factor, which is measured by forecasting the better earlier
runs from the worse earlier runs.
"""
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.numerics import TINY
from csv_plugin.triage.future_losses import LossForecast, worse_and_better
from csv_plugin.triage.runs import Run, check_finished

#: Minimum number of earlier runs for a forecast. The error of a forecast is
#: measured by forecasting one earlier run from another.
LEAST_RUNS = 2


class GainLaw:
    """Ridge regression of the gains from a share of the budget to the end.

    The regression is fitted to n earlier runs in its dual form: a predicted
    gain is a linear combination of the gains of the n runs, with larger
    weights for runs whose states at the share are more similar.

    Args:
        runs (Sequence[str]): Names of the runs.
        families (Sequence[str]): Families of the runs.
        at_share (NDArray): States at the share, the mean exponent first, then
            logarithms of K losses, `(n, 1 + K)`.
        at_end (NDArray): States at the end, `(n, 1 + K)`.

    Attributes:
        left_out: States at the end that are forecast from the runs of all
            other families, `(n, 1 + K)`.
    """

    def __init__(self, runs: Sequence[str], families: Sequence[str],
                 at_share: NDArray, at_end: NDArray) -> None:
        self.runs = tuple(runs)
        self.families = tuple(families)
        self.at_share = at_share
        self.at_end = at_end
        self._middle = at_share.mean(axis=0)
        self._weights = _inverse_squares(at_share - self._middle)
        covariances = self._covariances(at_share)
        gains = at_end - at_share
        identity = np.eye(len(at_share))
        # Candidates for the penalty. A penalty of 1 is right if the noise of
        # gains has the same variance as the effect of a typical deviation.
        penalties = (.03, .1, .3, 1., 3., 10., 100.)
        least_cost = math.inf
        for penalty in penalties:
            inverse = np.linalg.inv(covariances + penalty * identity)
            errors = _left_out_errors(inverse, gains, self.families)
            squares = errors[:, 0]**2
            cost = float(squares.sum())
            if cost < least_cost:
                least_cost = cost
                self._dual = inverse @ gains
                self.left_out = at_end - errors

    def forecast(self, states: NDArray) -> Floats:
        """Forecast states at the end from `states` at the share.

        Both are `(m, 1 + K)`.
        """
        covariances = self._covariances(states)
        gains: NDArray = covariances @ self._dual
        return states + gains

    @cached_property
    def growth(self) -> float:
        """Factor by which errors grow for a run better than all earlier runs.

        This is the root mean square error of the mean exponent when the better
        earlier runs are forecast from the worse earlier runs, divided by the
        root mean square error of `left_out`, and at least 1. Since the worse
        runs are few, each of them counts as a family by itself.
        """
        exponents = self.at_end[:, 0]
        errors_by_split = []
        for worse, better in worse_and_better(exponents):
            names = [self.runs[row] for row in worse]
            at_share = self.at_share[worse]
            at_end = self.at_end[worse]
            law = GainLaw(names, names, at_share, at_end)
            forecast = law.forecast(self.at_share[better])
            forecast_exponents = forecast[:, 0]
            errors = exponents[better] - forecast_exponents
            errors_by_split.append(errors)
        errors_of_better = np.concatenate(errors_by_split)
        usual_errors = exponents - self.left_out[:, 0]
        square = np.mean(errors_of_better**2)
        usual_square = np.mean(usual_errors**2)
        ratio = square / max(usual_square, TINY)
        return max(1.0, math.sqrt(ratio))

    def _covariances(self, states: NDArray) -> Floats:
        """Return covariances of the gains of m states and n runs, `(m, n)`."""
        # Prior variance of the gain that all runs share, in units of the
        # penalty. It is so large that the penalty hardly reduces this gain.
        constant = 100.
        of_states = states - self._middle
        of_runs = self.at_share - self._middle
        weighted = self._weights * of_states
        covariances: NDArray = weighted @ of_runs.T
        covariances += constant
        return covariances


def _inverse_squares(deviations: NDArray) -> Floats:
    """Return the weights of the parts of a state, `(1 + K,)`.

    `deviations`, `(n, 1 + K)`, are states minus their mean. The weight of the
    mean exponent is 1 / (its mean square), and the weight of each loss is
    1 / (the sum of the mean squares of all losses). So the mean exponent has
    the same influence as all K losses together.
    """
    squares = deviations**2
    mean_squares = squares.mean(axis=0)
    of_losses = mean_squares[1:]
    exponent_square = max(mean_squares[0], TINY)
    loss_square = max(of_losses.sum(), TINY)
    weights = np.empty_like(mean_squares)
    weights[0] = 1 / exponent_square
    weights[1:] = 1 / loss_square
    return weights


def _left_out_errors(inverse: NDArray, gains: NDArray,
                     families: Sequence[str]) -> Floats:
    """Return errors of gains forecast from all other families, `(n, 1 + K)`.

    `inverse` is A^-1, where A are the covariances plus the penalty on the
    diagonal. The errors of a family with the rows F are
    ((A^-1)_FF)^-1 (A^-1 gains)_F, so no regression is fitted anew. The weights
    of the parts of a state, and the mean state, are computed from all runs,
    including the family left out.
    """
    dual = inverse @ gains
    labels = np.array(families)
    errors = np.empty_like(gains)
    for family in np.unique(labels):
        rows = np.flatnonzero(labels == family)
        block = np.ix_(rows, rows)
        of_family = inverse[block]
        errors[rows] = np.linalg.solve(of_family, dual[rows])
    return errors


class EarlierRuns:
    """Finished runs, from which other runs are forecast.

    `runs` may be empty. `families` maps the names of runs to their families. A
    run that is not in `families` is a family by itself. If all runs are of one
    family, no family could be left out, so each run counts as a family.

    Raises:
        InputError: A run is not finished.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        families: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.runs = tuple(runs)
        self._families = families
        # Laws that were fitted before, by share of the budget.
        self._laws: dict[float, GainLaw] = {}
        for run in self.runs:
            check_finished(run.name, float(run.tokens[-1]), run.budget)

    def covering(self, share: float) -> list[Run]:
        """Return the runs that have a checkpoint at this share or before.

        `share` is a share of the budget. The exact condition is `Run.covers`.
        """
        return [run for run in self.runs if run.covers(share)]

    def law(self, share: float) -> Optional[GainLaw]:
        """Return the law of gains from a share of the budget to the end.

        The result is None if fewer than `LEAST_RUNS` runs cover the share, or
        if the share is NaN.
        """
        members = self.covering(share)
        if len(members) < LEAST_RUNS:
            return None
        if share not in self._laws:
            self._laws[share] = self._fitted_law(members, share)
        return self._laws[share]

    def _fitted_law(self, members: Sequence[Run], share: float) -> GainLaw:
        """Return the law from this share on, fitted to the runs `members`."""
        names = []
        families = []
        at_share = []
        at_end = []
        for run in members:
            family = self._families.get(run.name, run.name)
            names.append(run.name)
            families.append(family)
            at_share.append(run.state_at(share))
            at_end.append(run.states[-1])
        if len({*families}) == 1:
            families = names
        return GainLaw(names, families, np.array(at_share), np.array(at_end))

    def forecast(self, run: Run) -> Optional[LossForecast]:
        """Forecast the losses of an unfinished run at its budget.

        The result is None if the budget is unknown, or if fewer than
        `LEAST_RUNS` earlier runs have a checkpoint at this share of the budget
        or before.
        """
        share = float(run.shares[-1])
        law = self.law(share)
        if law is None:
            return None
        (state, ) = law.forecast(run.states[-1:])
        exponent = state[0]
        log_losses = state[1:]
        earlier_exponents = law.at_end[:, 0]
        growth = 1.0
        if exponent > earlier_exponents.max():
            growth = law.growth
        errors = law.at_end - law.left_out
        loss_errors = growth * errors[:, 1:]
        # Growth multiplies variances by growth^2. The added variance, a share
        # of 1 - growth^-2, counts as common to all runs, so that it does not
        # change their order.
        common_share = 1 - growth**-2
        return LossForecast(log_losses, loss_errors, common_share)
