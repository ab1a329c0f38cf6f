"""Share of intervals that hold the real accuracy, by their level."""
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray
from scipy.stats import binom

from csv_plugin.core.coverage import Coverage
from csv_plugin.report.pictures import panels
from csv_plugin.report.pictures.style import GREY, look, picture

#: Share of samples in which the coverage of correct intervals is in the band.
BAND = 0.95


@picture
def coverage_picture(coverage: Coverage) -> Figure:
    """Observed coverage against the level; first pooled, then by benchmark.

    The band shows where chance alone leaves correct intervals (binomial). In
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
    panels.few_ticks(axes, 'xy')
    if not n:
        panels.say_empty(axes, 'no model')
        return
    axes.fill_between(levels, *_band(levels, n), color=GREY, alpha=0.2, lw=0,
                      zorder=1)  # yapf: disable
    own = look(0)
    axes.plot(levels, share, color=own.colour, marker=own.marker, zorder=3)


def _band(levels: NDArray, n: int) -> NDArray:
    """Ends of the band of n intervals at each level, `(2, levels)`."""
    ends = np.array([[0.5 - BAND / 2], [0.5 + BAND / 2]])
    return binom.ppf(ends, n, levels) / n
