"""Show leaderboards as text or Markdown, and write them to files.

Rows are models. Columns are in groups: one group for the means over
benchmarks, and one group for each benchmark. A column has two header cells
(the benchmark, and what the column shows) and a cell for each model. If
predictions can be tested by observed accuracies, it also has a last cell, the
foot, for the mean absolute difference between the two.
"""
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from csv_plugin.core.far_models import far_notes
from csv_plugin.core.formatting import (number, percent, possible_ranks,
                                        predicted_cell)
from csv_plugin.core.overall import MEAN_ERROR, Overall
from csv_plugin.core.predictions import OBSERVED
from csv_plugin.core.text_tables import (WIDTH, blocks_that_fit, side_by_side,
                                         wrapped)
from csv_plugin.io.files import FilePath, file_set, write_text
from csv_plugin.io.json_files import write_json
from csv_plugin.io.tables import write_csv
from csv_plugin.report.leaderboards import FIELDS, Leaderboard
from csv_plugin.report.notes import (item_notes, legend_notes, outcome,
                                     range_note, reasons)
from csv_plugin.report.screen import markdown_list, markdown_table

#: The cells of a column of a table, from its headers on.
Column = list[str]

#: Number of header cells of each column.
_N_HEADERS = 2


def as_text(board: Leaderboard, width: float = WIDTH) -> str:
    """Return a table of all predictors, with differences and ranks, and notes.

    As many benchmarks as fit into the width are beside each other. The model
    with the largest mean is first, see `Overall.best_first`.
    """
    names = _sorted(board, _names(board, MEAN_ERROR))
    groups = _sorted_groups(board, _all_groups(board))
    table = side_by_side(names, groups, _N_HEADERS, width)
    parts = [table, wrapped(board.notes, width)]
    return '\n\n'.join(filter(None, parts))


def as_short_text(board: Leaderboard, width: int, file: str) -> str:
    """Return a short table of predictions, and the main results, as text.

    The table shows the observed accuracies and the predictions of the first
    predictor, on a screen of `width` columns. Other predictors and most notes
    are only in `file`, which the text may name.
    """
    predictions = board.predictions
    if not predictions.benchmarks:
        return wrapped(board.notes, width)
    names = _names(board, 'error')
    table = side_by_side(names, _main_groups(board), _N_HEADERS, width)
    # Maximum number of lines with results and reasons for missing numbers.
    most = 6
    notes = [*outcome(predictions), *reasons(predictions)]
    if len(notes) > most:
        n_more = len(notes) - most
        notes[most:] = [f'... and {n_more} more such lines in {file}.']
    notes += item_notes(predictions, board.items)
    notes += far_notes(predictions)
    notes += predictions.contradictions()
    main = predictions.select(methods=predictions.methods[:1])
    if np.isfinite(main.values).any():
        notes += main.legend()
    return f'{table}\n\n{wrapped(notes, width)}'


def notes_on_main(board: Leaderboard) -> list[str]:
    """Return the notes on a table of the first predictor, without differences.

    Legends of what only other predictors have are left out.
    """
    predictions = board.predictions
    main = predictions.methods[0]
    hidden = set(legend_notes(predictions))
    view = board.overall.views.get(main)
    if view is None or not (view.ranks.first < view.ranks.last).any():
        hidden.add(range_note(predictions.level))
    of_main = predictions.select(methods=[main])
    notes = legend_notes(of_main, has_differences=False)
    return notes + [note for note in board.notes if note not in hidden]


def as_markdown(board: Leaderboard) -> str:
    """Return predictions of the first predictor with ranks, in Markdown.

    There are several tables with a few benchmarks each. Lines have at most
    about 120 characters unless names are long. The model with the largest mean
    is first.
    """
    # The borders of a table in Markdown make lines a third longer.
    width = 84
    names = _sorted(board, _names(board, MEAN_ERROR))
    groups = _sorted_groups(board, _main_groups(board, with_ranks=True))
    tables = []
    for block in blocks_that_fit(names, groups, _N_HEADERS, width):
        merged = []
        for column in block:
            # A column in Markdown has one header cell, so both header cells
            # are joined.
            header = ' '.join(column[:_N_HEADERS])
            cells = column[_N_HEADERS:]
            merged.append([header.strip(), *cells])
        rows = list(zip(*merged))
        tables.append(markdown_table(rows))
    return '\n\n'.join(tables)


# ---- files


