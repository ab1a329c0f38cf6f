"""Picture of the README: predicted and real accuracies of public models.

    python -m tools.studies.public_models_picture --out docs/pictures

fits the tables of 28 public base models that come with the package, every
model without its family (docs/bits_per_character.md), and draws the held-out
predictions with their 90 % intervals, on light and on dark ground.
"""
import csv
import tempfile
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure
from numpy.typing import NDArray

from csv_plugin.cli.salience import main as salience
from tools.studies.options import parser_of

DATA = Path(__file__).parents[2] / 'csv_plugin' / 'data'
COLUMNS = 4
#: Ground, text, lines, predictions whose interval holds and those missed.
THEMES = {
    'light': ('white', '#24292f', '#c9ced4', '#0072B2', '#D55E00'),
    'dark': ('#0d1117', '#e6edf3', '#3d444d', '#56B4E9', '#E69F00'),
}


def fit(folder: str) -> dict[str, NDArray]:
    """Predict every model without its family.

    Returns:
        dict[str, NDArray]: Rows `(n, 4)` of real and predicted accuracy, low
        and high end of the interval in percent, by benchmark.
    """
    tables = [
        word for name in ('losses', 'scores', 'models', 'benchmarks')
        for word in (f'--{name}', str(DATA / f'bits_per_character_{name}.csv'))
    ]
    if salience([
            'fit', *tables, '--fit', 'public', '--predict', 'public',
            '--leave-family-out', '--solver', 'plain', '--out', folder
    ]):
        raise SystemExit(1)
    rows: dict[str, list[list[float]]] = {}
    with (Path(folder) / 'predictions.csv').open(encoding='utf-8') as file:
        for row in csv.DictReader(file):
            if row['observed']:
                values = [
                    100 * float(row[name])
                    for name in ('observed', 'predicted', 'low', 'high')
                ]
                rows.setdefault(row['benchmark'], []).append(values)
    return {name: np.array(values) for name, values in rows.items()}


def draw(rows: dict[str, NDArray], theme: str) -> Figure:
    """Draw one panel per benchmark; the title is the finding."""
    ground, ink, lines, right, wrong = THEMES[theme]
    settings = {
        'axes.edgecolor': lines, 'axes.labelcolor': ink, 'text.color': ink,
        'xtick.color': ink, 'ytick.color': ink, 'font.size': 11
    }  # yapf: disable
    with style.context(['default', settings]):
        figure = Figure((7.0, 5.4), dpi=180, facecolor=ground)
        n_rows = -(-len(rows) // COLUMNS)
        panels = figure.subplots(n_rows, COLUMNS)
        for axes, (name, values) in zip(panels.flat, rows.items()):
            real, predicted, low, high = values.T
            held = (low <= real) & (real <= high)
            axes.set_facecolor(ground)
            axes.plot([0, 100], [0, 100], color=lines, lw=1, zorder=1)
            for mask, colour in ((held, right), (~held, wrong)):
                axes.vlines(real[mask], low[mask], high[mask], color=colour,
                            lw=0.8, alpha=0.4)  # yapf: disable
                axes.plot(real[mask], predicted[mask], 'o', color=colour, ms=4)
            axes.set(xlim=(0, 100), ylim=(0, 100), aspect='equal',
                     xticks=(0, 100), yticks=(0, 100))  # yapf: disable
            off = np.abs(predicted - real).mean()
            axes.set_title(f'{name}: {off:.1f}', fontsize=11)
            axes.spines[['top', 'right']].set_visible(False)
        for axes in panels.flat[len(rows):]:
            axes.set_axis_off()
        figure.subplots_adjust(0.1, 0.13, 0.97, 0.74, 0.4, 0.36)
        _write_around(figure, rows, ink, wrong)
    return figure


def _write_around(figure: Figure, rows: dict[str, NDArray], ink: str,
                  wrong: str) -> None:
    """Write title and units."""
    real, predicted, low, high = np.concatenate([*rows.values()]).T
    held = np.mean((low <= real) & (real <= high))
    off = np.mean([np.abs(v[:, 1] - v[:, 0]).mean() for v in rows.values()])
    n_models = max(map(len, rows.values()))
    figure.text(
        0.02, 0.945, f'{n_models} public models, predicted from three losses: '
        f'{off:.1f} points off',
        fontsize=13, fontweight='bold')  # yapf: disable
    figure.text(
        0.02, 0.85, 'Errors are mean absolute errors in points, of fits '
        'without the family of a model.\nBars are 90 % intervals: '
        f'{100 * held:.0f} % contain the real accuracy,')  # yapf: disable
    figure.text(0.665, 0.85, 'the others do not.', color=wrong)
    figure.text(0.54, 0.025, 'real accuracy, %', ha='center')
    figure.text(0.012, 0.43, 'predicted accuracy, %', va='center',
                rotation='vertical')  # yapf: disable


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--out', type=Path, required=True)
    folder = parser.parse_args().out
    with tempfile.TemporaryDirectory() as results:
        rows = fit(results)
    folder.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        path = folder / f'public_models_{theme}.png'
        draw(rows, theme).savefig(path, metadata={'Software': None})
        print(path)


if __name__ == '__main__':
    main()
