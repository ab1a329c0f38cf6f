"""One form of the model, fitted: a Gaussian process of exponents.

The model of accuracies (core.accuracy_model) is a mixture of a few forms. This
file fits one form to the standardised losses and the accuracies of M models on
B benchmarks, `(M, B)`: it learns hyper-parameters, floors, and what mean
losses the benchmarks follow. Then it computes means, variances and covariances
of the exponents of new models, and how exponents change with losses. The
formulas stand in docs/appendix/method.md, "The posterior" to "Three forms".
"""
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.curve import LEAST_VARIANCE
from csv_plugin.core.fitted import Fitted
from csv_plugin.core.kernels import (PARTS, Scale, Standardised, UnitLosses,
                                     slope_of_wiener, variances)
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

    `standardised` are the losses of the fitted models, as `scale` makes them.
    `floor`, `(B,)`, is that which the first member chose, so that all members
    have the same one; None to choose it by the scores of families left out.

    Attributes:
        posterior: The posterior of all fitted models.
        scores: Minus log scores of families left out, of the models that
            hyper-parameters were fitted to, `(B,)`.
        state: Hyper-parameters, duals of the tangents and the like, by name,
            as a file keeps them: the arguments of `Fitted` that were learned.
    """

    def __init__(self, scale: Scale, standardised: Standardised,
                 observed: Observed, floor: Optional[NDArray], form: Form,
                 settings: Settings) -> None:
        self.scale, self.form, self.settings = scale, form, settings
        # 1. The models to learn from, and what each benchmark follows first.
        rows = rows_to_learn_from(standardised.means[:, 0],
                                  observed.accuracies, settings.most_models)
        takes_all = len(rows) == len(standardised)
        learning = standardised if takes_all else standardised.take(rows)
        first_floor = settings.floors[0] * observed.chance
        part = Posterior(learning, observed.accuracies[rows], observed.n_items,
                         first_floor if floor is None else floor,
                         observed.teaching, form.straight, settings)
        part.follow(self._first_choice(part))
        # 2. Hyper-parameters of most evidence, then the floor.
        part.learn(FIRST_ROUNDS)
        if floor is None:
            self._choose_floor(part, observed.chance)
        # 3. With this floor, hyper-parameters again, and the amounts.
        part.learn(NEXT_ROUNDS)
        part.choose_amounts()
        # 4. Weights of mean losses, and with these all of it again.
        self._choose_means(part)
        self.scores = part.accuracy_scores()
        self.state = dict(hyper=part.hyper, shares=part.shares)
        if takes_all:
            self.state.update(tangent_dual=part.tangent_dual, doubt=part.doubt)
        floor = part.floor
        # Its memory is free before that of all models is needed.
        del part
        # 5. The posterior of all models, with what was learned.
        self._fit_all(standardised, observed, floor)

    def _fit_all(self, standardised: Standardised, observed: Observed,
                 floor: NDArray) -> None:
        """Make the posterior of all fitted models."""
        self.posterior = Fitted(
            standardised,
            observed,
            floor,
            straight=self.form.straight,
            settings=self.settings,
            **self.state)
        self.state.update(
            tangent_dual=self.posterior.tangent_dual,
            doubt=self.posterior.doubt)

    @classmethod
    def restored(cls, scale: Scale, standardised: Standardised,
                 observed: Observed, floor: NDArray, form: Form,
                 settings: Settings, state: dict[str, NDArray]) -> 'Member':
        """Return the member of an earlier fit, whose `state` is given.

        An `InputError` if that fit had other mean losses or benchmarks.
        """
        n_means, n_benchmarks = standardised.means.shape[1], len(floor)
        shapes = dict(
            hyper=(SCALES + 2 * n_benchmarks, ),
            shares=(n_means, n_benchmarks))
        for name, shape in shapes.items():
            if state[name].shape != shape:
                raise InputError(name, f'an array of shape {shape}',
                                 f'{state[name].shape}',
                                 'Fit the model to these losses again.')
        member = cls.__new__(cls)
        member.scale, member.form, member.settings = scale, form, settings
        member.state = dict(state)
        member._fit_all(standardised, observed, floor)
        return member

    def _first_choice(self, part: Posterior) -> NDArray:
        """Shares `(C, B)` of the mean losses.

        A benchmark with answers of its own follows the mean loss of these,
        any other one the mean of all units.
        """
        n_means = part.standardised.means.shape[1]
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
        of_answers = self.scale.columns_of_answers
        scores = np.full((n_means, n_benchmarks), np.inf)
        for column in range(n_means - len(of_answers)):
            shares = np.zeros((n_means, n_benchmarks))
            shares[column] = 1
            part.follow(shares)
            part.find_mode()
            scores[column] = part.accuracy_scores()
        if of_answers:
            part.follow(self._first_choice(part))
            part.find_mode()
            first_scores = part.accuracy_scores()
            for b, column in of_answers.items():
                scores[column, b] = first_scores[b]
        part.follow(shares_by(scores))
        part.learn(LAST_ROUNDS)
        part.choose_amounts()

    # ---- new models

    def means(self, standardised: Standardised) -> NDArray[np.float64]:
        """Return means of exponents, `(M, B)`."""
        followed = standardised.means @ self.posterior.shares
        means = np.empty(followed.shape)
        crosses = self.posterior.cross_covariances(standardised)
        for b, cross in enumerate(crosses):
            means[:, b] = self._mean(b, followed[:, b], cross)
        return means

    def _mean(self, b: int, followed: NDArray, cross: NDArray) -> NDArray:
        """Means of exponents on benchmark b, `(M,)`.

        `followed`, `(M,)`, are the mean losses that it follows, and `cross`
        the covariances with the fitted models.
        """
        fitted = self.posterior
        prior = self.settings.level - fitted.scales[b] * followed
        return prior + cross @ fitted.dual[b]

    def exponents(self, standardised: Standardised) -> tuple[NDArray, NDArray]:
        """Return means and variances of exponents, `(M, B)` each.

        The variance includes what a model deviates by alone (`Settings.own`).
        """
        fitted, settings = self.posterior, self.settings
        followed = (standardised.means @ fitted.shares).T
        parts = variances(standardised, followed, fitted.worst, settings.tilt)
        total = np.zeros(followed.shape)
        for name in PARTS:
            total += fitted.part_variances[name] * parts[name]
        prior = settings.level_width**2 + fitted.scales[:, None]**2 * total
        mean, variance = np.empty((2, *followed.T.shape))
        shared = fitted.shared_kernel()
        for b, cross in enumerate(fitted.cross_covariances(standardised)):
            mean[:, b] = self._mean(b, followed[b], cross)
            solution = fitted.solved(b, shared).solution
            known = (cross @ solution.inverse[0] * cross).sum(axis=1)
            variance[:, b] = prior[b] - known
        return mean, np.maximum(variance, LEAST_VARIANCE)

    def covariance(self, standardised: Standardised) -> NDArray[np.float64]:
        """Return covariances of exponents between models, `(B, M, M)`."""
        fitted = self.posterior
        priors = fitted.prior_covariances(standardised)
        crosses = fitted.cross_covariances(standardised)
        shared = fitted.shared_kernel()
        found = []
        for b, (prior, cross) in enumerate(zip(priors, crosses)):
            solution = fitted.solved(b, shared).solution
            found.append(prior - cross @ solution.inverse[0] @ cross.T)
        return np.stack(found)

    def slopes(self, losses: UnitLosses,
               b: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how the exponent of benchmark b changes by losses.

        Derivatives at the losses of one model: by losses on all units, `(K,)`,
        and by those of the tokens of the benchmark's own answers, `(T,)`,
        which is empty if it has none. The mean exponent is linear in the
        values of losses on the form's scale, except for the bend, a curve of
        the mean loss.
        """
        fitted, scale = self.posterior, self.scale
        # A family of its own, which has no part in slopes.
        model = scale(losses, np.array([-1]))
        followed = model.means[0] @ fitted.shares[:, [b]]
        # By each standardised mean loss: of all units, groups, own answers.
        by_means = self._slope_on_followed(b, followed) * fitted.shares[:, b]
        # By the loss, of which the value is a logarithm or a multiple.
        by_value = self._slopes_on_values(b, by_means)
        by_loss = by_value * scale.slope(losses.units[0])
        if b not in scale.answers:
            return by_loss, np.zeros(0)
        # The value of a token of own answers is log(1 + loss / knee).
        by_token = self._slopes_on_answers(b, by_means)
        distance = scale.answers[b].knee + losses.answers[b][0]
        return by_loss, by_token / distance

    def _scaled_dual(self, b: int) -> NDArray:
        """What kernels with the fitted models add to an exponent, `(M,)`."""
        return self.posterior.scales[b]**2 * self.posterior.dual[b]

    def _slope_on_followed(self, b: int, followed: NDArray) -> float:
        """Derivative by the mean loss that benchmark b follows.

        It comes from the prior mean, the spread, and the bend, which grows as
        the mean loss falls. `followed`, `(1,)`, is the mean loss of the model.
        """
        fitted, dual = self.posterior, self._scaled_dual(b)
        by_spread = fitted.means[b] @ dual
        slopes_of_bend = slope_of_wiener(fitted.worst[b] - followed,
                                         fitted.worst[b] - fitted.means[b])
        by_bend = -(slopes_of_bend[0] @ dual)
        part_variances = fitted.part_variances
        of_kernel = part_variances['spread'] * by_spread + part_variances[
            'bend'] * by_bend
        return float(of_kernel - fitted.scales[b])

    def _slopes_on_values(self, b: int, by_means: NDArray) -> NDArray:
        """Derivatives by the value of each unit, `(K,)`.

        They come from the means of groups and of all units, and from the
        deviations of units. `by_means` are derivatives by standardised means.
        """
        fitted, scale = self.posterior, self.scale
        n_units, n_groups = scale.groups.shape
        by_groups = by_means[1:1 + n_groups] / scale.group_width
        by_all_units = by_means[0] / scale.width
        # Deviations of each fitted model have the mean 0, so that it does not
        # matter here that the mean of all units moves as well.
        deviations = fitted.standardised.units
        by_deviations = fitted.part_variances['units'] * (
            self._scaled_dual(b) @ deviations)
        of_means = scale.groups @ by_groups + by_all_units / n_units
        return of_means + by_deviations / scale.size

    def _slopes_on_answers(self, b: int, by_means: NDArray) -> NDArray:
        """Derivatives by the value of each token of own answers, `(T,)`.

        As in `_slopes_on_values`, from their mean and from deviations.
        """
        fitted, scale = self.posterior, self.scale.answers[b]
        deviations = fitted.standardised.answers[b]
        by_mean = by_means[self.scale.columns_of_answers[b]] / scale.width
        by_deviations = fitted.part_variances['answers'] * (
            self._scaled_dual(b) @ deviations)
        return by_mean / deviations.shape[1] + by_deviations / scale.size


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
        with_accuracy = np.flatnonzero(seen)
        if seen[rows].sum() < min(LEAST_ROWS, len(with_accuracy)):
            more = spread_out(values[with_accuracy], LEAST_ROWS)
            rows = np.union1d(rows, with_accuracy[more])
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
