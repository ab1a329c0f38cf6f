"""Define the style of pictures: colours, panels, axes, legends and files.

The colours are the palette of Okabe and Ito, which people with
colour-blindness can tell apart. Names also differ in their markers. Text is
never interpreted as a formula.
"""
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
from matplotlib import font_manager, style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from csv_plugin.core.arrays import Booleans
from csv_plugin.core.escaping import one_line
from csv_plugin.io.files import FilePath, atomic_path

#: The palette of Okabe and Ito (2008) without its yellow, which is pale on
#: white.
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9',
           '#000000')
#: Nine markers and seven colours have no common factor, so that cycling
#: through both gives 63 different pairs.
MARKERS = ('o', 's', '^', 'D', 'v', 'P', 'X', 'p', '*')
#: Styles of lines by which names differ. Dotted lines are not among them,
#: because they have other meanings.
LINES = ('-', '--', '-.')
#: Colour of diagonals, chance levels, borders and all else that is not data.
GREY = '#767676'
#: Largest number of panels side by side: more panels would be too small on a
#: printed page.
ABREAST = 4
#: Fonts in order of preference. The first one comes with matplotlib; the other
#: fonts, where installed, show characters that the first one lacks.
_FONTS = ('DejaVu Sans', 'Noto Sans CJK SC', 'Noto Sans SC',
          'Source Han Sans SC', 'WenQuanYi Zen Hei', 'WenQuanYi Micro Hei',
          'PingFang SC', 'Microsoft YaHei', 'SimHei', 'Arial Unicode MS')

_SETTINGS = {
    'axes.axisbelow': True,
    'axes.edgecolor': GREY,
    'axes.formatter.useoffset': False,
    'axes.grid': True,
    'axes.spines.right': False,
    'axes.spines.top': False,
    'figure.constrained_layout.h_pad': 0.07,
    'figure.constrained_layout.w_pad': 0.05,
    'figure.dpi': 150,
    'font.size': 9,
    'grid.color': '#e4e4e4',
    'legend.frameon': False,
    'legend.handlelength': 1.7,
    'svg.hashsalt': 'csv_plugin',
    'text.parse_math': False,
    'xtick.color': GREY,
    'xtick.labelcolor': 'black',
    'ytick.color': GREY,
    'ytick.labelcolor': 'black',
}

_Arguments = ParamSpec('_Arguments')
#: Settings of a line or of points in matplotlib.
Style = dict[str, Any]


@dataclass(frozen=True)
class Look:
    """The colour, marker and line style by which a name is recognised."""
    colour: str
    marker: str
    line: str = '-'

    @property
    def marked_line(self) -> Style:
        """Settings of a line with markers."""
        return dict(color=self.colour, marker=self.marker, ls=self.line)

    @property
    def points(self) -> Style:
        """Settings of points without a line."""
        return dict(
            color=self.colour,
            marker=self.marker,
            ls='',
            markeredgecolor='white',
            markeredgewidth=0.4)


#: Maps the name of a model, family or run to its look.
Looks = dict[str, Look]
#: A function that returns the style of the points of a family, given its look.
#: The second argument is True for training models, whose points are filled.
Marker = Callable[[Look, bool], Style]


def looks(names: Iterable[str]) -> Looks:
    """Return a look for each name.

    Looks are assigned in the order in which the names first appear.
    """
    found: Looks = {}
    for name in names:
        if name not in found:
            found[name] = look(len(found))
    return found


def look(index: int) -> Look:
    """Return the look of the name at an index."""
    colour = COLOURS[index % len(COLOURS)]
    marker = MARKERS[index % len(MARKERS)]
    line = LINES[index % len(LINES)]
    return Look(colour, marker, line)


