"""Predicted against real accuracies, one row of panels per method."""
from typing import Optional

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from csv_plugin.core import metrics
from csv_plugin.core.predictions import Predictions
from csv_plugin.extras.pictures.style import (GREY, Look, diagonal, drawing,
                                              explain, few_ticks, handle,
                                              is_leftmost, look, pad, panels,
                                              picture, say_empty, wrapped)

#: What pictures call the methods that have another name in studies.
METHOD_NAMES = {
    'constant': 'mean accuracy',
    'label-token': 'label-token loss',
    'uniform': 'all-token loss',
}


@picture
def methods_picture(predictions: Predictions) -> Figure:
    """Predictions of held-out models, by their real accuracy.

    One row per method, one column per benchmark, with the intervals as bars
    and the mean squared error above each panel. Panels of one benchmark
    share their limits, which hold all points; bars may extend beyond.
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
            if is_leftmost(b, len(names)):
                label = METHOD_NAMES.get(method, method)
                axes.set_ylabel(wrapped(label), fontweight='bold')
    explain(figure, 'real accuracy', 'predicted accuracy',
            _handles(predictions.level))
    return figure


def plot_predicted(predictions: Predictions,
                   benchmark: str,
                   method: Optional[str] = None,
                   ax: Optional[Axes] = None) -> Axes:
    """Draw predicted against real accuracy of held-out models.

    Args:
        predictions (Predictions): Beside the real accuracies.
        benchmark (str): One of its benchmarks.
        method (Optional[str]): One of its methods, by default the first.
        ax (Optional[Axes]): Where to draw, by default in a new figure.

    Returns:
        Axes: The axes that were drawn on.

    Raises:
        InputError: There is no such benchmark or no such method.
    """
    method = predictions.methods[0] if method is None else method
    table = predictions.select(benchmarks=[benchmark], methods=[method])
    with drawing(ax) as axes:
        title = _draw_panel(axes, table, 0, 0, look(0))
        limits = _limits(table, 0)
        axes.set(
            xlim=limits,
            ylim=limits,
            title=f'{wrapped(benchmark, 40)}\n{title}',
            xlabel='real accuracy',
            ylabel='predicted accuracy')
        axes.legend(handles=_handles(table.level))
    return axes


def _limits(predictions: Predictions, b: int) -> tuple[float, float]:
    """Limits of both axes, which hold the points of all methods."""
    points = []
    for p, method in enumerate(predictions.methods):
        mask = predictions.held_out(method)[:, b]
        points += [predictions.real[mask, b], predictions.values[mask, b, p]]
    return pad(*points)


def _handles(level: float) -> list[Artist]:
    interval = 'interval' if np.isnan(level) else f'{level:.0%} interval'
    return [
        handle('held-out model', color='black', ls='', marker='o'),
        handle(interval, color='black', lw=0.8, alpha=0.5),
        handle('predicted = real', color=GREY, lw=0.9, ls='--')
    ]


def _draw_panel(axes: Axes, predictions: Predictions, b: int, p: int,
                own: Look) -> str:
    """Draw one method on one benchmark, and return a title with its error."""
    mask = predictions.held_out(predictions.methods[p])[:, b]
    diagonal(axes)
    few_ticks(axes, 'xy')
    if not mask.any():
        say_empty(axes)
        return 'MSE -'
    real, predicted = predictions.real[mask, b], predictions.values[mask, b, p]
    axes.vlines(
        real,
        predictions.low[mask, b, p],
        predictions.high[mask, b, p],
        color=own.colour,
        lw=0.8,
        alpha=0.5,
        zorder=2)
    axes.plot(real, predicted, zorder=3, **own.points)
    return f'MSE {1e3 * metrics.mse(real, predicted):.2f}e-3'
