"""Eq. 2, the downstream scaling law, and its Levenberg-Marquardt fit (Eq. 4).

`accuracy = floor + (1 - floor) / (1 + exp(-alpha (score - beta)))`. The
capability score is a weighted *loss* (Eq. 1), so a benchmark that improves
as models improve has a negative `alpha`.
"""
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares, minimize_scalar
from scipy.special import expit, logit

from csv_plugin.core.conventions import InputError

#: Accuracies this close to chance (or below it) carry no signal.
CHANCE_MARGIN = 0.02

#: Why a fit cannot be trusted, by the code that `SigmoidFit.problems` holds.
PROBLEMS = {
    'too_few_models': 'fewer than 3 models with a score',
    'constant_score': 'all models have the same capability score',
    'constant_accuracy': 'all models have the same accuracy',
    'at_chance': f'no model is more than {CHANCE_MARGIN} above chance',
    'slope_sign': 'accuracy rises with the loss',
}


def accuracy_at(logit: ArrayLike, floor: ArrayLike) -> NDArray:
    """The curve of Eq. 2 over its exponent, `alpha (score - beta)`.

    Args:
        logit (ArrayLike): Exponent, any shape.
        floor (ArrayLike): Fractions; broadcasts.

    Returns:
        NDArray: Accuracies, fractions, broadcast shape.
    """
    floor = np.asarray(floor)
    return floor + (1 - floor) * expit(logit)


def scaling_law(score: ArrayLike, alpha: ArrayLike, beta: ArrayLike,
                floor: ArrayLike) -> NDArray:
    """Accuracy at a capability score (Eq. 2).

    Args:
        score (ArrayLike): Capability scores, nats per character or any
            unit.
        alpha (ArrayLike): Slope, per unit of score; broadcasts, as do
            `beta` (the score half-way up, unit of the score) and `floor`
            (accuracy far out on the bad side, a fraction).

    Returns:
        NDArray: Fractions in 0..1, broadcast shape.

    >>> float(scaling_law(2.0, -3.0, 2.0, 0.25))
    0.625
    """
    distance = np.asarray(score) - np.asarray(beta)
    return accuracy_at(np.asarray(alpha) * distance, floor)


@dataclass(frozen=True, eq=False)
class Curve:
    """One benchmark's scaling law.

    Args:
        alpha (float): Slope per unit of score.
        beta (float): Score half-way between the floor and 1.
        floor (float): Accuracy at infinitely bad scores, a fraction.
    """
    alpha: float
    beta: float
    floor: float

    def __call__(self, score: NDArray) -> NDArray:
        """Accuracies of shape of `score`, fractions (Eq. 2)."""
        return scaling_law(score, self.alpha, self.beta, self.floor)

    @classmethod
    def constant(cls, accuracy: float) -> 'Curve':
        """The flat curve: `alpha` is 0 and the floor only places it.

        >>> round(float(Curve.constant(0.3)(np.array(7.0))), 9)
        0.3
        """
        return cls(alpha=0.0, beta=0.0, floor=2 * accuracy - 1)


@dataclass(frozen=True)
class SigmoidFit:
    """A fitted scaling law and what is known about its quality.

    Args:
        curve (Curve): The curve; flat where no slope can be fitted.
        covariance (NDArray): Of (alpha, beta), shape `(2, 2)`, or of
            (alpha, beta, floor), shape `(3, 3)`, when a floor was learned
            inside its range; NaN when the models are too few to tell.
        mse (float): Mean squared residual over the fitted models.
        n_models (int): Models used: those with a score and an accuracy.
        problems (tuple[str, ...]): Keys of `PROBLEMS`; empty if sound.
    """
    curve: Curve
    covariance: NDArray
    mse: float
    n_models: int
    problems: tuple[str, ...]