def write_leaderboard(stem: FilePath, board: Leaderboard) -> None:
    """Write a leaderboard to `stem.txt`, `stem.md`, `stem.csv`, `stem.json`.

    Existing files are replaced, and the folder is made if necessary. The CSV
    file contains the rows of `Leaderboard.rows`, and the JSON file contains
    `Leaderboard.to_dict`.
    """
    cells = [list(row.values()) for row in board.rows()]
    with file_set(Path(stem).parent):
        write_text(f'{stem}.txt', f'{as_text(board)}\n')
        name = f'{Path(stem).name}.csv'
        where = f'All predictors, differences and marks are in {name}.'
        write_markdown(f'{stem}.md', board, [where])
        write_csv(f'{stem}.csv', FIELDS, cells)
        write_json(f'{stem}.json', board.to_dict())


def write_markdown(path: FilePath,
                   board: Leaderboard,
                   remarks: Sequence[str] = ()) -> None:
    """Write tables in Markdown, with notes and remarks as a list below."""
    notes = markdown_list([*notes_on_main(board), *remarks])
    lines = [as_markdown(board), '', *notes, '']
    write_text(path, '\n'.join(lines))


# ---- columns


def _sorted_groups(board: Leaderboard,
                   groups: Iterable[list[Column]]) -> Iterator[list[Column]]:
    """Yield groups of columns with the largest mean first."""
    for columns in groups:
        yield [_sorted(board, column) for column in columns]


def _sorted(board: Leaderboard, column: Column) -> Column:
    """Return a column with the cell of the largest mean first.

    Headers stay above the cells, and the foot stays below.
    """
    order = board.overall.best_first()
    foot = _N_HEADERS + len(order)
    cells = [column[_N_HEADERS + m] for m in order]
    return [*column[:_N_HEADERS], *cells, *column[foot:]]


def _names(board: Leaderboard, foot: str) -> Column:
    """Return the column with the names of the models."""
    return _column(board, 'model', board.predictions.models, foot)


def _column(board: Leaderboard,
            header: str,
            cells: Sequence[str],
            foot: str = '') -> Column:
    """Return a column, still without the heading of its group.

    The foot is left out if no predictions can be tested.
    """
    column = ['', header, *cells]
    if board.predictions.can_be_tested():
        column.append(foot)
    return column


def _main_groups(board: Leaderboard,
                 with_ranks: bool = False) -> Iterator[list[Column]]:
    """Yield groups of columns with the predictions of the first predictor.

    There are no columns of differences, so the mean absolute difference is at
    the foot of the column of predictions.
    """
    predictions = board.predictions
    overall = board.overall
    method = predictions.methods[0]
    if overall.has_means and method in overall.methods:
        columns = _observed_means(board, with_ranks)
        p = overall.methods.index(method)
        errors = percents(overall.mean_differences())
        means = mean_cells(overall, method)
        predicted = _column(board, method, means, errors[p])
        columns.append(predicted)
        if with_ranks:
            columns.append(_rank_column(board, method))
        yield _headed(_means_heading(overall), columns)
    errors = percents(predictions.mean_difference(method))
    for b, benchmark in enumerate(predictions.benchmarks):
        columns = _observed_columns(board, b)
        cells = predictions.cells(benchmark, method)
        predicted = _column(board, method, cells, errors[b])
        columns.append(predicted)
        yield _headed(benchmark, columns)


def _all_groups(board: Leaderboard) -> Iterator[list[Column]]:
    """Yield groups of columns with the predictions of all predictors.

    Columns of differences, predicted minus observed, follow the predictions.
    """
    predictions = board.predictions
    overall = board.overall
    if overall.has_means:
        columns = _observed_means(board)
        differences = overall.differences()
        errors = overall.mean_differences()
        for p, method in enumerate(overall.methods):
            cells = mean_cells(overall, method)
            columns.append(_column(board, method, cells))
            columns.append(_rank_column(board, method))
            if _has_observed_means(board):
                of_method = differences[:, p]
                column = _difference_column(board, of_method, errors[p])
                columns.append(column)
        if columns:
            yield _headed(_means_heading(overall), columns)
    for b, benchmark in enumerate(predictions.benchmarks):
        columns = _observed_columns(board, b)
        for label in predictions.methods:
            cells = predictions.cells(benchmark, label)
            columns.append(_column(board, label, cells))
            if predictions.has_observed():
                differences = predictions.difference(label)[:, b]
                error = predictions.mean_difference(label)[b]
                column = _difference_column(board, differences, error)
                columns.append(column)
        yield _headed(benchmark, columns)


