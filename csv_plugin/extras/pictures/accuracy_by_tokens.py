"""Accuracy in the course of pretraining runs, predicted and observed."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.pictures.style import (GREY, Look, distinct, drawing,
                                              few_ticks, legend_above,
                                              log_axis, looks, panels, picture,
                                              save, say_empty, wrapped)
from csv_plugin.triage.judging import Triage
from csv_plugin.triage.trajectories import RunTrajectory

#: A range of tokens wider than this factor gets a logarithmic axis.
LINEAR_RANGE = 10
#: Between the forecasts of two runs, relative to their budget.
_APART = 0.025


@dataclass(frozen=True)
class Forecast:
    """The accuracy that is expected at a token budget.

    Args:
        tokens (float): The budget.
        value (float): Accuracy, a fraction.
        low (float): Lower end of the interval, a fraction.
        high (float): Upper end, a fraction.
    """
    tokens: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One pretraining run on one benchmark, n checkpoints.

    Args:
        run (str): Its name.
        tokens (NDArray): Training tokens at each checkpoint, rising, `(n,)`.
        predicted (NDArray): Accuracies, fractions, `(n,)`.
        low (NDArray): Lower ends of the intervals, `(n,)`.
        high (NDArray): Upper ends, `(n,)`.
        observed (NDArray): Real accuracies, NaN where not run, `(n,)`.
        forecast (Optional[Forecast]): At a later point of the run.
    """
    run: str
    tokens: NDArray
    predicted: NDArray
    low: NDArray
    high: NDArray
    observed: NDArray
    forecast: Optional[Forecast] = None


@picture
def trajectory_picture(by_benchmark: Mapping[str, Sequence[Trajectory]],
                       measure: str = 'tokens') -> Figure:
    """Predicted accuracy by training tokens, one panel per benchmark.

    Lines are predictions, bands their intervals, points observed
    accuracies. The axis of tokens is logarithmic if they span more than
    `LINEAR_RANGE`. Forecasts stand side by side, around their budget.

    Args:
        by_benchmark (Mapping): Runs by benchmark.
        measure (str): Unit of the trainings, 'tokens' or 'steps'.
    """
    runs = [run for part in by_benchmark.values() for run in part]
    look = looks(dict.fromkeys(run.run for run in runs))
    tokens = np.concatenate([_all_tokens(run) for run in runs])
    figure, (row, ) = panels(len(by_benchmark))
    for axes, (benchmark, part) in zip(row, by_benchmark.items()):
        _draw_panel(axes, part, look, tokens)
        axes.set_title(wrapped(benchmark))
    figure.supxlabel(f'training {measure}')
    figure.supylabel('accuracy')
    legend_above(figure, _handles(look, runs))
    return figure


def write_picture(path: Path, triage: Triage) -> None:
    """Write `trajectory_picture` of all benchmarks.

    Args:
        path (Path): The file to create or replace, `.png` or `.svg`.
        triage (Triage): What to draw.
    """
    by_benchmark = {
        benchmark: [trajectory_of(triage, run, b) for run in triage.runs]
        for b, benchmark in enumerate(triage.benchmarks)
    }
    save(trajectory_picture(by_benchmark, triage.measure), path)


def plot_trajectories(triage: Triage,
                      benchmark: str,
                      ax: Optional[Axes] = None) -> Axes:
    """Draw runs and their forecasts on one benchmark.

    Args:
        triage (Triage): What `forecast` returns.
        benchmark (str): One of its benchmarks.
        ax (Optional[Axes]): Where to draw, by default in a new figure.

    Returns:
        Axes: Those that were drawn on.

    Raises:
        InputError: There is no such benchmark.
    """
    if benchmark not in triage.benchmarks:
        raise InputError('triage', 'one of the benchmarks '
                         f'{", ".join(triage.benchmarks)}', repr(benchmark),
                         'Correct the name.')  # yapf: disable
    b = triage.benchmarks.index(benchmark)
    runs = [trajectory_of(triage, run, b) for run in triage.runs]
    look = looks(run.run for run in runs)
    tokens = np.concatenate([_all_tokens(run) for run in runs])
    with drawing(ax) as axes:
        _draw_panel(axes, runs, look, tokens)
        axes.set(
            title=wrapped(benchmark, 40),
            xlabel=f'training {triage.measure}',
            ylabel='accuracy')
        axes.legend(handles=_handles(look, runs))
    return axes


