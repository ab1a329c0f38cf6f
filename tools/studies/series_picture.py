"""A held-out series of the demonstration beside all others.

    python -m tools.studies.series_picture --out docs/pictures

draws the accuracies of all checkpoints on one exam against the mean loss and
against the capability score, on light and on dark ground.
"""
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import csv_plugin as cp
from csv_plugin.core.curve import accuracy_of
from csv_plugin.demo import shipped
from csv_plugin.extras.pictures.accuracy_by_score import (CapabilityPoints,
                                                          capability_points)
from tools.studies.options import parser_of
from tools.studies.results_pictures import THEMES, save_themes

EXAM, SERIES = 'chinese', 'series d'
PREDICTORS = {
    'exponent by the mean loss': shipped.BASELINE,
    'exponent by the salience weights': shipped.PREDICTOR
}


def points_of(predictor: Path) -> CapabilityPoints:
    """All checkpoints on the exam."""
    zoo = cp.read_collection(shipped.COLLECTION)
    [points] = capability_points(
        cp.load(predictor), zoo.losses,
        zoo.accuracies.select(benchmarks=[EXAM]), zoo.families)
    return points


def draw(theme: str) -> Figure:
    """Draw one panel per predictor; the title is the finding."""
    ground, ink, lines, _, orange = THEMES[theme]
    settings = {
        'axes.edgecolor': lines,
        'axes.facecolor': ground,
        'axes.labelcolor': ink,
        'text.color': ink,
        'xtick.color': ink,
        'ytick.color': ink,
        'font.size': 11
    }
    with style.context(['default', settings]):
        figure = Figure((7.0, 4.2), dpi=180, facecolor=ground)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, (label, path) in zip(panels, PREDICTORS.items()):
            _draw_points(axes, points_of(path), ink, lines, orange)
            axes.set_xlabel(label)
        panels[0].set_ylabel(f'accuracy on "{EXAM}", %')
        figure.subplots_adjust(0.1, 0.14, 0.97, 0.8, 0.1)
        figure.text(
            0.02, 0.935, 'Salience weights put all series on one curve',
            fontsize=13.5, fontweight='bold')  # yapf: disable
        figure.text(0.02, 0.86, 'Each dot is a checkpoint, ')
        figure.text(0.3, 0.86, f'orange those of {SERIES}, which no fit saw',
                    color=orange)  # yapf: disable
    return figure


def _draw_points(axes: Axes, points: CapabilityPoints, ink: str, others: str,
                 own: str) -> None:
    """Draw points and curve; a higher exponent is better."""
    chosen = np.array(points.families) == SERIES
    for mask, colour in ((~chosen, others), (chosen, own)):
        axes.plot(points.exponents[mask], 100 * points.accuracies[mask], 'o',
                  ms=4, color=colour)  # yapf: disable
    grid = np.linspace(points.exponents.min(), points.exponents.max(), 200)
    axes.plot(grid, 100 * accuracy_of(grid, points.floor), color=ink, lw=1.2)
    axes.set(ylim=(0, 103), yticks=(0, 50, 100))
    axes.locator_params(axis='x', nbins=4)
    axes.spines[['top', 'right']].set_visible(False)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--out', type=Path, required=True)
    save_themes(parser.parse_args().out, 'series', draw)


if __name__ == '__main__':
    main()
