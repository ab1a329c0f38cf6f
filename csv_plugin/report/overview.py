"""Make what `salience predict` prints: the main part of a leaderboard.

For a single model, rows are benchmarks. For several models, rows are models,
the largest predicted mean first.
"""
from collections.abc import Sequence

import numpy as np

from csv_plugin.core.formatting import ANY, interval, number, percent
from csv_plugin.core.predictions import OBSERVED
from csv_plugin.core.text_tables import columns_that_fit, text_table
from csv_plugin.report.leaderboard_tables import (Column, mean_cells,
                                                  notes_on_main, percents,
                                                  rank_cells)
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.notes import ERRORS


def overview(board: Leaderboard, width: int) -> tuple[str, str]:
    """Return a table of predictions, and what it leaves out, as texts.

    Predictions are by the first method, in percent. The table of several
    models fits a screen of `width` columns; the table of a single model always
    has the same columns. The second text is '' if nothing is left out.
    """
    left_out = []
    main, *others = board.predictions.methods
    if others:
        left_out.append(f'predictions by {", ".join(others)} (the table is by '
                        f'{main})')
    if len(board.predictions.models) == 1:
        rows = _rows_of_one_model(board)
        table = text_table(rows)
    else:
        table, more = _table_of_models(board, width)
        left_out += more
    return table, ', '.join(left_out)


def shown_notes(board: Leaderboard, table: str) -> list[str]:
    """Return the notes of `notes_on_main` on what a table of `overview` shows.

    Legends of cells and marks that the table lacks are left out. It has no row
    of errors.
    """
    cells = set(table.replace('(', ' ').replace(')', ' ').split())
    hidden = {ERRORS}
    for line in board.predictions.legend()[1:]:
        # The line begins with the cell or mark that it explains.
        mark, _ = line.split(maxsplit=1)
        is_shown = mark in table
        if mark == f'{ANY}:':
            is_shown = ANY in cells
        if not is_shown:
            hidden.add(line)
    return [note for note in notes_on_main(board) if note not in hidden]


# ---- one model


def _rows_of_one_model(board: Leaderboard) -> list[list[str]]:
    """Return a header, a row for the mean, and a row for each benchmark.

    The columns of observed accuracies and of marks are left out if they are
    empty in all rows.
    """
    header = ['benchmark', OBSERVED, 'predicted', '', 'interval', 'chance']
    predictions = board.predictions
    rows = _mean_rows(board)
    for b in range(len(predictions.benchmarks)):
        rows.append(_benchmark_row(board, b))
    columns = []
    for cells in zip(header, *rows):
        name, *rest = cells
        # The column of marks has no name.
        is_empty = name == '' and not any(rest)
        if name == OBSERVED:
            is_empty = not predictions.has_observed()
        if not is_empty:
            columns.append(cells)
    return [list(row) for row in zip(*columns)]


def _mean_rows(board: Leaderboard) -> list[list[str]]:
    """Return a list with the row of the mean; empty if there is no mean."""
    overall = board.overall
    method = board.predictions.methods[0]
    view = overall.views.get(method)
    if not overall.has_means or view is None:
        return []
    name = f'mean of {len(overall.benchmarks)}'
    [observed] = percents(overall.observed)
    [predicted] = percents(overall.values[:, 0])
    mark = '*' if overall.in_sample[0, 0] else ''
    [low] = view.low
    [high] = view.high
    limits = interval(low, high)
    return [[name, observed, predicted, mark, limits, '']]


def _benchmark_row(board: Leaderboard, b: int) -> list[str]:
    """Return the row of benchmark b."""
    predictions = board.predictions
    name = predictions.benchmarks[b]
    low = predictions.low[0, b, 0]
    high = predictions.high[0, b, 0]
    chance = predictions.chance.get(name, np.nan)
    least = 0.0
    if not np.isnan(chance):
        least = chance
    [observed] = percents(predictions.observed[:, b])
    predicted = percent(predictions.values[0, b, 0])
    [mark] = predictions.marks(name)
    limits = interval(low, high, least)
    return [
        name,
        observed,
        number(predicted),
        mark,
        limits,
        number(percent(chance), '.0f'),
    ]


# ---- several models


def _table_of_models(board: Leaderboard, width: int) -> tuple[str, list[str]]:
    """Return the table of several models, and texts on what it leaves out.

    The intervals on benchmarks are shown only if all intervals fit.
    """
    predictions = board.predictions
    order = board.overall.best_first()
    first_columns = [_sorted('model', predictions.models, order)]
    first_columns += _mean_columns(board, order)
    with_intervals = []
    without = []
    for b, name in enumerate(predictions.benchmarks):
        cells = predictions.cells(name)
        with_intervals.append(_sorted(name, cells, order))
        cells_without = _cells_without_intervals(board, b)
        without.append(_sorted(name, cells_without, order))
    whole = first_columns + with_intervals
    if columns_that_fit(whole, width) == len(whole):
        return _text(whole, width), []
    n_fitting = columns_that_fit(first_columns + without, width)
    n_shown = max(n_fitting - len(first_columns), 0)
    n_left_out = len(without) - n_shown
    left_out = ['intervals of single benchmarks']
    if n_left_out:
        left_out.append(f'{n_left_out} of {len(without)} benchmarks')
    return _text(first_columns + without[:n_shown], width), left_out


def _text(columns: Sequence[Column], width: int) -> str:
    """Return columns as a text table of at most `width` characters a line."""
    rows = list(zip(*columns))
    return text_table(rows, width)


def _mean_columns(board: Leaderboard, order: Sequence[int]) -> list[Column]:
    """Return the columns of the observed and predicted means and the rank.

    There are no columns if there are fewer than two benchmarks.
    """
    overall = board.overall
    method = board.predictions.methods[0]
    if not overall.has_means or method not in overall.methods:
        return []
    columns = []
    if not np.isnan(overall.observed).all():
        observed = percents(overall.observed)
        columns.append(_sorted(OBSERVED, observed, order))
    name = f'mean of {len(overall.benchmarks)}'
    means = mean_cells(overall, method)
    columns.append(_sorted(name, means, order))
    if overall.has_ranks:
        ranks = rank_cells(overall, method)
        columns.append(_sorted('rank', ranks, order))
    return columns


def _cells_without_intervals(board: Leaderboard, b: int) -> list[str]:
    """Return the predictions of all models on benchmark b, with marks."""
    predictions = board.predictions
    name = predictions.benchmarks[b]
    values = percents(predictions.values[:, b, 0])
    marks = predictions.marks(name)
    return [value + mark for value, mark in zip(values, marks)]


def _sorted(header: str, cells: Sequence[str], order: Sequence[int]) -> Column:
    """Return a column: the header, then the cells in the given order."""
    ordered = [cells[m] for m in order]
    return [header, *ordered]
