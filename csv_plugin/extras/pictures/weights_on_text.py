"""Salience weights as colours behind the characters of a text."""
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Optional

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from csv_plugin.extras.heat_maps import HeatMap, characters
from csv_plugin.extras.pictures import panels
from csv_plugin.extras.pictures.style import COLOURS, drawing, plain

#: Narrow characters in a line.
_COLUMNS = 76
#: Width and height of a narrow character, for glyphs of the size 1.
_CELL = 0.602, 1.5
#: Inches of a line, and opacity of the colour of a full weight.
_LINE, _OPACITY = 0.19, 0.7


def plot_heat_map(shown: HeatMap,
                  full: Optional[float] = None,
                  ax: Optional[Axes] = None) -> Axes:
    """One text with its salience weights: blue above 0, orange below.

    Args:
        shown (HeatMap): One of what `heat_maps` returns.
        full (Optional[float]): Size of the weights in full colour, by
            default that of the text.
        ax (Optional[Axes]): Where to draw, by default in a new figure.

    Returns:
        Axes: Those that were drawn on.
    """
    if full is None:
        full = shown.full
    cells = list(_cells(shown))
    # A text may be nothing but line breaks.
    n_lines = 1 + max((line for _, _, line, _ in cells), default=0)
    with drawing(ax, (7.2, _LINE * n_lines + 0.7)) as axes:
        width, height = _CELL
        boxes, colours, glyphs = [], [], []
        for character, column, line, weight in cells:
            x, y = width * column, -height * line
            if not np.isnan(weight) and weight:
                opacity = _OPACITY * min(abs(weight) / full, 1)
                boxes.append(
                    Rectangle((x, y - 0.4), width * _width(character), height))
                colours.append((COLOURS[int(weight < 0)], opacity))
            # matplotlib makes no outline of nothing.
            if not character.isspace():
                moved = Affine2D().translate(x, y)
                glyphs.append(_glyph(character).transformed(moved))
        axes.add_collection(
            PatchCollection(boxes, facecolors=colours, linewidths=0))
        outlines = Path.make_compound_path(*glyphs)
        axes.add_patch(PathPatch(outlines, color='black', lw=0))
        axes.set(
            xlim=(0, width * _COLUMNS),
            ylim=(-height * (n_lines - 1) - 0.5, height),
            aspect='equal',
            anchor='NW',
            xticks=(),
            yticks=(),
            title=panels.wrapped(shown.text.text_id, 60),
            xlabel=f'weights, full colour at {full:.2g}: blue above 0, '
            'orange below')
        axes.spines[:].set_visible(False)
    return axes


def _cells(shown: HeatMap) -> Iterator[tuple[str, int, int, float]]:
    """Each character with its column, line and weight."""
    column = line = 0
    for piece in shown.pieces:
        for character in characters(piece.text):
            if character in ('\n', '\r\n'):
                column, line = 0, line + 1
                continue
            if column + _width(character) > _COLUMNS:
                column, line = 0, line + 1
            yield character, column, line, piece.weight
            column += _width(character)


def _width(character: str) -> int:
    """Columns of a character, 2 of Chinese ones."""
    wide = unicodedata.east_asian_width(character[0]) in 'WF'
    return 2 if wide else 1


@lru_cache(maxsize=4096)
def _glyph(character: str) -> Path:
    """The outline of a character, a question mark where no font has it."""
    drawn = character if plain(character) == character else '?'
    fonts = ['DejaVu Sans Mono', *FontProperties().get_family()]
    return TextPath((0, 0), drawn, size=1, prop=FontProperties(family=fonts))
