"""The statistical model that predicts all accuracies from losses.

This file fits it to the losses of M language models and to their accuracies on
B benchmarks, `(M, B)`, and predicts the exponents of new models: means and
variances. An exponent is the argument of the curve that gives the accuracy
(Eq. 2, core.curve). The statistical model is a mixture of a few Gaussian
processes of exponents, its members (core.member), which use losses in
different forms, such as logarithms. For each benchmark, a member gets
more weight the better it predicts families of models that were left out.
The mixture is then replaced by one normal distribution of the exponent with
the same mean and variance. All reported accuracies and intervals are computed
from the joint distribution that `AccuracyModel.joint` returns. The formulas
are in docs/appendix/method.md, "Three forms".
"""
from collections.abc import Sequence
from functools import partial
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Booleans, Floats
from csv_plugin.core.calibration import LeftOut, model_errors
from csv_plugin.core.families import family_numbers, numbers_of_new_models
from csv_plugin.core.joint import Joint
from csv_plugin.core.member import Member, shares_by
from csv_plugin.core.observed import Observed
from csv_plugin.core.progress import Progress
from csv_plugin.core.settings import Settings
from csv_plugin.core.standardised import Standardised, Standardiser, UnitLosses

#: Means and variances of exponents, `(M, B)` each.
Moments = tuple[NDArray, NDArray]


