"""The baseline: an accuracy from the mean loss alone, with a learned floor.

For one benchmark, the accuracy is Eq. 2 (Ge et al., ACL 2025) with the mean
loss over all units as the score:

    accuracy = floor + (1 - floor) / (1 + exp(-f))
    f = level + slope (median - loss) / spread

`median` is the median loss of the training models. `spread` is the standard
deviation of a normal distribution that has the quartiles of their losses. So
a broken model does not set the scale. Level, slope and floor maximise the
posterior density:

* All accuracies scatter about the curve with one standard deviation, which a
  first fit estimates.
* An error of e standard deviations costs k^2 (sqrt(1 + (e / k)^2) - 1) with
  k = 5: about e^2 / 2 if it is small, and in proportion to its size if it is
  large (pseudo-Huber; Hartley and Zisserman, Multiple View Geometry, 2nd
  edition, 2004, appendix 6).
* Weak priors keep the curve from becoming a step where there are few models,
  or where all accuracies on the benchmark are similar.
"""
import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.scaling_law import Curve, accuracy_at

#: Means of the normal priors of the level and of the logarithm of the slope.
PRIOR = np.array([-1.0, -0.4])
#: Standard deviations of these priors.
PRIOR_DEVIATION = np.array([3.0, 1.5])


def fit_mean_loss(loss: NDArray, accuracy: NDArray, chance: float) -> Curve:
    """Fit the baseline of one benchmark to n training models.

    On the fitted curve, accuracies fall as losses rise, if only a little.

    Args:
        loss (NDArray): Mean losses, in any unit, `(n,)`.
        accuracy (NDArray): Fractions, `(n,)`, NaN for models that were not run
            on the benchmark. At least one model was.
        chance (float): Accuracy at random guessing, a fraction below 1.

    Returns:
        Curve: Eq. 2 with the loss as the score, and a floor between 0 and
        chance. If all losses are equal, it is constant at the mean accuracy.
    """
    known = ~np.isnan(accuracy)
    loss = loss[known]
    accuracy = accuracy[known]
    median = float(np.median(loss))
    spread = _spread(loss)
    if not spread:
        return Curve.constant(accuracy.mean())
    position = (median - loss) / spread
    noise, line = _noise_and_line(position, accuracy, chance)
    line, floor = _best_line(position, accuracy, chance, noise, line)
    level, log_slope = line
    slope = np.exp(log_slope)
    # The loss at which the exponent is 0.
    half_way = median + level * spread / slope
    return Curve(-slope / spread, half_way, np.array(floor))


def _spread(loss: NDArray) -> float:
    """Return the standard deviation of losses, estimated from quartiles.

    It is 0 if losses differ by rounding only.
    """
    rounding = 1e-12 * np.abs(loss).max()
    low, high = np.quantile(loss, [0.25, 0.75])
    # Distance between the quartiles of a normal distribution, in standard
    # deviations.
    quartiles_apart = 1.349
    # If half of the models have the same loss, the quartiles may be equal.
    # Then the ordinary standard deviation is taken.
    spread = (high - low) / quartiles_apart
    if spread <= rounding:
        spread = loss.std()
    if spread <= rounding:
        return 0.0
    return float(spread)


def _noise_and_line(position: NDArray, accuracy: NDArray,
                    chance: float) -> tuple[float, NDArray]:
    """Return the standard deviation of accuracies about a first line.

    The line, `(2,)`, is returned, too. Arguments are as in `_best_line`.
    """
    # Standard deviation of an accuracy (a fraction) in the first fit. The
    # scatter that this fit finds is added to it in quadrature.
    usual_noise = 0.02
    # Floor of the first fit, as a share of the chance level.
    first_share = 0.8
    floor = first_share * chance
    line, _ = _fit_line(position, accuracy, floor, usual_noise, PRIOR)
    level, log_slope = line
    exponents = level + np.exp(log_slope) * position
    errors = accuracy_at(exponents, floor) - accuracy
    sizes = np.abs(errors)
    # Standard deviation of a normal distribution, divided by its median
    # absolute error.
    by_median = 1.4826
    scatter = by_median * np.median(sizes)
    return float(np.hypot(usual_noise, scatter)), line


