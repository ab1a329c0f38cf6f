"""Forms, priors and limits of the model of accuracies, set by hand.

Tolerances of its numerics, and conventions such as the candidates for degrees
of freedom, stand where they are used. docs/appendix/settings.md lists the
numbers of this file, and tools/studies/settings_study.py measures what half
and twice of each change.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """One form of the model: how it sees losses, and where curves straighten.

    With `logarithms`, exponents are linear in logarithms of losses, else in
    the losses themselves. While the model is fitted, the curve goes on as a
    straight line beyond exponents of -`straight` and `straight`, so that an
    accuracy near its floor or near 1 does not pull a slope to infinity.
    Predictions use the curve itself.
    """
    logarithms: bool
    straight: float


@dataclass(frozen=True)
class Settings:
    """Forms, priors and limits of the model of accuracies.

    The exponent of a model on benchmark b is level_b + scale_b g, where g is
    minus the mean loss, standardised over the fitted models, plus deviations
    of several kinds. The amounts of these deviations, from `spread` to `own`,
    are logarithms of standard deviations of g, so they are relative to
    scale_b. Each amount has a normal prior: its mean is given here, its
    standard deviation is `width`.

    Attributes:
        forms: Forms between which benchmarks divide their weight.
        level: Prior mean of level_b.
        level_width: Prior standard deviation of level_b.
        typical: Prior mean of the logarithm of the typical scale, which is the
            change of the exponent for one standard deviation of the mean loss.
        scale_width: Standard deviation of the logarithm of scale_b about that
            of the typical scale.
        spread: Amount by which the slope of exponents on the mean loss differs
            from minus `scale_b`, which is its prior mean.
        units: Amount of what single units' losses add to the mean loss: how
            far salience weights depart from equal ones.
        answers: Amount of what single tokens of the right answers of the
            benchmark's own texts add to their mean.
        bend: Amount by which the exponent bends toward better models.
        family: Amount by which models of one family deviate together.
        own: Amount by which a single model deviates.
        width: Standard deviation of the priors of `typical` and of the six
            amounts.
        tilt: A family deviates by a line of the mean loss: this is the
            variance of the line's slope over that of its level at the median
            mean loss.
        noise: Prior mean of the logarithm of the noise of accuracies, relative
            to p (1 - p) / n, the noise of n independent items.
        noise_width: Standard deviation of that logarithm: of its mean over
            benchmarks about `noise`, and of each benchmark about this mean.
        floors: Candidates for the floor of a benchmark, as shares of its
            chance level.
        knee: Losses of single tokens of answers, in nats, enter as
            log(1 + loss / knee): nearly linear far below the knee, nearly
            logarithmic far above it.
        least: Losses below this share of the typical loss count as this share.
        least_noise: Noise that every unit has at least, as a share of the
            standard deviation of the unit's values. Its square is added to
            that of the noise that is estimated.
        cluster: Smallest cluster of units whose mean loss is a candidate for a
            benchmark, as a share of all units.
        sound: A model is absurd if its mean loss is farther from the median
            than this number of widths (`kernels.middle_and_width`). Losses are
            standardised, and bends begin, without absurd models.
        outlier: A model counts less if its root mean squared error, when its
            family is left out, exceeds this number of expected deviations.
        most_models: Largest number of models that hyper-parameters, and
            weights of forms and mean losses, are fitted to. All models count
            in the posterior.
        least_degrees: Least degrees of freedom of the tails of errors.
        least_stretch: Least factor of predicted deviations. Amounts, forms and
            floors are chosen by errors of families left out, and the same
            errors say how far predictions err, so they are a little too small.
    """
    forms: tuple[Form, ...] = (Form(True, 3.5), Form(True,
                                                     6.), Form(False, 3.5))
    level: float = -1.
    level_width: float = 2.
    typical: float = -.4
    scale_width: float = .7
    spread: float = -.7
    units: float = -1.
    answers: float = -1.
    bend: float = -2.
    family: float = -1.75
    own: float = -1.75
    width: float = 1.
    tilt: float = .1
    noise: float = -.4
    noise_width: float = 1.
    floors: tuple[float, ...] = (.95, .8, .5, 0.)
    knee: float = .1
    least: float = .05
    least_noise: float = .3
    cluster: float = .1
    sound: float = 6.
    outlier: float = 3.
    most_models: int = 150
    least_degrees: float = 2.5
    least_stretch: float = 1.1
