"""The course of a training: points at several steps, errors by step."""
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from csv_plugin.core.training_curve import TrainingCurve
from csv_plugin.extras.capability_points import CapabilityPoints
from csv_plugin.extras.pictures.accuracy_by_score import (draw_points,
                                                          family_looks,
                                                          label_axes,
                                                          legend_handles)
from csv_plugin.extras.pictures.style import (few_ticks, is_leftmost,
                                              legend_above, log_axis, look,
                                              panels, picture, wrapped)


@picture
def training_curve_picture(curve: TrainingCurve) -> Figure:
    """Errors by step, one panel per benchmark, with a star at the step kept.

    The dashed line is of the models fitted on, the full one of held-out
    models.
    """
    figure, (row, ) = panels(len(curve.benchmarks))
    train, validation, best = look(0), look(1), look(6)
    for b, (axes, benchmark) in enumerate(zip(row, curve.benchmarks)):
        axes.plot(curve.x, curve.train[:, b], color=train.colour, ls='--')
        axes.plot(
            curve.x, curve.validation[:, b], color=validation.colour, ls='-')
        kept = curve.best[b]
        axes.plot(curve.x[kept], curve.validation[kept, b], color=best.colour,
                  marker='*', markersize=9, ls='', zorder=4)  # yapf: disable
        few_ticks(axes)
        errors = np.stack([curve.train[:, b], curve.validation[:, b]])
        positive = errors[errors > 0]
        if len(positive):
            log_axis(axes.yaxis, positive.min(), positive.max())
        axes.set_title(wrapped(benchmark))
    figure.supxlabel(curve.x_label)
    figure.supylabel('mean squared error')
    legend_above(figure, [
        Line2D([], [], color=train.colour, ls='--', label='models fitted on'),
        Line2D([], [], color=validation.colour, label='held-out models'),
        Line2D([], [], color=best.colour, ls='', marker='*', markersize=9,
               label='kept')
    ])  # yapf: disable
    return figure


@picture
def convergence_picture(
        steps: Sequence[tuple[str, Sequence[CapabilityPoints]]]) -> Figure:
    """Points and curves at several steps of a training, top to bottom.

    Args:
        steps (Sequence): Name and points of each step; all steps have the
            same benchmarks in one order.
    """
    everything = [part for _, points in steps for part in points]
    look_of = family_looks(everything)
    figure, rows = panels(len(steps[0][1]), len(steps))
    for i, (row, (name, points)) in enumerate(zip(rows, steps)):
        for b, (axes, part) in enumerate(zip(row, points)):
            draw_points(axes, part, look_of)
            if i == 0:
                axes.set_title(wrapped(part.benchmark))
            if is_leftmost(b, len(points)):
                axes.set_ylabel(wrapped(name), fontweight='bold')
    label_axes(figure, everything[0].unit)
    legend_above(figure, legend_handles(everything, look_of))
    return figure
