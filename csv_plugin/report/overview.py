"""What `salience predict` prints: as much of a leaderboard as fits.

A single model has a row for each benchmark. Several models have a row each,
the largest predicted mean first.
"""
from collections.abc import Sequence

import numpy as np

from csv_plugin.core.formatting import interval, number, percent
from csv_plugin.core.predictions import OBSERVED, Predictions
from csv_plugin.core.text_tables import columns_that_fit, text_table
from csv_plugin.report.leaderboard_tables import (mean_cells, percents,
                                                  rank_cells)
from csv_plugin.report.leaderboards import Leaderboard

#: Columns of a single model; the third has the marks of `MARKS`.
_HEADER = 'benchmark', 'predicted', '', 'interval', 'chance', 'expected error'


def overview(board: Leaderboard, width: int) -> tuple[str, str]:
    """Return a table of at most `width` columns, and what it leaves out.

    Predictions are those of the first method, in percent. The second text is
    empty if nothing is left out.
    """
    if len(board.predictions.models) == 1:
        return text_table(_of_one_model(board), width), ''
    return _of_models(board, width)


def _of_one_model(board: Leaderboard) -> list[list[str]]:
    """Rows of benchmarks below a header; the mean comes first."""
    predictions, overall = board.predictions, board.overall
    rows = [list(_HEADER)]
    observed = [OBSERVED]
    view = overall.views.get(predictions.methods[0])
    if len(overall.benchmarks) > 1 and view is not None:
        mark = '*' if overall.in_sample[0, 0] else ''
        mean, = percents(overall.values[0, :1])
        rows.append([
            f'mean of {len(overall.benchmarks)}', mean, mark,
            interval(view.low[0], view.high[0]), '', ''
        ])
        observed += percents(overall.observed)
    observed += percents(predictions.observed[0])
    for b, name in enumerate(predictions.benchmarks):
        chance = predictions.chance.get(name, np.nan)
        ends = predictions.low[0, b, 0], predictions.high[0, b, 0]
        rows.append([
            name,
            number(percent(predictions.values[0, b, 0])),
            predictions.marks(name)[0],
            interval(*ends, 0.0 if np.isnan(chance) else chance),
            number(percent(chance), '.0f'),
            number(percent(predictions.expected_error[0, b, 0]))
        ])
    if not any(row[2] for row in rows):
        rows = [[*row[:2], *row[3:]] for row in rows]
    if predictions.has_observed():
        rows = [[row[0], cell, *row[1:]] for row, cell in zip(rows, observed)]
    return rows


def _of_models(board: Leaderboard, width: int) -> tuple[str, str]:
    """Rows of models, with the intervals of benchmarks if all of them fit."""
    predictions = board.predictions
    order = board.overall.order()
    names = [predictions.models[m] for m in order]
    left = [['model', *names], *_means(board, order)]
    whole = [[name, *_sorted(predictions.cells(name), order)]
             for name in predictions.benchmarks]
    if columns_that_fit([*left, *whole], width) == len(left) + len(whole):
        return text_table(list(zip(*left, *whole)), width), ''
    short = [[name, *_sorted(_without_intervals(predictions, name), order)]
             for name in predictions.benchmarks]
    n_shown = max(columns_that_fit([*left, *short], width) - len(left), 0)
    left_out = 'intervals of single benchmarks'
    if n_shown < len(short):
        left_out += f', and {len(short) - n_shown} of {len(short)} benchmarks'
    return text_table(list(zip(*left, *short[:n_shown])), width), left_out


def _means(board: Leaderboard, order: Sequence[int]) -> list[list[str]]:
    """Columns of the observed and the predicted mean, and of the rank.

    There are none without at least two benchmarks.
    """
    predictions, overall = board.predictions, board.overall
    method = predictions.methods[0]
    if len(overall.benchmarks) < 2 or method not in overall.methods:
        return []
    columns = [[
        f'mean of {len(overall.benchmarks)}',
        *_sorted(mean_cells(overall, method), order)
    ]]
    if overall.ranked.any():
        columns.append(['rank', *_sorted(rank_cells(overall, method), order)])
    if not np.isnan(overall.observed).all():
        columns.insert(0,
                       [OBSERVED, *_sorted(percents(overall.observed), order)])
    return columns


def _without_intervals(predictions: Predictions, benchmark: str) -> list[str]:
    values = predictions.values[:, predictions.benchmarks.index(benchmark), 0]
    marks = predictions.marks(benchmark)
    return [cell + mark for cell, mark in zip(percents(values), marks)]


def _sorted(cells: Sequence[str], order: Sequence[int]) -> list[str]:
    return [cells[m] for m in order]
