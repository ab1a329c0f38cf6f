"""What pictures of studies share: themes, sheets of panels, tokens."""
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from csv_plugin.core.predictor import Predictor
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.pictures.style import GREY


class Ink(NamedTuple):
    """Colours of a theme: ground, words, lines, two for models, and others.
    """
    ground: str
    words: str
    lines: str
    blue: str
    orange: str
    grey: str = GREY


THEMES = {
    'light': Ink('white', '#24292f', '#c9ced4', '#0072B2', '#D55E00'),
    'dark': Ink('#0d1117', '#e6edf3', '#3d444d', '#56B4E9', '#E69F00'),
}
#: Inches: width of a picture, heights of a row of panels, of a line and of
#: the foot.
WIDTH, ROW, LINE, FOOT = 5.6, 1.45, 0.2, 0.5


@contextmanager
def sheet(theme: str,
          title: str,
          notes: Sequence[Mapping[str, str]],
          shape: tuple[int, int],
          row: float = ROW,
          gap: float = 0.55) -> Iterator[tuple[Figure, NDArray, Ink]]:
    """A figure with a title, lines of words by their colours, and panels.

    `gap` is the space between rows of panels, in heights of a panel.
    """
    ink = THEMES[theme]
    names = ('axes.labelcolor', 'text.color', 'xtick.color', 'ytick.color')
    look = dict.fromkeys(names, ink.words) | {
        'axes.edgecolor': ink.lines,
        'axes.facecolor': ink.ground,
        'axes.titlesize': 9,
        'axes.spines.right': False,
        'axes.spines.top': False,
        'font.size': 10,
        'xtick.labelsize': 9,
        'ytick.labelsize': 9
    }
    n_lines = title.count('\n') + 1
    head = 0.1 + 0.22 * n_lines + LINE * len(notes) + 0.45
    height = head + shape[0] * row + FOOT
    with style.context(['default', look]):
        figure = Figure((WIDTH, height), dpi=200, facecolor=ink.ground)
        FigureCanvasAgg(figure)
        grid = figure.subplots(*shape, squeeze=False)
        figure.subplots_adjust(0.115, FOOT / height, 0.975, 1 - head / height,
                               0.3, gap)
        figure.text(
            0.02,
            1 - 0.1 / height,
            title,
            va='top',
            fontsize=12,
            fontweight='bold')
        for i, line in enumerate(notes):
            left, top = 0.02, 0.12 + 0.22 * n_lines + LINE * i
            for words, colour in line.items():
                written = figure.text(
                    left,
                    1 - top / height,
                    words,
                    va='top',
                    color=getattr(ink, colour))
                box = written.get_window_extent()
                left += box.width / figure.bbox.width + 0.03
        yield figure, grid, ink
        # Tick labels take their colours from the settings of this moment.
        figure.draw_without_rendering()


def label(figure: Figure, x: str, y: str) -> None:
    """Name the axes that all panels share."""
    height = figure.get_figheight()
    figure.text(0.54, 0.1 / height, x, ha='center')
    middle = (figure.subplotpars.bottom + figure.subplotpars.top) / 2
    figure.text(0.012, middle, y, va='center', rotation='vertical')


class Token(NamedTuple):
    """A token of a text, its weight, and the words before it.

    The mean weight is 1; NaN counts as 0.
    """
    word: str
    weight: float
    before: str


def tokens_of(texts: TextSet, predictor: Predictor,
              weights: NDArray) -> dict[str, list[Token]]:
    """The tokens of all texts with weights, `(T,)`, by name of the text."""
    targets = predictor.targets
    assert targets is not None
    spans = targets.spans
    parts = np.split(np.nan_to_num(weights), spans.token_offsets[1:-1])
    found = {}
    for text, of_text, part in zip(texts, spans, parts):
        data, tokens = text.text.encode(), []
        for start, end, weight in zip(of_text.starts, of_text.ends, part):
            # A token may be a part of a character.
            word = data[start:end].decode(errors='replace')
            before = data[:start].decode(errors='replace')
            tokens.append(Token(word, float(weight), before))
        found[text.text_id] = tokens
    return found


def write_tokens(figure: Figure, tokens: Sequence[Token], y: float,
                 most: float, colours: tuple[str, str], size: float) -> None:
    """Write tokens side by side, each on a ground of its weight.

    `colours` are those of the weights 0 and `most`; `y` is the height of the
    line as a share of the figure, `size` that of the words in points.
    """
    ground = LinearSegmentedColormap.from_list('', colours)
    left = 0.03
    for token in tokens:
        word = token.word.rstrip('\n').replace(' ', '\u00a0')
        box = dict(
            facecolor=ground(0.85 * token.weight / most),
            edgecolor='none',
            pad=1)
        figure.text(
            left, y, word, family='DejaVu Sans Mono', fontsize=size, bbox=box)
        left += width(token, size) / figure.get_figwidth()


def width(token: Token, size: float) -> float:
    """Inches of a token: a character is 0.602 of its size wide."""
    return 0.602 * size / 72 * len(token.word.rstrip('\n')) + 0.025


def save_themes(folder: Path, name: str, draw: Callable[[str],
                                                        Figure]) -> None:
    """Save a picture on light and on dark ground, and print the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        path = folder / f'{name}_{theme}.png'
        draw(theme).savefig(path, metadata={'Software': None})
        print(path)
