"""Numbers of the trial's method that are set by hand, with their meaning.

Those of its numerics, such as tolerances, stand where they are used.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """One way to see losses.

    `power` 0 stands for logarithms of losses, 1 for losses. Beyond exponents
    of `straight` the fitted curve is a straight line. With `groups`,
    benchmarks may follow that many clusters of units.
    """
    power: float = 0.
    straight: float = 3.5
    groups: int = 0


@dataclass(frozen=True)
class Settings:
    """Priors of the model, and limits.

    Pairs are the mean and the standard deviation of a normal prior; from
    `spread` to `answers`, and `typical`, of logarithms of deviations.

    Attributes:
        level: Exponent of the typical model on a benchmark.
        spread: Slopes on the mean loss differ so much between benchmarks.
        units: Salience weights depart so much from equal ones.
        bend: The curve bends so much toward better models.
        family: Models of one family lie so far off together.
        own: A model lies so far off by itself.
        answers: Salience weights of the tokens of a benchmark's own answers
            depart so much from equal ones.
        tilt: Variance of a family's slope over that of its level.
        typical: Logarithm of the scale of exponents, over all benchmarks.
        scale: Standard deviation of that logarithm between benchmarks.
        noise: Logarithm of the noise over that of a quarter of the items:
            mean, deviation of all benchmarks together, and of each.
        floors: Floors that are tried, as shares of chance.
        sound: Mean losses further off set no scale.
        outlier: Mean squared error, over its variance, from which a model
            counts less.
        least: Losses below this share of the typical one count as it.
        knee: Loss in nats from which `log(1 + loss / knee)` of a token of an
            own answer grows like the logarithm.
        reliable: Least noise of a unit, as a share of its deviation.
        family_size: A family of k models weighs `k ** (1 - family_size)`.
        group_least: Least share of the units in a cluster.
        most: Models that hyper-parameters are fitted to.
        degrees: Degrees of freedom of errors that calibration chooses from;
            at most the number of families less 1.
        least_degrees: Fewer degrees are not taken, whatever the families.
    """
    views: tuple[View, ...] = (View(), View(straight=6.), View(groups=12))
    level: tuple[float, float] = (-1., 2.)
    spread: tuple[float, float] = (-.7, .5)
    units: tuple[float, float] = (-1., 1.)
    bend: tuple[float, float] = (-2., 1.)
    family: tuple[float, float] = (-1.75, 1.)
    own: tuple[float, float] = (-1.75, 1.)
    answers: tuple[float, float] = (-1., 1.)
    tilt: float = .1
    typical: tuple[float, float] = (-.4, 1.)
    scale: float = .7
    noise: tuple[float, float, float] = (1., 1., 1.)
    floors: tuple[float, ...] = (.95, .8, .5, 0.)
    sound: float = 6.
    outlier: float = 9.
    least: float = .05
    knee: float = .1
    reliable: float = .3
    family_size: float = .5
    group_least: float = .1
    most: int = 150
    better: tuple[float, ...] = ()
    better_weight: float = 1.
    degrees: tuple[float, ...] = (3., 4., 6., 10., 30.)
    least_degrees: float = 2.5