class AccuracyModel:
    """Predict accuracies from losses, after a fit to M models.

    `progress` wraps the steps of the fit.

    Attributes:
        members: The F members of the mixture, one for each form of losses.
        shares: Weight of each member on each benchmark, `(F, B)`. The weights
            on a benchmark add up to 1. (`Member.fitted.shares` are other
            weights, of mean losses.)
        floor: Accuracy of a model that knows nothing, `(B,)`.
        noise: Variance of the noise of an observed accuracy p, divided by
            p (1 - p), `(B,)`.
        left_out: Predictions of the fitted models, each without its family.
        tails: Distribution of errors divided by their predicted standard
            deviations.
        benchmark_correlation: Correlation of the deviations of one model's
            exponents on two different benchmarks, the same for all pairs.
        usual_deviations: Predicted standard deviation of an exponent without
            the model's family: the median over the fitted models, `(B,)`.
    """

    def __init__(self,
                 losses: UnitLosses,
                 observed: Observed,
                 settings: Settings = Settings(),
                 progress: Progress = iter) -> None:
        self.settings, self.observed = settings, observed
        standardised_by_log = self._standardised_by_log(losses)
        self.members: list[Member] = []
        steps = iter(progress(range(Member.N_STEPS * len(settings.forms))))
        advance = partial(next, steps, None)
        # The first member chooses the floors, and the other members take them.
        floor = None
        for form in settings.forms:
            standardiser, standardised = standardised_by_log[form.logarithms]
            member = Member(standardiser, standardised, observed, floor, form,
                            settings, advance)
            floor = member.fitted.floor
            self.members.append(member)
        # Members may skip steps: go on to the end of the progress bar.
        for _ in steps:
            pass
        scores = [member.scores for member in self.members]
        self.shares = shares_by(np.array(scores))
        self._calibrate()

    @classmethod
    def restored(cls, losses: UnitLosses, observed: Observed,
                 settings: Settings, floor: NDArray, shares: NDArray,
                 states: Sequence[dict[str, NDArray]]) -> 'AccuracyModel':
        """Rebuild the result of an earlier fit, without fitting again.

        `losses` and `observed` are those that were fitted to. `floor`, `(B,)`,
        and `shares`, `(F, B)`, are attributes of the earlier result, and
        `states` has the `Member.state` of each of its members.
        """
        model = cls.__new__(cls)
        model.settings, model.observed = settings, observed
        standardised_by_log = model._standardised_by_log(losses)
        model.members = []
        for form, state in zip(settings.forms, states):
            standardiser, standardised = standardised_by_log[form.logarithms]
            member = Member.restored(standardiser, standardised, observed,
                                     floor, form, settings, state)
            model.members.append(member)
        model.shares = shares
        model._calibrate()
        return model

    def _standardised_by_log(
            self, losses: UnitLosses
    ) -> dict[bool, tuple[Standardiser, Standardised]]:
        """Return standardisers, each with the fitted models as it sees them.

        The keys are the values of `Form.logarithms`: forms that agree in it
        share one standardiser.
        """
        families = family_numbers(self.observed.families)
        found = {}
        for form in self.settings.forms:
            if form.logarithms not in found:
                standardiser = Standardiser(losses, form.logarithms,
                                            self.settings)
                standardised = standardiser.standardise(losses, families)
                found[form.logarithms] = standardiser, standardised
        return found

    def _calibrate(self) -> None:
        """Estimate the size of errors from families left out of the fit."""
        observed, settings = self.observed, self.settings
        self.floor = self.members[0].fitted.floor
        self.noise = np.zeros(len(self.floor))
        left_out = []
        for share, member in zip(self.shares, self.members):
            self.noise += share * member.fitted.noise
            left_out.append(member.fitted.left_out)
        mean, variance = self.mixed(left_out)
        usual_variance = np.nanmedian(variance, axis=0)
        self.usual_deviations = np.sqrt(usual_variance)
        self.left_out = LeftOut.of(mean, variance, observed.accuracies,
                                   self.floor, self.noise)
        families = family_numbers(observed.families)
        calibrated = self.left_out.calibrate(families, observed.learned_from,
                                             settings.least_degrees,
                                             settings.least_stretch)
        self.tails, self.benchmark_correlation = calibrated

    def mixed(self, of_members: Sequence[Moments]) -> Moments:
        """Return the moments of the mixture from the moments of its members.
        """
        means, variances = zip(*of_members)
        mean = np.zeros(means[0].shape)
        for share, of_member in zip(self.shares, means):
            mean += share * of_member
        variance = np.zeros(mean.shape)
        for f, share in enumerate(self.shares):
            between_members = (means[f] - mean)**2
            variance += share * (variances[f] + between_members)
        return mean, variance

    @property
    def model_errors(self) -> Floats:
        """Return the root mean squared error of each fitted model, `(M,)`.

        Each model is predicted without its family. Errors are divided by their
        predicted standard deviations. The mean is over the benchmarks of
        `Observed.learned_from`.
        """
        errors = self.left_out.errors[:, self.observed.learned_from]
        return model_errors(errors)

    @property
    def outliers(self) -> Booleans:
        """Return the mask of fitted models that lie far off, `(M,)`.

        Their `model_errors`, which are errors of the mixture, are above
        `Settings.outlier`. Each member chooses by its own errors which models
        count less in its fit (`Posterior.doubt`), so these are mostly, but not
        always, the same models.
        """
        return self.model_errors > self.settings.outlier

    def joint(self,
              losses: UnitLosses,
              families: Optional[Sequence[str]] = None) -> Joint:
        """Return the joint distribution of the accuracies of new models.

        `families` has the family of each new model; errors of models of one
        family are correlated. By default, every model is a family alone. A new
        model never joins a family of fitted models, even if both families have
        the same name: a name does not show that the new model was trained like
        the fitted ones, and intervals are calibrated for new families.
        """
        first_new = len(self.observed.families)
        numbers = first_new + numbers_of_new_models(families, len(losses))
        # Members with the same `Form.logarithms` have the same standardiser.
        by_log: dict[bool, Standardised] = {}
        models_by_form = []
        for member in self.members:
            logarithms = member.form.logarithms
            if logarithms not in by_log:
                standardiser = member.standardiser
                by_log[logarithms] = standardiser.standardise(losses, numbers)
            models_by_form.append(by_log[logarithms])
        mean, variance = self.exponents(models_by_form)
        return Joint.of(self, models_by_form, mean, variance)

    def left_out_joint(self) -> Joint:
        """Predict each fitted model from other families; return a `Joint`.

        The means and variances of a model come from a fit without its family;
        they are NaN where no accuracy is observed. The correlations between
        models come from the fit to all families, so they do not quite belong
        to these means and variances.
        """
        models_by_form, left_out = [], []
        for member in self.members:
            models_by_form.append(member.fitted.standardised)
            left_out.append(member.fitted.left_out)
        mean, variance = self.mixed(left_out)
        return Joint.of(self, models_by_form, mean, variance)

    def exponents(self, models_by_form: Sequence[Standardised]) -> Moments:
        """Return the means and the variances of exponents, `(M, B)` each.

        `models_by_form` has the losses of the M models once for each member,
        as the member's standardiser standardises them.
        """
        of_members = []
        for member, models in zip(self.members, models_by_form):
            of_members.append(member.exponents(models))
        return self.mixed(of_members)

    def covariance(self, models_by_form: Sequence[Standardised]) -> Floats:
        """Return covariances of exponents between models, `(B, M, M)`."""
        means = []
        for member, models in zip(self.members, models_by_form):
            means.append(member.mean_exponents(models))
        mixed_mean = np.einsum('fb,fmb->mb', self.shares, means)
        n_models, n_benchmarks = mixed_mean.shape
        total = np.zeros((n_benchmarks, n_models, n_models))
        for f, member in enumerate(self.members):
            away = (means[f] - mixed_mean).T
            between_members = away[:, :, None] * away[:, None]
            within_member = member.covariance(models_by_form[f])
            share = self.shares[f][:, None, None]
            total += share * (within_member + between_members)
        return total
