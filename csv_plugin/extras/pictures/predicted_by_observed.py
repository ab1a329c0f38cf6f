"""Draw predicted against observed accuracies."""
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from csv_plugin.core import metrics
from csv_plugin.core.predictions import Predictions
from csv_plugin.extras.pictures.style import (GREY, Look, explain, handle,
                                              look, pad, panels, picture,
                                              show_empty, wrapped)


@picture
def methods_picture(predictions: Predictions) -> Figure:
    """Draw predicted against observed accuracy of held-out models.

    There is one row of panels per method and one column per benchmark.
    Intervals are vertical bars, and the mean absolute error is above each
    panel. All panels of a benchmark have the same axis limits, which contain
    all points; bars may extend beyond them.
    """
    benchmarks = predictions.benchmarks
    methods = predictions.methods
    panel_size = (2.2, 2.3)
    figure, rows = panels(len(benchmarks), len(methods), panel_size)
    for b, benchmark in enumerate(benchmarks):
        limits = _limits(predictions, b)
        for p, method in enumerate(methods):
            axes = rows[p][b]
            title = _draw_panel(axes, predictions, b, p, look(p))
            axes.set(xlim=limits, ylim=limits)
            if p == 0:
                title = f'{wrapped(benchmark)}\n{title}'
            axes.set_title(title)
            cell = axes.get_subplotspec()
            is_first = cell is not None and cell.is_first_col()
            if is_first and len(methods) > 1:
                axes.set_ylabel(wrapped(method), fontweight='bold')
    explain(figure, 'observed accuracy, %', 'predicted accuracy, %',
            _handles(predictions.interval_name))
    return figure


def _limits(predictions: Predictions, b: int) -> tuple[float, float]:
    """Return the limits of both axes of benchmark `b`, in percent."""
    percents = []
    for p, method in enumerate(predictions.methods):
        held_out = predictions.held_out(method)[:, b]
        observed = predictions.observed[held_out, b]
        predicted = predictions.values[held_out, b, p]
        percents.append(100 * observed)
        percents.append(100 * predicted)
    return pad(*percents)


def _handles(interval: str) -> list[Artist]:
    """Return the legend; `interval` is what the intervals are called."""
    return [
        handle('held-out model', color='black', ls='', marker='o'),
        handle(interval, color='black', lw=0.8, alpha=0.5),
        handle('predicted = observed', color=GREY, lw=0.9, ls='--')
    ]


def _draw_panel(axes: Axes, predictions: Predictions, b: int, p: int,
                own: Look) -> str:
    """Draw the predictions of method `p` for benchmark `b`.

    Return a title of the panel, with the error of these predictions.
    """
    method = predictions.methods[p]
    held_out = predictions.held_out(method)[:, b]
    axes.axline((0, 0), slope=1, color=GREY, lw=0.9, ls='--', zorder=1)
    if not held_out.any():
        show_empty(axes)
        return ''
    observed = 100 * predictions.observed[held_out, b]
    cells = held_out, b, p
    predicted = 100 * predictions.values[cells]
    low = 100 * predictions.low[cells]
    high = 100 * predictions.high[cells]
    axes.vlines(
        observed, low, high, color=own.colour, lw=0.8, alpha=0.5, zorder=2)
    axes.plot(observed, predicted, zorder=3, **own.points)
    error = metrics.mae(observed, predicted)
    return f'mean absolute error\n{error:.1f} points'
