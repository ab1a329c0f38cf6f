"""Power laws through the checkpoints of a pretraining run.

Along a training the exponent of Eq. 2, the capability score in the unit of
the accuracy curve, follows `limit - drop * share ** -rate`: a power law in
the tokens, written in shares of the budget.
"""
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

#: Standard deviation of an exponent around its power law.
NOISE = 0.5
#: Bounds of log drop and log rate.
_BOUNDS = ([-6.0, -3.0], [4.0, 1.5])


@dataclass(frozen=True)
class Shape:
    """Shape of a power law, or what is known of it beforehand.

    Args:
        log_drop (float): Log of the distance to the limit at the budget.
        log_rate (float): Log of the power.
        drop_spread (float): Standard deviation of the first.
        rate_spread (float): Standard deviation of the second.
    """
    log_drop: float
    log_rate: float
    drop_spread: float
    rate_spread: float

    def rise(self, share: float) -> float:
        """What the power law gains from a share to the whole budget."""
        powers = np.power(share, -np.exp(self.log_rate)) - 1
        return float(np.exp(self.log_drop) * powers)


#: Knows next to nothing: a gain of about 2 from a tenth of the budget on.
VAGUE = Shape(0.0, float(np.log(0.5)), 2.0, 0.5)


def fit_shape(shares: NDArray, exponent: NDArray, prior: Shape) -> Shape:
    """The most likely power law through some checkpoints.

    Args:
        shares (NDArray): Shares of the budget, positive, `(n,)`.
        exponent (NDArray): Exponents of one benchmark there, `(n,)`.
        prior (Shape): What is known beforehand.

    Returns:
        Shape: With the spreads of the prior.
    """
    spread = np.array([prior.drop_spread, prior.rate_spread])
    centre = np.array([prior.log_drop, prior.log_rate])

    def residuals(parameters: NDArray) -> NDArray:
        """Of checkpoints and prior, in standard deviations, `(n + 2,)`."""
        drop, rate = np.exp(parameters)
        # The limit that fits best leaves no mean residual.
        limits = exponent + drop * shares**-rate
        return np.concatenate([(limits - limits.mean()) / NOISE,
                               (parameters - centre) / spread])

    found = least_squares(
        residuals, np.clip(centre, *_BOUNDS), bounds=_BOUNDS, xtol=1e-10).x
    return replace(prior, log_drop=float(found[0]), log_rate=float(found[1]))


def extrapolate(shares: NDArray, exponent: NDArray, prior: Shape) -> float:
    """From the last checkpoint along the power law to the budget.

    Args and errors as in `fit_shape`.
    """
    shape = fit_shape(shares, exponent, prior)
    return float(exponent[-1]) + shape.rise(float(shares[-1]))
