"""Every number of the model of accuracies that is set by hand.

Tolerances of its numerics stand where they are used. What half and twice of
each number change is in docs/appendix/settings.md.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """One form of the model: how it sees losses, and where curves end.

    With `logarithms` exponents are linear in logarithms of losses, else in
    losses. Beyond exponents of `straight`, either way, the curve that is
    fitted goes on as a straight line, so that no accuracy near its floor or
    near 1 pulls a slope to infinity.
    """
    logarithms: bool
    straight: float


@dataclass(frozen=True)
class Settings:
    """Forms, priors and limits of the model of accuracies.

    From `spread` to `own` they are means of normal priors of logarithms of
    standard deviations, whose own standard deviation is `width`.

    Attributes:
        forms: The forms that benchmarks weigh.
        level: Exponent of a typical model on a benchmark, before any data.
        level_width: Standard deviation of that exponent.
        typical: Logarithm of the change of the exponent for one standard
            deviation of the mean loss, for a typical benchmark.
        scale_width: Standard deviation of that logarithm between benchmarks.
        spread: So much do slopes on the mean loss differ from the typical one.
        units: So much do salience weights depart from equal ones.
        answers: The same for tokens of a benchmark's own answers.
        bend: So much does the curve bend toward better models.
        family: So far off do models of one family lie together.
        own: So far off does a single model lie.
        width: Standard deviation of the priors of `typical` and of the six
            amounts above.
        tilt: Variance of a family's slope, over that of its level.
        noise: Logarithm of the noise of accuracies over that of independent
            items, p (1 - p) / n.
        noise_width: Standard deviation of that logarithm, both of all
            benchmarks together and of each about them.
        floors: Floors that are tried, as shares of the chance level.
        knee: Loss in nats of a token above which log(1 + loss / knee) grows
            like a logarithm.
        least: Losses below this share of the typical one count as this share.
        reliable: Least noise of a unit, as a share of its own deviation.
        cluster: Least share of the units in a cluster that benchmarks follow.
        sound: Mean losses more deviations off than this set no scale.
        outlier: Root mean squared error of a model, in its deviations, above
            which it counts less.
        most: Models, at most, that priors and weights of forms are fitted to.
        degrees: Least degrees of freedom of the tails of errors.
        stretch: Least stretch of deviations. Amounts, forms and floors were
            chosen by the families left out that also say how far errors go,
            and these are a little too small for that.
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
    reliable: float = .3
    cluster: float = .1
    sound: float = 6.
    outlier: float = 3.
    most: int = 150
    degrees: float = 2.5
    stretch: float = 1.1
