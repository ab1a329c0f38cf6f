"""Errors of forecasts of runs that end better than all before them.

Most runs that are forecast are larger than the runs before. Leaving earlier
runs out one by one says little of such runs, so those that end better are
forecast from those that end worse, too. Predictions beyond the range of fitted
models have their intervals in the same way (`csv_plugin.core.intervals`).
"""
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.error_variances import LEAST_DEVIATION
from csv_plugin.core.intervals import worse_models


def unit_of(deviation: NDArray) -> NDArray[np.float64]:
    """Standard deviations by benchmark; NaN where all runs end alike."""
    return np.where(deviation > LEAST_DEVIATION, deviation, np.nan)


def forward_errors(
        final: NDArray, error: Callable[[NDArray[np.int64], int],
                                        NDArray]) -> NDArray:
    """Forecast runs from the worse 1/2, 2/3 and 5/6 of all runs.

    Args:
        final (NDArray): Ends of H runs, higher is better, `(H, B)`.
        error (Callable[[NDArray, int], NDArray]): From the rows of the worse
            runs and the row of a better one to the errors of its forecast, in
            standard deviations, `(B,)`; NaN for a benchmark that all runs
            end alike on, which tells nothing.

    Returns:
        NDArray: Root mean square error on each run that was a better one,
        `(n_b,)`. A run errs alike on all benchmarks, so runs are what counts.
        Nothing if no benchmark tells anything.
    """
    squares: dict[int, list[float]] = {}
    for worse in worse_models(-final.mean(axis=1)):
        for run in np.flatnonzero(~worse):
            errors = error(np.flatnonzero(worse), run)
            told = errors[~np.isnan(errors)]
            if len(told):
                squares.setdefault(run, []).append(float(np.mean(told**2)))
    return np.sqrt([np.mean(of_run) for of_run in squares.values()])
