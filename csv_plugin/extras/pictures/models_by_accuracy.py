"""Models in the order of their accuracy, real and predicted."""
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from csv_plugin.core.overall import Overall
from csv_plugin.core.predictions import REAL, Predictions
from csv_plugin.extras.pictures import panels
from csv_plugin.extras.pictures.style import drawing, look

_INTERVAL: dict[str, Any] = dict(color='#b8b8b8', lw=5, zorder=1)
_REAL: dict[str, Any] = dict(
    color='black', ls='', marker='o', markerfacecolor='white', zorder=3)
#: Inches of a row, characters of the name of a model.
_LINE, _LABEL = 0.26, 40


def plot_leaderboard(predictions: Predictions,
                     benchmark: Optional[str] = None,
                     ax: Optional[Axes] = None) -> Axes:
    """One row per model, the best on top: real and predicted accuracies.

    Models are in the order of the real accuracies, those without one by
    their predictions below. Intervals are those of the first method.

    Args:
        predictions (Predictions): With real accuracies or without.
        benchmark (Optional[str]): One of its benchmarks; by default the
            means over the benchmarks are drawn, which have no intervals.
        ax (Optional[Axes]): Where to draw, by default in a new figure.

    Returns:
        Axes: Those that were drawn on.

    Raises:
        InputError: There is no such benchmark.
    """
    if benchmark is None:
        overall = Overall.of(predictions)
        names = overall.benchmarks
        title = (
            panels.wrapped(names[0], _LABEL)
            if len(names) == 1 else f'mean of {len(names)} benchmarks')
        real, values = overall.real, overall.values
    else:
        table = predictions.select(benchmarks=[benchmark])
        title = panels.wrapped(benchmark, _LABEL)
        real, values = table.real[:, 0], table.values[:, 0]
    order = _order(real, values[:, 0])
    rows = np.arange(len(order))
    with drawing(ax, (6.4, _LINE * len(order) + 1.2)) as axes:
        if benchmark is not None:
            axes.hlines(
                rows,
                table.low[order, 0, 0],
                table.high[order, 0, 0],
                label='interval',
                **_INTERVAL)
        for p, method in enumerate(predictions.methods):
            own = look(p)
            axes.plot(values[order, p], rows, color=own.colour, ls='',
                      marker=own.marker, label=panels.wrapped(method, _LABEL),
                      zorder=2)  # yapf: disable
        if predictions.has_real():
            axes.plot(real[order], rows, label=REAL, **_REAL)
        panels.few_ticks(axes, 'x')
        _name_rows(axes, [predictions.models[m] for m in order])
        axes.set(title=title, xlabel='accuracy')
        axes.legend()
    return axes


def _order(real: NDArray, predicted: NDArray) -> NDArray[np.int64]:
    """Places of the models, those with the largest real accuracy first."""
    return np.lexsort((-predicted, -real))


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(
        range(len(names)), [panels.wrapped(name, _LABEL) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis='y', visible=False)
