"""Draws curves of pretraining runs, one panel per benchmark."""
from collections.abc import Mapping
from typing import Optional

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from csv_plugin.core.predictions import Prediction
from csv_plugin.extras.pictures.style import (GREY, Look, explain, handle,
                                              looks, panels, picture, wrapped)
from csv_plugin.triage.result import End, Triage
from csv_plugin.triage.runs import Run


@picture
def trajectory_picture(triage: Triage) -> Figure:
    """Draw predicted accuracy against training, one panel per benchmark.

    The horizontal axis has training tokens or steps (`triage.measure`). It is
    logarithmic if they span more than a factor of 10. Lines are predictions,
    and bands their intervals; a run with a single checkpoint is a filled
    point. Forecasts are empty points with error bars. The points of several
    runs at the end are drawn side by side around their budget.
    """
    figure, (row, ) = panels(len(triage.benchmarks))
    names = [run.name for run in triage.runs]
    names += [end.name for end in triage.ends]
    look = looks(names)
    for axes, benchmark in zip(row, triage.benchmarks):
        _draw_panel(axes, triage, benchmark, look)
        axes.set_title(wrapped(benchmark))
    explain(figure, f'training {triage.measure}', 'accuracy, %',
            _handles(look))
    return figure


def _draw_panel(axes: Axes, triage: Triage, benchmark: str,
                look: Mapping[str, Look]) -> None:
    """Draw the predictions and forecasts of all runs on one benchmark."""
    b = triage.benchmarks.index(benchmark)
    shifts = _shifts(triage)
    tokens: list[float] = []
    for run in triage.runs:
        tokens += run.tokens.tolist()
        shift = shifts.get(run.name, 1.0) if run.finished else 1.0
        _draw_predictions(axes, triage, run, b, look[run.name], shift)
    for end in sorted(triage.ends):
        if end.tokens < end.budget:
            _draw_forecast(axes, triage, end, b, look[end.name],
                           shifts[end.name])
            tokens.append(end.budget)
    _scale(axes, min(tokens), max(tokens))


def _shifts(triage: Triage) -> dict[str, float]:
    """Return the factors that place the points at the budget side by side.

    These points, by the name of their run, are forecasts and finished runs
    with a single checkpoint.
    """
    alone = set()
    for run in triage.runs:
        if run.finished and len(run.tokens) == 1:
            alone.add(run.name)
    names = []
    for end in sorted(triage.ends):
        if end.tokens < end.budget or end.name in alone:
            names.append(end.name)
    # Distance between neighbouring points, as a share of the budget.
    apart = 0.025
    shifts = {}
    for i, name in enumerate(names):
        shifts[name] = 1 + apart * (i - (len(names) - 1) / 2)
    return shifts


def _scale(axes: Axes, first: float, last: float) -> None:
    """Choose the scale and the ticks of the horizontal axis.

    `first` and `last` are the smallest and the largest number of tokens that
    are drawn.
    """
    # If last / first exceeds this factor, the axis is logarithmic.
    linear_range = 10
    if linear_range * first < last:
        axes.set_xscale('log')
        digits = [1, 3] if last < 100 * first else [1]
        ticks = LogLocator(subs=digits, numticks=4)
        axes.xaxis.set_major_locator(ticks)
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(lambda value, _: short_count(value))


def short_count(number: float) -> str:
    """Return a count in short form, with k, M, B or T for its magnitude.

    >>> [short_count(n) for n in (0, 500, 1.5e6, 2e10, 1e12)]
    ['0', '500', '1.5M', '20B', '1T']
    """
    for size, letter in ((1e12, 'T'), (1e9, 'B'), (1e6, 'M'), (1e3, 'k')):
        if abs(number) >= size:
            return f'{number / size:g}{letter}'
    return f'{number:g}'


def _draw_predictions(axes: Axes, triage: Triage, run: Run, b: int, own: Look,
                      shift: float) -> None:
    """Draw a line with a band, or a single checkpoint as a point with a bar.

    `shift` is the factor by which the point is moved sideways.
    """
    table = triage.predictions.select(run.checkpoints)
    values = table.values[:, b, 0]
    low = table.low[:, b, 0]
    high = table.high[:, b, 0]
    if len(values) == 1:
        place = run.tokens[0] * shift
        _draw_point(axes, place, values[0], low[0], high[0], own)
        return
    axes.fill_between(
        run.tokens,
        100 * low,
        100 * high,
        color=own.colour,
        alpha=0.15,
        lw=0,
        zorder=1)
    axes.plot(
        run.tokens, 100 * values, color=own.colour, ls=own.line, zorder=2)


def _draw_forecast(axes: Axes, triage: Triage, end: End, b: int, own: Look,
                   shift: float) -> None:
    """Draw a forecast as a point with an error bar.

    A dotted line leads to it from the last prediction. `shift` is the factor
    by which it is moved along the axis.
    """
    found = triage.forecasts.at(end.name, triage.benchmarks[b])
    assert isinstance(found, Prediction)
    place = end.budget * shift
    for run in triage.runs:
        if run.name == end.name:
            last = triage.predictions.select([run.checkpoints[-1]])
            last_value = 100 * last.values[0, b, 0]
            axes.plot([end.tokens, place], [last_value, 100 * found.value],
                      color=own.colour,
                      ls=':',
                      zorder=2)
    _draw_point(axes, place, found.value, found.low, found.high, own, 'white')


def _draw_point(axes: Axes,
                place: float,
                value: float,
                low: float,
                high: float,
                own: Look,
                face: Optional[str] = None) -> None:
    """Draw an accuracy as a point, and its interval as a bar.

    Accuracies are fractions. `face` is the colour inside the marker, by
    default the colour of its edge.
    """
    # The expected accuracy may lie outside the interval.
    below, above = max(value - low, 0), max(high - value, 0)
    axes.errorbar(
        place,
        100 * value, [[100 * below], [100 * above]],
        color=own.colour,
        marker=own.marker,
        markerfacecolor=face,
        capsize=3,
        zorder=3)


def _handles(look: Mapping[str, Look]) -> list[Artist]:
    handles: list[Artist] = []
    for name, own in look.items():
        handles.append(handle(wrapped(name, 40), **own.marked_line))
    interval = Patch(color=GREY, alpha=0.3, lw=0, label='its interval')
    forecast = handle(
        'forecast', color=GREY, ls=':', marker='o', markerfacecolor='white')
    handles += [handle('predicted', color=GREY), interval, forecast]
    return handles
