"""Fit, and predictions with intervals."""
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtrit

from tools.studies.one_model.kernels import (Answers, Scale, covariances,
                                             variances)
from tools.studies.one_model.posterior import Posterior, curve
from tools.studies.one_model.settings import Settings
from tools.studies.yard import Forecast, Models

#: Grid of logarithms of scales that calibration chooses from: a half to twice.
SCALES = np.linspace(-.7, .7, 29)


class OneModel:
    """One Gaussian process of the accuracies of all models.

    Losses are `(M, K)` in any unit, accuracies `(M, B)` in 0..1 or NaN,
    families M names, chance levels and numbers of items `(B,)`, 0 if unknown;
    of benchmarks with own answers, losses of their tokens (see `Answers`).
    """

    def __init__(self, fitted: Models, settings: Settings = Settings()):
        self.settings, self.chance = settings, fitted.chance
        self.scale = Scale(fitted.losses, settings, fitted.answers)
        place = self.scale(fitted.losses, fitted.families, fitted.answers)
        n_models = len(place.mean)
        rows = np.argsort(place.mean, kind='stable')
        if n_models > settings.most:
            spread = np.linspace(0, n_models - 1, settings.most)
            rows = rows[spread.round().astype(int)]
        rows = np.sort(rows)
        floor = settings.floors[0] * self.chance
        part = Posterior(
            place.take(rows), fitted.accuracies[rows], fitted.n_items, floor,
            settings)
        if self.scale.own.any():
            part.follow(_shares(self.scale.own, place.groups.shape[1]))
        part.learn(3)
        self._choose_floors(part)
        part.tune()
        self._choose_groups(part)
        self.posterior = part
        if n_models > settings.most:
            whole = Posterior(place, fitted.accuracies, fitted.n_items,
                              part.floor, settings)
            whole.follow(part.shares)
            whole.hyper = part.hyper
            whole.find_mode()
            self.posterior = whole
        self._calibrate()

    def _choose_floors(self, part: Posterior) -> None:
        """The floor by which families left out are predicted best."""
        floors = np.outer(self.settings.floors, self.chance)
        scores = []
        for floor in floors:
            part.floor = floor
            part.find_mode()
            scores.append(part.scores())
        best = np.argmin(scores, axis=0)
        part.floor = floors[best, np.arange(len(best))]
        part.learn(2)

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
            part.follow(_shares(groups, n_groups))
            part.find_mode()
            scores[groups, every] = part.scores()
        weights = np.exp(np.min(scores, axis=0) - scores)
        part.follow(weights / weights.sum(axis=0))
        part.learn(1)
        part.tune()

    def _calibrate(self) -> None:
        """Scale and degrees of freedom of errors of families left out."""
        part = self.posterior
        errors, _ = part.standardised(*part.families_out())
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
        return np.broadcast_to(total, (len(self.chance), *total.shape[1:]))

    def predict(self,
                losses: NDArray,
                level: float = .9,
                answers: Answers = ()) -> Forecast:
        """Predicted accuracies and intervals, `(M, B)` each."""
        part = self.posterior
        mean, variance = self.exponents(losses, answers)
        values, _ = part.moments(mean, variance)
        quantile = stdtrit(self.degrees, (1 + level) / 2) * self.stretch
        middle, ends = curve(mean, part.floor), []
        for sign in (-1, 1):
            end = curve(mean + sign * quantile * np.sqrt(variance), part.floor)
            share = np.clip(end, .01, .99)
            noise = quantile**2 * part.noise * share * (1 - share)
            half = np.sqrt((end - middle)**2 + noise)
            ends.append(np.clip(middle + sign * half, 0, 1))
        return Forecast(values, *ends)


def _shares(groups: NDArray, n_groups: int) -> NDArray[np.float64]:
    """Each benchmark follows one group, `(B,)`; shares are `(C, B)`."""
    return (np.arange(n_groups)[:, None] == groups).astype(float)
