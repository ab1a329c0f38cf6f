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
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Booleans, Floats
from csv_plugin.core.calibration import LeftOut, model_errors
from csv_plugin.core.families import families_by_number, numbers_of
from csv_plugin.core.joint import Joint
from csv_plugin.core.kernels import Scale, Standardised, UnitLosses
from csv_plugin.core.member import Member, shares_by
from csv_plugin.core.observed import Observed
from csv_plugin.core.settings import Settings


class AccuracyModel:
    """Predict accuracies from losses, after a fit to M models.

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
        between: Correlation of the deviations of one model on two benchmarks.
        usual_deviations: Predicted standard deviation of an exponent without
            the model's family: the median over the fitted models, `(B,)`.
    """

    def __init__(self,
                 losses: UnitLosses,
                 observed: Observed,
                 settings: Settings = Settings()) -> None:
        self.settings, self.observed = settings, observed
        by_logarithms = self._standardised(losses)
        self.members: list[Member] = []
        floor = None
        for form in settings.forms:
            scale, standardised = by_logarithms[form.logarithms]
            member = Member(scale, standardised, observed, floor, form,
                            settings)
            floor = member.fitted.floor
            self.members.append(member)
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
        by_logarithms = model._standardised(losses)
        model.members = []
        for form, state in zip(settings.forms, states):
            scale, standardised = by_logarithms[form.logarithms]
            member = Member.restored(scale, standardised, observed, floor,
                                     form, settings, state)
            model.members.append(member)
        model.shares = shares
        model._calibrate()
        return model

    def _standardised(
            self,
            losses: UnitLosses) -> dict[bool, tuple[Scale, Standardised]]:
        """Return each scale with the standardised losses of fitted models.

        The keys are the values of `Form.logarithms`: forms that agree in it
        share one scale.
        """
        families = families_by_number(self.observed.families)
        found = {}
        for form in self.settings.forms:
            if form.logarithms not in found:
                scale = Scale(losses, form.logarithms, self.settings)
                standardised = scale(losses, families)
                found[form.logarithms] = scale, standardised
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
        families = families_by_number(observed.families)
        self.tails, self.between = self.left_out.calibrate(
            families, observed.teaching, settings.least_degrees,
            settings.least_stretch)

    def mixed(
            self, parts: Sequence[tuple[NDArray,
                                        NDArray]]) -> tuple[NDArray, NDArray]:
        """Return the mean and the variance of the mixture, `(M, B)` each.

        `parts` has one pair for each member: the means and the variances of
        exponents, `(M, B)` each.
        """
        means, variances = zip(*parts)
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
        `Observed.teaching`.
        """
        errors = self.left_out.errors[:, self.observed.teaching]
        return model_errors(errors)

    @property
    def outliers(self) -> Booleans:
        """Return the mask of fitted models that lie far off, `(M,)`.

        Their `model_errors` are above `Settings.outlier`.
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
        numbers = first_new + numbers_of(families, len(losses))
        standardised: dict[bool, Standardised] = {}
        model_rows = []
        for member in self.members:
            logarithms = member.form.logarithms
            if logarithms not in standardised:
                standardised[logarithms] = member.scale(losses, numbers)
            model_rows.append(standardised[logarithms])
        mean, variance = self.exponents(model_rows)
        return Joint(self, model_rows, mean, variance)

    def left_out_joint(self) -> Joint:
        """Predict each fitted model from other families; return a `Joint`.

        The means and variances of a model come from a fit without its family;
        they are NaN where no accuracy is observed. The correlations between
        models come from the fit to all families, so they do not quite belong
        to these means and variances.
        """
        model_rows, left_out = [], []
        for member in self.members:
            model_rows.append(member.fitted.standardised)
            left_out.append(member.fitted.left_out)
        mean, variance = self.mixed(left_out)
        return Joint(self, model_rows, mean, variance)

    def exponents(
            self,
            model_rows: Sequence[Standardised]) -> tuple[NDArray, NDArray]:
        """Return the means and the variances of exponents, `(M, B)` each.

        `model_rows` has the losses of the M models as each member's scale
        standardises them.
        """
        parts = []
        for member, rows in zip(self.members, model_rows):
            parts.append(member.exponents(rows))
        return self.mixed(parts)

    def covariance(self, model_rows: Sequence[Standardised]) -> Floats:
        """Return covariances of exponents between models, `(B, M, M)`."""
        means = []
        for member, rows in zip(self.members, model_rows):
            means.append(member.means(rows))
        mixed_mean = np.einsum('fb,fmb->mb', self.shares, means)
        n_models, n_benchmarks = mixed_mean.shape
        total = np.zeros((n_benchmarks, n_models, n_models))
        for f, member in enumerate(self.members):
            away = (means[f] - mixed_mean).T
            between_members = away[:, :, None] * away[:, None]
            within_member = member.covariance(model_rows[f])
            share = self.shares[f][:, None, None]
            total += share * (within_member + between_members)
        return total