def _best_line(position: NDArray, accuracy: NDArray, chance: float,
               noise: float, line: NDArray) -> tuple[NDArray, float]:
    """Return the line, `(2,)`, and the floor of the largest posterior density.

    `position`, `accuracy`, `noise` and lines are as in `_fit_line`. The search
    begins at `line`.
    """
    # Candidates for the floor, as shares of the chance level. Models may be
    # below chance, for example if the wrong answers look plausible.
    shares: tuple[float, ...] = (1.0, 0.95, 0.8, 0.5, 0.0)
    if not chance:
        shares = (1.0, )
    # Negative logarithm of the prior density of the floor 0, relative to the
    # density of a floor at chance. In between, it is linear in the share.
    floor_cost = 3.0
    least = np.inf
    for share in shares:
        candidate = share * chance
        # Start from the line of the previous floor, which is close.
        line, cost = _fit_line(position, accuracy, candidate, noise, line)
        cost += floor_cost * (1 - share)
        if cost < least:
            least = cost
            best = line
            floor = candidate
    return best, floor


def _fit_line(position: NDArray, accuracy: NDArray, floor: float, noise: float,
              start: NDArray) -> tuple[NDArray, float]:
    """Return the line of least cost, `(2,)`, and this cost.

    A line is the level and the logarithm of the slope. Its cost is the
    negative logarithm of the posterior density, up to a constant. `position`
    is `(median - loss) / spread`, `(n,)`, and `accuracy` is `(n,)`. `noise`
    is the standard deviation of an accuracy about the curve. The search begins
    at the line `start`.
    """
    from scipy.optimize import least_squares

    # The k of the cost of an error, which the module's docstring states.
    large = 5.0

    def predict(line: NDArray) -> tuple[NDArray, float]:
        """Return the accuracies on the curve, `(n,)`, and the slope."""
        # A curve with a larger logarithm of the slope is a step anyway.
        steepest = 30.0
        level, log_slope = line
        log_slope = min(log_slope, steepest)
        slope = np.exp(log_slope)
        exponents = level + slope * position
        return accuracy_at(exponents, floor), slope

    def residuals(line: NDArray) -> NDArray:
        """Return residuals, `(n + 2,)`. Half their sum of squares is the cost.

        The first n residuals belong to the models. Half the square of such a
        residual is the cost of the error, and its sign is that of the error.
        The last two belong to the priors.
        """
        fitted, _ = predict(line)
        error = (fitted - accuracy) / noise
        excess = np.hypot(1, error / large) - 1
        size = large * np.sqrt(2 * excess)
        damped = np.copysign(size, error)
        from_prior = line - PRIOR
        from_prior /= PRIOR_DEVIATION
        return np.append(damped, from_prior)

    def derivatives(line: NDArray) -> NDArray:
        """Return the derivatives of the residuals, `(n + 2, 2)`.

        The columns are the level and the logarithm of the slope.
        """
        fitted, slope = predict(line)
        error = (fitted - accuracy) / noise
        # With r = sqrt(1 + (e / k)^2), the derivative of the residual with
        # respect to the error e is sqrt((r + 1) / 2) / r, which is 1 at e = 0.
        root = np.hypot(1, error / large)
        damping = np.sqrt((root + 1) / 2)
        damping /= root
        # The slope of the curve is p (1 - p) (1 - floor), where p is how far
        # the accuracy is above the floor, from 0 to 1.
        by_level = damping * (fitted - floor)
        by_level *= 1 - fitted
        by_level /= 1 - floor
        by_level /= noise
        by_log_slope = by_level * slope * position
        of_models = np.column_stack([by_level, by_log_slope])
        of_priors = np.diag(1 / PRIOR_DEVIATION)
        return np.vstack([of_models, of_priors])

    # These tolerances are so small that all versions of scipy find the same
    # line.
    found = least_squares(
        residuals,
        start,
        derivatives,
        method='lm',
        ftol=1e-12,
        xtol=1e-12,
        gtol=1e-12)
    return found.x, found.cost
