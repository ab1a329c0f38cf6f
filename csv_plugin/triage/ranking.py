"""Expected accuracies of pretraining runs, and their order."""
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.triage.forecasting import Forecast

#: Draws from the distribution of what is expected of each run.
N_DRAWS = 4000
#: A run that ends above another with this probability is ahead of it.
SURE = 0.9
#: Verdicts about a run.
AHEAD, BEHIND, OPEN = 'ahead', 'behind', 'not distinguishable'
UNKNOWN, NOT_FORECAST = 'no error known', 'not forecast'


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected accuracies of a run at its budget, fractions.

    `values` are the forecasts and `low` and `high` the ends of the intervals,
    `(B,)` each; `draws` are from the distribution of the accuracies,
    `(N_DRAWS, B)`. Forecasts are NaN where none can be made, the others where
    the error is unknown.
    """
    run: str
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    draws: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """R runs ordered by one benchmark or by the mean of all, the best first.

    `values` are the forecasts and `low` and `high` the ends of the intervals,
    fractions, `(R,)` each; forecasts are NaN where none can be made, the ends
    where the error is unknown. `above` is the
    probability that run i ends above run j, `(R, R)`: 0.5 on the diagonal, NaN
    where the error of a forecast is unknown.
    """
    runs: tuple[str, ...]
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    above: NDArray[np.float64]

    def __repr__(self) -> str:
        return f'Ranking({" > ".join(self.runs)})'

    @property
    def verdicts(self) -> tuple[str, ...]:
        """`AHEAD` of all others, `BEHIND` another, `OPEN` or `UNKNOWN`.

        A run that is `NOT_FORECAST` is compared with none.
        """
        return tuple(map(self._verdict, range(len(self.runs))))

    def _verdict(self, run: int) -> str:
        known = ~np.isnan(self.values)
        if not known[run]:
            return NOT_FORECAST
        if np.isnan(self.above[run, known]).any():
            return UNKNOWN
        known[run] = False
        above = self.above[run, known]
        if not above.size:
            return OPEN
        if above.min() >= SURE:
            return AHEAD
        return BEHIND if above.min() <= 1 - SURE else OPEN


def expect(forecast: Forecast, predictor: Predictor,
           level: float) -> Expectation:
    """Return expected accuracies of a run, with intervals of the given level.

    A draw of the exponent is the forecast, plus an error like those of the
    back-test, plus an error like those of the predictor on held-out models.
    The first follows a multivariate t distribution: few earlier runs make wide
    intervals, and errors on benchmarks are correlated as in the back-test. A
    draw of the accuracy is the curve at this exponent, plus the part of the
    predictor's error that does not depend on the curve. Draws depend on the
    run alone.
    """
    rng = np.random.default_rng(
        zlib.crc32(forecast.run.encode('utf-8', 'surrogatepass')))
    floors = curve_floors(predictor)
    slopes, constants = np.array([
        _deviations(benchmark, exponent) for benchmark, exponent in zip(
            predictor.benchmarks, forecast.exponents)
    ]).T  # yapf: disable
    shape = N_DRAWS, len(floors)
    errors = _backtest_errors(forecast.errors, forecast.freedom, rng)
    exponents = rng.normal(forecast.exponents + errors, slopes, shape)
    draws = rng.normal(accuracy_at(exponents, floors), constants).clip(0, 1)
    values = accuracy_at(forecast.exponents, floors)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Expectation(forecast.run, values, np.minimum(low, values),
                       np.maximum(high, values), draws)


def curve_floors(predictor: Predictor) -> NDArray[np.float64]:
    """Return the floor of Eq. 2 for each benchmark, fractions, `(B,)`."""
    return np.array([
        benchmark.model.curve.floor for benchmark in predictor.benchmarks
    ])  # yapf: disable


def rank(expectations: Sequence[Expectation],
         benchmark: Union[int, Sequence[int]], level: float) -> Ranking:
    """Order R runs by their forecasts on a benchmark; NaN comes last.

    Several benchmarks stand for their mean.
    """

    def select(values: NDArray) -> NDArray:
        """One benchmark or the mean of several, `(..., B)` to `(...)`."""
        chosen = np.take(values, benchmark, axis=-1)
        return chosen if isinstance(benchmark, int) else chosen.mean(axis=-1)

    values = np.array([select(expected.values) for expected in expectations])
    # NaN sorts last; runs with equal forecasts stay in their order.
    order = np.argsort(-values, kind='stable')
    draws = np.array([select(expectations[i].draws) for i in order])
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=1)
    values = values[order]
    return Ranking(
        tuple(expectations[i].run for i in order), values,
        np.minimum(low, values), np.maximum(high, values), _above(draws))


def _deviations(benchmark: BenchmarkPredictor,
                exponent: float) -> tuple[float, float]:
    """Standard deviations of a predictor's error: of exponent, of accuracy."""
    intervals, curve = benchmark.intervals, benchmark.model.curve
    constant, per_slope = np.sqrt(intervals.variance)
    # Where nothing depends on the score, nothing is extrapolated.
    score = curve.beta + exponent / curve.alpha if curve.alpha else curve.beta
    if intervals.extrapolated(score) and len(intervals.backtest):
        # There the predictor's back-tests measure its errors better, unless
        # they went well by chance.
        scale = max(
            1.0,
            intervals.backtest_error *
            float(intervals.growth(np.array(score))))
        constant, per_slope = scale * constant, scale * per_slope
    return float(per_slope), float(constant)


def _backtest_errors(errors: NDArray, freedom: int,
                     rng: np.random.Generator) -> NDArray:
    """Draws from a t distribution with the scale of errors, `(N, B)`."""
    n_runs = len(errors)
    if not n_runs:
        return np.full((N_DRAWS, 1), np.nan)
    normal = rng.normal(size=(N_DRAWS, n_runs)) @ errors / np.sqrt(n_runs)
    scale = np.sqrt(freedom / rng.chisquare(freedom, size=(N_DRAWS, 1)))
    return normal * scale


def _above(draws: NDArray) -> NDArray:
    """Probabilities of `Ranking` from independent draws `(R, N)`."""
    probabilities = np.array([[
        np.mean((first > second) + 0.5 * (first == second)) for second in draws
    ] for first in draws])
    unknown = np.isnan(draws[:, 0])
    return np.where(unknown[:, None] | unknown, np.nan, probabilities)