def diagnose(score: NDArray, accuracy: NDArray,
             chance: float) -> tuple[str, ...]:
    """Reasons why no slope can be fitted; keys of `PROBLEMS`.

    Args:
        score (NDArray): Shape `(n,)`.
        accuracy (NDArray): Shape `(n,)`, fractions.
        chance (float): Accuracy at random guessing.
    """
    # Equal losses may have sums that differ in their last bits.
    rounding = 1e-12 * np.abs(score).max(initial=0)
    found = {
        'too_few_models': len(score) < 3,
        'constant_score': len(score) > 0 and np.ptp(score) <= rounding,
        'constant_accuracy': len(score) > 0 and np.ptp(accuracy) == 0,
        'at_chance': bool(np.all(accuracy <= chance + CHANCE_MARGIN)),
    }
    return tuple(name for name, is_so in found.items() if is_so)


def fit_sigmoid(score: NDArray,
                accuracy: NDArray,
                chance: float,
                learn_floor: bool = False,
                start: Optional[tuple[float, float]] = None) -> SigmoidFit:
    """Fit Eq. 2 to models by Levenberg-Marquardt (Eq. 4).

    Args:
        score (NDArray): Capability scores, shape `(n,)`, finite.
        accuracy (NDArray): Shape `(n,)`, fractions; NaN = not run, left out.
        chance (float): Accuracy at random guessing, in [0, 1).
        learn_floor (bool): Whether the floor may be anything in
            `[0, chance]` (models below the emergence threshold often score
            below chance) instead of `chance`.
        start (tuple[float, float]): First guess of (alpha, beta), tried
            beside the built-in ones.

    Raises:
        InputError: On shapes that differ, scores that are not finite,
            infinite accuracies, or chance outside [0, 1).

    >>> score = np.array([1.0, 1.5, 2.0, 2.5, 3.0])
    >>> fit = fit_sigmoid(score, Curve(-4, 2.1, 0.25)(score), chance=0.25)
    >>> round(fit.curve.alpha, 6), round(fit.curve.beta, 6), fit.problems
    (-4.0, 2.1, ())
    """
    score, accuracy = _check(score, accuracy, chance)
    problems = diagnose(score, accuracy, chance)
    if problems:
        mean = float(accuracy.mean()) if len(accuracy) else chance
        curve = Curve.constant(mean)
        mse = float(np.mean((accuracy - mean)**2)) if len(accuracy) else 0.0
        return SigmoidFit(curve, np.full((2, 2), np.nan), mse, len(score),
                          problems)
    solve = _fit_floor if learn_floor and chance > 0 else _fit_fixed
    params = solve(score, accuracy, chance, start)
    curve = Curve(*(float(p) for p in params[:3]))
    problems = ('slope_sign', ) if curve.alpha > 0 else ()
    free = 3 if 0 < curve.floor < chance else 2
    mse = float(np.mean((curve(score) - accuracy)**2))
    return SigmoidFit(curve, _covariance(score, accuracy, curve, free), mse,
                      len(score), problems)


def _check(score: NDArray, accuracy: NDArray,
           chance: float) -> tuple[NDArray, NDArray]:
    score = np.asarray(score, dtype=float)
    accuracy = np.asarray(accuracy, dtype=float)
    if score.ndim != 1 or score.shape != accuracy.shape:
        raise InputError('fit_sigmoid', 'score and accuracy of one shape (n,)',
                         f'{score.shape} and {accuracy.shape}',
                         'Give one score and one accuracy per model.')
    if not np.isfinite(score).all():
        raise InputError('fit_sigmoid', 'finite scores', 'NaN or infinity',
                         'Leave out models without losses.')
    if np.isinf(accuracy).any():
        raise InputError('fit_sigmoid', 'accuracies in 0..1', 'infinity',
                         'Put NaN where a benchmark was not run.')
    if not 0 <= chance < 1:
        raise InputError('fit_sigmoid', 'chance in [0, 1)', str(chance),
                         'Give accuracies and chance as fractions.')
    known = ~np.isnan(accuracy)
    return score[known], accuracy[known]


