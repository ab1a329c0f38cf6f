"""Real accuracies that lie far from their predictions."""
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from csv_plugin.core.conventions import InputError
from csv_plugin.core.outliers import Outlier
from csv_plugin.report.pictures import panels
from csv_plugin.report.pictures.style import COLOURS, picture

_INTERVAL: dict[str, Any] = dict(color='#b8b8b8', lw=5)
_PREDICTED: dict[str, Any] = dict(
    color='black', ls='', marker='|', markersize=8, markeredgewidth=1.6)
_ABOVE: dict[str, Any] = dict(
    color=COLOURS[1], ls='', marker='^', markersize=6.5)
_BELOW: dict[str, Any] = dict(
    color=COLOURS[0], ls='', marker='v', markersize=6.5)
#: Characters of a line of a label, inches between lines.
_LABEL, _LINE = 44, 0.26


@picture
def outliers_picture(outliers: Sequence[Outlier]) -> Figure:
    """One line per outlier: interval, prediction and real accuracy.

    The number at the right is the distance of `Outlier`.

    Raises:
        InputError: If there is no outlier.
    """
    if not outliers:
        raise InputError('outliers_picture', 'an outlier or more', 'none',
                         'Draw no picture where nothing stands out.')
    labels = [
        panels.wrapped(f'{outlier.model} on {outlier.benchmark}', _LABEL)
        for outlier in outliers
    ]
    heights = np.array([1 + 0.7 * label.count('\n') for label in labels])
    places = heights.cumsum() - heights / 2
    figure = Figure((7.2, _LINE * heights.sum() + 1.0), layout='constrained')
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
    panels.legend_above(figure, [
        Line2D([], [], label='interval', **_INTERVAL),
        Line2D([], [], label='predicted', **_PREDICTED),
        Line2D([], [], label='real, far above', **_ABOVE),
        Line2D([], [], label='real, far below', **_BELOW)
    ])  # yapf: disable
    return figure


def _beside(axes: Axes, place: float, words: str) -> None:
    """Write words to the right of the axes, at the height of a place."""
    axes.annotate(words, (1, place), xycoords=axes.get_yaxis_transform(),
                  xytext=(4, 0), textcoords='offset points', va='center',
                  fontsize=9, annotation_clip=False)  # yapf: disable
