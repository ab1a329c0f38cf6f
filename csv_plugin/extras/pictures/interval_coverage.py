"""Share of intervals that hold the real accuracy, by their level."""
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray
from scipy.stats import binom

from csv_plugin.extras.coverage import Coverage
from csv_plugin.extras.pictures.style import (GREY, few_ticks, legend_above,
                                              look, pad, panels, picture,
                                              say_empty, wrapped)

#: Share of samples in which the coverage of correct intervals is in the band.
BAND = 0.95


@picture
def coverage_picture(coverage: Coverage) -> Figure:
    """Observed coverage against the level; first pooled, then by benchmark.

    The band shows where chance alone leaves correct intervals (binomial). In
    the pooled panel it is that of one benchmark's number of models, as the
    errors of one model on several benchmarks go together.
    """
    counts = [int(n) for n in coverage.n_models]
    lowest = min(
        np.nanmin(coverage.covered),
        *(_band(coverage.levels, n)[0].min() for n in counts if n))
    figure, (row, ) = panels(len(counts) + 1, size=(2.2, 2.25))
    own = look(0)
    for axes, name, n, share in zip(row,
                                    ('all benchmarks', *coverage.benchmarks),
                                    (max(counts), *counts),
                                    (coverage.pooled, *coverage.covered.T)):
        axes.axline((0, 0), slope=1, color=GREY, lw=0.9, ls='--', zorder=1)
        few_ticks(axes, 'xy')
        if n:
            axes.fill_between(
                coverage.levels, *_band(coverage.levels, n), color=GREY,
                alpha=0.2, lw=0, zorder=1)  # yapf: disable
            axes.plot(coverage.levels, share, color=own.colour,
                      marker=own.marker, zorder=3)  # yapf: disable
        else:
            say_empty(axes, 'no model')
        axes.set(xlim=pad(coverage.levels), ylim=(lowest - 0.04, 1.04))
        axes.set_title(f'{wrapped(name)}\n{n} models')
    figure.supxlabel('level of the intervals')
    figure.supylabel('share that holds the real accuracy')
    legend_above(figure, [
        Line2D([], [], color=own.colour, marker=own.marker,
               label='held-out models'),
        Line2D([], [], color=GREY, lw=0.9, ls='--', label='as promised'),
        Patch(color=GREY, alpha=0.2, lw=0, label=f'{BAND:.0%} by chance')
    ])  # yapf: disable
    return figure


def _band(levels: NDArray, n: int) -> NDArray:
    """Ends of the band of n intervals at each level, `(2, levels)`."""
    ends = np.array([[0.5 - BAND / 2], [0.5 + BAND / 2]])
    return binom.ppf(ends, n, levels) / n