def _headed(heading: str, columns: list[Column]) -> list[Column]:
    """Set a heading above the first column, if any, and return the columns."""
    if columns:
        columns[0][0] = heading
    return columns


def _observed_columns(board: Leaderboard, b: int) -> list[Column]:
    """Return columns of observed accuracies on benchmark b, and of items.

    The second column has the numbers of items of these accuracies. It is left
    out if no number is known. Both columns are left out if the table has no
    observed accuracy at all.
    """
    predictions = board.predictions
    if not predictions.has_observed():
        return []
    benchmark = predictions.benchmarks[b]
    accuracies = predictions.observed[:, b]
    observed = percents(accuracies)
    columns = [_column(board, OBSERVED, observed)]
    items = []
    for model, accuracy in zip(predictions.models, accuracies):
        n_items = board.items.get((model, benchmark))
        cell = '-'
        if n_items is not None and not math.isnan(accuracy):
            cell = str(n_items)
        items.append(cell)
    if set(items) != {'-'}:
        columns.append(_column(board, 'items', items))
    return columns


def _observed_means(board: Leaderboard,
                    with_ranks: bool = True) -> list[Column]:
    """Return columns with the observed means, and with ranks by these means.

    The list is empty if no model has an observed mean.
    """
    if not _has_observed_means(board):
        return []
    overall = board.overall
    means = percents(overall.observed)
    columns = [_column(board, OBSERVED, means)]
    if with_ranks:
        ranks = _rank_numbers(overall.observed_ranks())
        columns.append(_column(board, 'rank', ranks))
    return columns


def _has_observed_means(board: Leaderboard) -> bool:
    """Return True if at least one model has an observed mean.

    Accuracies may be observed although no model has an observed mean. Then
    there is no column of differences of means.
    """
    means = board.overall.observed
    return bool(np.isfinite(means).any())


def _rank_column(board: Leaderboard, method: str) -> Column:
    """Return the column with ranks by the means that a method predicts."""
    ranks = rank_cells(board.overall, method)
    return _column(board, 'rank', ranks)


def _means_heading(overall: Overall) -> str:
    """Return the heading of the group of means."""
    return f'mean of {len(overall.benchmarks)}'


def _difference_column(board: Leaderboard, differences: Iterable[float],
                       error: float) -> Column:
    """Return a column with differences, and with their error at the foot.

    Differences are predicted minus observed values. `error` is the mean
    absolute difference.
    """
    cells = percents(differences, '+.1f')
    [foot] = percents([error])
    return _column(board, 'diff', cells, foot)


# ---- cells


def percents(fractions: Iterable[float], form: str = '.1f') -> list[str]:
    """Return fractions in percent, as cells; '-' for NaN."""
    cells = []
    for fraction in fractions:
        # Adding 0 turns -0.0 into 0.0.
        rounded = round(percent(fraction), 1) + 0.0
        cells.append(number(rounded, form))
    return cells


def mean_cells(overall: Overall, method: str) -> list[str]:
    """Return the predicted means in percent as cells, with intervals if known.

    A cell is '-' if the mean is missing. Means of training models are marked
    `*`.
    """
    p = overall.methods.index(method)
    values = overall.values[:, p]
    in_sample = overall.in_sample[:, p]
    marks = np.where(in_sample, '*', '').tolist()
    view = overall.views.get(method)
    if view is None:
        means = percents(values)
        return [mean + mark for mean, mark in zip(means, marks)]
    cells = []
    rows = zip(values, view.low, view.high, marks)
    for value, low, high, mark in rows:
        cells.append(predicted_cell(value, low, high, marks=mark))
    return cells


def rank_cells(overall: Overall, method: str) -> list[str]:
    """Return ranks by predicted means as cells.

    They are ranges such as '2-4' if the joint distribution is known.
    """
    view = overall.views.get(method)
    if view is None:
        p = overall.methods.index(method)
        ranks = overall.predicted_ranks()
        return _rank_numbers(ranks[:, p])
    return list(map(possible_ranks, view.ranks.first, view.ranks.last))


def _rank_numbers(ranks: Iterable[float]) -> list[str]:
    """Return ranks as cells; '-' for NaN."""
    return [number(rank, '.0f') for rank in ranks]