def picture(
        build: Callable[_Arguments, Figure]) -> Callable[_Arguments, Figure]:
    """Decorate a function that draws a figure.

    The figure is drawn in the style of this module and its layout is fixed
    before it is returned.
    """

    @functools.wraps(build)
    def drawn(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Figure:
        with _styled():
            figure = build(*args, **kwargs)
            # Tick labels take their style from the settings at the time of
            # drawing, so they are drawn here.
            figure.draw_without_rendering()
            figure.set_layout_engine('none')
        return figure

    return drawn


def save(figure: Figure, path: FilePath) -> None:
    """Write a picture in the format that the file's extension names.

    The file is written completely or not at all. Equal pictures give equal
    bytes if the format is PNG or SVG.
    """
    kind = Path(path).suffix[1:].lower()
    metadata = {'Date': None} if kind == 'svg' else {}
    with _styled(), atomic_path(path) as temporary:
        figure.savefig(temporary, format=kind, metadata=metadata)


def wrapped(name: str, width: int = 20) -> str:
    r"""Break a name into lines of at most `width` characters.

    >>> wrapped('lambada_openai_perplexity')
    'lambada_openai_\nperplexity'
    """
    parts = re.findall(r'.*?[-_/. ]+|.+', one_line(name))
    lines = ['']
    for part in parts:
        length = len(lines[-1]) + len(part.rstrip())
        if length > width:
            lines.append('')
        lines[-1] += part[:width]
        for start in range(width, len(part), width):
            lines.append(part[start:start + width])
    stripped = map(str.strip, lines)
    return '\n'.join(filter(None, stripped)) or ' '


def panels(
    n_panels: int,
    n_rows: int = 1,
    size: tuple[float, float] = (2.2, 2.05)
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure, and the axes of its panels by row.

    There are `n_rows` lists of `n_panels` axes. If a row is longer than
    `ABREAST` panels, it is continued in a further block of `n_rows` rows
    below. `size` is the width and height of a panel in inches.
    """
    blocks = -(-n_panels // ABREAST)
    # Blocks have about equal width: five panels are divided into three and
    # two.
    columns = -(-n_panels // blocks)
    # Inches on the left and below, for the axis labels that panels share.
    left, below = 0.5, 0.4
    width = columns * size[0] + left
    # Least width of the figure in inches, so that axis labels and legend fit
    # even with a single panel.
    least_width = 5.0
    # If there are only one or two panels, both width and height grow.
    scale = max(1.0, least_width / width)
    height = scale**0.5 * blocks * n_rows * size[1] + below
    figure = Figure((scale * width, height), layout='constrained')
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(blocks * n_rows, columns)
    rows: list[list[Axes]] = []
    for row in range(n_rows):
        rows.append([])
        for b in range(n_panels):
            block, column = divmod(b, columns)
            grid_row = block * n_rows + row
            panel = figure.add_subplot(grid[grid_row, column])
            panel.locator_params('x', nbins=3)
            panel.locator_params('y', nbins=4)
            rows[row].append(panel)
    return figure, rows


def explain(figure: Figure, x: str, y: str, handles: Sequence[Artist]) -> None:
    """Name the axes that all panels share, and add a legend above them.

    `x` and `y` are the axis labels. The legend has the fewest rows with which
    it fits the width of the figure. The figure grows by the height of the
    legend, so that the panels keep their size.
    """
    figure.supxlabel(x)
    figure.supylabel(y)
    n_handles = len(handles)
    for n_rows in range(1, n_handles + 1):
        n_columns = -(-n_handles // n_rows)
        legend = figure.legend(
            handles=handles, ncols=n_columns, loc='outside upper center')
        box = legend.get_window_extent()
        if box.width <= 0.96 * figure.bbox.width or n_rows == n_handles:
            break
        legend.remove()
    height = figure.get_figheight() + box.height / figure.dpi
    figure.set_figheight(height)


def handle(label: str, **settings: Any) -> Line2D:
    """Return a legend entry with the settings of a line.

    Long labels are broken into several lines of text.
    """
    return Line2D([], [], label=wrapped(label, 40), **settings)


def draw_models(axes: Axes, x: NDArray, y: NDArray, families: NDArray,
                fitted: Booleans, look: Looks, marker: Marker) -> None:
    """Draw M models as points at `x` and `y`, `(M,)`, in their families' look.

    `families`, `(M,)`, are the names of their families, and `fitted`, `(M,)`,
    is true for training models.
    """
    for family, own in look.items():
        of_family = families == family
        for is_fitted in (True, False):
            chosen = of_family & (fitted == is_fitted)
            if chosen.any():
                style = marker(own, is_fitted)
                # Some versions of matplotlib write labels into SVG files.
                label = one_line(family)
                axes.plot(x[chosen], y[chosen], label=label, **style)


def model_handles(look: Looks, marker: Marker, others: str) -> list[Artist]:
    """Return legend entries for families, training models and other models.

    `others` is the label of the models that are not training models.
    """
    black = Look('black', 'o')
    handles: list[Artist] = []
    for family, own in look.items():
        style = marker(own, True)
        handles.append(handle(family, **style))
    filled = marker(black, True)
    handles.append(handle('training models', **filled))
    unfilled = marker(black, False)
    handles.append(handle(others, **unfilled))
    return handles


def pad(*values: NDArray) -> tuple[float, float]:
    """Return limits of an axis with room around all finite values."""
    flat = list(map(np.ravel, values))
    numbers = np.concatenate(flat)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return 0.0, 1.0
    low = float(numbers.min())
    high = float(numbers.max())
    room = 0.06 * (high - low) or 0.05 * abs(low) or 0.05
    return low - room, high + room


def show_empty(axes: Axes) -> None:
    """Write into a panel why nothing is drawn."""
    axes.text(
        0.5,
        0.5,
        'no scores',
        ha='center',
        va='center',
        transform=axes.transAxes)


def _styled() -> AbstractContextManager[None]:
    settings = _SETTINGS | {'font.family': list(_fonts())}
    return style.context(['default', settings])


@functools.cache
def _fonts() -> tuple[str, ...]:
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return tuple(font for font in _FONTS if font in installed)
