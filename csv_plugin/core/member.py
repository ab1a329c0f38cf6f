"""One form of the model, fitted: a Gaussian process of exponents.

The model of accuracies (core.accuracy_model) is a mixture of a few of them.
"""
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.curve import LEAST_VARIANCE
from csv_plugin.core.kernels import (Losses, Place, Scale, covariances,
                                     variances)
from csv_plugin.core.observed import Observed
from csv_plugin.core.posterior import SCALES, Posterior
from csv_plugin.core.settings import Form, Settings

#: Rounds of evidence: before floors are chosen, after that, and after shares.
FIRST_ROUNDS, NEXT_ROUNDS, LAST_ROUNDS = 3, 2, 1
#: Fewest models of a benchmark that hyper-parameters are fitted to, if it has
#: so many.
LEAST_ROWS = 10
#: Models are predicted so many at a time, to save memory.
AT_ONCE = 200


class Member:
    """A fitted form.

    `place` is where the scale places the fitted models. `floor`, `(B,)`, is
    that of the other members; None to choose it, by the score of families left
    out.
    """

    def __init__(self, scale: Scale, place: Place, observed: Observed,
                 floor: Optional[NDArray], form: Form,
                 settings: Settings) -> None:
        self.scale, self.form, self.settings = scale, form, settings
        rows = rows_to_learn_from(place.means[:, 0], observed.accuracies,
                                  settings.most)
        chance = observed.chance
        part = Posterior(
            place.take(rows), observed.accuracies[rows], observed.n_items,
            settings.floors[0] * chance if floor is None else floor,
            observed.counts, form.straight, settings)
        part.follow(self._first_choice(part))
        part.learn(FIRST_ROUNDS)
        if floor is None:
            self._choose_floor(part, chance)
        part.learn(NEXT_ROUNDS)
        part.choose_amounts()
        self._choose_means(part)
        #: On the models that hyper-parameters were fitted to.
        self.learned = part
        self.posterior = part
        if len(rows) < len(place):
            self.posterior = Posterior(place, observed.accuracies,
                                       observed.n_items, part.floor,
                                       observed.counts, form.straight,
                                       settings)
            self.posterior.follow(part.shares)
            self.posterior.hyper = part.hyper
            self.posterior.find_mode_and_doubt()
        self.learned.release()
        self.posterior.release()

    @classmethod
    def restored(cls, scale: Scale, place: Place, observed: Observed,
                 floor: NDArray, form: Form, settings: Settings,
                 found: dict[str, NDArray]) -> 'Member':
        """Return what an earlier fit found; see `Posterior.restore`.

        An `InputError` if it is of other mean losses or benchmarks.
        """
        n_means, n_benchmarks = place.means.shape[1], len(floor)
        shapes = dict(
            hyper=(SCALES + 2 * n_benchmarks, ),
            shares=(n_means, n_benchmarks))
        for name, shape in shapes.items():
            if found[name].shape != shape:
                raise InputError(name, f'an array of shape {shape}',
                                 f'{found[name].shape}',
                                 'Fit the model to these losses again.')
        member = cls.__new__(cls)
        member.scale, member.form, member.settings = scale, form, settings
        member.posterior = Posterior(place, observed.accuracies,
                                     observed.n_items, floor, observed.counts,
                                     form.straight, settings)
        member.posterior.restore(**found)
        member.posterior.release()
        return member

    @property
    def found(self) -> dict[str, NDArray]:
        """What `restored` needs."""
        part = self.posterior
        return dict(
            hyper=part.hyper,
            shares=part.shares,
            found=part.found,
            doubt=part.doubt)

    def _first_choice(self, part: Posterior) -> NDArray:
        """Shares by which benchmarks follow their own answers, or all units.
        """
        shares = np.zeros_like(part.shares)
        shares[0] = 1
        for b, place in self.scale.own.items():
            shares[:, b] = np.arange(len(shares)) == place
        return shares

    def _choose_floor(self, part: Posterior, chance: NDArray) -> None:
        """The floor by which families left out are predicted best."""
        floors = np.outer(self.settings.floors, chance)
        scores = []
        for floor in floors:
            part.floor = floor
            part.find_mode()
            scores.append(part.scores())
        best = np.argmin(scores, axis=0)
        part.floor = floors[best, np.arange(len(best))]

    def _choose_means(self, part: Posterior) -> None:
        """Weigh the mean losses that benchmarks may follow.

        Own answers are open to their benchmark alone.
        """
        n_means, n_benchmarks = part.shares.shape
        if n_means == 1:
            return
        own = self.scale.own
        scores = np.full((n_means, n_benchmarks), np.inf)
        for place in range(n_means - len(own)):
            shares = np.zeros((n_means, n_benchmarks))
            shares[place] = 1
            part.follow(shares)
            part.find_mode()
            scores[place] = part.scores()
        if own:
            part.follow(self._first_choice(part))
            part.find_mode()
            for (b, place), score in zip(own.items(), part.scores()[[*own]]):
                scores[place, b] = score
        part.follow(shares_by(scores))
        part.learn(LAST_ROUNDS)
        part.choose_amounts()

    # ---- new models

    def exponents(self, place: Place) -> tuple[NDArray, NDArray]:
        """Return means and variances of exponents, `(M, B)` each.

        A model's own deviation is part of the variance.
        """
        found = [
            self._exponents(place.take(rows)) for rows in np.split(
                np.arange(len(place)), range(AT_ONCE, len(place), AT_ONCE))
        ]
        mean, variance = (np.concatenate(part) for part in zip(*found))
        return mean, variance

    def _exponents(self, place: Place) -> tuple[NDArray, NDArray]:
        part, settings = self.posterior, self.settings
        means = (place.means @ part.shares).T
        cross = self._cross(place, means)
        prior = self._prior(variances(place, means, part.worst, settings.tilt))
        mean = (
            settings.level - part.scales * means.T +
            np.einsum('bij,bj->ib', cross, part.dual))
        known = [(c @ inverse * c).sum(axis=1)
                 for c, inverse in zip(cross, part.solution.inverse)]
        variance = (prior - known).T
        return mean, np.maximum(variance, LEAST_VARIANCE)

    def covariance(self, place: Place) -> NDArray[np.float64]:
        """Return covariances of exponents between models, `(B, M, M)`."""
        part = self.posterior
        means = (place.means @ part.shares).T
        parts = covariances(place, place, means, means, part.worst,
                            self.settings.tilt)
        parts[-1] = np.eye(len(place))[None]
        cross = self._cross(place, means)
        known = [
            c @ inverse @ c.T
            for c, inverse in zip(cross, part.solution.inverse)
        ]
        return self._prior(parts) - known

    def slopes(self, losses: Losses,
               b: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how the exponent of benchmark b changes by losses.

        Derivatives by the losses of one model: on all units, `(K,)`, and of
        the tokens of the benchmark's own answers, `(T,)`, or none. The
        exponent is linear in the values of these losses on the form's scale,
        but for the bend, which is a curve of the mean loss.
        """
        part, scale = self.posterior, self.scale
        place = scale(losses, np.array([-1]))
        followed = float(place.means[0] @ part.shares[:, b])
        spread, units, answers, bend, family, _ = part.amounts
        dual = part.scales[b]**2 * part.dual[b]
        by_mean = -part.scales[b] + spread * (part.means[b] @ dual)
        by_mean += bend * _slope_of_bend(part, b, followed) @ dual
        # By the standardised mean losses, then by the values of units.
        by_means = by_mean * part.shares[:, b]
        n_units, n_groups = scale.groups.shape
        of_groups = by_means[1:1 + n_groups] / scale.group_width
        by_value = scale.groups @ of_groups
        by_value += by_means[0] / scale.width / n_units
        deviations = units * (dual @ part.place.units) / scale.size
        by_value += deviations - deviations.mean()
        by_loss = by_value * scale.slope(losses.units[0])
        if b not in scale.answers:
            return by_loss, np.zeros(0)
        own = scale.answers[b]
        n_tokens = part.place.answers[b].shape[1]
        by_token = np.full(n_tokens,
                           by_means[scale.own[b]] / own.width / n_tokens)
        deviations = answers * (dual @ part.place.answers[b]) / own.size
        by_token += deviations - deviations.mean()
        return by_loss, by_token / (own.knee + losses.answers[b][0])

    def _cross(self, place: Place, means: NDArray) -> NDArray:
        """Covariances of exponents with those of fitted models, `(B, M, n)`.
        """
        part = self.posterior
        cross = self._prior(
            covariances(place, part.place, means, part.means, part.worst,
                        self.settings.tilt))
        # In another order of their memory, products would take ten times as
        # long.
        return np.ascontiguousarray(cross)

    def _prior(self, parts: list[NDArray]) -> NDArray:
        """Covariances of exponents before any accuracy, of those of parts."""
        part = self.posterior
        kernel = sum(amount * each
                     for amount, each in zip(part.amounts, parts))
        scales = part.scales.reshape(-1, *[1] * (kernel.ndim - 1))
        return self.settings.level_width**2 + scales**2 * kernel


def _slope_of_bend(part: Posterior, b: int,
                   followed: float) -> NDArray[np.float64]:
    """Derivatives of the bend's covariances by a model's mean loss, `(n,)`.
    """
    place = max(part.worst[b] - followed, 0.)
    others = np.maximum(part.worst[b] - part.means[b], 0)
    # Those of kernels.wiener by its first place.
    by_place = np.where(place < others, place * others - place**2 / 2,
                        others**2 / 2)
    return -by_place


def spread_out(values: NDArray, most: int) -> NDArray[np.int64]:
    """Return places of at most so many of the values, from all of their range.
    """
    rows = np.argsort(values, kind='stable')
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
    return np.sort(rows)


def rows_to_learn_from(values: NDArray, accuracies: NDArray,
                       most: int) -> NDArray[np.int64]:
    """Return the rows of models that hyper-parameters are fitted to.

    They are spread over the values, `(M,)`. Benchmarks that few of them have
    an accuracy on, `(M, B)`, add some of their other models.
    """
    rows = spread_out(values, most)
    for seen in ~np.isnan(accuracies).T:
        own = np.flatnonzero(seen)
        if seen[rows].sum() < min(LEAST_ROWS, len(own)):
            rows = np.union1d(rows, own[spread_out(values[own], LEAST_ROWS)])
    return rows


def shares_by(scores: NDArray) -> NDArray[np.float64]:
    """Return shares of C candidates by their scores `(C, B)`.

    Scores are minus logarithms, so small is good: each candidate has the share
    of its likelihood (pseudo-Bayesian model averaging; Yao et al., Bayesian
    Analysis 13(3), 2018).
    """
    shares = np.exp(np.min(scores, axis=0) - scores)
    return shares / shares.sum(axis=0)