def trajectory_of(triage: Triage, run: RunTrajectory, b: int) -> Trajectory:
    """A run on a benchmark as it is drawn.

    Args:
        triage (Triage): What to draw.
        run (RunTrajectory): One of its runs.
        b (int): Place of the benchmark among the benchmarks.

    Returns:
        Trajectory: With a forecast if the run is not finished and the error
        of the forecast is known; observed accuracies are not known.
    """
    predicted = triage.predictions.select(run.checkpoints)
    expected = triage.expected[run.run]
    ahead = None
    if not run.finished and not np.isnan(expected.low[b]):
        ahead = Forecast(run.budget, expected.values[b], expected.low[b],
                         expected.high[b])
    return Trajectory(run.run, run.tokens, predicted.values[:, b, 0],
                      predicted.low[:, b, 0], predicted.high[:, b, 0],
                      np.full(len(run.tokens), np.nan), ahead)


def _draw_panel(axes: Axes, runs: Sequence[Trajectory],
                look: Mapping[str, Look], tokens: NDArray) -> None:
    """Draw runs on one benchmark.

    Args:
        axes (Axes): Where to draw.
        runs (Sequence[Trajectory]): They may be none.
        look (Mapping[str, Look]): By run.
        tokens (NDArray): All tokens that the axis is to hold.
    """
    few_ticks(axes, 'y')
    for run in runs:
        _draw(axes, run, look[run.run])
    ahead = [(run, run.forecast) for run in runs if run.forecast]
    for (run, forecast), shift in zip(ahead, _shifts(len(ahead))):
        _draw_forecast(axes, run, forecast, look[run.run], shift)
    if not runs:
        say_empty(axes, 'no run')
    if 0 < LINEAR_RANGE * tokens.min() < tokens.max():
        log_axis(axes.xaxis, tokens.min(), tokens.max())
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: short_count(value)))


def short_count(number: float) -> str:
    """A count with the letter of its magnitude.

    >>> [short_count(n) for n in (0, 500, 1.5e6, 2e10, 1e12)]
    ['0', '500', '1.5M', '20B', '1T']
    """
    for size, letter in ((1e12, 'T'), (1e9, 'B'), (1e6, 'M'), (1e3, 'k')):
        if abs(number) >= size:
            return f'{number / size:g}{letter}'
    return f'{number:g}'


def _all_tokens(run: Trajectory) -> NDArray:
    later = [] if run.forecast is None else [run.forecast.tokens]
    return np.concatenate([run.tokens, later])


def _draw(axes: Axes, run: Trajectory, own: Look) -> None:
    axes.fill_between(run.tokens, run.low, run.high, color=own.colour,
                      alpha=0.15, lw=0, zorder=1)  # yapf: disable
    axes.plot(run.tokens, run.predicted, color=own.colour, ls=own.line,
              zorder=2)  # yapf: disable
    axes.plot(run.tokens, run.observed, color=own.colour, ls='',
              marker=own.marker, markeredgecolor='white', markeredgewidth=0.4,
              zorder=3)  # yapf: disable


def _shifts(n: int) -> NDArray:
    """Factors around 1 that set n forecasts of one budget apart."""
    return 1 + _APART * (np.arange(n) - (n - 1) / 2)


def _draw_forecast(axes: Axes, run: Trajectory, ahead: Forecast, own: Look,
                   shift: float) -> None:
    place = ahead.tokens * shift
    axes.plot([run.tokens[-1], place], [run.predicted[-1], ahead.value],
              color=own.colour, ls=':', zorder=2)  # yapf: disable
    axes.errorbar(
        place, ahead.value,
        [[ahead.value - ahead.low], [ahead.high - ahead.value]],
        color=own.colour, marker=own.marker, markerfacecolor='white',
        capsize=3, zorder=3)  # yapf: disable


def _handles(look: Mapping[str, Look],
             runs: Sequence[Trajectory]) -> list[Artist]:
    handles: list[Artist] = [
        Line2D([], [],
               color=look[name].colour,
               ls=look[name].line,
               marker=look[name].marker,
               label=wrapped(name, 40)) for name in distinct(look)
    ]
    handles += [
        Line2D([], [], color=GREY, label='predicted'),
        Patch(color=GREY, alpha=0.3, lw=0, label='its interval')
    ]
    if any(np.isfinite(run.observed).any() for run in runs):
        handles.append(
            Line2D([], [], color=GREY, ls='', marker='o', label='observed'))
    if any(run.forecast for run in runs):
        handles.append(
            Line2D([], [], color=GREY, ls=':', marker='o',
                   markerfacecolor='white', label='forecast'))  # yapf: disable
    return handles
