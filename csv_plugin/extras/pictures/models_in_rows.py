"""A row per model: its real accuracy, its prediction and the interval."""
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from csv_plugin.core.conventions import InputError
from csv_plugin.core.overall import Overall
from csv_plugin.core.predictions import REAL, Predictions
from csv_plugin.core.study import Outlier
from csv_plugin.extras.pictures.style import (COLOURS, drawing, few_ticks,
                                              handle, legend_above, look,
                                              picture, wrapped)

_INTERVAL: dict[str, Any] = dict(color='#b8b8b8', lw=5)
_PREDICTED: dict[str, Any] = dict(
    color='black', ls='', marker='|', markersize=8, markeredgewidth=1.6)
_ABOVE: dict[str, Any] = dict(
    color=COLOURS[1], ls='', marker='^', markersize=6.5)
_BELOW: dict[str, Any] = dict(
    color=COLOURS[0], ls='', marker='v', markersize=6.5)
_REAL: dict[str, Any] = dict(
    color='black', ls='', marker='o', markerfacecolor='white', zorder=3)
#: Characters of a line of a label, inches between lines.
_LABEL, _LINE = 44, 0.26


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
    if benchmark is None:
        overall = Overall.of(predictions)
        names = overall.benchmarks
        title = (
            wrapped(names[0], _LABEL)
            if len(names) == 1 else f'mean of {len(names)} benchmarks')
        real, values = overall.real, overall.values
    else:
        table = predictions.select(benchmarks=[benchmark])
        title = wrapped(benchmark, _LABEL)
        real, values = table.real[:, 0], table.values[:, 0]
    order = np.lexsort((-values[:, 0], -real))
    rows = np.arange(len(order))
    with drawing(ax, (6.4, _LINE * len(order) + 1.2)) as axes:
        if benchmark is not None:
            axes.hlines(rows, table.low[order, 0, 0], table.high[order, 0, 0],
                        label='interval', zorder=1, **_INTERVAL
                        )  # yapf: disable
        for p, method in enumerate(predictions.methods):
            own = look(p)
            axes.plot(
                values[order, p],
                rows,
                color=own.colour,
                ls='',
                marker=own.marker,
                label=wrapped(method, _LABEL),
                zorder=2)
        if predictions.has_real():
            axes.plot(real[order], rows, label=REAL, **_REAL)
        few_ticks(axes, 'x')
        axes.set_yticks(
            rows, [wrapped(predictions.models[m], _LABEL) for m in order])
        axes.set_ylim(len(order) - 0.4, -0.6)
        axes.grid(axis='y', visible=False)
        axes.set(title=title, xlabel='accuracy')
        axes.legend()
    return axes


@picture
def outliers_picture(outliers: Sequence[Outlier]) -> Figure:
    """Draw one row per outlier: interval, prediction and real accuracy.

    The number at the right is the distance of `Outlier`.

    Raises:
        InputError: There is no outlier.
    """
    if not outliers:
        raise InputError('outliers_picture', 'an outlier or more', 'none',
                         'Draw no picture where nothing stands out.')
    labels = [
        wrapped(f'{outlier.model} on {outlier.benchmark}', _LABEL)
        for outlier in outliers
    ]
    # Heights of the rows, in lines.
    heights = np.array([1 + 0.7 * label.count('\n') for label in labels])
    places = heights.cumsum() - heights / 2
    figure = Figure((7.2, _LINE * float(heights.sum()) + 1.0),
                    layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for place, outlier in zip(places, outliers):
        real = _ABOVE if outlier.distance > 0 else _BELOW
        axes.plot([outlier.low, outlier.high], [place, place], zorder=2,
                  solid_capstyle='butt', **_INTERVAL)  # yapf: disable
        axes.plot(outlier.predicted, place, zorder=3, **_PREDICTED)
        axes.plot(outlier.observed, place, zorder=4, **real)
        _beside(axes, place, f'{outlier.distance:+.2f}')
    _beside(axes, -0.5, 'distance')
    axes.set_yticks(places, labels)
    axes.set_ylim(heights.sum() + 0.1, -0.1)
    axes.grid(axis='y', visible=False)
    axes.set_xlabel('accuracy')
    legend_above(figure, [
        handle('interval', **_INTERVAL),
        handle('predicted', **_PREDICTED),
        handle('real, far above', **_ABOVE),
        handle('real, far below', **_BELOW)
    ])
    return figure


def _beside(axes: Axes, place: float, words: str) -> None:
    """Write words to the right of the axes, at the height of a place."""
    axes.annotate(words, (1, place), xycoords=axes.get_yaxis_transform(),
                  xytext=(4, 0), textcoords='offset points', va='center',
                  fontsize=9, annotation_clip=False)  # yapf: disable
