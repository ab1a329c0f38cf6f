"""Fit, and predictions with intervals."""
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtrit

from tools.studies.one_model.kernels import (Answers, Scale, covariances,
                                             variances)
from tools.studies.one_model.posterior import Posterior, curve
from tools.studies.one_model.settings import Settings, View
from tools.studies.yard import Forecast, Models

#: Grid of logarithms of scales that calibration chooses from: a half to twice.
SCALES = np.linspace(-.7, .7, 29)


class FittedView:
    """A Gaussian process of the exponents, by one way to see losses."""

    def __init__(self, fitted: Models, view: View, settings: Settings,
                 floor: NDArray | None) -> None:
        self.settings = settings
        self.scale = Scale(fitted.losses, fitted.sources, view, settings,
                           fitted.answers)
        place = self.scale(fitted.losses, fitted.families, fitted.answers)
        n_models = len(place.mean)
        rows = np.argsort(place.mean, kind='stable')
        if n_models > settings.most:
            spread = np.linspace(0, n_models - 1, settings.most)
            rows = rows[spread.round().astype(int)]
        rows = np.sort(rows)
        start = settings.floors[0] * fitted.chance if floor is None else floor
        part = Posterior(
            place.take(rows), fitted.accuracies[rows], fitted.n_items, start,
            view.straight, settings)
        if self.scale.own.any():
            part.follow(one_each(self.scale.own, place.groups.shape[1]))
        part.learn(3)
        if floor is None:
            self._choose_floors(part, fitted.chance)
        part.learn(2)
        part.tune()
        self._choose_groups(part)
        self.posterior = part
        if n_models > settings.most:
            whole = Posterior(place, fitted.accuracies, fitted.n_items,
                              part.floor, view.straight, settings)
            whole.follow(part.shares)
            whole.hyper = part.hyper
            whole.find_mode()
            self.posterior = whole

    def _choose_floors(self, part: Posterior, chance: NDArray) -> None:
        """The floor by which families left out are predicted best."""
        floors = np.outer(self.settings.floors, chance)
        scores = []
        for floor in floors:
            part.floor = floor
            part.find_mode()
            scores.append(part.scores())
        best = np.argmin(scores, axis=0)
        part.floor = floors[best, np.arange(len(best))]

    def _choose_groups(self, part: Posterior) -> None:
        """Weigh groups of units by the scores of families left out."""
        n_groups, n_benchmarks = part.shares.shape
        if n_groups == 1:
            return
        every, own = np.arange(n_benchmarks), self.scale.own
        n_common = n_groups - np.count_nonzero(own)
        choices = [np.full(n_benchmarks, i) for i in range(n_common)]
        if own.any():
            choices.append(own)
        scores = np.full((n_groups, n_benchmarks), np.inf)
        for groups in choices:
            part.follow(one_each(groups, n_groups))
            part.find_mode()
            scores[groups, every] = part.scores()
        part.follow(shares_by(scores))
        part.learn(1)
        part.tune()

    def exponents(self, losses: NDArray,
                  answers: Answers) -> tuple[NDArray, NDArray]:
        """Means and variances of exponents of models of new families."""
        part, settings = self.posterior, self.settings
        new = self.scale(losses, [f'new {i}' for i in range(len(losses))],
                         answers)
        means = (new.groups @ part.shares).T
        kernel = self._mixed(
            covariances(new, part.place, means, part.means, part.worst,
                        settings.tilt))
        own = self._mixed(variances(new, means, part.worst, settings.tilt))
        base = settings.level[1]**2
        scales = part.scales**2
        cross = base + scales[:, None, None] * kernel
        mean = (
            settings.level[0] - part.scales * means.T +
            np.einsum('bij,bj->ib', cross, part.dual))
        known = [(c @ inverse * c).sum(axis=1)
                 for c, inverse in zip(cross, part.solution.inverse)]
        variance = base + scales * own.T - np.transpose(known)
        return mean, np.maximum(variance, 1e-8)

    def _mixed(self, parts: list[NDArray]) -> NDArray:
        total = sum(amount * part
                    for amount, part in zip(self.posterior.amounts, parts))
        n_benchmarks = self.posterior.shape[1]
        return np.broadcast_to(total, (n_benchmarks, *total.shape[1:]))


