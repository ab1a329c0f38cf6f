"""Predicted beside real accuracies: by each other, and model by model."""
from typing import Optional

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from csv_plugin.core import metrics
from csv_plugin.core.overall import Overall
from csv_plugin.core.predictions import REAL, Predictions
from csv_plugin.extras.pictures.style import (GREY, Look, diagonal, drawing,
                                              explain, few_ticks, handle,
                                              is_leftmost, look, pad, panels,
                                              picture, show_empty, wrapped)

#: What pictures call the methods that have another name in studies.
METHOD_NAMES = {
    'constant': 'mean accuracy',
    'label-token': 'label-token loss',
    'uniform': 'all-token loss',
}

#: Characters of a line of a label, inches between lines.
_LABEL, _LINE = 44, 0.26


@picture
def methods_picture(predictions: Predictions) -> Figure:
    """Predictions of held-out models, by their real accuracy.

    One row per method, one column per benchmark; intervals are bars, and the
    mean absolute error is above each panel. Panels of one benchmark share
    their limits, which contain all points; bars may extend beyond.
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
            if len(methods) > 1 and is_leftmost(b, len(names)):
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


def plot_leaderboard(predictions: Predictions,
                     benchmark: Optional[str] = None,
                     ax: Optional[Axes] = None) -> Axes:
    """Draw one row per model, the best on top: real and predicted accuracies.

    Models are in the order of the real accuracies, those without one by
    their predictions below. Intervals are those of the first method.

    Args:
        predictions (Predictions): With real accuracies or without.
        benchmark (Optional[str]): One of its benchmarks; by default the
            means over the benchmarks are drawn, which have no intervals.
        ax (Optional[Axes]): Where to draw, by default in a new figure.

    Returns:
        Axes: The axes that were drawn on.

    Raises:
        InputError: There is no such benchmark.
    """
    methods = predictions.methods
    if benchmark is None:
        overall = Overall.of(predictions)
        names = overall.benchmarks
        title = (
            wrapped(names[0], _LABEL)
            if len(names) == 1 else f'mean of {len(names)} benchmarks')
        real, values = overall.real, overall.values
        methods = overall.methods
    else:
        table = predictions.select(benchmarks=[benchmark])
        title = wrapped(benchmark, _LABEL)
        real, values = table.real[:, 0], table.values[:, 0]
    order = np.lexsort((*-values.T[:1], -real))
    rows = np.arange(len(order))
    with drawing(ax, (6.4, _LINE * len(order) + 1.2)) as axes:
        if benchmark is not None:
            axes.hlines(
                rows,
                table.low[order, 0, 0],
                table.high[order, 0, 0],
                label='interval',
                zorder=1,
                color='#b8b8b8',
                lw=5)
        for p, method in enumerate(methods):
            own = look(predictions.methods.index(method))
            axes.plot(
                values[order, p],
                rows,
                color=own.colour,
                ls='',
                marker=own.marker,
                label=wrapped(method, _LABEL),
                zorder=2)
        if predictions.has_real():
            axes.plot(
                real[order],
                rows,
                label=REAL,
                color='black',
                ls='',
                marker='o',
                markerfacecolor='white',
                zorder=3)
        few_ticks(axes, 'x')
        axes.set_yticks(
            rows, [wrapped(predictions.models[m], _LABEL) for m in order])
        axes.set_ylim(len(order) - 0.4, -0.6)
        axes.grid(axis='y', visible=False)
        axes.set(title=title, xlabel='accuracy')
        axes.legend()
    return axes


def _limits(predictions: Predictions, b: int) -> tuple[float, float]:
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
        show_empty(axes)
        return ''
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
    return ('mean absolute error\n'
            f'{100 * metrics.mae(real, predicted):.1f} points')
