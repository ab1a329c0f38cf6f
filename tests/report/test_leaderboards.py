"""Leaderboards: every cell has a number or a reason, in all formats."""
import csv
import json
import os
from dataclasses import replace
from itertools import product

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import Prediction
from csv_plugin.report.leaderboard_files import FIELDS, write_leaderboard
from csv_plugin.report.leaderboards import (WIDTH, Leaderboard, as_markdown,
                                            as_text, notes, predicted_cell,
                                            predicted_row, real_cell)

MODELS = ('m0', 'm1', 'm2')
NONE = 'no dump'


def predict(value: float, **changes) -> Prediction:
    return replace(
        Prediction(value, value - 0.1, value + 0.05, 0.9, False, False),
        **changes)


def make_board(n_benchmarks: int = 2,
               models=MODELS,
               labels=('predicted', 'all-token'),
               **cells) -> Leaderboard:
    """Real scores of 50 and predictions of 40, but for some cells."""
    benchmarks = tuple(f'bench-{b}' for b in range(n_benchmarks))
    real = {place: 50.0 for place in product(models, benchmarks)}
    predicted = {
        place: predict(0.4)
        for place in product(labels, models, benchmarks)
    }
    folders = {model: f'folder-of-{model}' for model in models}
    board = Leaderboard(models, benchmarks, labels, real, predicted, folders)
    return replace(board, **cells)


def test_cells():
    assert predicted_cell(predict(0.4321)) == '43.2 ±7.5'
    assert predicted_cell(predict(0.4, in_sample=True)) == '40.0 ±7.5*'
    assert predicted_cell(predict(0.4, in_sample=True,
                                  extrapolated=True)) == '40.0 ±7.5*>'
    assert predicted_cell(NONE) == real_cell(NONE) == '-'
    assert real_cell(float('nan')) == '-'
    assert real_cell(61.66) == '61.7'


def test_row_in_the_order_of_the_models():
    board = make_board()
    board.predicted['all-token', 'm1', 'bench-1'] = NONE
    board.predicted['all-token', 'm2', 'bench-1'] = predict(0.9)
    assert predicted_row(board, 'all-token',
                         'bench-1') == ['40.0 ±7.5', '-', '90.0 ±7.5']


def test_differences():
    board = make_board()
    board.real['m1', 'bench-0'] = 36.0
    board.real['m2', 'bench-0'] = NONE
    key = 'predicted', 'bench-0'
    assert board.difference('predicted', 'm0', 'bench-0') == pytest.approx(-10)
    assert board.difference('predicted', 'm1', 'bench-0') == pytest.approx(4)
    assert board.difference('predicted', 'm2', 'bench-0') is None
    assert board.mean_difference(*key) == pytest.approx(7)
    board.predicted['predicted', 'm1', 'bench-0'] = predict(
        0.4, in_sample=True)
    assert board.mean_difference(*key) == pytest.approx(10)
    board.predicted['predicted', 'm0', 'bench-0'] = NONE
    assert board.difference('predicted', 'm0', 'bench-0') is None
    assert board.mean_difference(*key) is None


def test_text():
    board = make_board(1)
    board.predicted['all-token', 'm1', 'bench-0'] = NONE
    assert as_text(board).splitlines() == [
        '                bench-0',
        'model              real  predicted   diff  all-token   diff',
        '--------------  -------  ---------  -----  ---------  -----',
        'm0                 50.0  40.0 ±7.5  -10.0  40.0 ±7.5  -10.0',
        'm1                 50.0  40.0 ±7.5  -10.0          -      -',
        'm2                 50.0  40.0 ±7.5  -10.0  40.0 ±7.5  -10.0',
        'mean abs. diff                       10.0              10.0',
        '',
        'Percent; ± half the width of the 90% interval; * the real score was '
        'fitted on; > outside the range fitted on.',
        'diff is predicted minus real, its mean leaves out models marked *.',
        'all-token of m1 on bench-0: no dump',
    ]  # yapf: disable


@pytest.mark.parametrize('n_benchmarks, n_blocks', [(1, 1), (5, 2), (9, 3)])
@pytest.mark.parametrize(
    'models', [('m', ), tuple(f'model-{i}' for i in range(100))])
def test_width(n_benchmarks, n_blocks, models):
    """Benchmarks that do not fit beside each other stand below."""
    text = as_text(make_board(n_benchmarks, models))
    table = text.partition('\n\nPercent')[0]
    lines = table.splitlines()
    assert max(map(len, lines)) <= WIDTH
    for word in [*models[-1:], 'mean abs. diff']:
        starts = [line for line in lines if line.startswith(word + ' ')]
        assert len(starts) == n_blocks
    assert sum(line.count('bench-') for line in lines) == n_benchmarks


