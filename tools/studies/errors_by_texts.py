"""Error against the number of texts and of their sources."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from csv_plugin.core.conventions import InputError
from csv_plugin.core.study import geometric_mean
from csv_plugin.extras.pictures.style import (Look, legend_above, log_axis,
                                              look, panels, picture, wrapped)


@dataclass(frozen=True)
class TextsStudyRow:
    """The error of one method with one draw of texts.

    Args:
        series (str): 'texts' where the number of texts varies, 'sources'
            where that of their sources does.
        n_texts (int): Texts drawn.
        n_sources (int): Sources they were drawn from.
        draw (int): Seed of the draw.
        method (str): Name of the method that predicts.
        models (str): Name of the group of test models.
        mse (float): Geometric mean over benchmarks of the mean squared
            error.
    """
    series: str
    n_texts: int
    n_sources: int
    draw: int
    method: str
    models: str
    mse: float


@picture
def texts_picture(rows: Sequence[TextsStudyRow]) -> Figure:
    """Errors by number of texts (left) and of sources (right).

    One row of panels per group of test models. Lines are geometric means
    over draws, bars go from the smallest error to the largest.

    Raises:
        InputError: If there is no row.
    """
    if not rows:
        raise InputError('texts_picture', 'rows of a study', 'none',
                         'Run the study on a number of texts.')
    kinds = list(dict.fromkeys(row.models for row in rows))
    series = list(dict.fromkeys(row.series for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    figure, grid = panels(len(series), len(kinds), (3.4, 2.4))
    for axes_row, kind in zip(grid, kinds):
        errors = np.array([row.mse for row in rows if row.models == kind])
        for axes, name in zip(axes_row, series):
            part = [r for r in rows if (r.series, r.models) == (name, kind)]
            numbers = sorted({_number(row) for row in part})
            for i, method in enumerate(methods):
                shift = 0.1 * (i - (len(methods) - 1) / 2)
                _draw(axes, [r for r in part if r.method == method],
                      {n: place + shift for place, n in enumerate(numbers)},
                      look(i))  # yapf: disable
            log_axis(axes.yaxis, errors.min(), errors.max())
            axes.set_ylim(0.8 * errors.min(), 1.25 * errors.max())
            axes.set_xticks(range(len(numbers)), map(str, numbers))
            axes.set_title(wrapped(kind, 40))
            if axes_row is grid[-1]:
                axes.set_xlabel(_label(part))
    figure.supylabel('mean squared error')
    legend_above(figure, [
        Line2D([], [], color=look(i).colour, ls=look(i).line,
               marker=look(i).marker, label=wrapped(method, 40))
        for i, method in enumerate(methods)
    ])  # yapf: disable
    return figure


def _number(row: TextsStudyRow) -> int:
    return row.n_texts if row.series == 'texts' else row.n_sources


def _label(rows: Sequence[TextsStudyRow]) -> str:
    if rows[0].series == 'texts':
        return f'texts of {rows[0].n_sources} sources'
    return f'sources of {rows[0].n_texts} texts'


def _draw(axes: Axes, rows: Sequence[TextsStudyRow],
          places: Mapping[int, float], own: Look) -> None:
    errors: dict[float, list[float]] = {x: [] for x in places.values()}
    for row in rows:
        errors[places[_number(row)]].append(row.mse)
    axes.vlines(list(errors), [min(e) for e in errors.values()],
                [max(e) for e in errors.values()], color=own.colour, lw=1,
                alpha=0.6)  # yapf: disable
    axes.plot(list(errors), [geometric_mean(e) for e in errors.values()],
              color=own.colour, ls=own.line, marker=own.marker,
              markeredgecolor='white', markeredgewidth=0.4)  # yapf: disable
