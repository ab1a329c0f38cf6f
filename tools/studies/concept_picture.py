"""The concept picture: from token losses to a predicted accuracy.

    python -m tools.studies.concept_picture --out docs/pictures

draws one text, one exam and one held-out model of the demonstration: the
losses of its tokens, their salience weights, the fitted curve and the
prediction with its 90 % interval, on light and on dark ground.
"""
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

import csv_plugin as cp
from csv_plugin.core.curve import accuracy_of
from csv_plugin.core.predictor import Predictor
from csv_plugin.demo import shipped
from csv_plugin.extras.pictures.accuracy_by_score import capability_points
from tools.studies.options import parser_of
from tools.studies.results_pictures import THEMES, save_themes

TEXT, EXAM, MODEL = 'scenes-001', 'scenes', 'd-l@100'


def draw(theme: str) -> Figure:
    """Draw the picture on the ground of a theme."""
    ground, ink, lines, blue, orange = THEMES[theme]
    predictor = cp.load(shipped.PREDICTOR)
    zoo = cp.read_collection(shipped.COLLECTION)
    losses = predictor.loss_table(zoo.losses.select([MODEL])).losses[0]
    settings = {
        'axes.edgecolor': lines,
        'axes.labelcolor': ink,
        'text.color': ink,
        'xtick.color': ink,
        'ytick.color': ink,
        'font.size': 11
    }
    with style.context(['default', settings]):
        figure = Figure((7.0, 6.0), dpi=180, facecolor=ground)
        figure.text(
            0.02,
            0.95,
            'Losses on the tokens that matter predict the accuracy',
            fontsize=13.5,
            fontweight='bold')
        words, of_text = _words(predictor)
        weights = np.nan_to_num(predictor.token_weights(EXAM))
        for height, values, colour, label in (
            (0.815, losses, orange,
             f'1  Token losses of the model {MODEL} on one of 250 texts'),
            (0.675, np.abs(weights), blue,
             f'2  Salience weights of these tokens for the exam "{EXAM}"')):
            figure.text(0.02, height + 0.045, label)
            _draw_words(
                figure, words, values[of_text], height,
                LinearSegmentedColormap.from_list('', [ground, colour]), ink)
        figure.text(
            0.02, 0.53, '3  The weighted sum over all texts is the exponent;\n'
            '    a curve turns it into accuracy')
        axes = figure.add_axes((0.11, 0.11, 0.86, 0.38), facecolor=ground)
        _draw_curve(axes, predictor, theme)
    return figure


def _words(predictor: Predictor) -> tuple[list[str], slice]:
    """Return the tokens of the text, and their places among all tokens."""
    texts = cp.read_texts(shipped.TEXTS)
    index = texts.ids.index(TEXT)
    targets = predictor.targets
    assert targets is not None
    first = int(targets.spans.token_offsets[index])
    spans = targets.spans[index]
    data = [*texts][index].text.encode()
    words = [
        data[start:end].decode()
        for start, end in zip(spans.starts, spans.ends)
    ]
    return words, slice(first, first + len(words))


def _draw_words(figure: Figure, words: list[str], values: NDArray,
                height: float, colours: LinearSegmentedColormap,
                ink: str) -> None:
    """Write the tokens side by side, each on a ground of its value."""
    strength = 0.85 * np.nan_to_num(values) / np.nanmax(values)
    left = 0.03
    for word, value in zip(words, strength):
        shown = word.replace('\n', '\u21b5').replace(' ', '\u00a0')
        written = figure.text(
            left,
            height,
            shown,
            family='DejaVu Sans Mono',
            fontsize=9.2,
            color=ink,
            bbox=dict(facecolor=colours(value), edgecolor='none', pad=2))
        # A character of this font is 0.602 of its size wide.
        inches = 0.602 * 9.2 / 72 * len(shown)
        left += inches / figure.get_figwidth() + 0.005
        written.set_verticalalignment('center')


def _draw_curve(axes: Axes, predictor: Predictor, theme: str) -> None:
    """Draw training models, the fitted curve and the prediction."""
    _, ink, lines, blue, orange = THEMES[theme]
    zoo = cp.read_collection(shipped.COLLECTION)
    [points] = capability_points(predictor, zoo.losses,
                                 zoo.accuracies.select(benchmarks=[EXAM]),
                                 zoo.families)
    of_fitted = points.exponents[points.fitted]
    accuracy = points.accuracies
    axes.plot(of_fitted, 100 * accuracy[points.fitted], 'o', ms=3, color=lines)
    grid = np.linspace(of_fitted.min(), of_fitted.max(), 200)
    axes.plot(grid, 100 * accuracy_of(grid, points.floor), color=ink, lw=1.2)
    row = points.models.index(MODEL)
    shown = predictor.predict(zoo.losses.select([MODEL]))
    value, low, high = (100 * float(cube[0, shown.benchmarks.index(EXAM), 0])
                        for cube in (shown.values, shown.low, shown.high))
    x = points.exponents[row]
    axes.vlines(x, low, high, color=blue, lw=5, alpha=0.35)
    axes.plot(x, value, 'o', color=blue, ms=7)
    axes.plot(x, 100 * accuracy[row], 'D', color=orange, ms=6)
    axes.annotate(
        f'4  predicted {value:.0f} %, 90 % interval {low:.0f}-{high:.0f}',
        (x, low), (12, -8), textcoords='offset points',
        color=blue)  # yapf: disable
    axes.annotate(
        f'real {100 * accuracy[row]:.0f} %',
        (x, 100 * accuracy[row]), (10, -4), textcoords='offset points',
        color=orange)  # yapf: disable
    axes.text(of_fitted.min(), 88,
              f'dots: {points.fitted.sum()} training models')
    axes.set(
        ylim=(0, 100),
        yticks=(0, 50, 100),
        ylabel='accuracy, %',
        xlabel='exponent (higher, to the right, is better)')
    axes.spines[['top', 'right']].set_visible(False)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--out', type=Path, required=True)
    save_themes(parser.parse_args().out, 'concept', draw)


if __name__ == '__main__':
    main()
