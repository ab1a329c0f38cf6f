"""One form of the model, fitted: a Gaussian process of exponents.

The model of accuracies (core.accuracy_model) is a mixture of a few of them. In
names, `own` answers are those of the benchmark's own texts, and an index of
`Place.means` is a column.
"""
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.curve import LEAST_VARIANCE
from csv_plugin.core.fitted import Fitted
from csv_plugin.core.kernels import PARTS, Losses, Place, Scale, variances
from csv_plugin.core.observed import Observed
from csv_plugin.core.posterior import SCALES, Posterior
from csv_plugin.core.settings import Form, Settings

#: Rounds of hyper-parameters and mode: before the choice of floors, after it,
#: and after the choice of mean losses.
FIRST_ROUNDS, NEXT_ROUNDS, LAST_ROUNDS = 3, 2, 1
#: Fewest models of a benchmark that hyper-parameters are fitted to, if it has
#: so many.
LEAST_ROWS = 10


class Member:
    """A fitted form.

    `place` are the standardised losses of the fitted models. `floor`, `(B,)`,
    is that which the first member chose, so that all members have the same
    one; None to choose it by the scores of families left out.
    """

    def __init__(self, scale: Scale, place: Place, observed: Observed,
                 floor: Optional[NDArray], form: Form,
                 settings: Settings) -> None:
        self.scale, self.form, self.settings = scale, form, settings
        rows = rows_to_learn_from(place.means[:, 0], observed.accuracies,
                                  settings.most)
        chance = observed.chance
        every = len(rows) == len(place)
        part = Posterior(
            place if every else place.take(rows), observed.accuracies[rows],
            observed.n_items,
            settings.floors[0] * chance if floor is None else floor,
            observed.counts, form.straight, settings)
        part.follow(self._first_choice(part))
        part.learn(FIRST_ROUNDS)
        if floor is None:
            self._choose_floor(part, chance)
        part.learn(NEXT_ROUNDS)
        part.choose_amounts()
        self._choose_means(part)
        #: Minus log scores of families left out, of the models that
        #: hyper-parameters were fitted to, `(B,)`.
        self.scores = part.accuracy_scores()
        #: Hyper-parameters, modes and the like as a file keeps them.
        self.found = dict(hyper=part.hyper, shares=part.shares)
        if every:
            self.found.update(found=part.found, doubt=part.doubt)
        floor = part.floor
        # Its memory is free before that of all models is needed.
        del part
        self._fit_all(place, observed, floor)

    def _fit_all(self, place: Place, observed: Observed,
                 floor: NDArray) -> None:
        """Make the posterior of all fitted models."""
        #: The posterior of all fitted models.
        self.posterior = Fitted(
            place,
            observed,
            floor,
            straight=self.form.straight,
            settings=self.settings,
            **self.found)
        self.found.update(
            found=self.posterior.found, doubt=self.posterior.doubt)

    @classmethod
    def restored(cls, scale: Scale, place: Place, observed: Observed,
                 floor: NDArray, form: Form, settings: Settings,
                 found: dict[str, NDArray]) -> 'Member':
        """Return the member of an earlier fit, whose `found` is given.

        An `InputError` if that fit had other mean losses or benchmarks.
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
        member.found = dict(found)
        member._fit_all(place, observed, floor)
        return member

    def _first_choice(self, part: Posterior) -> NDArray:
        """Shares `(C, B)`: own answers count 1, or else the mean of units.
        """
        n_means = part.place.means.shape[1]
        shares = np.zeros((n_means, len(part.floor)))
        shares[0] = 1
        for b, column in self.scale.columns_of_answers.items():
            shares[:, b] = np.arange(len(shares)) == column
        return shares

    def _choose_floor(self, part: Posterior, chance: NDArray) -> None:
        """Choose the floor by which families left out are predicted best."""
        floors = np.outer(self.settings.floors, chance)
        scores = []
        for floor in floors:
            part.floor = floor
            part.find_mode()
            scores.append(part.accuracy_scores())
        best = np.argmin(scores, axis=0)
        part.floor = floors[best, np.arange(len(best))]

    def _choose_means(self, part: Posterior) -> None:
        """Weigh the mean losses by how well each predicts families left out.

        The mean loss of own answers is a candidate for its benchmark alone.
        """
        n_means, n_benchmarks = part.shares.shape
        if n_means == 1:
            return
        own = self.scale.columns_of_answers
        scores = np.full((n_means, n_benchmarks), np.inf)
        for column in range(n_means - len(own)):
            shares = np.zeros((n_means, n_benchmarks))
            shares[column] = 1
            part.follow(shares)
            part.find_mode()
            scores[column] = part.accuracy_scores()
        if own:
            part.follow(self._first_choice(part))
            part.find_mode()
            found = part.accuracy_scores()
            for b, column in own.items():
                scores[column, b] = found[b]
        part.follow(shares_by(scores))
        part.learn(LAST_ROUNDS)
        part.choose_amounts()

    # ---- new models

    def exponents(self, place: Place) -> tuple[NDArray, NDArray]:
        """Return means and variances of exponents, `(M, B)` each.

        The variance includes what a model deviates by alone (`Settings.own`).
        """
        part, settings = self.posterior, self.settings
        means = (place.means @ part.shares).T
        parts = variances(place, means, part.worst, settings.tilt)
        prior = settings.level_width**2 + part.scales[:, None]**2 * sum(
            part.amounts[name] * each for name, each in zip(PARTS, parts))
        mean, variance = np.empty((2, *means.T.shape))
        for b, (cross, solved) in enumerate(
                zip(part.cross_covariances(place), part.solved())):
            known = (cross @ solved.solution.inverse[0] * cross).sum(axis=1)
            mean[:, b] = settings.level - part.scales[b] * means[b]
            mean[:, b] += cross @ part.dual[b]
            variance[:, b] = prior[b] - known
        return mean, np.maximum(variance, LEAST_VARIANCE)

    def covariance(self, place: Place) -> NDArray[np.float64]:
        """Return covariances of exponents between models, `(B, M, M)`."""
        part = self.posterior
        found = []
        for prior, cross, solved in zip(
                part.prior_covariances(place), part.cross_covariances(place),
                part.solved()):
            found.append(prior - cross @ solved.solution.inverse[0] @ cross.T)
        return np.stack(found)

    def slopes(self, losses: Losses,
               b: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how the exponent of benchmark b changes by losses.

        Derivatives at the losses of one model: by losses on all units, `(K,)`,
        and by those of the tokens of the benchmark's own answers, `(T,)`,
        which is empty if it has none. The mean exponent is linear in the
        values of losses on the form's scale, except for the bend, a curve of
        the mean loss.
        """
        part, scale = self.posterior, self.scale
        place = scale(losses, np.array([-1]))
        followed = float(place.means[0] @ part.shares[:, b])
        amounts = part.amounts
        dual = part.scales[b]**2 * part.dual[b]
        by_mean = -part.scales[b] + amounts['spread'] * (part.means[b] @ dual)
        by_mean += amounts['bend'] * _slope_of_bend(part, b, followed) @ dual
        # By the standardised mean losses, then by the values of units.
        by_means = by_mean * part.shares[:, b]
        n_units, n_groups = scale.groups.shape
        of_groups = by_means[1:1 + n_groups] / scale.group_width
        by_value = scale.groups @ of_groups
        by_value += by_means[0] / scale.width / n_units
        deviations = amounts['units'] * (dual @ part.place.units) / scale.size
        by_value += deviations - deviations.mean()
        by_loss = by_value * scale.slope(losses.units[0])
        if b not in scale.answers:
            return by_loss, np.zeros(0)
        own = scale.answers[b]
        n_tokens = part.place.answers[b].shape[1]
        by_token = np.full(
            n_tokens,
            by_means[scale.columns_of_answers[b]] / own.width / n_tokens)
        deviations = amounts['answers'] * (
            dual @ part.place.answers[b]) / own.size
        by_token += deviations - deviations.mean()
        return by_loss, by_token / (own.knee + losses.answers[b][0])


def _slope_of_bend(part: Fitted, b: int,
                   followed: float) -> NDArray[np.float64]:
    """Derivatives of the bend's covariances by a model's mean loss, `(n,)`.
    """
    better = max(part.worst[b] - followed, 0.)
    others = np.maximum(part.worst[b] - part.means[b], 0)
    # The derivative of kernels.wiener by its first argument.
    by_better = np.where(better < others, better * others - better**2 / 2,
                         others**2 / 2)
    return -by_better


def spread_out(values: NDArray, most: int) -> NDArray[np.int64]:
    """Return indices of at most `most` values, spread over their ranks."""
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

    Scores are minus log likelihoods of families left out, so small ones are
    good. Shares are proportional to these likelihoods, as in pseudo-Bayesian
    model averaging (Yao et al., Bayesian Analysis 13(3), 2018). Forms are
    averaged so; mean losses only get their weights in one mean this way.
    """
    shares = np.exp(np.min(scores, axis=0) - scores)
    return shares / shares.sum(axis=0)
