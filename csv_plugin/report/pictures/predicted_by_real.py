"""Predicted against real accuracies, one row of panels per method."""
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from csv_plugin.core import metrics
from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import Predictions
from csv_plugin.report.pictures import panels
from csv_plugin.report.pictures.style import GREY, Look, look, picture

#: What pictures call the methods that have another name in studies.
METHOD_NAMES = {
    'constant': 'mean accuracy',
    'label-token': 'label-token loss',
    'uniform': 'all-token loss',
}


@picture
def methods_picture(predictions: Predictions) -> Figure:
    """Predictions of models that were not fitted on, by their real accuracy.

    One row per method, one column per benchmark, with the intervals as bars
    and the mean squared error above each panel. Panels of one benchmark
    share their limits, which hold all points; bars may extend beyond.

    Args:
        predictions (Predictions): Beside the real accuracies.

    Raises:
        InputError: If no model was held out.
    """
    names, methods = predictions.benchmarks, predictions.methods
    held_out = np.stack([predictions.held_out(name) for name in methods], 2)
    if not held_out.any():
        raise InputError('methods_picture',
                         'a model with an accuracy that was not fitted on',
                         f'none of {len(predictions.models)}',
                         'Predict models of another split.')
    figure, rows = panels.panels(len(names), len(methods), (2.2, 2.3))
    for b, benchmark in enumerate(names):
        limits = panels.pad(
            *(np.concatenate([predictions.real[mask, b],
                              predictions.values[mask, b, p]])
              for p, mask in enumerate(held_out[:, b].T)))  # yapf: disable
        for p, method in enumerate(methods):
            axes, mask = rows[p][b], held_out[:, b, p]
            real = predictions.real[mask, b]
            predicted, low, high = (
                part[mask, b, p]
                for part in (predictions.values, predictions.low,
                             predictions.high))
            _draw(axes, real, predicted, low, high, look(p))
            axes.set(xlim=limits, ylim=limits)
            panels.few_ticks(axes, 'xy')
            title = _error(real, predicted)
            if p == 0:
                title = f'{panels.wrapped(benchmark)}\n{title}'
            axes.set_title(title)
            if panels.is_leftmost(b, len(names)):
                label = METHOD_NAMES.get(method, method)
                axes.set_ylabel(panels.wrapped(label), fontweight='bold')
    figure.supxlabel('real accuracy')
    figure.supylabel('predicted accuracy')
    panels.legend_above(figure, [
        Line2D([], [], color='black', ls='', marker='o',
               label='held-out model'),
        Line2D([], [], color='black', lw=0.8, alpha=0.5,
               label=f'{predictions.level:.0%} interval'),
        Line2D([], [], color=GREY, lw=0.9, ls='--', label='predicted = real')
    ])  # yapf: disable
    return figure


def _error(real: NDArray, predicted: NDArray) -> str:
    if not len(real):
        return 'MSE -'
    return f'MSE {1e3 * metrics.mse(real, predicted):.2f}e-3'


def _draw(axes: Axes, real: NDArray, predicted: NDArray, low: NDArray,
          high: NDArray, own: Look) -> None:
    """Draw one method on one benchmark, held-out models only."""
    axes.axline((0, 0), slope=1, color=GREY, lw=0.9, ls='--', zorder=1)
    if not len(real):
        panels.say_empty(axes)
        return
    axes.vlines(real, low, high, color=own.colour, lw=0.8, alpha=0.5,
                zorder=2)  # yapf: disable
    axes.plot(real, predicted, ls='', color=own.colour,
              marker=own.marker, markeredgecolor='white', markeredgewidth=0.4,
              zorder=3)  # yapf: disable
