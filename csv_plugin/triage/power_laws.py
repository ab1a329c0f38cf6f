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
    """Shape of a power law: its two parameters, and how surely they hold.

    As a prior, the parameters are the means of normal distributions.

    Args:
        log_drop (float): Log of the distance to the limit at the budget.
        log_rate (float): Log of the power.
        drop_spread (float): Standard deviation of `log_drop`.
        rate_spread (float): Standard deviation of `log_rate`.
    """
    log_drop: float
    log_rate: float
    drop_spread: float
    rate_spread: float

    def rise(self, share: float) -> float:
        """How much the exponent rises from a share up to the whole budget.

        Args:
            share (float): Share of the budget, in (0, 1].

        >>> Shape(0.0, 0.0, 1.0, 1.0).rise(0.25)
        3.0
        """
        powers = np.power(share, -np.exp(self.log_rate)) - 1
        return float(np.exp(self.log_drop) * powers)


#: A prior that is close to ignorance: a rise of about 2 from a tenth of the
#: budget on.
VAGUE = Shape(0.0, float(np.log(0.5)), 2.0, 0.5)


def fit_shape(shares: NDArray, exponent: NDArray, prior: Shape) -> Shape:
    """The most likely power law through some checkpoints.

    Args:
        shares (NDArray): Shares of the budget, positive, `(n,)`.
        exponent (NDArray): Exponents of one benchmark there, `(n,)`.
        prior (Shape): What is assumed before the checkpoints are seen.

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

    log_drop, log_rate = least_squares(
        residuals, np.clip(centre, *_BOUNDS), bounds=_BOUNDS, xtol=1e-10).x
    return replace(prior, log_drop=float(log_drop), log_rate=float(log_rate))


def extrapolate(shares: NDArray, exponent: NDArray, prior: Shape) -> float:
    """From the last checkpoint along the power law to the budget.

    Args:
        shares (NDArray): As in `fit_shape`, rising.
        exponent (NDArray): As in `fit_shape`.
        prior (Shape): As in `fit_shape`.

    Returns:
        float: The exponent at the budget.
    """
    shape = fit_shape(shares, exponent, prior)
    return float(exponent[-1]) + shape.rise(float(shares[-1]))
