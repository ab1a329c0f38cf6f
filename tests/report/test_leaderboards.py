"""Leaderboards: every cell has a number or a reason, in all formats."""
import csv
import json
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.formatting import interval
from csv_plugin.core.predicting import collect_features
from csv_plugin.core.predictions import NOT_YET, Missing
from csv_plugin.report.leaderboard_tables import (as_markdown, as_short_text,
                                                  as_text, mean_cells,
                                                  notes_on_main, rank_cells,
                                                  write_leaderboard)
from csv_plugin.report.leaderboards import FIELDS, predict_columns
from tests.report.boards import NO_DUMP, make_cells, predict
from tests.runs import FITTED, dump, model_losses, train

MODELS = ('m0', 'm1', 'm2')
#: A prediction with different halves.
UNEVEN = predict(above=0.05)


def some_cells(n_benchmarks=2, labels=('predicted', 'mean-loss')):
    """Observed accuracies of 0.5 and predictions of 0.4."""
    benchmarks = [f'bench-{b}' for b in range(n_benchmarks)]
    cells = make_cells(MODELS, benchmarks, labels, prediction=UNEVEN)
    cells.folders = {model: f'folder-of-{model}' for model in MODELS}
    return cells


def test_differences():
    cells = some_cells(1)
    cells.observed['m1', 'bench-0'] = 0.36
    cells.observed['m2', 'bench-0'] = NO_DUMP

    def differences() -> tuple[list, str]:
        board = cells.board()
        *_, foot = as_text(board).split('\n\n')[0].splitlines()
        return [
            row['difference'] for row in board.rows()
            if row['predictor'] == 'predicted'
        ], foot.split()[3]

    low, high = pytest.approx(-10), pytest.approx(4)
    assert differences() == ([low, high, None], '7.0')
    cells.predicted['predicted', 'm1', 'bench-0'] = replace(
        UNEVEN, in_sample=True)
    assert differences() == ([low, high, None], '10.0')
    cells.predicted['predicted', 'm0', 'bench-0'] = NO_DUMP
    assert differences() == ([None, high, None], '-')


def test_a_difference_is_rounded_alike_everywhere():
    """The percentages 1.9 and 1.25 differ by a bit less than 0.65."""
    cells = some_cells(1, ['predicted'])
    cells.observed['m0', 'bench-0'] = 3 / 240
    cells.predicted['predicted', 'm0', 'bench-0'] = replace(UNEVEN, value=.019)
    board = cells.board()
    row = next(iter(board.rows()))
    line = next(
        line for line in as_text(board).splitlines() if line.startswith('m0'))
    assert f'{row["difference"]:+.1f}' in line.split()


def test_text():
    cells = some_cells(1)
    cells.predicted['mean-loss', 'm1', 'bench-0'] = NO_DUMP
    # What rounds to nothing has no minus.
    cells.observed['m2', 'bench-0'] = UNEVEN.value + 0.0004
    assert as_text(cells.board()).splitlines() == [
        '                  bench-0',
        'model            observed     predicted   diff     mean-loss   diff',
        '---------------  --------  ------------  -----  ------------  -----',
        'm0                   50.0  40.0 (30-45)  -10.0  40.0 (30-45)  -10.0',
        'm1                   50.0  40.0 (30-45)  -10.0             -      -',
        'm2                   40.0  40.0 (30-45)   +0.0  40.0 (30-45)   +0.0',
        'mean abs. error                            6.7                  5.0',
        '',
        'Percent (90% interval, rounded outwards).',
        'diff is predicted minus observed.',
        'mean-loss of m1 on bench-0: no dump',
        'predicted: 2 of 3 observed accuracies lie outside of their '
        'intervals; about 0 are expected to lie',
        '  outside: m0 on bench-0 (50.0, interval 30.0-45.0), m1 on bench-0 '
        '(50.0, interval 30.0-45.0).',
    ]  # yapf: disable


def test_the_largest_mean_is_first():
    cells = some_cells(2)
    for benchmark in cells.benchmarks:
        cells.predicted['predicted', 'm1', benchmark] = predict(.6)
        cells.observed['m1', benchmark] = .7
    lines = as_text(cells.board()).splitlines()
    rows = [line.split() for line in lines if line.startswith('m')]
    assert [row[0] for row in rows[:5]] == ['model', 'm1', 'm0', 'm2', 'mean']
    assert rows[1][1] == '70.0'
    rows = as_markdown(cells.board()).splitlines()[2:]
    assert [row.split()[1] for row in rows[:3]] == ['m1', 'm0', 'm2']


