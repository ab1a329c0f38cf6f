"""One model of the accuracies of all models on all benchmarks.

This file fits the model to losses and accuracies of M models on B benchmarks,
`(M, B)`, and predicts means and variances of the exponents of new models. The
model averages a few Gaussian processes of exponents (core.member), which see
losses in different forms. Every benchmark weighs them by how well they predict
families left out. The mixture is replaced by one normal distribution of the
exponent with its mean and its variance. Everything that is reported of
accuracies is a view of the joint distribution that `AccuracyModel.joint`
returns. The formulas stand in docs/appendix/method.md, "Three forms".
"""
from collections.abc import Sequence
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.calibration import LeftOut, model_errors
from csv_plugin.core.joint import Joint
from csv_plugin.core.kernels import (Scale, Standardised, UnitLosses,
                                     families_by_number, numbers_of)
from csv_plugin.core.member import Member, shares_by
from csv_plugin.core.observed import Observed
from csv_plugin.core.settings import Settings


class AccuracyModel:
    """The fitted model.

    Attributes:
        members: The F fitted forms.
        shares: Weights of the forms by benchmark, `(F, B)`; sums over F are 1.
        floor: Accuracy of a model that knows nothing, `(B,)`.
        noise: Noise of accuracies over p (1 - p), `(B,)`.
        left_out: Predictions of the fitted models by the other families.
        tails: Distribution of errors over their predicted deviations.
        between: Correlation of a model's deviations on two benchmarks.
        usual_deviations: Medians over fitted models of the deviations of
            exponents without a model's family, `(B,)`.
    """

    def __init__(self,
                 losses: UnitLosses,
                 observed: Observed,
                 settings: Settings = Settings()) -> None:
        self.settings, self.observed = settings, observed
        standardised = self._standardised(losses)
        self.members: list[Member] = []
        floor = None
        for form in settings.forms:
            member = Member(*standardised[form.logarithms], observed, floor,
                            form, settings)
            floor = member.posterior.floor
            self.members.append(member)
        scores = [member.scores for member in self.members]
        self.shares = shares_by(np.array(scores))
        self._calibrate()

    @classmethod
    def restored(cls, losses: UnitLosses, observed: Observed,
                 settings: Settings, floor: NDArray, shares: NDArray,
                 states: Sequence[dict[str, NDArray]]) -> 'AccuracyModel':
        """Return the model that an earlier fit to the same models found.

        `states` has `Member.state` of each member.
        """
        model = cls.__new__(cls)
        model.settings, model.observed = settings, observed
        standardised = model._standardised(losses)
        model.members = []
        for form, state in zip(settings.forms, states):
            member = Member.restored(*standardised[form.logarithms], observed,
                                     floor, form, settings, state)
            model.members.append(member)
        model.shares = shares
        model._calibrate()
        return model

    def _standardised(
            self,
            losses: UnitLosses) -> dict[bool, tuple[Scale, Standardised]]:
        """Scales, and what they make of the losses of the fitted models.

        Forms differ in scale only by `Form.logarithms`, which is the key.
        """
        families = families_by_number(self.observed.families)
        found = {}
        for form in self.settings.forms:
            if form.logarithms not in found:
                scale = Scale(losses, form.logarithms, self.settings)
                found[form.logarithms] = scale, scale(losses, families)
        return found

    def _calibrate(self) -> None:
        """Learn from families left out how far errors go."""
        observed = self.observed
        self.floor = self.members[0].posterior.floor
        self.noise = np.zeros(len(self.floor))
        left_out = []
        for share, member in zip(self.shares, self.members):
            self.noise += share * member.posterior.noise
            left_out.append(member.posterior.left_out)
        mean, variance = self.mixed(left_out)
        self.usual_deviations = np.sqrt(np.nanmedian(variance, axis=0))
        self.left_out = LeftOut.of(mean, variance, observed.accuracies,
                                   self.floor, self.noise)
        self.tails, self.between = self.left_out.calibrate(
            families_by_number(observed.families), observed.teaching,
            self.settings.least_degrees, self.settings.least_stretch)

    def mixed(
            self, parts: Sequence[tuple[NDArray,
                                        NDArray]]) -> tuple[NDArray, NDArray]:
        """Return the mean and the variance of the mixture, `(M, B)` each.

        `parts` are the means and variances of the members.
        """
        mean, variance = np.zeros((2, *parts[0][0].shape))
        for share, (part_mean, _) in zip(self.shares, parts):
            mean += share * part_mean
        for share, (part_mean, part_variance) in zip(self.shares, parts):
            # Within members, and between their means.
            variance += share * (part_variance + (part_mean - mean)**2)
        return mean, variance

    @property
    def model_errors(self) -> NDArray[np.float64]:
        """Root mean squared errors of fitted models without their family.

        In expected deviations, `(M,)`.
        """
        return model_errors(self.left_out.errors[:, self.observed.teaching])

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """True for fitted models with errors above `Settings.outlier`, `(M,)`.
        """
        return self.model_errors > self.settings.outlier

    def joint(self,
              losses: UnitLosses,
              families: Optional[Sequence[str]] = None) -> Joint:
        """Return the joint distribution of the accuracies of new models.

        Families are names, equal for models that deviate together; by default
        every model has a family of its own. A name of a fitted family means a
        new one, too: names do not show that a new model is trained like the
        fitted ones, and errors of families left out hold for new families.
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
        return Joint(self, model_rows, *self.exponents(model_rows))

    def left_out_joint(self) -> Joint:
        """Return the distribution of fitted models by the other families.

        NaN where no accuracy is observed. Every family is left out by itself,
        so correlations between its models are not those of one prediction.
        """
        model_rows, left_out = [], []
        for member in self.members:
            model_rows.append(member.posterior.standardised)
            left_out.append(member.posterior.left_out)
        return Joint(self, model_rows, *self.mixed(left_out))

    def exponents(
            self,
            model_rows: Sequence[Standardised]) -> tuple[NDArray, NDArray]:
        """Return means and variances of exponents, `(M, B)` each.

        `model_rows` are what each member's scale makes of their losses.
        """
        parts = []
        for member, rows in zip(self.members, model_rows):
            parts.append(member.exponents(rows))
        return self.mixed(parts)

    def covariance(self,
                   model_rows: Sequence[Standardised]) -> NDArray[np.float64]:
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
