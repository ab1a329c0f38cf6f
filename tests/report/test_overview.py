"""What `salience predict` prints of one model, and of several."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.overall import MeanView, RankRanges
from csv_plugin.core.predictions import Missing
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.overview import overview, shown_notes
from tests.report.boards import make_cells, predict

UNKNOWN = Missing('not known')


def board_of(models, benchmarks, known=False, **parts):
    cells = make_cells(models, benchmarks, ['ours'])
    if not known:
        cells.observed = dict.fromkeys(cells.observed, UNKNOWN)
    for m, model in enumerate(models):
        for name in benchmarks:
            cells.predicted['ours', model, name] = predict(0.3 + m / 10)
    predictions = replace(cells.board().predictions, **parts)
    return Leaderboard.of(predictions)


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_one_model_has_a_row_for_each_benchmark():
    board = board_of(['mine'], ['sums', 'swaps'])
    table, left_out = overview(board, 80)
    assert not left_out
    header, _, sums, swaps = table.splitlines()
    assert header.split() == ['benchmark', 'predicted', 'interval', 'chance']
    assert sums.split() == ['sums', '30.0', '20-40', '25']
    assert swaps.split()[0] == 'swaps'


def test_a_benchmark_at_chance_has_a_sign_and_its_meaning():
    at_chance = np.array([[[True], [False]]])
    board = board_of(['mine'], ['sums', 'swaps'], at_chance=at_chance)
    header, _, sums, swaps = rows(overview(board, 80)[0])
    assert sums[:3] == ['sums', '30.0', '?'] and '?' not in swaps
    assert any(
        note.startswith('? not predictable yet') for note in board.notes)


def test_a_known_accuracy_stands_beside_its_prediction():
    table, _ = overview(board_of(['mine'], ['sums'], known=True), 80)
    header, _, sums = rows(table)
    assert header[:3] == ['benchmark', 'observed', 'predicted']
    assert sums[:3] == ['sums', '50.0', '30.0']


def with_view(board, n):
    """The board with intervals of means from 21 to 43 %, and ranks 1-n."""
    low, high, first, last = np.repeat([[.21], [.43], [1], [n]], n, axis=1)
    ranks = RankRanges(first, last, first / n)
    views = {'ours': MeanView(low, high, ranks)}
    return replace(board, overall=replace(board.overall, views=views))


def test_the_table_of_one_model():
    """The mean has the mark of known accuracies alone."""
    in_sample = np.array([[[False], [True]]])
    far = np.array([[[True], [False]]])
    board = board_of(['mine'], ['sums', 'swaps'], known=True,
                     in_sample=in_sample, extrapolated=far)  # yapf: disable
    table, _ = overview(with_view(board, 1), 80)
    assert table.splitlines() == [
        'benchmark  observed  predicted     interval  chance',
        '---------  --------  ---------  -  --------  ------',
        'mean of 2      50.0       30.0  *     21-43',
        'sums           50.0       30.0  >     20-40      25',
        'swaps          50.0       30.0  *     20-40      25',
    ]


@pytest.mark.parametrize('width, left_out', [
    (63, ''),
    (62, 'intervals of single benchmarks'),
    (47, 'intervals of single benchmarks'),
    (46, 'intervals of single benchmarks, 1 of 2 benchmarks'),
])
def test_the_table_of_several_models(width, left_out):
    board = with_view(board_of(['weak', 'best'], ['a', 'b'], known=True), 2)
    whole = [
        'model  observed     mean of 2  rank             a             b',
        '-----  --------  ------------  ----  ------------  ------------',
        'best       50.0  40.0 (21-43)   1-2  40.0 (30-50)  40.0 (30-50)',
        'weak       50.0  30.0 (21-43)   1-2  30.0 (20-40)  30.0 (20-40)',
    ]
    table, missing = overview(board, width)
    lines = table.splitlines()
    assert missing == left_out
    if not left_out:
        assert lines == whole
    else:
        assert len(lines[0]) == (47 if width > 46 else 41)
        assert [line[:35] for line in lines] == [line[:35] for line in whole]
        assert lines[2][35:].split() == ['40.0'] * (2 if width > 46 else 1)


@pytest.mark.parametrize('width, cell', [(70, '40.0'), (160, '40.0 (30-50)')])
def test_several_models_are_sorted_and_fit(width, cell):
    """Intervals of benchmarks are shown if all of them fit."""
    names = [f'benchmark-{i}' for i in range(4)]
    board = board_of(['weak', 'strong'], names)
    # Without a joint distribution, means have no intervals.
    table, left_out = overview(board, width)
    lines = table.splitlines()
    assert max(map(len, lines)) <= width
    assert [line.split()[0] for line in lines[2:]] == ['strong', 'weak']
    assert cell in lines[2]
    assert ('intervals' in left_out) == (width == 70)


def test_benchmarks_that_do_not_fit_are_counted():
    names = [f'benchmark-{i}' for i in range(9)]
    table, left_out = overview(board_of(['weak', 'strong'], names), 80)
    n_shown = table.splitlines()[0].count('benchmark-')
    assert 0 < n_shown < 9
    assert f'{9 - n_shown} of 9 benchmarks' in left_out
    assert all('9' not in line.split()[0] for line in table.splitlines())


@pytest.mark.parametrize('models', [['mine'], ['weak', 'strong']])
def test_other_predictors_are_said_to_be_left_out(models):
    cells = make_cells(models, ['sums'], ['ours', 'theirs'])
    table, left_out = overview(cells.board(), 80)
    assert 'theirs' not in table
    assert left_out == 'predictions by theirs (the table is by ours)'


def test_legends_of_what_does_not_fit_are_left_out():
    """Intervals of benchmarks, and marks of benchmarks that are left out."""
    names = [f'benchmark-{i}' for i in range(9)]
    shape = (2, 9, 1)
    far = np.zeros(shape, bool)
    far[:, -1] = True
    board = board_of(['weak', 'strong'],
                     names,
                     low=np.zeros(shape),
                     high=np.ones(shape),
                     extrapolated=far)
    for width, is_shown in (70, False), (400, True):
        table, _ = overview(board, width)
        assert ('(any)' in table) == is_shown
        lines = shown_notes(board, table)
        for mark in ('any: ', '> far from'):
            found = [line for line in lines if line.startswith(mark)]
            assert bool(found) == is_shown


def test_a_single_benchmark_needs_no_mean():
    board = board_of(['weak', 'strong'], ['sums'])
    header, _, first, last = rows(overview(board, 80)[0])
    assert header == ['model', 'sums']
    assert first[0] == 'strong'
