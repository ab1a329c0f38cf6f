"""The baseline: an accuracy from the mean loss alone, with a learned floor.

For one benchmark, Eq. 2 of the mean loss of all units (Ge et al., ACL 2025):

    accuracy = floor + (1 - floor) / (1 + exp(-e))
    e = level + slope (typical - loss) / spread

The typical loss is the median of the training models, and the spread is the
standard deviation of a normal distribution with their quartiles, so that a
broken model does not set the scale. Level, slope and floor are those of the
highest posterior density: errors have one standard deviation, that of a first
fit, large ones count by their size rather than by its square (Huber, Annals of
Mathematical Statistics 35(1), 1964), and weak priors keep a few models or a
flat benchmark from giving a step.
"""
import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.scaling_law import Curve, accuracy_at

#: Means and standard deviations of the normal priors of the level and of the
#: logarithm of the slope.
PRIOR, PRIOR_DEVIATION = np.array([-1.0, -0.4]), np.array([3.0, 1.5])


def fit_mean_loss(loss: NDArray, accuracy: NDArray, chance: float) -> Curve:
    """Fit the baseline of one benchmark to n training models.

    Accuracies fall as losses rise, or they are nearly flat.

    Args:
        loss (NDArray): Mean losses, in any unit, `(n,)`.
        accuracy (NDArray): Fractions, `(n,)`; NaN where the benchmark was not
            run. One model or more was run.
        chance (float): Accuracy at random guessing, a fraction below 1.

    Returns:
        Curve: Eq. 2 with the loss as the score, and a floor between 0 and
        chance. It is flat, at the mean accuracy, if all losses are equal.
    """
    known = ~np.isnan(accuracy)
    loss, accuracy = loss[known], accuracy[known]
    typical, spread = float(np.median(loss)), _spread(loss)
    if not spread:
        return Curve.constant(accuracy.mean())
    position = (typical - loss) / spread
    # Standard deviation of an accuracy about the curve, as a fraction, in the
    # first fit; later ones add that of its residuals.
    usual_noise = 0.02
    # Floor of the first fit, as a share of the chance level.
    first_share = 0.8
    line, _ = _fit_line(position, accuracy, first_share * chance, usual_noise,
                        PRIOR)
    exponents = line[0] + np.exp(line[1]) * position
    fitted = accuracy_at(exponents, first_share * chance)
    median_error = np.median(np.abs(fitted - accuracy))
    # Standard deviation of a normal distribution by its median absolute error.
    by_median = 1.4826
    noise = np.hypot(usual_noise, by_median * median_error)
    # Floors that are tried, as shares of the chance level. Models may stay
    # below chance, as where likely wrong answers are offered.
    floor_shares = 1.0, 0.95, 0.8, 0.5, 0.0
    # Negative logarithm of the prior of the floor 0, relative to that of
    # chance. Between them it is linear in the share.
    floor_cost = 3.0
    least, floor = np.inf, chance
    for share in floor_shares if chance else (1.0, ):
        # The last line is near the next one.
        line, cost = _fit_line(position, accuracy, share * chance, noise, line)
        cost += floor_cost * (1 - share)
        if cost < least:
            best, least, floor = line, cost, share * chance
    level, slope = best[0], np.exp(best[1])
    half_way = typical + level * spread / slope
    return Curve(-slope / spread, half_way, np.array(floor))


def _spread(loss: NDArray) -> float:
    """Standard deviation by quartiles; 0 if losses differ by rounding only."""
    rounding = 1e-12 * np.abs(loss).max()
    low, high = np.quantile(loss, [0.25, 0.75])
    # Quartiles of a normal distribution are so many standard deviations apart.
    quartiles_apart = 1.349
    # Half of the models may have one loss.
    for spread in ((high - low) / quartiles_apart, loss.std()):
        if spread > rounding:
            return float(spread)
    return 0.0


def _fit_line(position: NDArray, accuracy: NDArray, floor: float, noise: float,
              start: NDArray) -> tuple[NDArray, float]:
    """Level and logarithm of the slope, `(2,)`, and their least cost.

    The cost is the negative logarithm of the posterior but for a constant.
    Positions and accuracies are `(n,)`.
    """
    from scipy.optimize import least_squares

    # Errors of more than so many standard deviations count by their size.
    large = 5.0

    def predict(line: NDArray) -> tuple[NDArray, float]:
        """Accuracies, `(n,)`, and the slope."""
        # Logarithms of slopes above this are those of a step.
        steepest = 30.0
        slope = np.exp(min(line[1], steepest))
        return accuracy_at(line[0] + slope * position, floor), slope

    def residuals(line: NDArray) -> NDArray:
        """Roots of twice the parts of the cost, `(n + 2,)`."""
        error = (predict(line)[0] - accuracy) / noise
        excess = np.hypot(1, error / large) - 1
        damped = np.copysign(large * np.sqrt(2 * excess), error)
        return np.append(damped, (line - PRIOR) / PRIOR_DEVIATION)

    def derivatives(line: NDArray) -> NDArray:
        """Derivatives of the residuals in the line, `(n + 2, 2)`."""
        fitted, slope = predict(line)
        error = (fitted - accuracy) / noise
        size = np.hypot(1, error / large)
        # The derivative of the damped error, which is 1 where there is none.
        damping = np.sqrt((size + 1) / 2) / size
        rise = damping * (fitted - floor) * (1 - fitted) / (1 - floor) / noise
        of_models = np.stack([rise, rise * slope * position], axis=1)
        return np.vstack([of_models, np.diag(1 / PRIOR_DEVIATION)])

    # So close to the least cost that other versions of scipy agree.
    found = least_squares(
        residuals,
        start,
        derivatives,
        method='lm',
        ftol=1e-12,
        xtol=1e-12,
        gtol=1e-12)
    return found.x, found.cost