def test_no_mean_of_one_benchmark():
    """Of two main benchmarks, one was run by too few models."""
    cells = some_cells(2, labels=('predicted', ))
    cells.observed['m0', 'bench-1'] = cells.observed['m1', 'bench-1'] = NO_DUMP
    board = cells.board()
    assert board.overall.benchmarks == ('bench-0', )
    assert 'mean of' not in as_text(board) + as_markdown(board)
    assert not any('mean' in note.lower() for note in board.notes[2:])


def test_text_without_real_scores():
    cells = some_cells(2, labels=('predicted', ))
    cells.observed = dict.fromkeys(cells.observed, NO_DUMP)
    lines = as_text(cells.board()).splitlines()
    assert lines[:4] == [
        '       mean of 2             bench-0       bench-1',
        'model  predicted  rank     predicted     predicted',
        '-----  ---------  ----  ------------  ------------',
        'm0          40.0     1  40.0 (30-45)  40.0 (30-45)',
    ]
    assert lines[6] == '' and lines[7].startswith('Percent (90% ')
    cells.predicted['predicted', 'm1', 'bench-1'] = replace(
        UNEVEN, in_sample=True)
    lines = as_text(cells.board()).splitlines()
    assert [line.split()[1]
            for line in lines[3:6]] == ['40.0', '40.0*', '40.0']


def test_all_reasons_are_given():
    cells = some_cells()
    cells.remarks = ('a remark', )
    cells.observed['m1', 'bench-1'] = Missing('not run')
    for place in product(cells.labels, ('m0', 'm2'), cells.benchmarks):
        cells.predicted[place] = NO_DUMP
    cells.predicted['mean-loss', 'm1', 'bench-0'] = Missing('unknown')
    _, _, *lines, far, remark = cells.board().notes
    assert lines == [
        'observed of m1 on bench-1: not run',
        'predicted, mean-loss of m0, m2 on all 2 benchmarks: no dump',
        'mean-loss of m1 on bench-0: unknown',
        'Rank 1 is the largest mean.',
        'No mean, and no rank by it, where a number on one of the '
        'benchmarks is missing.',
    ]
    assert remark == 'a remark'
    assert far.startswith('predicted: 1 of 1 observed accuracies lie outside')


def test_nothing_known():
    cells = make_cells(MODELS, (), ('predicted', ))
    cells.remarks = ('why', )
    assert as_text(cells.board()) == 'why'
    # One line, and no legend of marks that are not there.
    cells = some_cells(1)
    cells.predicted = dict.fromkeys(cells.predicted, NO_DUMP)
    note, = cells.board().notes
    assert note == 'predicted, mean-loss of all 3 models on bench-0: no dump'


def predicted_board(folders, known=None, labels=('p', ), observed={}):
    """A leaderboard of models a and b, nearly equal, and c, the best."""
    predictor = train()
    tables = {
        name: predictor.features({name: dump(name, model_losses(skill))})
        for name, skill in zip('abc', (.7, .705, 1.3)) if name != 'none'
    }
    tables['none'] = NO_DUMP
    return predict_columns(
        dict.fromkeys(labels, tables),
        folders,
        dict.fromkeys(labels, predictor),
        dict.fromkeys(labels, ''),
        observed,
        known=known)


