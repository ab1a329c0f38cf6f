"""The style of all pictures, and their files.

Colours are those of Okabe and Ito, which people with colour-blindness can
tell apart; a marker repeats what a colour says, for prints in black and
white. Text is never read as mathematics.
"""
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, ParamSpec

import matplotlib
from matplotlib import font_manager, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, atomic_path

#: Okabe and Ito (2008) without the yellow, which is pale on white.
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9',
           '#000000')
#: Their number has no factor in common with that of the colours, so that the
#: first 63 pairs differ.
MARKERS = ('o', 's', '^', 'D', 'v', 'P', 'X', 'p', '*')
#: Of lines; dotted ones have other meanings.
LINES = ('-', '--', '-.')
#: Of diagonals, chance levels, borders and all else that is not data.
GREY = '#767676'
#: Names with a look of their own; the rest share that of `OTHERS`.
MOST_NAMES = 15
OTHERS = 'others'

_MAIN_FONT = 'DejaVu Sans'
#: Fonts for characters that the main font, which comes with matplotlib,
#: cannot write; those that are installed are used.
_MORE_FONTS = ('Noto Sans CJK SC', 'Noto Sans SC', 'Source Han Sans SC',
               'WenQuanYi Zen Hei', 'WenQuanYi Micro Hei', 'PingFang SC',
               'Microsoft YaHei', 'SimHei', 'Arial Unicode MS')

_SETTINGS = {
    'axes.axisbelow': True,
    'axes.edgecolor': GREY,
    'axes.formatter.useoffset': False,
    'axes.grid': True,
    'axes.labelsize': 10,
    'axes.linewidth': 0.8,
    'axes.spines.right': False,
    'axes.spines.top': False,
    'axes.titlesize': 10,
    'figure.constrained_layout.h_pad': 0.07,
    'figure.constrained_layout.w_pad': 0.05,
    'figure.dpi': 150,
    'figure.labelsize': 10.5,
    'font.size': 10,
    'grid.color': '#e4e4e4',
    'grid.linewidth': 0.6,
    'legend.columnspacing': 1.5,
    'legend.fontsize': 9.5,
    'legend.frameon': False,
    'legend.handlelength': 1.7,
    'legend.handletextpad': 0.5,
    'lines.linewidth': 1.4,
    'lines.markersize': 5,
    'savefig.dpi': 'figure',
    'svg.fonttype': 'path',
    'svg.hashsalt': 'csv_plugin',
    'text.parse_math': False,
    'xtick.color': GREY,
    'xtick.labelcolor': 'black',
    'xtick.labelsize': 9,
    'ytick.color': GREY,
    'ytick.labelcolor': 'black',
    'ytick.labelsize': 9,
}

_Arguments = ParamSpec('_Arguments')


@dataclass(frozen=True)
class Look:
    """Colour, marker and line by which a name is recognised.

    Args:
        colour (str): Of its points and lines.
        marker (str): Of its points.
        line (str): Style of its lines.
    """
    colour: str
    marker: str
    line: str = '-'


_REST = Look(GREY, 'h')


def looks(names: Iterable[str]) -> dict[str, Look]:
    """One look per name, in the order of their first appearance.

    Of more than `MOST_NAMES`, those that occur least often share the look
    of `OTHERS`, which then is the last key.

    >>> looks(['b', 'a', 'b'])['a'].marker
    's'
    """
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    frequent = sorted(counts, key=lambda name: -counts[name])[:MOST_NAMES]
    own = [name for name in counts if name in frequent]
    by_name = {name: look(i) for i, name in enumerate(own)}
    if len(own) < len(counts):
        rest = {name: _REST for name in counts if name not in by_name}
        by_name |= rest | {OTHERS: _REST}
    return by_name


def distinct(by_name: Mapping[str, Look]) -> list[str]:
    """Names of `looks` that a legend explains: each look once.

    >>> distinct(looks(map(str, range(20))))[-2:]
    ['14', 'others']
    """
    return [
        name for name, own in by_name.items() if name == OTHERS or own != _REST
    ]


def look(index: int) -> Look:
    """The look of the name at a place."""
    return Look(COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)],
                LINES[index % len(LINES)])


def picture(
        build: Callable[_Arguments, Figure]) -> Callable[_Arguments, Figure]:
    """Decorator of functions that draw: in this style, laid out at once."""

    @functools.wraps(build)
    def drawn(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Figure:
        with _styled():
            figure = build(*args, **kwargs)
            lay_out(figure)
        return figure

    return drawn


@contextmanager
def drawing(ax: Optional[Axes],
            size: Optional[tuple[float, float]] = None) -> Iterator[Axes]:
    """What a function for notebooks draws on, in this style.

    Args:
        ax (Optional[Axes]): What the caller was given; None for those of a
            new figure of pyplot, which notebooks show.
        size (Optional[tuple[float, float]]): Inches of a new figure.
    """
    with _styled():
        if ax is None:
            from matplotlib import pyplot
            _, ax = pyplot.subplots(figsize=size, layout='constrained')
        yield ax
        # Ticks take their style from the settings of this moment, but what
        # the axes had before keeps its own: names in it are no formulas.
        for words in (ax.title, ax.xaxis.label, ax.yaxis.label,
                      *ax.get_xticklabels(), *ax.get_yticklabels()):
            words.set_parse_math(False)
        interactive = matplotlib.is_interactive()
    # The first figure in a notebook turns this on for all that follow.
    matplotlib.interactive(interactive)


def lay_out(figure: Figure) -> None:
    """Arrange the parts of a picture now and for good."""
    # Tick labels take their style from the settings of this moment.
    figure.draw_without_rendering()
    figure.set_layout_engine('none')


def save(figure: Figure, path: FilePath) -> None:
    """Write a picture as PNG or SVG, by the ending of the name.

    The file appears whole or not at all; equal pictures are equal bytes.

    Args:
        figure (Figure): The picture.
        path (FilePath): The file to create or replace.

    Raises:
        InputError: The name has another ending, or its folder is missing.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in ('.png', '.svg'):
        raise InputError(
            str(path), 'a name that ends with .png or .svg', repr(suffix),
            'Choose one of these formats.')
    metadata = {'Date': None} if suffix == '.svg' else {}
    with _styled(), atomic_path(path) as temporary:
        figure.savefig(temporary, format=suffix[1:], metadata=metadata)


def plain(name: str) -> str:
    r"""A name as it can be drawn on one line.

    Characters without a glyph in any installed font are written as Python
    escapes, so that different names stay different.

    >>> plain('a\nb')
    'a\\nb'
    """
    glyphs = _glyphs()
    return ''.join(
        c if c == ' ' or (c.isprintable() and ord(c) in glyphs
                          ) else c.encode('unicode_escape').decode()
        for c in name)


def _styled() -> AbstractContextManager[None]:
    """A context with our settings, whatever the user's files set."""
    settings = _SETTINGS | {'font.family': list(_fonts())}
    return style.context(['default', settings])


@functools.cache
def _fonts() -> tuple[str, ...]:
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return (_MAIN_FONT, *(f for f in _MORE_FONTS if f in installed))


@functools.cache
def _glyphs() -> frozenset[int]:
    """Code points that can be drawn."""
    paths = [font_manager.findfont(name) for name in _fonts()]
    return frozenset(
        code for path in paths
        for code in font_manager.get_font(path).get_charmap())
