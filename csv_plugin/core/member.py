"""One form of the model of accuracies: a Gaussian process of exponents.

The model of accuracies (core.accuracy_model) is a mixture of a few forms. This
file fits one form to the standardised losses and the accuracies of M models on
B benchmarks, `(M, B)`. It learns hyper-parameters, the floor of each
benchmark, and which mean losses each benchmark follows: its exponents are
linear in a weighted mean of C mean losses, apart from deviations. Then it
computes means, variances and covariances of the exponents of new models, and
the derivatives of exponents with respect to losses. The formulas stand in
docs/appendix/method.md, "The posterior" to "Three forms".
"""
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats, Integers
from csv_plugin.core.conventions import InputError
from csv_plugin.core.curve import LEAST_VARIANCE
from csv_plugin.core.fitted import Fitted
from csv_plugin.core.kernels import PARTS, slope_of_wiener, variances
from csv_plugin.core.observed import Observed
from csv_plugin.core.posterior import SCALES, Posterior
from csv_plugin.core.progress import Advance
from csv_plugin.core.settings import Form, Settings
from csv_plugin.core.standardised import Standardised, Standardiser, UnitLosses

#: Numbers of rounds before the choice of floors, after it, and after the
#: choice of mean losses. Each round fits the hyper-parameters and finds the
#: mode.
FIRST_ROUNDS, NEXT_ROUNDS, LAST_ROUNDS = 3, 2, 1
#: Hyper-parameters are fitted to at least this number of models with an
#: accuracy on each benchmark, or to all of them if there are fewer.
LEAST_ROWS = 10