def test_ranks_and_means_with_their_intervals():
    """Ranges where the losses do not order models; the best one if certain."""
    board = predicted_board({'A': 'a', 'B': 'b', 'C': 'c', 'N': 'none'})
    view = board.overall.views['p']
    assert rank_cells(board.overall, 'p') == ['2-3', '2-3', '1', '-']
    low, high = view.low[0], view.high[0]
    value = board.predictions.values[0].mean()
    assert mean_cells(board.overall,
                      'p')[0] == (f'{100 * value:.1f} ({interval(low, high)})')
    assert mean_cells(board.overall, 'p')[3] == '-'
    assert '2-3' in as_text(board) and 'such as 2-4: ' in board.notes[-1]
    assert board.notes[-1] in notes_on_main(board)
    probable = ('The probability to have the largest mean is largest '
                'for ')
    assert not any(note.startswith(probable) for note in board.notes)
    two = predicted_board({'A': 'a', 'B': 'b'})
    assert rank_cells(two.overall, 'p') == ['1-2', '1-2']
    first, second = np.argsort(-two.overall.views['p'].ranks.best)
    names, best = 'AB', two.overall.views['p'].ranks.best
    assert (f'{probable}{names[first]} ({best[first]:.0%}), '
            f'{names[second]} ({best[second]:.0%}).') in two.notes
    means = two.to_dict()['means']
    for m, row in enumerate(means):
        assert (row['best_rank'], row['worst_rank']) == (1, 2)
        assert row['probability_best'] == best[m]
        limits = interval(row['low'] / 100, row['high'] / 100)
        cell = mean_cells(two.overall, 'p')[m]
        assert cell == f"{row['predicted']:.1f} ({limits})"
    # The first method alone says which models may be the best.
    several = predicted_board({'A': 'a', 'B': 'b'}, labels=('p', 'q'))
    found = [note for note in several.notes if 'the largest mean is' in note]
    assert [note[:2] for note in found] == ['p:']
    # Means of models are the same, whichever others are there.
    assert mean_cells(two.overall, 'p') == mean_cells(board.overall, 'p')[:2]


def test_a_benchmark_at_chance_is_explained_once():
    predictor = train(('easy', ), shift=99)
    table = predictor.features({'a': dump('a', model_losses(1))})
    board = predict_columns({'p': {
        'a': table
    }}, {'a': 'a'}, {'p': predictor}, {'p': 'file'}, {})
    assert [note[0] for note in board.notes if NOT_YET in note] == ['?']
    assert 'Predictor: file' in board.notes


def notes_of(losses):
    """Notes on predictions of models, whose skills are given."""
    predictor = train()
    tables = {}
    for name, skill in losses.items():
        of_model = {name: dump(name, model_losses(skill))}
        tables[name] = predictor.features(of_model)
    board = predict_columns({'p': tables}, dict(zip(losses, losses)),
                            {'p': predictor}, {'p': 'file'}, {})
    return board.notes


def test_copies_of_training_models_are_told():
    skills = {'a': FITTED['fit-3'], 'fit-2': 1.01, 'fit-5': FITTED['fit-5']}
    copies, renamed = notes_of(skills)[-3:-1]
    assert 'Copies of training models: a (same losses as fit-3). ' in copies
    assert renamed.startswith(
        'Named like training models, with other losses: fit-2. If')


def test_new_models_with_the_same_losses_are_told():
    note = ('Models with exactly the same losses, of which all but one may be '
            'wrong uploads: a = c.')
    assert note in notes_of({'a': 1.01, 'b': 1.02, 'c': 1.01})
    # Copies of a training model have their own note.
    of_training = notes_of({'a': FITTED['fit-3'], 'b': FITTED['fit-3']})
    assert not any('wrong uploads' in line for line in of_training)


def test_known_scores_move_the_others():
    folders = {'A': 'a', 'B': 'b', 'C': 'c'}
    alone = predicted_board(folders)
    known = AccuracyTable(('a', ), ('easy', ), [[.9]], [0], [1000])
    board = predicted_board(folders, known)
    before, after = (each.predictions for each in (alone, board))
    assert after.with_scores[:, :, 0].tolist() == [[False, True],
                                                   [False, False],
                                                   [False, False]]
    assert after.at('A', 'hard').value > before.at('A', 'hard').value
    np.testing.assert_allclose(after.values[1:], before.values[1:], rtol=1e-9)
    mean = board.overall.values[0, 0]
    view = board.overall.views['p']
    assert board.overall.benchmarks == ('easy', 'hard')
    assert mean > alone.overall.values[0, 0]
    assert view.low[0] < mean < view.high[0]


