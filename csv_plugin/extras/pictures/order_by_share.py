"""How early scores, and losses, tell runs apart: a panel per benchmark."""
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from csv_plugin.extras.benchmark_trust import SURE_ORDER, Trust
from csv_plugin.extras.pictures.style import (GREY, is_leftmost, legend_above,
                                              log_axis, look, panels, picture,
                                              wrapped)

_LABELS = ('scores', 'losses, fitted to other runs')


@picture
def order_picture(rows: Sequence[Trust]) -> Figure:
    """Share of the pairs of runs in their final order, by part of training.
    """
    figure, (grid, ) = panels(len(rows))
    with_losses = any(row.order_by_losses for row in rows)
    percents = [100 * share for row in rows for share in row.shares]
    right = [100 * r for row in rows for r in row.order + row.order_by_losses]
    lowest = min((r for r in right if r == r), default=0) - 5
    for place, (axes, row) in enumerate(zip(grid, rows)):
        axes.axhline(100 * SURE_ORDER, color=GREY, ls=':')
        shares = [100 * share for share in row.shares]
        for i, order in enumerate((row.order, row.order_by_losses)):
            if order:
                own = look(i)
                axes.plot(
                    shares, [100 * right for right in order],
                    color=own.colour,
                    ls=own.line,
                    marker=own.marker,
                    ms=3.5)
        axes.set_ylim(max(0, min(40, lowest)), 104)
        axes.set_title(wrapped(row.benchmark))
        if percents:
            # A benchmark with equal scores everywhere has no order to draw.
            axes.set_xlim(0.9 * min(percents), 110)
            log_axis(axes.xaxis, min(percents), 100)
        if not is_leftmost(place, len(rows)):
            axes.tick_params(labelleft=False)
    figure.supxlabel('percent of the training')
    figure.supylabel('pairs of runs in order, %')
    legend_above(figure, [
        Line2D([], [], color=look(i).colour, ls=look(i).line,
               marker=look(i).marker, label=label)
        for i, label in enumerate(_LABELS[:1 + with_losses])
    ] + [Line2D([], [], color=GREY, ls=':', label=f'{SURE_ORDER:.0%}')]
    )  # yapf: disable
    return figure
