"""Which pretraining run will end above another, and how surely."""
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.triage.forecasting import Forecast

#: Draws from what is expected of each run.
N_DRAWS = 4000
#: A run that ends above another with this probability is ahead of it.
SURE = 0.9
AHEAD, BEHIND, OPEN = 'ahead', 'behind', 'not distinguishable'
UNKNOWN = 'no error known'


@dataclass(frozen=True, eq=False)
class Expectation:
    """Accuracies to expect of a run at its budget, fractions.

    Args:
        run (str): Its name.
        values (NDArray): Forecast on each benchmark, `(B,)`; NaN where none
            can be made.
        low (NDArray): Lower ends of the intervals, `(B,)`, NaN where the
            error is not known.
        high (NDArray): Upper ends, `(B,)`.
        draws (NDArray): What may happen, `(N, B)`; NaN likewise.
    """
    run: str
    values: NDArray
    low: NDArray
    high: NDArray
    draws: NDArray


@dataclass(frozen=True, eq=False)
class Ranking:
    """R runs on one benchmark, or on the mean of all.

    Args:
        runs (tuple[str, ...]): The best forecast first.
        values (NDArray): Forecast accuracies, fractions, `(R,)`.
        low (NDArray): Lower ends of the intervals, `(R,)`.
        high (NDArray): Upper ends, `(R,)`.
        above (NDArray): Probability that run i ends above run j, NaN where
            the error is not known. Shape `(R, R)`; 0.5 on the diagonal.
    """
    runs: tuple[str, ...]
    values: NDArray
    low: NDArray
    high: NDArray
    above: NDArray

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Of each run: ahead of all others, behind one, or neither."""
        return tuple(map(self._verdict, range(len(self.runs))))

    def _verdict(self, run: int) -> str:
        others = np.delete(self.above[run], run)
        if np.isnan(others).any() or not others.size:
            return UNKNOWN if others.size else OPEN
        if others.min() >= SURE:
            return AHEAD
        return BEHIND if others.min() <= 1 - SURE else OPEN


def expect(forecast: Forecast, predictor: Predictor,
           level: float) -> Expectation:
    """Accuracies to expect, with all that is known to go wrong.

    An exponent is the forecast, plus an error like those of the earlier runs
    (multivariate t, so that few runs make wide intervals and errors of
    benchmarks go together as they did), plus an error like those of the
    predictor on held-out models; the accuracy is the curve there, plus the
    part of the predictor's error that does not depend on the curve.

    Args:
        forecast (Forecast): Exponents of B benchmarks.
        predictor (Predictor): Curves and errors of the same benchmarks.
        level (float): Share of intervals that should hold the accuracy.

    Returns:
        Expectation: The same for the same run, whatever else is compared.
    """
    rng = np.random.default_rng(zlib.crc32(forecast.run.encode()))
    floors = np.array([known.model.floor for known in predictor.benchmarks])
    slopes, constants = np.array([
        _deviations(known, exponent) for known, exponent in zip(
            predictor.benchmarks, forecast.exponents)
    ]).T  # yapf: disable
    exponents = (
        forecast.exponents + _history_errors(forecast.errors, rng) +
        slopes * rng.normal(size=(N_DRAWS, len(floors))))
    noise = constants * rng.normal(size=exponents.shape)
    draws = np.clip(accuracy_at(exponents, floors) + noise, 0, 1)
    values = accuracy_at(forecast.exponents, floors)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Expectation(forecast.run, values, np.minimum(low, values),
                       np.maximum(high, values), draws)


def rank(expectations: Sequence[Expectation], benchmark: int | slice,
         level: float) -> Ranking:
    """Order R runs by their forecasts on a benchmark.

    Args:
        expectations (Sequence[Expectation]): One per run.
        benchmark (int | slice): Index of a benchmark; of a slice, the mean
            counts. Runs without a forecast come last.
        level (float): Of the intervals.
    """

    def part(values: NDArray) -> NDArray:
        """One benchmark or the mean of several, `(..., B)` to `(...)`."""
        chosen = values[..., benchmark]
        return chosen if isinstance(benchmark, int) else chosen.mean(axis=-1)

    values = np.array([part(one.values) for one in expectations])
    # NaN sorts last; runs that are forecast alike stay in their order.
    order = np.argsort(-values, kind='stable')
    draws = np.array([part(expectations[i].draws) for i in order])
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=1)
    values = values[order]
    return Ranking(
        tuple(expectations[i].run for i in order), values,
        np.minimum(low, values), np.maximum(high, values), _above(draws))


def _deviations(known: BenchmarkPredictor,
                exponent: float) -> tuple[float, float]:
    """Standard deviations of a predictor's error: exponent, accuracy."""
    intervals, model = known.intervals, known.model
    constant, per_slope = np.sqrt(intervals.variance)
    # A benchmark that depends on no score is never extrapolated.
    score = model.beta + exponent / model.alpha if model.alpha else model.beta
    if intervals.extrapolated(score) and len(intervals.backtest):
        # There the back-test knows better, unless it went well by chance.
        scale = max(1.0, float(np.sqrt(np.mean(intervals.backtest**2))))
        constant, per_slope = scale * constant, scale * per_slope
    return float(per_slope), float(constant)


def _history_errors(errors: NDArray, rng: np.random.Generator) -> NDArray:
    """Draws from a t distribution with the moments of errors, `(N, B)`."""
    n_runs = len(errors)
    if not n_runs:
        return np.full((N_DRAWS, 1), np.nan)
    normal = rng.normal(size=(N_DRAWS, n_runs)) @ errors / np.sqrt(n_runs)
    scale = np.sqrt(n_runs / rng.chisquare(n_runs, size=(N_DRAWS, 1)))
    return normal * scale


def _above(draws: NDArray) -> NDArray:
    """Probabilities of `Ranking` from independent draws `(R, N)`."""
    wins = np.array(
        [[np.mean((one > other) + 0.5 * (one == other)) for other in draws]
         for one in draws])
    unknown = np.isnan(draws).any(axis=1)
    return np.where(unknown[:, None] | unknown, np.nan, wins)
