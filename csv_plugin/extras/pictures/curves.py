"""Curves, a panel per benchmark: of a training, and of orders of runs."""
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from csv_plugin.core.training import TrainingCurve
from csv_plugin.extras.benchmark_signal import SURE_ORDER, BenchmarkSignal
from csv_plugin.extras.pictures.style import (GREY, explain, few_ticks, handle,
                                              is_leftmost, log_axis, look,
                                              panels, picture, wrapped)


@picture
def training_curve_picture(curve: TrainingCurve) -> Figure:
    """Errors by step, one panel per benchmark, with a star at the step kept.

    The dashed line is of the training models, the full one of held-out
    models.
    """
    figure, (row, ) = panels(len(curve.benchmarks))
    train: dict[str, Any] = dict(color=look(0).colour, ls='--')
    held_out: dict[str, Any] = dict(color=look(1).colour, ls='-')
    star: dict[str, Any] = dict(
        color=look(6).colour, marker='*', markersize=9, ls='')
    for b, (axes, benchmark) in enumerate(zip(row, curve.benchmarks)):
        axes.plot(curve.x, curve.train[:, b], **train)
        axes.plot(curve.x, curve.validation[:, b], **held_out)
        kept = curve.best[b]
        axes.plot(curve.x[kept], curve.validation[kept, b], zorder=4, **star)
        few_ticks(axes)
        errors = np.stack([curve.train[:, b], curve.validation[:, b]])
        positive = errors[errors > 0]
        if len(positive):
            log_axis(axes.yaxis, positive.min(), positive.max())
        axes.set_title(wrapped(benchmark))
    explain(figure, curve.x_label, 'mean squared error', [
        handle('models fitted on', **train),
        handle('held-out models', **held_out),
        handle('kept', **star)
    ])
    return figure


@picture
def order_picture(rows: Sequence[BenchmarkSignal]) -> Figure:
    """Share of the pairs of runs in their final order, by part of training.
    """
    figure, (grid, ) = panels(len(rows))
    with_losses = any(row.order_by_losses for row in rows)
    percents = [100 * share for row in rows for share in row.shares]
    right = [100 * r for row in rows for r in row.order + row.order_by_losses]
    lowest = min((r for r in right if r == r), default=0) - 5
    for place, (axes, row) in enumerate(zip(grid, rows)):
        axes.axhline(100 * SURE_ORDER, color=GREY, ls=':')
        for i, order in enumerate((row.order, row.order_by_losses)):
            if order:
                axes.plot(
                    100 * np.array(row.shares),
                    100 * np.array(order),
                    ms=3.5,
                    **look(i).marked_line)
        axes.set_ylim(max(0, min(40, lowest)), 104)
        axes.set_title(wrapped(row.benchmark))
        if percents:
            # A benchmark with equal scores everywhere has no order to draw.
            axes.set_xlim(0.9 * min(percents), 110)
            log_axis(axes.xaxis, min(percents), 100)
        if not is_leftmost(place, len(rows)):
            axes.tick_params(labelleft=False)
    labels = ['scores', 'losses, fitted to other runs'][:1 + with_losses]
    explain(figure, 'percent of the training', 'pairs of runs in order, %', [
        *(handle(label,
                 **look(i).marked_line) for i, label in enumerate(labels)),
        handle(f'{SURE_ORDER:.0%}', color=GREY, ls=':')
    ])
    return figure