def _fit_fixed(score: NDArray, accuracy: NDArray, floor: float,
               start: Optional[tuple[float, float]]) -> NDArray:
    """(alpha, beta, floor) with the floor as given."""
    centre, spread = score.mean(), score.std()
    z = (score - centre) / spread

    def residuals(params: NDArray) -> NDArray:
        """Of (intercept, slope) in standard units, shape `(n,)`."""
        return accuracy_at(params[0] + params[1] * z, floor) - accuracy

    def jacobian(params: NDArray) -> NDArray:
        """Of the residuals, shape `(n, 2)`."""
        p = expit(params[0] + params[1] * z)
        d = (1 - floor) * p * (1 - p)
        return np.stack([d, d * z], axis=1)

    starts = _starts(z, accuracy, floor)
    if start is not None:
        alpha, beta = start
        starts.append(np.array([alpha * (centre - beta), alpha * spread]))
    # The best few starts are enough, and one of them may sit on a plateau.
    starts.sort(key=lambda s: float(np.sum(residuals(s)**2)))
    fits = [
        least_squares(residuals, s, jacobian, method='lm', xtol=1e-15,
                      ftol=1e-15, gtol=1e-15, max_nfev=500)
        for s in starts[:3]
    ]  # yapf: disable
    intercept, slope = min(fits, key=lambda fit: fit.cost).x
    # A flat optimum has its half-way point infinitely far away.
    slope = slope or -1e-12
    return np.array(
        [slope / spread, centre - intercept * spread / slope, floor])


def _starts(z: NDArray, accuracy: NDArray, floor: float) -> list[NDArray]:
    """Guesses of (intercept, slope): a logit regression and a coarse grid."""
    share = np.clip((accuracy - floor) / (1 - floor), 0.02, 0.98)
    slope, intercept = np.polyfit(z, logit(share), 1)
    grid = [
        np.array([-s * middle, s]) for s in (-20, -5, -1, 1, 5, 20)
        for middle in np.quantile(z, (0.05, 0.25, 0.5, 0.75, 0.95))
    ]
    return [np.array([intercept, slope]), *grid]


def _fit_floor(score: NDArray, accuracy: NDArray, chance: float,
               start: Optional[tuple[float, float]]) -> NDArray:
    """(alpha, beta, floor) with the floor learned in [0, chance]."""

    def sse(floor: float) -> float:
        """Sum of squares of the best curve with a given floor."""
        fit = _fit_fixed(score, accuracy, floor, start)
        return float(np.sum((scaling_law(score, *fit) - accuracy)**2))

    inner = float(minimize_scalar(sse, bounds=(0, chance), method='bounded').x)
    floor = min((0.0, inner, chance), key=sse)
    params = _fit_fixed(score, accuracy, floor, start)
    if floor != inner:
        return params
    scale = np.array([params[0], score.std(), chance])
    fit = least_squares(
        lambda p: scaling_law(score, *(p * scale)) - accuracy, params / scale,
        lambda p: _jacobian(score, Curve(*(p * scale)), 3) * scale,
        method='lm', xtol=1e-15, ftol=1e-15, gtol=1e-15)  # yapf: disable
    return fit.x * scale if 0 <= fit.x[2] <= 1 else params


def _jacobian(score: NDArray, curve: Curve, free: int) -> NDArray:
    """d accuracy / d (alpha, beta, floor), first `free` columns."""
    p = expit(curve.alpha * (score - curve.beta))
    d = (1 - curve.floor) * p * (1 - p)
    return np.stack([d * (score - curve.beta), -d * curve.alpha, 1 - p],
                    axis=1)[:, :free]


def _covariance(score: NDArray, accuracy: NDArray, curve: Curve,
                free: int) -> NDArray:
    jac = _jacobian(score, curve, free)
    freedom = len(score) - free
    # Zero or nearly so once every model sits on a flat end of the curve.
    size = np.linalg.norm(jac, axis=0)
    if (freedom == 0 or size.min() < 1e-100
            or np.linalg.matrix_rank(jac / size) < free):
        return np.full((free, free), np.nan)
    variance = np.sum((curve(score) - accuracy)**2) / freedom
    inverse = np.linalg.pinv(jac / size) / size[:, None]
    return variance * inverse @ inverse.T