class OneModel:
    """Gaussian processes of the accuracies of all models.

    Losses are `(M, K)` in any unit, accuracies `(M, B)` in 0..1 or NaN,
    families M names, chance levels and numbers of items `(B,)`, 0 if unknown.
    Benchmarks weigh several ways to see losses by how well these predict
    families left out.
    """

    def __init__(self, fitted: Models, settings: Settings = Settings()):
        self.settings = settings
        self.views = []
        floor = None
        for view in settings.views:
            part = FittedView(fitted, view, settings, floor)
            floor = part.posterior.floor
            self.views.append(part)
        scores = [view.posterior.scores() for view in self.views]
        self.shares = shares_by(scores)
        self.noise = sum(share * view.posterior.noise
                         for share, view in zip(self.shares, self.views))
        self.posterior = self.views[0].posterior
        self._calibrate()

    def _joined(self, parts) -> tuple[NDArray, NDArray]:
        """Mean and variance of the mixture of exponents."""
        mean = sum(share * part[0] for share, part in zip(self.shares, parts))
        variance = sum(share * (part[1] + (part[0] - mean)**2)
                       for share, part in zip(self.shares, parts))
        return mean, variance

    def _calibrate(self) -> None:
        """Scale and degrees of freedom of errors of families left out."""
        part = self.posterior
        left_out = [view.posterior.families_out() for view in self.views]
        middle, deviation = moments(*self._joined(left_out), part.floor,
                                    self.noise)
        errors = (part.accuracies - middle) / deviation
        best = np.inf, 0., 0.
        for degrees in self.settings.degrees:
            norm = (
                gammaln(degrees / 2) - gammaln(
                    (degrees + 1) / 2) + .5 * np.log(degrees))
            for log_scale in SCALES:
                ratio = (errors / np.exp(log_scale))**2 / degrees
                cost = (degrees + 1) / 2 * np.log1p(ratio) + log_scale + norm
                total = float(np.nansum(part.weight * cost))
                best = min(best, (total, degrees, np.exp(log_scale)))
        n_families = len(np.unique(part.place.family))
        self.degrees = max(
            min(best[1], n_families - 1.), self.settings.least_degrees)
        self.stretch = best[2]

    def exponents(self,
                  losses: NDArray,
                  answers: Answers = ()) -> tuple[NDArray, NDArray]:
        """Means and variances of exponents of models of new families."""
        return self._joined(
            [view.exponents(losses, answers) for view in self.views])

    def predict(self,
                losses: NDArray,
                level: float = .9,
                answers: Answers = ()) -> Forecast:
        """Predicted accuracies and intervals, `(M, B)` each."""
        floor = self.posterior.floor
        mean, variance = self.exponents(losses, answers)
        values, _ = moments(mean, variance, floor, self.noise)
        quantile = stdtrit(self.degrees, (1 + level) / 2) * self.stretch
        middle, ends = curve(mean, floor), []
        for sign in (-1, 1):
            end = curve(mean + sign * quantile * np.sqrt(variance), floor)
            share = np.clip(end, .01, .99)
            noise = quantile**2 * self.noise * share * (1 - share)
            half = np.sqrt((end - middle)**2 + noise)
            ends.append(np.clip(middle + sign * half, 0, 1))
        return Forecast(values, *ends)


def shares_by(scores: list[NDArray]) -> NDArray[np.float64]:
    """Shares of C candidates by their scores, `(C, B)`; small is good."""
    weights = np.exp(np.min(scores, axis=0) - scores)
    return weights / weights.sum(axis=0)


def moments(mean: NDArray, variance: NDArray, floor: NDArray,
            noise: NDArray) -> tuple[NDArray, NDArray]:
    """Means and deviations of accuracies, noise of items included."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    exponents = mean[..., None] + np.sqrt(variance)[..., None] * nodes
    values = curve(exponents, floor[:, None])
    middle = values @ weights
    spread = (values - middle[..., None])**2 @ weights
    share = np.clip(middle, .01, .99)
    return middle, np.sqrt(spread + noise * share * (1 - share))


def one_each(groups: NDArray, n_groups: int) -> NDArray[np.float64]:
    """Each benchmark follows one group, `(B,)`; shares are `(C, B)`."""
    return (np.arange(n_groups)[:, None] == groups).astype(float)
