"""Pictures of README and results page: predicted and real accuracies.

    python -m tools.studies.results_pictures outputs --out docs/pictures

reads the tables that the commands of docs/results.md and
docs/bits_per_character.md wrote below `outputs`, and draws the held-out
predictions with their intervals, on light and on dark ground.
"""
import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import csv_plugin as cp
from tools.studies.options import parser_of

#: Names of pictures, with what was predicted and the folders of the fits.
PICTURES = {
    'public_models': ('28 public models, from three losses each',
                      ['bits_per_character']),
    'gemstones': ('Gemstones, 12 checkpoints of the 3 largest runs',
                  ['gemstones']),
    'larger_models': ('27 larger public models and new families', ['real']),
    'further_collections': ('Models far beyond the training models',
                            ['ladder_fit', 'mixtures_fit',
                             'overtrained_fit'])
}  # yapf: disable
#: Ground, text, lines, predictions whose interval holds and those missed.
THEMES = {
    'light': ('white', '#24292f', '#c9ced4', '#0072B2', '#D55E00'),
    'dark': ('#0d1117', '#e6edf3', '#3d444d', '#56B4E9', '#E69F00'),
}
#: Inches: width of a picture, heights of a row, of the title and of the foot.
WIDTH, ROW, TITLE, FOOT = 5.6, 1.6, 1.15, 0.45


@dataclass
class Panel:
    """Accuracies of held-out models in percent, each `(n,)`."""
    name: str
    real: NDArray
    predicted: NDArray
    low: NDArray
    high: NDArray

    @property
    def held(self) -> NDArray:
        """Whether the interval contains the real accuracy, `(n,)`."""
        return (self.low <= self.real) & (self.real <= self.high)

    @property
    def off(self) -> float:
        """Mean absolute error in points."""
        return float(np.abs(self.predicted - self.real).mean())


def read(folder: Path, together: bool = False) -> list[Panel]:
    """Read the predictions beside real accuracies.

    Args:
        folder (Path): What `salience fit --out` wrote.
        together (bool): All benchmarks are one panel, with the folder's name.

    Returns:
        list[Panel]: Those of the benchmarks that the means count.
    """
    main = cp.load(folder / 'predictor.safetensors').main
    rows: dict[str, list[list[float]]] = {}
    with (folder / 'predictions.csv').open(encoding='utf-8') as file:
        for row in csv.DictReader(file):
            if row['observed'] and row['benchmark'] in main:
                name = (
                    folder.name.removesuffix('_fit')
                    if together else row['benchmark'])
                rows.setdefault(name, []).append([
                    100 * float(row[column])
                    for column in ('observed', 'predicted', 'low', 'high')
                ])
    return [Panel(name, *np.array(values).T) for name, values in rows.items()]


def draw(what: str,
         panels: list[Panel],
         theme: str,
         together: bool = False) -> Figure:
    """Draw the panels; the title is the finding."""
    ground, ink, lines, right, wrong = THEMES[theme]
    settings = {
        'axes.edgecolor': lines, 'axes.labelcolor': ink, 'text.color': ink,
        'xtick.color': ink, 'ytick.color': ink, 'font.size': 10,
        'axes.titlesize': 9
    }  # yapf: disable
    n_columns = 4 if len(panels) % 3 else 3
    n_rows = -(-len(panels) // n_columns)
    height = TITLE + n_rows * ROW + FOOT
    with style.context(['default', settings]):
        figure = Figure((WIDTH, height), dpi=200, facecolor=ground)
        grid = figure.subplots(n_rows, n_columns)
        for axes, panel in zip(grid.flat, panels):
            axes.set_facecolor(ground)
            share = f', {panel.held.sum()} of {len(panel.held)}'
            axes.set_title(f'{panel.name}\n{panel.off:.1f} points'
                           f'{share if together else ""}')
            _draw_panel(axes, panel, lines, right, wrong)
        figure.subplots_adjust(0.12, (FOOT + 0.2) / height, 0.955,
                               1 - (TITLE + 0.2) / height, 0.4, 0.65)
        _write_around(figure, what, panels, wrong, together)
    return figure


def _draw_panel(axes: Axes, panel: Panel, lines: str, right: str,
                wrong: str) -> None:
    """Draw within the tens around the accuracies; intervals may extend."""
    points = np.concatenate([panel.real, panel.predicted])
    limits = (10 * np.floor(points.min() / 10),
              10 * np.ceil(points.max() / 10))
    axes.plot(limits, limits, color=lines, lw=1, zorder=1)
    size, alpha = (4, 0.4) if len(panel.real) < 50 else (1.8, 0.2)
    for mask, colour in ((panel.held, right), (~panel.held, wrong)):
        axes.vlines(panel.real[mask], panel.low[mask], panel.high[mask],
                    color=colour, lw=0.8, alpha=alpha)  # yapf: disable
        axes.plot(panel.real[mask], panel.predicted[mask], 'o', color=colour,
                  ms=size)  # yapf: disable
    axes.set(xlim=limits, ylim=limits, aspect='equal', xticks=limits,
             yticks=limits)  # yapf: disable
    axes.spines[['top', 'right']].set_visible(False)


def _write_around(figure: Figure, what: str, panels: list[Panel], wrong: str,
                  together: bool) -> None:
    """Write title and units."""
    held = np.concatenate([panel.held for panel in panels])
    errors = [panel.off for panel in panels]
    off = (f'{min(errors):.1f} to {max(errors):.1f}'
           if together else f'{np.mean(errors):.1f}')
    height = figure.get_figheight()
    figure.text(
        0.02, 1 - 0.08 / height, f'{what}:\noff by {off} points, '
        f'{held.sum()} of {len(held)} in their intervals',
        va='top', fontsize=12, fontweight='bold')  # yapf: disable
    figure.text(
        0.02,
        1 - 0.56 / height,
        'Mean absolute errors; bars are 90 % intervals.',
        va='top')
    figure.text(
        0.02, 1 - 0.76 / height,
        'Here the interval does not contain the real accuracy.',
        va='top', color=wrong)  # yapf: disable
    middle = (FOOT + height - TITLE) / 2 / height
    figure.text(0.54, 0.1 / height, 'real accuracy, %', ha='center')
    figure.text(0.012, middle, 'predicted accuracy, %', va='center',
                rotation='vertical')  # yapf: disable


def save_themes(folder: Path, name: str, draw: Callable[[str],
                                                        Figure]) -> None:
    """Save a picture on light and on dark ground, and print the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        path = folder / f'{name}_{theme}.png'
        draw(theme).savefig(path, metadata={'Software': None})
        print(path)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('fits', type=Path)
    parser.add_argument('names', nargs='*', help=f'of {", ".join(PICTURES)}')
    parser.add_argument('--out', type=Path, required=True)
    args = parser.parse_args()
    for name in args.names or PICTURES:
        what, folders = PICTURES[name]
        together = len(folders) > 1
        panels = [
            panel for folder in folders
            for panel in read(args.fits / folder, together)
        ]
        save_themes(args.out, name,
                    partial(draw, what, panels, together=together))


if __name__ == '__main__':
    main()
