"""Where pretraining runs will end, by what earlier runs gained from there on.

At each checkpoint of a run, the gain from there to the end is regressed, over
the earlier runs, on how good they were at the same part of their training: the
mean over the benchmarks. Regressions at several checkpoints, and on several
sources such as observed scores and accuracies predicted from losses, are
averaged with weights that fall with the square of their mean squared error on
earlier runs left out. Intervals are those of a regression whose residuals come
from earlier runs left out, and no narrower than the noise of a score.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from csv_plugin.core.conventions import InputError

#: With fewer earlier runs, a regression left one out has no error.
LEAST_RUNS = 4
#: A run is also looked up before its first checkpoint, by at most this factor.
SLACK = 1.2
#: Smaller mean squared errors count as this, and leverages as no more.
_LEAST_ERROR, _MOST_LEVERAGE = 1e-12, 0.99


@dataclass(frozen=True, eq=False)
class Levels:
    """How good a run was along its training, by one source.

    Args:
        shares (NDArray): Parts of the training, rising, in (0, 1], `(n,)`.
        values (NDArray): Accuracies, or anything else that gets better or
            worse, on B benchmarks, `(n, B)`.
    """
    shares: NDArray[np.float64]
    values: NDArray[np.float64]

    def covers(self, share: float) -> bool:
        """Whether the run can be looked up at a part of the training."""
        return len(self.shares) > 0 and bool(self.shares[0] <= SLACK * share)

    def at(self, share: float) -> NDArray[np.float64]:
        """Values there, linear in the log of the training, `(B,)`."""
        places = np.log(self.shares)
        return np.array([
            np.interp(np.log(share), places, column)
            for column in self.values.T
        ])

    def until(self, share: float) -> 'Levels':
        """The checkpoints up to a part of the training."""
        seen = self.shares <= share
        return Levels(self.shares[seen], self.values[seen])


class PastRun(NamedTuple):
    """A finished run.

    Args:
        run (str): Its name.
        sources (tuple[Levels, ...]): By each source, as little fitted to the
            run as to the runs to forecast.
        final (NDArray): What it reached at its end, `(B,)`.
    """
    run: str
    sources: tuple[Levels, ...]
    final: NDArray[np.float64]


class Ends(NamedTuple):
    """Forecasts of the end of a run, each `(B,)`.

    Args:
        values (NDArray): The most likely.
        low (NDArray): Lower ends of the intervals.
        high (NDArray): Upper ends.
    """
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def forecast_end(sources: Sequence[Levels],
                 history: Sequence[PastRun],
                 level: float,
                 n_items: Optional[NDArray] = None) -> Ends:
    """Forecast the end of a run.

    Args:
        sources (Sequence[Levels]): The run so far, by each source.
        history (Sequence[PastRun]): Earlier runs, by the same sources.
        level (float): Share of intervals that should hold the end.
        n_items (Optional[NDArray]): Items behind each accuracy, `(B,)`, 0
            where unknown; None if the ends are not those of the sources but
            other numbers, which then are regressed in place of gains.

    Raises:
        InputError: Fewer than `LEAST_RUNS` earlier runs, or there is no
            checkpoint of the run at which all of them can be looked up.
    """
    if len(history) < LEAST_RUNS:
        raise InputError('earlier runs', f'{LEAST_RUNS} finished runs or more',
                         str(len(history)), 'Give the losses of more runs.')
    parts = list(_regressions(sources, history, n_items is not None))
    if not parts:
        raise InputError(
            'checkpoints', 'a part of the training at which all '
            'earlier runs have checkpoints too', 'none as early',
            'Forecast the run later, or give other runs.')
    errors = np.array([np.mean(part.errors**2) for part in parts])
    trusted = np.maximum(errors, _LEAST_ERROR)**-2.0
    weights = trusted / trusted.sum()
    value, left_out, spread, past_spread = (
        sum(weight * part[i] for weight, part in zip(weights, parts))
        for i in range(4))
    deviation = np.sqrt(np.mean(left_out**2 / (1 + past_spread[:, None]), 0))
    half = t.ppf((1 + level) / 2,
                 len(history) - 2) * deviation * np.sqrt(1 + spread)
    if n_items is None:
        return Ends(value, value - half, value + half)
    value = np.clip(value, 0, 1)
    half = np.maximum(half, _noise(value, n_items, level))
    return Ends(value, np.clip(value - half, 0, 1),
                np.clip(value + half, 0, 1))


class _Regression(NamedTuple):
    """What one source tells at one checkpoint.

    Args:
        value (NDArray): The end of the run, `(B,)`.
        errors (NDArray): Real minus forecast ends of the H earlier runs, each
            left out, `(H, B)`.
        spread (float): Variance of the value, in residual variances.
        past_spread (NDArray): The same of the forecasts of the earlier runs,
            `(H,)`.
    """
    value: NDArray[np.float64]
    errors: NDArray[np.float64]
    spread: float
    past_spread: NDArray[np.float64]


def _regressions(sources: Sequence[Levels], history: Sequence[PastRun],
                 gains: bool) -> Iterator[_Regression]:
    final = np.array([past.final for past in history])
    for s, source in enumerate(sources):
        past_levels = [past.sources[s] for past in history]
        for share, now in zip(source.shares, source.values):
            if all(levels.covers(share) for levels in past_levels):
                past = np.array([levels.at(share) for levels in past_levels])
                yield _regress(now, past, final, gains)


def _regress(now: NDArray, past: NDArray, final: NDArray,
             gains: bool) -> _Regression:
    """From the mean level, of `(B,)` and `(H, B)`, to ends or gains."""
    design = np.column_stack([np.ones(len(past)), past.mean(axis=1)])
    solve = np.linalg.pinv(design)
    here = np.array([1, now.mean()]) @ solve
    hat = design @ solve
    leverage = np.minimum(np.diag(hat), _MOST_LEVERAGE)
    rest = final - past if gains else final
    return _Regression(here @ rest + (now if gains else 0),
                       (rest - hat @ rest) / (1 - leverage)[:, None],
                       float(here @ here), leverage / (1 - leverage))


def _noise(accuracy: NDArray, n_items: NDArray, level: float) -> NDArray:
    """Half-width of the interval of a score by its items alone, `(B,)`."""
    variance = np.where(n_items > 0,
                        accuracy * (1 - accuracy) / np.maximum(n_items, 1), 0)
    return norm.ppf((1 + level) / 2) * np.sqrt(variance)