def test_longer_names_than_lines():
    board = make_board(2, models=('m' * 200, ))
    assert as_text(board).count('m' * 200) == 2


def test_markdown():
    board = make_board(1, labels=('predicted', ))
    header, rule, *rows = [[
        cell.strip() for cell in line.strip('|').split('|')
    ] for line in as_markdown(board).splitlines()]
    assert header == ['model', 'bench-0 real', 'predicted', 'diff']
    assert set(''.join(rule)) == set(':-')
    assert rows == [
        *([m, '50.0', '40.0 ±7.5', '-10.0'] for m in MODELS),
        ['mean abs. diff', '', '', '10.0']
    ]  # yapf: disable


def test_all_reasons_are_given():
    board = make_board(remarks=('a remark', ))
    board.real['m1', 'bench-1'] = 'not run'
    for label, model in product(board.labels, ('m0', 'm2')):
        for benchmark in board.benchmarks:
            board.predicted[label, model, benchmark] = NONE
    board.predicted['all-token', 'm1', 'bench-0'] = 'unknown'
    assert notes(board)[2:] == [
        'real of m1 on bench-1: not run',
        'predicted, all-token of m0, m2 on all 2 benchmarks: no dump',
        'all-token of m1 on bench-0: unknown',
        'a remark',
    ]


def test_one_reason_for_all():
    """One line, and no legend of marks that are not there."""
    board = make_board()
    for place in board.predicted:
        board.predicted[place] = NONE
    assert notes(board) == [
        'predicted, all-token of all 3 models on all 2 benchmarks: no dump'
    ]


def test_long_lists_are_cut():
    board = make_board(1, tuple(f'm{i}' for i in range(100)))
    for i in range(90):
        board.real[f'm{i}', 'bench-0'] = NONE
    assert notes(board)[2] == ('real of m0, m1, m2, m3, m4, m5, m6, m7 and 82 '
                               'more on bench-0: no dump')


def test_nothing_known():
    board = Leaderboard(MODELS, (), ('predicted', ), {}, {}, {}, ('why', ))
    assert as_text(board) == 'why'


def test_files(tmp_path):
    board = make_board()
    board.real['m1', 'bench-1'] = NONE
    board.predicted['all-token', 'm1', 'bench-1'] = 'unknown'
    board.predicted['all-token', 'm0', 'bench-0'] = predict(
        0.25, extrapolated=True)
    paths = write_leaderboard(tmp_path / 'leader.board', board)
    assert [path.name for path in paths] == [
        f'leader.board.{kind}' for kind in ('txt', 'md', 'csv', 'json')
    ]
    assert sorted(os.listdir(tmp_path)) == sorted(path.name for path in paths)
    text, markdown, table, data = (path.read_text('utf-8') for path in paths)
    assert text == as_text(board) + '\n'
    assert markdown.startswith(as_markdown(board) + '\n\n* Percent')
    content = json.loads(data)
    assert content['models'] == list(MODELS)
    assert content['benchmarks'] == ['bench-0', 'bench-1']
    assert content['predictors'] == ['predicted', 'all-token']
    assert content['folders'] == board.folders
    assert content['notes'] == notes(board)
    for note in notes(board):
        assert note in markdown
    rows = content['rows']
    assert [(r['model'], r['benchmark'], r['predictor']) for r in rows
            ] == list(product(MODELS, board.benchmarks, board.labels))
    assert rows[1] == dict(
        zip(FIELDS, ('m0', 'bench-0', 'all-token', 50, 25, 15,
                     pytest.approx(30), -25, 1, 0, '')))
    assert rows[7] == dict(
        zip(FIELDS, ('m1', 'bench-1', 'all-token', None, None, None, None,
                     None, None, None, 'no dump; unknown')))
    assert rows[6]['missing'] == 'no dump' and rows[6]['real'] is None
    assert rows[6]['predicted'] == 40 and rows[6]['difference'] is None
    # CSV says the same.
    read = list(csv.DictReader(table.splitlines()))
    assert [{
        k: '' if v is None else str(v)
        for k, v in row.items()
    } for row in rows] == read


def test_no_folder(tmp_path):
    with pytest.raises(InputError, match='folder'):
        write_leaderboard(tmp_path / 'none' / 'x', make_board())