class Member:
    """A fitted form of the model of accuracies.

    `standardised` are the losses of the fitted models, as `standardiser` makes
    them. `floor`, `(B,)`, are the floors of the benchmarks. If it is None, the
    member chooses the floors that predict left-out families best. `advance` is
    called when each of the `N_STEPS` steps of the fit begins. A fit may skip
    some of them.

    Attributes:
        fitted: The posterior of the exponents of all fitted models.
        scores: Negative log likelihood on each benchmark, `(B,)`, of
            accuracies that are predicted without the model's family. It is
            a weighted sum over the models that hyper-parameters were fitted
            to. A restored member has no scores.
        N_STEPS: Number of steps that a progress bar of a fit shows: each
            round, and the choices of floors, of amounts (twice) and of mean
            losses, and the posterior of all models.
        state: The arguments of `Fitted` that were learned, by name, such as
            the hyper-parameters. They are saved with a predictor.
    """

    N_STEPS = FIRST_ROUNDS + NEXT_ROUNDS + LAST_ROUNDS + 5

    def __init__(self, standardiser: Standardiser, standardised: Standardised,
                 observed: Observed, floor: Optional[NDArray], form: Form,
                 settings: Settings, advance: Advance) -> None:
        self.standardiser = standardiser
        self.form = form
        self.settings = settings
        # 1. The posterior of the models that hyper-parameters are learned
        # from, and the mean loss that each benchmark follows at first.
        rows = rows_to_learn_from(standardised.mean_losses[:, 0],
                                  observed.accuracies, settings.most_models)
        takes_all = len(rows) == len(standardised)
        learning = standardised if takes_all else standardised.take(rows)
        first_floor = floor
        if first_floor is None:
            first_floor = settings.floors[0] * observed.chance
        learner = Posterior(learning, observed.accuracies[rows],
                            observed.n_items, first_floor,
                            observed.learned_from, form.straight, settings)
        learner.follow(self._first_choice(learner))
        # 2. The hyper-parameters that maximise the evidence, then the floor.
        learner.learn(FIRST_ROUNDS, advance)
        if floor is None:
            advance()
            self._choose_floor(learner, observed.chance)
        # 3. With this floor, hyper-parameters again, and the amounts.
        learner.learn(NEXT_ROUNDS, advance)
        advance()
        learner.choose_amounts()
        # 4. The weights of mean losses; then hyper-parameters and amounts once
        # more.
        self._choose_means(learner, advance)
        self.scores = learner.accuracy_scores()
        self.state = dict(hyper=learner.hyper, shares=learner.shares)
        if takes_all:
            # The mode is known, so step 5 does not search for it.
            self.state.update(
                tangent_dual=learner.tangent_dual, doubt=learner.doubt)
        floor = learner.floor
        # This frees memory before the posterior of all models needs some.
        del learner
        advance()
        # 5. The posterior of all models, with the learned hyper-parameters.
        self._fit_all(standardised, observed, floor)

    def _fit_all(self, standardised: Standardised, observed: Observed,
                 floor: NDArray) -> None:
        """Set the posterior of all fitted models, and update `state`."""
        self.fitted = Fitted(
            standardised,
            observed,
            floor,
            straight=self.form.straight,
            settings=self.settings,
            **self.state)
        self.state.update(
            tangent_dual=self.fitted.tangent_dual, doubt=self.fitted.doubt)

    @classmethod
    def restored(cls, standardiser: Standardiser, standardised: Standardised,
                 observed: Observed, floor: NDArray, form: Form,
                 settings: Settings, state: dict[str, NDArray]) -> 'Member':
        """Rebuild the member of an earlier fit from the `state` that it saved.

        Raises:
            InputError: The numbers of mean losses or of benchmarks differ from
                the numbers in the earlier fit.
        """
        n_means = standardised.mean_losses.shape[1]
        n_benchmarks = len(floor)
        shapes = dict(
            hyper=(SCALES + 2 * n_benchmarks, ),
            shares=(n_means, n_benchmarks))
        for name, shape in shapes.items():
            if state[name].shape != shape:
                raise InputError(name, f'an array of shape {shape}',
                                 f'shape {state[name].shape}',
                                 'Fit the predictor to these losses again.')
        member = cls.__new__(cls)
        member.standardiser = standardiser
        member.form = form
        member.settings = settings
        member.state = dict(state)
        member._fit_all(standardised, observed, floor)
        return member

    def _first_choice(self, learner: Posterior) -> NDArray:
        """Return the first weights of the C mean losses, `(C, B)`.

        A benchmark that has own answers follows the mean loss of these
        answers. Any other benchmark follows the mean loss of all units.
        """
        n_means = learner.standardised.mean_losses.shape[1]
        shares = np.zeros((n_means, len(learner.floor)))
        shares[0] = 1
        for b, column in self.standardiser.columns_of_answers.items():
            shares[0, b] = 0
            shares[column, b] = 1
        return shares

    def _choose_floor(self, learner: Posterior, chance: NDArray) -> None:
        """Set the learner's floors to those that predict families best.

        Each family is predicted from the other families, with each of
        `Settings.floors`. `chance`, `(B,)`, is the chance level of each
        benchmark.
        """
        floors = np.outer(self.settings.floors, chance)
        scores = []
        for floor in floors:
            learner.floor = floor
            learner.find_mode()
            scores.append(learner.accuracy_scores())
        # The index of the best candidate of each benchmark, `(B,)`.
        best = np.argmin(scores, axis=0)
        benchmarks = np.arange(len(best))
        learner.floor = floors[best, benchmarks]

    def _choose_means(self, learner: Posterior, advance: Advance) -> None:
        """Weight the mean losses by how well each predicts left-out families.

        The mean loss of a benchmark's own answers is a candidate for this
        benchmark only. Afterwards, hyper-parameters and amounts are fitted
        again.
        """
        n_means, n_benchmarks = learner.shares.shape
        if n_means == 1:
            return
        advance()
        # The mean losses of own answers come last.
        of_answers = self.standardiser.columns_of_answers
        scores = np.full((n_means, n_benchmarks), np.inf)
        for column in range(n_means - len(of_answers)):
            shares = np.zeros((n_means, n_benchmarks))
            shares[column] = 1
            learner.follow(shares)
            learner.find_mode()
            scores[column] = learner.accuracy_scores()
        if of_answers:
            learner.follow(self._first_choice(learner))
            learner.find_mode()
            first_scores = learner.accuracy_scores()
            for b, column in of_answers.items():
                scores[column, b] = first_scores[b]
        learner.follow(shares_by(scores))
        learner.learn(LAST_ROUNDS, advance)
        advance()
        learner.choose_amounts()

    # ---- new models

    def mean_exponents(self, standardised: Standardised) -> Floats:
        """Return the means of the exponents of M new models, `(M, B)`."""
        fitted = self.fitted
        followed = standardised.followed_losses(fitted.shares)
        means = np.empty(followed.shape)
        crosses = fitted.cross_covariances(standardised)
        for b, cross in enumerate(crosses):
            means[b] = self._mean(b, followed[b], cross)
        return means.T

    def _mean(self, b: int, followed: NDArray, cross: NDArray) -> NDArray:
        """Return the mean exponents of M new models on benchmark b, `(M,)`.

        `followed`, `(M,)`, are the new models' mean losses that the benchmark
        follows. `cross` are the covariances of the new models' exponents with
        the N fitted models' exponents, `(M, N)`.
        """
        fitted = self.fitted
        prior = self.settings.level - fitted.scales[b] * followed
        return prior + cross @ fitted.dual[b]

    def exponents(self, standardised: Standardised) -> tuple[NDArray, NDArray]:
        """Return the means and the variances of exponents, `(M, B)` each.

        The variance includes the deviation of the single model
        (`Settings.own`).
        """
        fitted, settings = self.fitted, self.settings
        followed = standardised.followed_losses(fitted.shares)
        parts = variances(standardised, followed, fitted.worst, settings.tilt)
        total = np.zeros(followed.shape)
        for name in PARTS:
            total += fitted.part_variances[name] * parts[name]
        of_kernel = fitted.scales[:, None]**2 * total
        prior = settings.level_width**2 + of_kernel
        means = np.empty(followed.shape)
        explained = np.empty(followed.shape)
        shared = fitted.shared_kernel()
        crosses = fitted.cross_covariances(standardised)
        for b, cross in enumerate(crosses):
            means[b] = self._mean(b, followed[b], cross)
            (inverse, ) = fitted.solved(b, shared).solution.inverse
            # The part of the prior variance that the fitted models explain.
            explained[b] = (cross @ inverse * cross).sum(axis=1)
        posterior = np.maximum(prior - explained, LEAST_VARIANCE)
        return means.T, posterior.T

    def covariance(self, standardised: Standardised) -> Floats:
        """Return the covariances of exponents between models, `(B, M, M)`."""
        fitted = self.fitted
        priors = fitted.prior_covariances(standardised)
        crosses = fitted.cross_covariances(standardised)
        shared = fitted.shared_kernel()
        found = []
        for b, (prior, cross) in enumerate(zip(priors, crosses)):
            (inverse, ) = fitted.solved(b, shared).solution.inverse
            explained = cross @ inverse @ cross.T
            found.append(prior - explained)
        return np.stack(found)

    def slopes(self, losses: UnitLosses, b: int) -> tuple[Floats, Floats]:
        """Return the derivatives of the mean exponent on benchmark b.

        They are taken at the losses of one model, the only row of `losses`.
        The first array has the derivatives with respect to the losses on all
        units, `(K,)`. The second has the derivatives with respect to the
        losses of the tokens of the benchmark's own answers, `(T,)`; it is
        empty if the benchmark has no own answers. The mean exponent is linear
        in the values of losses (see `Standardiser`), except for the bend,
        which is a curve of the mean loss. Here and in the next methods, `by_x`
        is the derivative of the mean exponent with respect to x.
        """
        standardiser = self.standardiser
        shares = self.fitted.shares
        # Families have no effect on slopes, so any number will do.
        no_family = np.array([-1])
        model = standardiser.standardise(losses, no_family)
        followed = model.followed_losses(shares)[b]
        by_followed = self._slope_on_followed(b, followed)
        by_mean_losses = by_followed * shares[:, b]
        by_value = self._slopes_on_values(b, by_mean_losses)
        by_loss = by_value * standardiser.slope(losses.units[0])
        if b not in standardiser.of_answers:
            return by_loss, np.zeros(0)
        # The value of a token of own answers is log(1 + loss / knee).
        by_token = self._slopes_on_answers(b, by_mean_losses)
        token_losses = losses.answers[b][0]
        by_token /= standardiser.of_answers[b].knee + token_losses
        return by_loss, by_token

    def _scaled_dual(self, b: int) -> NDArray:
        """Return the factors of the kernel in a mean exponent, `(N,)`.

        The mean exponent of a new model on benchmark b is its prior mean, plus
        a constant, plus the sum over the N fitted models of this factor times
        the kernel between the new and the fitted model.
        """
        fitted = self.fitted
        return fitted.scales[b]**2 * fitted.dual[b]

    def _slope_on_followed(self, b: int, followed: NDArray) -> float:
        """Return the derivative with respect to the mean loss followed.

        This is the derivative of the mean exponent on benchmark b with respect
        to the mean loss that b follows. It is a sum of the derivatives of the
        prior mean, the spread, and the bend, which grows as the mean loss
        falls. `followed`, `(1,)`, is this mean loss of the model.
        """
        fitted = self.fitted
        dual = self._scaled_dual(b)
        part_variances = fitted.part_variances
        fitted_losses = fitted.followed_losses[b]
        worst = fitted.worst[b]
        slope_of_spread = fitted_losses @ dual
        better = worst - followed
        slopes_of_bend = slope_of_wiener(better, worst - fitted_losses)
        slope_of_bend = -(slopes_of_bend[0] @ dual)
        slope = part_variances['spread'] * slope_of_spread
        slope += part_variances['bend'] * slope_of_bend
        # The slope of the prior mean is minus the scale.
        slope -= fitted.scales[b]
        return float(slope)

    def _slopes_on_values(self, b: int, by_mean_losses: NDArray) -> NDArray:
        """Return the derivatives with respect to values of units, `(K,)`.

        A value changes the exponent through the means of groups and of all
        units, and through the deviations of units. `by_mean_losses`, `(C,)`,
        are the derivatives with respect to the standardised mean losses.
        """
        fitted = self.fitted
        standardiser = self.standardiser
        n_units, n_groups = standardiser.groups.shape
        by_groups = by_mean_losses[1:1 + n_groups] / standardiser.group_width
        by_all_units = by_mean_losses[0] / standardiser.width
        # A value also moves the mean over units, which is subtracted from each
        # deviation. This has no effect, as the deviations of each fitted model
        # have the mean 0.
        deviations = fitted.standardised.unit_deviations
        weighted = self._scaled_dual(b) @ deviations
        by_deviations = fitted.part_variances['units'] * weighted
        through_means = standardiser.groups @ by_groups
        through_means += by_all_units / n_units
        return through_means + by_deviations / standardiser.size

    def _slopes_on_answers(self, b: int, by_mean_losses: NDArray) -> NDArray:
        """Return the derivatives with respect to values of answers, `(T,)`.

        The answers are the T tokens of the benchmark's own answers. Their
        values change the exponent through their mean and through their
        deviations. `by_mean_losses` is as in `_slopes_on_values`.
        """
        fitted = self.fitted
        standardiser = self.standardiser.of_answers[b]
        deviations = fitted.standardised.answer_deviations[b]
        n_tokens = deviations.shape[1]
        column = self.standardiser.columns_of_answers[b]
        by_mean = by_mean_losses[column] / standardiser.width
        weighted = self._scaled_dual(b) @ deviations
        by_deviations = fitted.part_variances['answers'] * weighted
        return by_mean / n_tokens + by_deviations / standardiser.size