def test_files(tmp_path):
    cells = some_cells()
    cells.observed['m1', 'bench-1'] = NO_DUMP
    cells.predicted['mean-loss', 'm1', 'bench-1'] = Missing('unknown')
    cells.predicted['mean-loss', 'm0', 'bench-0'] = predict(
        0.25, 0.1, 0.05, extrapolated=True)
    board = cells.board()
    write_leaderboard(tmp_path / 'leader.board', board)
    text, markdown, table, data = ((tmp_path /
                                    f'leader.board.{kind}').read_text('utf-8')
                                   for kind in ('txt', 'md', 'csv', 'json'))
    assert text == as_text(board) + '\n'
    assert markdown.startswith(f'{as_markdown(board)}\n\n* Percent')
    header, _, row, *_ = ([cell.strip() for cell in line.split('|')[1:-1]]
                          for line in markdown.splitlines())
    assert header == [
        'model', 'mean of 2 observed', 'rank', 'predicted', 'rank',
        'bench-0 observed', 'predicted'
    ]
    assert row[5:] == ['50.0', '40.0 (30-45)']
    assert 'differences and marks are in leader.board.csv.' in markdown
    content = json.loads(data)
    rows = content.pop('rows')
    means = content.pop('means')
    assert content == {
        'unit': 'percent',
        'level': .9,
        'means_over': ['bench-0', 'bench-1'],
        'models': list(MODELS),
        'benchmarks': ['bench-0', 'bench-1'],
        'predictors': ['predicted', 'mean-loss'],
        'chance': {'bench-0': 25, 'bench-1': 25},
        'folders': board.folders,
        'items': [],
        'known': {},
        'notes': list(board.notes)
    }  # yapf: disable
    assert means[2] == {
        'model': 'm1',
        'predictor': 'predicted',
        'observed': None,
        'predicted': 40,
        'low': None,
        'high': None,
        'difference': None,
        'in_sample': 0,
        'observed_rank': None,
        'best_rank': None,
        'worst_rank': None,
        'probability_best': None
    }
    assert means[0]['difference'] == -10 and means[0]['observed_rank'] == 1
    # Legends of differences and of marks of other predictors are left out.
    hidden = 'diff is', '> far'
    shown = [note for note in board.notes if not note.startswith(hidden)]
    assert len(shown) == len(board.notes) - 2
    assert all(note in markdown for note in shown)
    assert 'diff' not in markdown.partition('All predictors')[0]
    assert [(r['model'], r['benchmark'], r['predictor']) for r in rows
            ] == [*product(MODELS, cells.benchmarks, cells.labels)]
    assert rows[1] == dict(
        zip(FIELDS, ('m0', 'bench-0', 'mean-loss', 50, None, 25, 15,
                     pytest.approx(30), -25, 1, 0, '', 0, 0, None)))
    assert rows[7] == dict(
        zip(FIELDS, ('m1', 'bench-1', 'mean-loss', *[None] * 8,
                     'no dump; unknown', None, None, None)))
    assert rows[6]['missing'] == 'no dump' and rows[6]['observed'] is None
    assert rows[6]['predicted'] == 40 and rows[6]['difference'] is None
    # CSV says the same.
    read = list(csv.DictReader(table.splitlines()))
    assert [{
        k: '' if v is None else str(v)
        for k, v in row.items()
    } for row in rows] == read


def test_items_stand_beside_the_accuracies_of_them(tmp_path):
    cells = some_cells()
    cells.observed['m1', 'bench-1'] = NO_DUMP
    items = {(model, 'bench-1'): 100 + m for m, model in enumerate(MODELS)}
    board = replace(cells.board(), items=items)
    table = as_short_text(board, 80, 'board.txt').split('\n\n')[1]
    assert table.splitlines() == [
        '        bench-1',
        'model  observed  items     predicted',
        '-----  --------  -----  ------------',
        'm0         50.0    100  40.0 (30-45)',
        'm1            -      -  40.0 (30-45)',
        'm2         50.0    102  40.0 (30-45)',
        'error                           10.0',
    ]
    assert '| bench-1 observed | items |' in re.sub(' +', ' ',
                                                    as_markdown(board))
    found = [row['items'] for row in board.rows()
             if row['benchmark'] == 'bench-1']  # yapf: disable
    assert found == [100, 100, None, None, 102, 102]


def test_legends_explain_what_a_table_shows():
    """The row of errors leaves out models that are marked."""
    cells = some_cells(1)
    marked = replace(UNEVEN, in_sample=True, extrapolated=True)
    cells.predicted['mean-loss', 'm0', 'bench-0'] = marked
    board = cells.board()
    of_errors = 'mean abs. error leaves out models marked *.'
    far = '> far from the training models'
    assert of_errors in board.notes and far in as_text(board)
    assert max(map(len, as_text(board, 60).splitlines())) <= 60
    # The first predictor has no marks.
    assert far not in as_short_text(board, 80, 'board.txt')
    assert not any(note == of_errors or note.startswith(far)
                   for note in notes_on_main(board))
    cells.predicted['predicted', 'm0', 'bench-0'] = marked
    board = cells.board()
    assert of_errors in notes_on_main(board)
    shown = as_short_text(board, 80, 'board.txt')
    assert 'Percent (90% interval' in shown and far in shown


