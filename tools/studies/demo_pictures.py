"""Two pictures of the demonstration, on light and on dark ground.

    python -m tools.studies.demo_pictures --out docs/pictures

`concept` goes from token losses to a predicted accuracy: one text, one exam
and one held-out model, the losses of its tokens, their salience weights, the
fitted curve and the prediction with its 90 % interval. `series` has the
accuracies of all checkpoints on one exam against the exponents by the mean
loss and by salience weights, with a held-out series beside all others.
"""
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import csv_plugin as cp
from csv_plugin.core.curve import accuracy_of
from csv_plugin.core.predictor import Predictor
from csv_plugin.demo import shipped
from csv_plugin.extras.pictures.accuracy_by_score import (CapabilityPoints,
                                                          capability_points)
from tools.studies.common import parser_of
from tools.studies.pictures import (Ink, label, save_themes, sheet, tokens_of,
                                    write_tokens)

TEXT, EXAM, MODEL = 'scenes-001', 'scenes', 'd-l@100'
HELD_OUT_EXAM, SERIES = 'chinese', 'series d'
PREDICTORS = {
    'exponent by the mean loss': shipped.BASELINE,
    'exponent by the salience weights': shipped.PREDICTOR
}
#: Size of the words of the text, in points.
SIZE = 7.2


def points_of(predictor: Predictor, exam: str) -> CapabilityPoints:
    """All checkpoints on an exam."""
    zoo = cp.read_collection(shipped.COLLECTION)
    [points] = capability_points(predictor, zoo.losses,
                                 zoo.accuracies.select(benchmarks=[exam]),
                                 zoo.families)
    return points


def draw_concept(theme: str) -> Figure:
    """From token losses to a predicted accuracy."""
    predictor = cp.load(shipped.PREDICTOR)
    zoo = cp.read_collection(shipped.COLLECTION)
    losses = predictor.loss_table(zoo.losses.select([MODEL])).losses[0]
    weights = np.abs(np.nan_to_num(predictor.token_weights(EXAM)))
    title = 'Losses on the tokens that matter predict the accuracy'
    # Empty notes leave room for tokens.
    notes: list[dict[str, str]] = [{}] * 7
    with sheet(theme, title, notes, (1, 1), row=2.6) as (figure, grid, ink):
        height = figure.get_figheight()
        for top, values, colour, words in (
            (0.5, losses, ink.orange,
             f'1  Token losses of the model {MODEL} on one of 250 texts'),
            (1.1, weights, ink.blue,
             f'2  Salience weights of these tokens for the exam "{EXAM}"')):
            tokens = tokens_of(zoo.texts, predictor, values)[TEXT]
            most = max(token.weight for token in tokens)
            figure.text(0.02, 1 - top / height, words)
            write_tokens(figure, tokens, 1 - (top + 0.25) / height, most,
                         (ink.ground, colour), SIZE)
        figure.text(
            0.02, 1 - 1.9 / height,
            '3  The weighted sum over all texts is the exponent;\n'
            '    a curve turns it into accuracy')
        _draw_curve(grid[0, 0], predictor, zoo, ink)
        label(figure, 'exponent (higher, to the right, is better)',
              'accuracy, %')
    return figure


def _draw_curve(axes: Axes, predictor: Predictor, zoo: cp.Collection,
                ink: Ink) -> None:
    """Draw training models, the fitted curve and the prediction."""
    points = points_of(predictor, EXAM)
    of_fitted = points.exponents[points.fitted]
    accuracy = 100 * points.accuracies
    axes.plot(
        of_fitted,
        accuracy[points.fitted],
        'o',
        ms=3,
        color=ink.lines,
        clip_on=False)
    grid = np.linspace(of_fitted.min(), of_fitted.max(), 200)
    axes.plot(
        grid, 100 * accuracy_of(grid, points.floor), color=ink.words, lw=1.2)
    shown = predictor.predict(zoo.losses.select([MODEL]))
    shown = shown.select(benchmarks=[EXAM])
    value, low, high = (100 * float(cube[0, 0, 0])
                        for cube in (shown.values, shown.low, shown.high))
    row = points.models.index(MODEL)
    x = points.exponents[row]
    axes.vlines(x, low, high, color=ink.blue, lw=5, alpha=0.35)
    axes.plot(x, value, 'o', color=ink.blue, ms=7)
    axes.plot(x, accuracy[row], 'D', color=ink.orange, ms=6)
    for words, y, shift, colour in (
        (f'4  predicted {value:.0f} %,\n'
         f'    90 % interval {low:.0f}-{high:.0f} %', low, (12, -20),
         ink.blue), (f'observed {accuracy[row]:.0f} %', accuracy[row],
                     (10, -4), ink.orange)):
        axes.annotate(
            words, (x, y), shift, textcoords='offset points', color=colour)
    axes.text(of_fitted.min(), 88,
              f'dots: {points.fitted.sum()} training models')
    axes.set(ylim=(0, 100), yticks=(0, 50, 100))


def draw_series(theme: str) -> Figure:
    """One panel per predictor; the title is the finding."""
    title = 'Salience weights put all series on one curve'
    notes = [{
        'Each dot is a checkpoint,': 'words',
        f'these are of {SERIES}, which no fit saw': 'orange'
    }]
    with sheet(theme, title, notes, (1, 2), row=2.4) as (figure, grid, ink):
        for axes, (name, path) in zip(grid.flat, PREDICTORS.items()):
            points = points_of(cp.load(path), HELD_OUT_EXAM)
            chosen = np.array(points.families) == SERIES
            for mask, colour in ((~chosen, ink.lines), (chosen, ink.orange)):
                axes.plot(
                    points.exponents[mask],
                    100 * points.accuracies[mask],
                    'o',
                    ms=3.5,
                    color=colour)
            ends = np.linspace(points.exponents.min(), points.exponents.max(),
                               200)
            axes.plot(
                ends,
                100 * accuracy_of(ends, points.floor),
                color=ink.words,
                lw=1.2)
            axes.set(ylim=(0, 103), yticks=(0, 50, 100), title=name)
            axes.locator_params(axis='x', nbins=4)
        label(figure, 'higher, to the right, is better',
              f'accuracy on "{HELD_OUT_EXAM}", %')
    return figure


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--out', type=Path, required=True)
    out = parser.parse_args().out
    save_themes(out, 'concept', draw_concept)
    save_themes(out, 'series', draw_series)


if __name__ == '__main__':
    main()
