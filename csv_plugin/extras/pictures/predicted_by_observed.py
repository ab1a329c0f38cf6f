"""Draws predicted against observed accuracies."""
import numpy as np
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
    panel. All panels of a benchmark have the same limits of their axes. The
    limits contain all points, but bars may extend beyond them.
    """
    names, methods = predictions.benchmarks, predictions.methods
    figure, rows = panels(len(names), len(methods), (2.2, 2.3))
    for b, benchmark in enumerate(names):
        limits = _limits(predictions, b)
        for p, method in enumerate(methods):
            axes = rows[p][b]
            title = _draw_panel(axes, predictions, b, p, look(p))
            axes.set(xlim=limits, ylim=limits)
            if p == 0:
                title = f'{wrapped(benchmark)}\n{title}'
            axes.set_title(title)
            place = axes.get_subplotspec()
            if len(methods) > 1 and place is not None and place.is_first_col():
                axes.set_ylabel(wrapped(method), fontweight='bold')
    explain(figure, 'observed accuracy, %', 'predicted accuracy, %',
            _handles(predictions.level))
    return figure


def _limits(predictions: Predictions, b: int) -> tuple[float, float]:
    """Return the limits of both axes of benchmark `b`, in percent."""
    percents = []
    for p, method in enumerate(predictions.methods):
        mask = predictions.held_out(method)[:, b]
        percents.append(100 * predictions.observed[mask, b])
        percents.append(100 * predictions.values[mask, b, p])
    return pad(*percents)


def _handles(level: float) -> list[Artist]:
    interval = 'interval' if np.isnan(level) else f'{level:.0%} interval'
    return [
        handle('held-out model', color='black', ls='', marker='o'),
        handle(interval, color='black', lw=0.8, alpha=0.5),
        handle('predicted = observed', color=GREY, lw=0.9, ls='--')
    ]


def _draw_panel(axes: Axes, predictions: Predictions, b: int, p: int,
                own: Look) -> str:
    """Draw method `p` on benchmark `b`; return a title with its error."""
    mask = predictions.held_out(predictions.methods[p])[:, b]
    axes.axline((0, 0), slope=1, color=GREY, lw=0.9, ls='--', zorder=1)
    if not mask.any():
        show_empty(axes)
        return ''
    observed = 100 * predictions.observed[mask, b]
    predicted = 100 * predictions.values[mask, b, p]
    axes.vlines(
        observed,
        100 * predictions.low[mask, b, p],
        100 * predictions.high[mask, b, p],
        color=own.colour,
        lw=0.8,
        alpha=0.5,
        zorder=2)
    axes.plot(observed, predicted, zorder=3, **own.points)
    return ('mean absolute error\n'
            f'{metrics.mae(observed, predicted):.1f} points')
