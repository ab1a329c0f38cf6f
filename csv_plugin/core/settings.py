"""Forms, priors and limits of the model of accuracies, set by hand.

Numerical tolerances, and conventions such as the candidates for degrees of
freedom, are defined where they are used. docs/appendix/settings.md lists the
numbers of this file, and tools/studies/settings_study.py measures what changes
if a number is halved or doubled.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """One form of the model of accuracies.

    If `logarithms` is True, exponents are linear in logarithms of losses, else
    in the losses. While the model is fitted, the curve is replaced by straight
    lines at exponents below -`straight` and above `straight`, so that an
    accuracy near the floor or near 1 does not pull a slope to infinity.
    Predictions use the curve itself.
    """
    logarithms: bool
    straight: float


@dataclass(frozen=True)
class Settings:
    """Forms, priors and limits of the model of accuracies.

    The exponent of a model on benchmark b is level_b + scale_b g, where g is
    minus the mean loss, standardised over the fitted models, plus deviations
    of several kinds. The amount of a kind is the standard deviation of g due
    to it, so it is relative to scale_b. The logarithms of amounts have normal
    priors: their means are given here, from `spread` to `own`, and their
    standard deviation is `width`.

    So `typical`, `noise` and the numbers from `spread` to `own` are natural
    logarithms. For example, -1 stands for an amount of exp(-1) = 0.37. All
    other numbers are no logarithms.

    Attributes:
        forms: Forms of the model. Predictions are a mixture of them; each
            benchmark has its own weights of forms.
        level: Prior mean of level_b.
        level_width: Prior standard deviation of level_b.
        typical: Prior mean of the logarithm of the typical scale, which is the
            change of the exponent for one standard deviation of the mean loss.
        scale_width: Prior standard deviation of the logarithm of scale_b. Its
            prior mean is the logarithm of the typical scale.
        spread: Logarithm of the amount by which the slope of exponents on the
            mean loss differs from its prior mean, -scale_b.
        units: Logarithm of the amount of the effects of single units beyond
            the effect of the mean loss: how far salience weights differ from
            equal weights.
        answers: Logarithm of the amount of the effects of single tokens of the
            right answers in the benchmark's own texts.
        bend: Logarithm of the amount by which the exponent departs, toward
            better models, from a straight line in the mean loss.
        family: Logarithm of the amount by which models of one family deviate
            together.
        own: Logarithm of the amount by which a single model deviates.
        width: Prior standard deviation of the logarithms of the typical scale
            and of the six amounts.
        tilt: The deviation of a family is a straight line in the mean loss.
            `tilt` is the variance of the slope of this line, divided by the
            variance of its value at the median mean loss.
        noise: Prior mean of the logarithm of the noise variance of accuracies,
            relative to p (1 - p) / n, the variance for n independent items.
        noise_width: Prior standard deviation of two deviations: of the mean of
            that logarithm over benchmarks from `noise`, and of the logarithm
            of each benchmark from this mean.
        floors: Candidates for the floor of a benchmark, as shares of its
            chance level. The first candidate is the start value: it is the
            floor until the candidates are compared, and one is chosen.
        knee: Losses of single tokens of answers, in nats, are transformed to
            log(1 + loss / knee), which is nearly linear far below the knee and
            nearly logarithmic far above it.
        least: Lower bound of losses, as a share of the typical loss; smaller
            losses are replaced by it.
        least_noise: Smallest noise of a unit, as a share of the standard
            deviation of the unit's values. Its square is added to the square
            of the estimated noise.
        cluster: Smallest size of a cluster of units, as a share of all units.
            The mean loss of a cluster of this size or more is a candidate for
            the mean loss that a benchmark follows.
        sound: A model is sound if its mean loss is at most this number of
            widths (`standardised.middle_and_width`) from the median. Only
            sound models count when deviations of units and mean losses of
            groups are standardised. Bends begin at the worst sound model.
        outlier: A model counts less if its root mean squared error, when its
            family is left out, exceeds this number of expected deviations.
        most_models: Maximum number of models that hyper-parameters, and the
            weights of forms and of mean losses, are fitted to. The posterior
            is computed from all models.
        least_degrees: Lower bound of the degrees of freedom of Student's t,
            the distribution of errors.
        least_stretch: Lower bound of the factor by which predicted standard
            deviations are multiplied. It is above 1 because the errors of
            families left out are slightly too small: amounts, forms and floors
            are chosen to make them small.
    """
    forms: tuple[Form, ...] = (Form(True, 3.5), Form(True,
                                                     6.), Form(False, 3.5))
    level: float = -1.
    level_width: float = 2.
    # A logarithm: exp(-0.4) = 0.67.
    typical: float = -.4
    scale_width: float = .7
    # Logarithms of amounts: exp(-0.7) = 0.5, exp(-1) = 0.37, exp(-1.75) = 0.17
    # and exp(-2) = 0.14.
    spread: float = -.7
    units: float = -1.
    answers: float = -1.
    bend: float = -2.
    family: float = -1.75
    own: float = -1.75
    # Numbers that are no logarithms.
    width: float = 1.
    tilt: float = .1
    # A logarithm: exp(-0.4) = 0.67.
    noise: float = -.4
    # Numbers that are no logarithms.
    noise_width: float = 1.
    floors: tuple[float, ...] = (.95, 1., .8, .5, 0.)
    knee: float = .1
    least: float = .05
    least_noise: float = .3
    cluster: float = .1
    sound: float = 6.
    outlier: float = 3.
    most_models: int = 150
    least_degrees: float = 2.5
    least_stretch: float = 1.1
