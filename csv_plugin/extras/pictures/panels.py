"""Panels in rows, with the legend, limits and ticks that they share."""
import re
from collections.abc import Sequence
from typing import Any, Union

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import (FuncFormatter, LogLocator, MaxNLocator,
                               NullFormatter)
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from csv_plugin.extras.pictures.style import lay_out, picture, plain

#: Inches of one panel with its labels.
PANEL = 2.2, 2.05
#: Inches left and below for the labels that all panels share.
MARGIN = 0.5, 0.4
#: Inches, so that the labels of the axes have room beside one panel.
LEAST_WIDTH = 5.0
_NARROWEST, _WIDEST = 3, 5
#: First digits of the numbers on a logarithmic axis, by decades below.
_DIGITS = ((0.7, (1, 1.5, 2, 3, 5, 7)), (1.5, (1, 2, 5)), (3, (1, 3)), (np.inf,
                                                                        (1, )))


def n_columns(n_panels: int) -> int:
    """Panels side by side: few cells of the grid stay empty.

    >>> [n_columns(n) for n in (1, 4, 5, 6, 7, 15)]
    [1, 4, 5, 3, 4, 5]
    """
    if n_panels <= _WIDEST:
        return n_panels
    return min(range(_WIDEST, _NARROWEST - 1, -1), key=lambda n: -n_panels % n)


def panels(
        n_panels: int,
        n_rows: int = 1,
        size: tuple[float, float] = PANEL) -> tuple[Figure, list[list[Axes]]]:
    """A figure with panels in a grid that wraps.

    Args:
        n_panels (int): B, 1 or more.
        n_rows (int): Rows of B panels each, which wrap together: with more
            panels than fit side by side, `n_rows` rows of the first ones
            are followed by `n_rows` rows of the next.
        size (tuple[float, float]): Width and height of a panel, inches.

    Returns:
        tuple[Figure, list[list[Axes]]]: The figure, and `n_rows` lists of B
        axes.
    """
    columns = n_columns(n_panels)
    blocks = -(-n_panels // columns)
    width = columns * size[0] + MARGIN[0]
    # One panel or two grow in both directions.
    scale = max(1.0, LEAST_WIDTH / width)
    figure = Figure(
        (scale * width, scale**0.5 * blocks * n_rows * size[1] + MARGIN[1]),
        layout='constrained')
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(blocks * n_rows, columns)
    axes = [[
        figure.add_subplot(grid[b // columns * n_rows + row, b % columns])
        for b in range(n_panels)
    ] for row in range(n_rows)]
    return figure, axes


def is_leftmost(index: int, n_panels: int) -> bool:
    """Whether a panel of a row stands at the left of the figure."""
    return index % n_columns(n_panels) == 0


def wrapped(name: str, width: int = 20) -> str:
    r"""A name in lines that a panel has room for, cut where names join.

    >>> wrapped('lambada_openai_perplexity')
    'lambada_openai_\nperplexity'
    """
    lines = ['']
    for part in re.findall(r'.*?[-_/. ]+|.+', plain(name)):
        if len(lines[-1]) + len(part.rstrip()) > width:
            lines.append('')
        pieces = [part[i:i + width] for i in range(0, len(part), width)]
        lines[-1] += pieces[0]
        lines += pieces[1:]
    return '\n'.join(line.strip() for line in lines if line.strip()) or ' '


def legend_above(figure: Figure, handles: Sequence[Artist]) -> None:
    """Explain markers above the panels, in as many rows as it takes.

    The figure grows, so that the panels keep their size.
    """
    box = _fitting_legend(
        figure, 0.96, handles=handles, loc='outside upper center')
    figure.set_figheight(figure.get_figheight() + box.height / figure.dpi)


def _fitting_legend(figure: Figure, share: float, handles: Sequence[Artist],
                    **options: Any) -> Bbox:
    """Add a legend that takes a share of the width at most; give its box."""
    n_rows = 1
    while True:
        # As even as rows can be.
        columns = -(-len(handles) // n_rows)
        legend = figure.legend(handles=handles, ncols=columns, **options)
        box = legend.get_window_extent()
        if box.width <= share * figure.bbox.width or columns == 1:
            return box
        legend.remove()
        n_rows += 1


@picture
def take_legend(figure: Figure, width: float) -> Figure:
    """Take the legend out of a picture, which gets smaller by it.

    Args:
        figure (Figure): The picture, with a legend above its panels.
        width (float): Inches that the legend may be wide.

    Returns:
        Figure: The legend, as wide as it has to be.
    """
    legend, = figure.legends
    box = legend.get_window_extent()
    legend.remove()
    figure.set_figheight(figure.get_figheight() - box.height / figure.dpi)
    figure.set_layout_engine('constrained')
    lay_out(figure)
    apart = Figure((width, 1))
    FigureCanvasAgg(apart)
    labels = [text.get_text() for text in legend.get_texts()]
    box = _fitting_legend(
        apart,
        1.0,
        list(filter(None, legend.legend_handles)),
        labels=labels,
        loc='upper left',
        borderaxespad=0)
    apart.set_size_inches(box.width / apart.dpi, box.height / apart.dpi)
    return apart


def pad(*values: NDArray) -> tuple[float, float]:
    """Limits of an axis with room around all finite values.

    >>> pad(np.array([0.0, np.nan, 1.0]))
    (-0.06, 1.06)
    """
    numbers = np.concatenate([np.ravel(v) for v in values])
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return 0.0, 1.0
    low, high = float(numbers.min()), float(numbers.max())
    room = 0.06 * (high - low) or 0.05 * abs(low) or 0.05
    return low - room, high + room


class _FewTicks(MaxNLocator):
    """Round numbers far apart, none of them outside of a range."""

    def __init__(self, least: float, most: float) -> None:
        super().__init__(4, steps=(1, 2, 2.5, 5, 10))
        self.range = least, most

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """As matplotlib calls it, with the limits of the axis."""
        low, high = sorted((vmin, vmax))
        least, most = self.range
        return super().tick_values(max(low, least), min(high, most))


def few_ticks(axes: Axes, shares: str = '') -> None:
    """Set at most five round numbers on each linear axis, far apart.

    Args:
        axes (Axes): The panel.
        shares (str): Axes, such as 'y', with numbers between 0 and 1 alone.
    """
    for name, axis in (('x', axes.xaxis), ('y', axes.yaxis)):
        ends = (0.0, 1.0) if name in shares else (-np.inf, np.inf)
        axis.set_major_locator(_FewTicks(*ends))
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def log_axis(axis: Union[XAxis, YAxis], low: float, high: float) -> None:
    """Make an axis logarithmic, with plain numbers between low and high."""
    axis.axes.set(**{f'{axis.axis_name}scale': 'log'})
    decades = np.log10(high / low)
    digits = next(first for most, first in _DIGITS if decades < most)
    most = 4 if axis.axis_name == 'x' else 6
    axis.set_major_locator(LogLocator(subs=digits, numticks=most))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())


def short(number: float) -> str:
    """A number without the zeros of an exponent.

    >>> short(0.002), short(1e-07)
    ('0.002', '1e-7')
    """
    return f'{number:g}'.replace('e-0', 'e-')


def say_empty(axes: Axes, words: str = 'no scores') -> None:
    """Write into a panel why nothing is drawn."""
    axes.text(
        0.5, 0.5, words, ha='center', va='center', transform=axes.transAxes)
