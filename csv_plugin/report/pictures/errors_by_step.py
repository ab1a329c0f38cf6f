"""How a training goes on: points at several steps, errors by step."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.report.pictures import panels
from csv_plugin.report.pictures.accuracy_by_score import (CapabilityPoints,
                                                          draw_points,
                                                          family_looks,
                                                          label_axes,
                                                          legend_handles)
from csv_plugin.report.pictures.style import look, picture


@dataclass(frozen=True, eq=False)
class TrainingCurve:
    """Mean squared errors in the course of a training.

    Args:
        benchmarks (tuple[str, ...]): B names.
        x (NDArray): Steps, or the penalties of a regularisation path,
            `(n,)`.
        x_label (str): What they are.
        train (NDArray): Errors on the models fitted on, `(n, B)`; NaN where
            a benchmark has stopped.
        validation (NDArray): Errors on held-out models, likewise.
        best (NDArray): Index into `x` of what is kept, int, `(B,)`.
        path (bool): Whether `x` are penalties: drawn on a logarithmic axis
            from strong to weak.

    Raises:
        InputError: On shapes that differ, an index out of range, or
            penalties that are not positive and finite.
    """
    benchmarks: tuple[str, ...]
    x: NDArray
    x_label: str
    train: NDArray
    validation: NDArray
    best: NDArray[np.int64]
    path: bool = False

    def __post_init__(self) -> None:
        n, b = len(self.x), len(self.benchmarks)
        for name, shape in (('train', (n, b)), ('validation', (n, b)),
                            ('best', (b, ))):
            found = getattr(self, name).shape
            if found != shape:
                raise InputError(
                    f'TrainingCurve.{name}', f'shape {shape}', str(found),
                    'Give one row per step and one '
                    'column per benchmark.')
        if not b or not ((0 <= self.best) & (self.best < n)).all():
            raise InputError('TrainingCurve.best',
                             f'one of {n} steps for every benchmark',
                             str(self.best), 'Give indices of x.')
        if self.path and not (np.isfinite(self.x) & (self.x > 0)).all():
            raise InputError('TrainingCurve.x', 'positive, finite penalties',
                             str(self.x), 'Leave out the uniform weighting.')


@picture
def training_curve_picture(curve: TrainingCurve) -> Figure:
    """Errors by step, one panel per benchmark, the best step marked.

    Raises:
        InputError: As in `TrainingCurve`.
    """
    figure, (row, ) = panels.panels(len(curve.benchmarks))
    train, validation, best = look(0), look(1), look(6)
    for b, (axes, benchmark) in enumerate(zip(row, curve.benchmarks)):
        for errors, own, ls in ((curve.train, train, '--'), (curve.validation,
                                                             validation, '-')):
            axes.plot(curve.x, errors[:, b], color=own.colour, ls=ls)
        kept = curve.best[b]
        axes.plot(curve.x[kept], curve.validation[kept, b], color=best.colour,
                  marker='*', markersize=9, ls='', zorder=4)  # yapf: disable
        panels.few_ticks(axes)
        errors = np.stack([curve.train[:, b], curve.validation[:, b]])
        positive = errors[errors > 0]
        if len(positive):
            panels.log_axis(axes.yaxis, positive.min(), positive.max())
        if curve.path:
            panels.log_axis(axes.xaxis, curve.x.min(), curve.x.max())
            axes.invert_xaxis()
        axes.set_title(panels.wrapped(benchmark))
    figure.supxlabel(curve.x_label)
    figure.supylabel('mean squared error')
    panels.legend_above(figure, [
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

    Raises:
        InputError: If there is no step, or their benchmarks differ.
    """
    benchmarks = [p.benchmark for p in steps[0][1]] if steps else []
    for name, points in steps:
        if [p.benchmark for p in points] != benchmarks:
            raise InputError(f'step {name!r}', f'the benchmarks {benchmarks}',
                             str([p.benchmark for p in points]),
                             'Give the same benchmarks at every step.')
    if not benchmarks:
        raise InputError('convergence_picture', 'points of a step or more',
                         'none', 'Give steps with benchmarks.')
    everything = [one for _, points in steps for one in points]
    look_of = family_looks(everything)
    figure, rows = panels.panels(len(benchmarks), len(steps))
    for i, (row, (name, points)) in enumerate(zip(rows, steps)):
        for b, (axes, one) in enumerate(zip(row, points)):
            draw_points(axes, one, look_of)
            if i == 0:
                axes.set_title(panels.wrapped(one.benchmark))
            if panels.is_leftmost(b, len(points)):
                axes.set_ylabel(panels.wrapped(name), fontweight='bold')
    label_axes(figure, everything[0].unit)
    panels.legend_above(figure, legend_handles(everything, look_of))
    return figure