def spread_out(values: NDArray, most: int) -> Integers:
    """Return the indices, in ascending order, of at most `most` values.

    The chosen values are spread evenly over the ranks of all values.
    """
    rows = np.argsort(values, kind='stable')
    if len(rows) > most:
        last = len(rows) - 1
        ranks = np.linspace(0, last, most).round()
        rows = rows[ranks.astype(int)]
    return np.sort(rows)


def rows_to_learn_from(values: NDArray, accuracies: NDArray,
                       most: int) -> Integers:
    """Return the row indices of the models to fit hyper-parameters to.

    At most `most` models are spread evenly over the ranks of `values`, `(M,)`,
    which are mean losses. For each benchmark on which too few of these have an
    accuracy, up to `LEAST_ROWS` models with an accuracy are added.
    `accuracies` are `(M, B)`, NaN where there is none.
    """
    rows = spread_out(values, most)
    for column in accuracies.T:
        seen = ~np.isnan(column)
        with_accuracy = np.flatnonzero(seen)
        n_wanted = min(LEAST_ROWS, len(with_accuracy))
        if seen[rows].sum() < n_wanted:
            more = spread_out(values[with_accuracy], LEAST_ROWS)
            rows = np.union1d(rows, with_accuracy[more])
    return rows


def shares_by(scores: NDArray) -> Floats:
    """Return the weights of C candidates from their scores, `(C, B)`.

    Scores, `(C, B)`, are negative log likelihoods of left-out families, so
    the best candidate has the smallest score. Weights are proportional to the
    likelihoods and have the sum 1 on each benchmark, as in pseudo-Bayesian
    model averaging (Yao et al., Bayesian Analysis 13(3), 2018). The candidates
    are either forms, whose predictions are averaged, or mean losses, of which
    the weighted mean is taken.
    """
    best = np.min(scores, axis=0)
    # Relative to the likelihood of the best candidate, which avoids overflow.
    likelihoods = np.exp(best - scores)
    return likelihoods / likelihoods.sum(axis=0)
