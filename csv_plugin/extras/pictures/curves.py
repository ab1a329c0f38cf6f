"""Draw curves of pretraining runs, one panel per benchmark."""
from typing import Optional

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from csv_plugin.core.formatting import short_count
from csv_plugin.core.predictions import Prediction
from csv_plugin.extras.pictures.style import (GREY, Look, Looks, explain,
                                              handle, looks, panels, picture,
                                              wrapped)
from csv_plugin.triage.result import TrainingEnd, Triage
from csv_plugin.triage.runs import Run


@picture
def trajectory_picture(triage: Triage) -> Figure:
    """Draw predicted accuracy against training, one panel per benchmark.

    The horizontal axis has training tokens or steps (`triage.measure`). It is
    logarithmic if they span more than a factor of 10. Lines are predictions,
    and bands their intervals; a run with a single checkpoint is a filled
    point. Forecasts are empty points with error bars. The points of several
    runs at the end of their training are drawn side by side around the budget.
    """
    figure, (row, ) = panels(len(triage.benchmarks))
    names = [run.name for run in triage.runs]
    names += [end.name for end in triage.ends]
    look = looks(names)
    for axes, benchmark in zip(row, triage.benchmarks):
        _draw_panel(axes, triage, benchmark, look)
        axes.set_title(wrapped(benchmark))
    explain(figure, f'training {triage.measure}', 'accuracy, %',
            _handles(look, triage.predictions.interval_name))
    return figure


def _draw_panel(axes: Axes, triage: Triage, benchmark: str,
                look: Looks) -> None:
    """Draw the predictions and forecasts of all runs on one benchmark."""
    b = triage.benchmarks.index(benchmark)
    shifts = _shifts(triage)
    tokens: list[float] = []
    for run in triage.runs:
        tokens += run.tokens.tolist()
        shift = 1.0
        if run.finished:
            shift = shifts.get(run.name, 1.0)
        _draw_predictions(axes, triage, run, b, look[run.name], shift)
    for end in sorted(triage.ends):
        if end.tokens < end.budget:
            own = look[end.name]
            shift = shifts[end.name]
            _draw_forecast(axes, triage, end, b, own, shift)
            tokens.append(end.budget)
    if tokens:
        _scale(axes, min(tokens), max(tokens))


def _shifts(triage: Triage) -> dict[str, float]:
    """Return factors that put the points at the budget side by side, by run.

    These points are forecasts, and finished runs with a single checkpoint. The
    horizontal position of each point is multiplied by its factor.
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
    middle = (len(names) - 1) / 2
    shifts = {}
    for i, name in enumerate(names):
        shifts[name] = 1 + apart * (i - middle)
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
        first_digits = [1]
        if last < 100 * first:
            first_digits = [1, 3]
        ticks = LogLocator(subs=first_digits, numticks=4)
        axes.xaxis.set_major_locator(ticks)
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(lambda value, _: short_count(value))


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
        x = run.tokens[0] * shift
        _draw_point(axes, x, values[0], low[0], high[0], own)
        return
    axes.fill_between(
        run.tokens,
        100 * low,
        100 * high,
        color=own.colour,
        alpha=0.15,
        lw=0,
        zorder=1)
    percents = 100 * values
    axes.plot(run.tokens, percents, color=own.colour, ls=own.line, zorder=2)


def _draw_forecast(axes: Axes, triage: Triage, end: TrainingEnd, b: int,
                   own: Look, shift: float) -> None:
    """Draw a forecast as a point with an error bar.

    A dotted line leads from the last prediction to the forecast. `shift` is
    the factor by which the forecast is moved along the axis.
    """
    found = triage.forecasts.at(end.name, triage.benchmarks[b])
    assert isinstance(found, Prediction)
    x = end.budget * shift
    for run in triage.runs:
        if run.name == end.name:
            last = triage.predictions.select([run.checkpoints[-1]])
            last_value = last.values[0, b, 0]
            tokens = [end.tokens, x]
            percents = [100 * last_value, 100 * found.value]
            axes.plot(tokens, percents, color=own.colour, ls=':', zorder=2)
    _draw_point(axes, x, found.value, found.low, found.high, own, 'white')


def _draw_point(axes: Axes,
                x: float,
                value: float,
                low: float,
                high: float,
                own: Look,
                face: Optional[str] = None) -> None:
    """Draw an accuracy as a point, and its interval as a bar.

    `x` is a number of tokens or steps, and accuracies are fractions. `face` is
    the colour inside the marker, by default the colour of its edge.
    """
    # The expected accuracy may lie outside the interval.
    below = max(value - low, 0)
    above = max(high - value, 0)
    lengths = [[100 * below], [100 * above]]
    axes.errorbar(
        x,
        100 * value,
        lengths,
        color=own.colour,
        marker=own.marker,
        markerfacecolor=face,
        capsize=3,
        zorder=3)


def _handles(look: Looks, interval_name: str) -> list[Artist]:
    """Return the legend: the runs, then what lines, bands and points mean."""
    handles: list[Artist] = []
    for name, own in look.items():
        handles.append(handle(name, **own.marked_line))
    predicted = handle('predicted', color=GREY)
    interval = Patch(color=GREY, alpha=0.3, lw=0, label=interval_name)
    forecast = handle(
        'forecast', color=GREY, ls=':', marker='o', markerfacecolor='white')
    handles += [predicted, interval, forecast]
    return handles
