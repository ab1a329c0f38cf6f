"""Pictures of README and results page: predicted and observed accuracies.

    python -m tools.studies.results_pictures outputs --out docs/pictures

reads the tables that the commands of docs/results.md and
docs/bits_per_character.md wrote below `outputs`, and draws the held-out
predictions with their intervals, on light and on dark ground.
"""
import csv
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import csv_plugin as cp
from tools.studies.common import parser_of
from tools.studies.pictures import Ink, label, save_themes, sheet

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


@dataclass
class Panel:
    """Accuracies of held-out models in percent, each `(n,)`."""
    name: str
    observed: NDArray
    predicted: NDArray
    low: NDArray
    high: NDArray

    @property
    def held(self) -> NDArray:
        """Whether the interval contains the observed accuracy, `(n,)`."""
        return (self.low <= self.observed) & (self.observed <= self.high)

    @property
    def off(self) -> float:
        """Mean absolute error in points."""
        return float(np.abs(self.predicted - self.observed).mean())


def read(folder: Path, together: bool) -> list[Panel]:
    """Read the predictions of what `salience fit --out` wrote to a folder.

    A panel for each benchmark that the means count, or all `together`.
    """
    main = cp.load(folder / 'predictor.safetensors').main
    rows: dict[str, list[list[float]]] = {}
    with (folder / 'predictions.csv').open(encoding='utf-8') as file:
        for row in csv.DictReader(file):
            if row['observed'] and row['benchmark'] in main:
                name = row['benchmark']
                if together:
                    name = folder.name.removesuffix('_fit')
                rows.setdefault(name, []).append([
                    100 * float(row[column])
                    for column in ('observed', 'predicted', 'low', 'high')
                ])
    return [Panel(name, *np.array(values).T) for name, values in rows.items()]


def draw(what: str, panels: list[Panel], together: bool, theme: str) -> Figure:
    """Draw the panels; the title is the finding."""
    held = np.concatenate([panel.held for panel in panels])
    errors = [panel.off for panel in panels]
    off = f'{np.mean(errors):.1f}'
    if together:
        off = f'{min(errors):.1f} to {max(errors):.1f}'
    title = (f'{what}:\noff by {off} points, {held.sum()} of {len(held)} in '
             'their intervals')
    notes = [{
        'Mean absolute errors; bars are 90 % intervals.': 'words'
    }, {
        'Here the interval does not contain the observed accuracy.':
        'orange'
    }]
    n_columns = 4 if len(panels) % 3 else 3
    shape = -(-len(panels) // n_columns), n_columns
    with sheet(
            theme, title, notes, shape, row=1.6,
            gap=0.65) as (figure, grid, ink):
        for axes, panel in zip(grid.flat, panels):
            share = ''
            if together:
                share = f', {panel.held.sum()} of {len(panel.held)}'
            axes.set_title(f'{panel.name}\n{panel.off:.1f} points{share}')
            _draw_panel(axes, panel, ink)
        for axes in grid.flat[len(panels):]:
            axes.remove()
        label(figure, 'observed accuracy, %', 'predicted accuracy, %')
    return figure


def _draw_panel(axes: Axes, panel: Panel, ink: Ink) -> None:
    """Draw within the tens around the accuracies; intervals may extend."""
    points = np.concatenate([panel.observed, panel.predicted])
    limits = (10 * np.floor(points.min() / 10),
              10 * np.ceil(points.max() / 10))
    axes.plot(limits, limits, color=ink.lines, lw=1, zorder=1)
    size, alpha = (4, 0.4) if len(panel.observed) < 50 else (1.8, 0.2)
    for mask, colour in ((panel.held, ink.blue), (~panel.held, ink.orange)):
        axes.vlines(
            panel.observed[mask],
            panel.low[mask],
            panel.high[mask],
            color=colour,
            lw=0.8,
            alpha=alpha)
        axes.plot(
            panel.observed[mask],
            panel.predicted[mask],
            'o',
            color=colour,
            ms=size,
            clip_on=False,
            zorder=3)
    axes.set(
        xlim=limits, ylim=limits, aspect='equal', xticks=limits, yticks=limits)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('fits', type=Path)
    parser.add_argument('names', nargs='*', help=f'of {", ".join(PICTURES)}')
    parser.add_argument('--out', type=Path, required=True)
    args = parser.parse_args()
    for name in args.names or PICTURES:
        what, folders = PICTURES[name]
        together = len(folders) > 1
        panels = []
        for folder in folders:
            panels += read(args.fits / folder, together)
        save_themes(args.out, name, partial(draw, what, panels, together))


if __name__ == '__main__':
    main()