def test_known_accuracies_have_no_difference():
    """Nor have means over them, unless they are only half known."""
    values = {'a': (.9, .8), 'b': (np.nan, np.nan), 'c': (.7, np.nan)}
    known = AccuracyTable(
        tuple(values), ('easy', 'hard'), [*values.values()], [0, 0],
        [1000, 1000])
    observed = {('a', 'easy'): .9, ('a', 'hard'): .8, ('b', 'easy'): .5,
                ('b', 'hard'): .4, ('c', 'easy'): .7,
                ('c', 'hard'): .4}  # yapf: disable
    names = dict(zip(values, values))
    board = predicted_board(names, known, observed=observed)
    has_difference = [row['difference'] is not None for row in board.rows()]
    assert has_difference == [False, False, True, True, False, True]
    of_means = [row['difference'] for row in board.mean_rows()]
    has_difference = [value is not None for value in of_means]
    assert has_difference == [False, True, True]


def test_means_are_observed_if_one_accuracy_is_held_out():
    """Then predictions do more than to fill the gaps between accuracies."""
    known = AccuracyTable(('a', ), ('easy', 'hard'), [[.9, .8]], [0, 0],
                          [1000, 1000])
    observed = {('a', 'easy'): .9, ('a', 'hard'): .8, ('b', 'easy'): .5}
    board = predicted_board({'a': 'a', 'b': 'b'}, known, observed=observed)
    assert board.overall.observed[0] == pytest.approx(.85)


def test_no_row_of_errors_where_all_accuracies_are_known():
    cells = some_cells(1)
    for cell in cells.predicted:
        cells.predicted[cell] = replace(UNEVEN, in_sample=True)
    board = cells.board()
    for text in (as_text(board), as_markdown(board),
                 as_short_text(board, 80, 'board.txt')):
        assert 'error' not in text and 'm2' in text


def test_markdown_is_not_wide():
    """All models on many benchmarks: a few benchmarks a table."""
    board = make_cells(MODELS, [f'bench-{b}' for b in range(40)],
                       ('p', 'q')).board()
    tables = as_markdown(board).split('\n\n')
    assert len(tables) > 10
    assert max(map(len, '\n'.join(tables).splitlines())) <= 120
    assert all(table.count('| m1 ') == 1 for table in tables)
    assert sum(table.count(' observed |') for table in tables) == 41


@pytest.mark.parametrize('n_reasons', [5, 6, 8])
def test_the_screen_counts_the_reasons_that_it_leaves_out(n_reasons):
    """Below a line on the errors."""
    cells = some_cells(n_reasons)
    for b, benchmark in enumerate(cells.benchmarks):
        cells.observed['m0', benchmark] = Missing(f'reason {b}')
    text = as_short_text(cells.board(), 80, 'board.txt')
    n_shown = len(re.findall(r'^observed of m0 on bench-\d', text, re.M))
    n_more = [*map(int, re.findall(r'(\d+) more such lines in', text))]
    assert n_shown and n_shown + sum(n_more) == n_reasons
    assert 0 not in n_more


@pytest.mark.parametrize(
    'n_items, n_whole, more',
    [
        (100, 1000, 1 / 100 - 1 / 1000),
        (1000, 1000, 0),
        (2000, 1000, 0),
        (100, 0, 1 / 100),  # The predictor does not know how many there are.
        (0, 1000, 0),  # Nor does the run.
    ])
def test_accuracies_of_a_part_of_the_items_have_more_noise(
        n_items, n_whole, more):
    fitted = train(('easy', ))
    part, = fitted.benchmarks
    fitted = replace(fitted, benchmarks=(replace(part, n_items=n_whole), ))
    columns, _ = collect_features({'p': fitted}, ['m'],
                                  lambda *_: dump('m', model_losses(.9)))
    board = predict_columns(
        columns, {'m': 'm'}, {'p': fitted}, {'p': 'file'}, {('m', 'easy'): .5},
        items={('m', 'easy'): n_items})  # yapf: disable
    np.testing.assert_allclose(board.predictions.more_noise, [[[more]]])
    told = [note for note in board.notes if 'items only' in note]
    assert len(told) == (more > 0)
