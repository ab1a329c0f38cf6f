"""Error against the number of models and of their families."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.pictures.style import (Look, legend_above, look, panels,
                                              picture)


@dataclass(frozen=True)
class ModelsStudyRow:
    """The error of one method with one draw of models.

    Args:
        series (str): 'models' where the number of models varies, 'families'
            where that of their families does.
        n_models (int): Models fitted to.
        n_families (int): Families they belong to.
        draw (int): Seed of the draw.
        method (str): Name of the method that predicts.
        mae (float): Mean absolute error, a fraction, mean over benchmarks.
        width (float): Mean width of the 90 % intervals, likewise.
        coverage (float): Share of them that hold the accuracy, likewise.
    """
    series: str
    n_models: int
    n_families: int
    draw: int
    method: str
    mae: float
    width: float
    coverage: float


@picture
def models_picture(rows: Sequence[ModelsStudyRow]) -> Figure:
    """Errors by number of models (left) and of families (right).

    Lines are medians over draws, bars go from the 10 % to the 90 % quantile.

    Raises:
        InputError: If there is no row.
    """
    if not rows:
        raise InputError('models_picture', 'rows of a study', 'none',
                         'Run the study with a number of draws.')
    series = list(dict.fromkeys(row.series for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    figure, (grid, ) = panels(len(series), size=(3.4, 2.4))
    for axes, name in zip(grid, series):
        part = [row for row in rows if row.series == name]
        for i, method in enumerate(methods):
            _draw(axes, [row for row in part if row.method == method],
                  0.1 * (i - (len(methods) - 1) / 2), look(i))
        axes.set_xlabel('models of all families' if name ==
                        'models' else f'families of {part[0].n_models} models')
        axes.sharey(grid[0])
    grid[0].set_ylim(0)
    grid[0].set_ylabel('mean absolute error, points')
    legend_above(figure, [
        Line2D([], [], color=look(i).colour, ls=look(i).line,
               marker=look(i).marker, label=method)
        for i, method in enumerate(methods)
    ])  # yapf: disable
    return figure


def _number(row: ModelsStudyRow) -> int:
    return row.n_models if row.series == 'models' else row.n_families


def _draw(axes: Axes, rows: Sequence[ModelsStudyRow], shift: float,
          own: Look) -> None:
    numbers = sorted({_number(row) for row in rows})
    low, middle, high = np.transpose([
        np.quantile([100 * row.mae for row in rows if _number(row) == number],
                    [0.1, 0.5, 0.9]) for number in numbers
    ])
    places = np.arange(len(numbers)) + shift
    axes.vlines(places, low, high, color=own.colour, lw=1, alpha=0.6)
    axes.plot(places, middle, color=own.colour, ls=own.line,
              marker=own.marker, markeredgecolor='white',
              markeredgewidth=0.4)  # yapf: disable
    axes.set_xticks(range(len(numbers)), list(map(str, numbers)))
