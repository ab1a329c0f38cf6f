"""Do the intervals hold as many real accuracies as they promise?"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray
from scipy.stats import binom

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.report.pictures import panels
from csv_plugin.report.pictures.predicted_by_real import held_out
from csv_plugin.report.pictures.style import GREY, look, picture

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
#: Where the coverage of correct intervals lies in this share of samples.
BAND = 0.95


@dataclass(frozen=True, eq=False)
class Coverage:
    """Observed coverage at n levels, models that were not fitted on.

    Args:
        benchmarks (tuple[str, ...]): B names.
        levels (NDArray): Levels of the intervals, `(n,)`.
        covered (NDArray): Share of intervals that hold the observed
            accuracy, `(n, B)`; NaN where no model was held out.
        pooled (NDArray): The same over the cells of all benchmarks, `(n,)`.
        n_models (NDArray): Models held out, int, `(B,)`.
    """
    benchmarks: tuple[str, ...]
    levels: NDArray
    covered: NDArray
    pooled: NDArray
    n_models: NDArray[np.int64]


def coverage_by_level(predictor: Predictor,
                      features: FeatureTable,
                      observed: AccuracyTable,
                      levels: Sequence[float] = LEVELS) -> Coverage:
    """Count how many intervals of held-out models hold the real accuracy.

    Args:
        predictor (Predictor): Makes the intervals.
        features (FeatureTable): Columns of M models, as of
            `predictor.features` or of the training.
        observed (AccuracyTable): Of these models, in any order.
        levels (Sequence[float]): In (0, 1).

    Raises:
        InputError: As in `Predictor.predict`, if a model lacks accuracies,
            or if no model was held out.
    """
    real = observed.select(features.models)
    inside = []
    for level in levels:
        table = predictor.predict(features, predictor.fingerprint,
                                  level).on(real.benchmarks)
        mask = held_out(table, real)
        within = (table.low <= real.values) & (real.values <= table.high)
        inside.append(np.where(mask, within, np.nan))
    if not mask.any():
        raise InputError('coverage_by_level',
                         'a model with a score that was not fitted on',
                         f'none of {len(real.models)}',
                         'Give features of models of another split.')
    return Coverage(
        real.benchmarks, np.array(levels),
        np.array([[_share(column) for column in cells.T] for cells in inside]),
        np.array([_share(cells) for cells in inside]), mask.sum(axis=0))


def _share(cells: NDArray) -> float:
    known = cells[~np.isnan(cells)]
    return float(known.mean()) if len(known) else float('nan')


@picture
def coverage_picture(coverage: Coverage) -> Figure:
    """Observed coverage against the level; first pooled, then by benchmark.

    The band is what chance alone does to correct intervals (binomial). In
    the pooled panel it is that of one benchmark's number of models, as the
    errors of one model on several benchmarks go together.
    """
    names = ('all benchmarks', *coverage.benchmarks)
    counts = [coverage.n_models.max(), *coverage.n_models]
    shares = [coverage.pooled, *coverage.covered.T]
    lowest = min(
        np.nanmin(coverage.covered),
        *(_band(coverage.levels, n)[0].min() for n in counts if n))
    figure, (row, ) = panels.panels(len(names), size=(2.2, 2.25))
    for axes, name, n, share in zip(row, names, counts, shares):
        _draw(axes, coverage.levels, share, int(n))
        axes.set(xlim=panels.pad(coverage.levels), ylim=(lowest - 0.04, 1.04))
        axes.set_title(f'{panels.wrapped(name)}\n{n} models')
    figure.supxlabel('level of the intervals')
    figure.supylabel('share that holds the real accuracy')
    own = look(0)
    panels.legend_above(figure, [
        Line2D([], [], color=own.colour, marker=own.marker,
               label='held-out models'),
        Line2D([], [], color=GREY, lw=0.9, ls='--', label='as promised'),
        Patch(color=GREY, alpha=0.2, lw=0, label=f'{BAND:.0%} by chance')
    ])  # yapf: disable
    return figure


def _draw(axes: Axes, levels: NDArray, share: NDArray, n: int) -> None:
    axes.axline((0, 0), slope=1, color=GREY, lw=0.9, ls='--', zorder=1)
    panels.few_ticks(axes)
    if not n:
        panels.say_empty(axes, 'no model')
        return
    axes.fill_between(levels, *_band(levels, n), color=GREY, alpha=0.2, lw=0,
                      zorder=1)  # yapf: disable
    own = look(0)
    axes.plot(levels, share, color=own.colour, marker=own.marker, zorder=3)


def _band(levels: NDArray, n: int) -> NDArray:
    """Ends of the share of n intervals at each level, `(2, levels)`."""
    ends = np.array([[0.5 - BAND / 2], [0.5 + BAND / 2]])
    return binom.ppf(ends, n, levels) / n
