"""Predicted against real accuracies, one row of panels per method."""
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from csv_plugin.core import metrics
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import PredictionTable
from csv_plugin.core.study import Study
from csv_plugin.report.pictures import panels
from csv_plugin.report.pictures.style import GREY, Look, look, picture

#: What pictures call the methods that have another name in studies.
METHOD_NAMES = {
    'constant': 'mean accuracy',
    'label-token': 'label-token loss',
    'uniform': 'all-token loss',
}


def held_out(table: PredictionTable,
             observed: AccuracyTable) -> NDArray[np.bool_]:
    """Cells with a score that was not fitted on and a prediction, `(M, B)`."""
    return (~table.in_sample & np.isfinite(observed.values)
            & np.isfinite(table.values))


@picture
def methods_picture(study: Study) -> Figure:
    """Predictions of models that were not fitted on, beside the real scores.

    One row per method of the study, one column per benchmark, with the
    intervals as bars and the mean squared error above each panel. Panels of
    one benchmark share their limits, which hold all points; bars may go on
    beyond.

    Raises:
        InputError: If no model was held out.
    """
    tables, real = study.predictions, study.observed
    masks = {name: held_out(table, real) for name, table in tables.items()}
    if not any(mask.any() for mask in masks.values()):
        raise InputError('methods_picture',
                         'a model with a score that was not fitted on',
                         f'none of {len(real.models)}',
                         'Predict models of another split.')
    names = real.benchmarks
    figure, rows = panels.panels(len(names), len(tables), (2.2, 2.3))
    for b, benchmark in enumerate(names):
        limits = panels.pad(*(
            np.concatenate([real.values[mask[:, b], b],
                            tables[name].values[mask[:, b], b]])
            for name, mask in masks.items()))  # yapf: disable
        for i, (name, table) in enumerate(tables.items()):
            axes = rows[i][b]
            _draw(axes, table, real, b, masks[name][:, b], look(i))
            axes.set(xlim=limits, ylim=limits)
            panels.few_ticks(axes)
            title = _error(table, real, b, masks[name][:, b])
            if i == 0:
                title = f'{panels.wrapped(benchmark)}\n{title}'
            axes.set_title(title)
            if panels.is_leftmost(b, len(names)):
                label = METHOD_NAMES.get(name, name)
                axes.set_ylabel(panels.wrapped(label), fontweight='bold')
    figure.supxlabel('real accuracy')
    figure.supylabel('predicted accuracy')
    level = next(iter(tables.values())).level
    panels.legend_above(figure, [
        Line2D([], [], color='black', ls='', marker='o',
               label='held-out model'),
        Line2D([], [], color='black', lw=0.8, alpha=0.5,
               label=f'{level:.0%} interval'),
        Line2D([], [], color=GREY, lw=0.9, ls='--', label='predicted = real')
    ])  # yapf: disable
    return figure


def _error(table: PredictionTable, real: AccuracyTable, b: int,
           mask: NDArray) -> str:
    if not mask.any():
        return 'MSE -'
    mse = metrics.mse(real.values[mask, b], table.values[mask, b])
    return f'MSE {1e3 * mse:.2f}e-3'


def _draw(axes: Axes, table: PredictionTable, real: AccuracyTable, b: int,
          mask: NDArray, own: Look) -> None:
    axes.axline((0, 0), slope=1, color=GREY, lw=0.9, ls='--', zorder=1)
    if not mask.any():
        panels.say_empty(axes)
        return
    x = real.values[mask, b]
    axes.vlines(x, table.low[mask, b], table.high[mask, b], color=own.colour,
                lw=0.8, alpha=0.5, zorder=2)  # yapf: disable
    axes.plot(x, table.values[mask, b], ls='', color=own.colour,
              marker=own.marker, markeredgecolor='white', markeredgewidth=0.4,
              zorder=3)  # yapf: disable
