"""Scores of the page, from a leaderboard or from its file."""
import json

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import Prediction
from csv_plugin.report.leaderboard_files import write_leaderboard
from csv_plugin.report.leaderboards import notes
from csv_plugin.report.page.summaries import (LEADERBOARD, newest,
                                              read_summary, summary_of)
from tests.report.page.pages import NONE, awkward_board, make_board


def test_summary_of_a_file_is_that_of_the_board(tmp_path):
    board = awkward_board()
    *_, path = write_leaderboard(tmp_path / 'leaderboard_1', board)
    read, made = read_summary(path), summary_of(board)
    assert read.cells == made.cells
    assert read.notes == made.notes == tuple(notes(board))
    assert (read.models, read.benchmarks,
            read.labels) == (made.models, made.benchmarks, made.labels) == (
                board.models, board.benchmarks, board.labels)
    assert read.folders == made.folders == board.folders
    assert made.cells['predicted', 'm0', 'b0'].missing == NONE
    assert made.cells['predicted', 'm0', 'b0'].predicted == 40


def test_differences_and_coverage():
    summary = summary_of(awkward_board())
    cells = summary.cells
    assert cells['predicted', 'm1', 'b1'].difference == pytest.approx(-11)
    assert cells['predicted', 'm1', 'b1'].half_width == pytest.approx(10)
    # 30..50 holds 50 but not 51; fitted on, or not known: not judged.
    assert cells['predicted', 'm0', 'b1'].covered is True
    assert cells['predicted', 'm1', 'b1'].covered is False
    assert cells['predicted', 'm2', 'b1'].covered is True
    for model in summary.models:
        assert cells['predicted', model, 'b0'].covered is None
    assert cells['predicted', 'm1', 'b0'].half_width is None
    assert summary.coverage('predicted') == (2, 3)
    assert summary.coverage('all-token') == (1, 5)
    assert summary.mean_difference('predicted', 'b0') is None
    assert summary.mean_difference('predicted', 'b1') == pytest.approx(29 / 3)
    assert summary.overall_difference('predicted') == pytest.approx(29 / 3)
    assert summary.mean_difference('all-token', 'b0') == pytest.approx(11.5)
    assert summary.overall_difference('all-token') == pytest.approx(11.2)


def test_half_of_an_uneven_interval():
    board = make_board(('m', ), ('b', ), ('p', ))
    board.predicted['p', 'm', 'b'] = Prediction(0.25, 0.2, 0.45, 0.9, False,
                                                False)
    cell = summary_of(board).cells['p', 'm', 'b']
    assert cell.half_width == pytest.approx(12.5)


def test_newest_leaderboard(tmp_path):
    assert newest(tmp_path, LEADERBOARD) is None
    (tmp_path / 'summary').mkdir()
    for name in ('2', '10', '3'):
        write_leaderboard(tmp_path / f'summary/leaderboard_20{name:0>2}',
                          make_board())
    assert newest(tmp_path, LEADERBOARD).name == 'leaderboard_2010.json'


@pytest.mark.parametrize('change, says', [
    (lambda c: c.pop('rows'), "'rows' in the leaderboard"),
    (lambda c: c['rows'].pop(), 'a row of all-token, m2, b1'),
    (lambda c: c['rows'][0].pop('low'), "'low' in a row"),
    (lambda c: c['rows'][0].update(real='x'), "a number or null as 'real'"),
    (lambda c: c.update(models=[1]), "a list of texts as 'models'"),
    (lambda c: c.update(predictors=[]), 'a model and a predictor'),
    (lambda c: c.update(models=[]), 'a model and a predictor'),
    (lambda c: c.update(folders={'m0': 1}), "texts by name as 'folders'"),
    (lambda c: c['rows'][0].update(low=None), 'of predicted, m0, b0 or none'),
    (lambda c: c['rows'][0].update(predicted=None), 'or none of them'),
    (lambda c: c['rows'][0].update(in_sample=None), 'or none of them'),
    (lambda c: c['rows'][0].update(real=101.5), 'm0, b0 in percent.*101.5'),
    (lambda c: c['rows'][0].update(real=-1), 'm0, b0 in percent, found -1'),
])
def test_leaderboard_of_another_form(tmp_path, change, says):
    *_, path = write_leaderboard(tmp_path / 'leaderboard_1', make_board())
    content = json.loads(path.read_text('utf-8'))
    change(content)
    path.write_text(json.dumps(content), 'utf-8')
    with pytest.raises(InputError, match=says) as caught:
        read_summary(path)
    assert str(path) in str(caught.value)


def test_leaderboard_that_is_no_json(tmp_path):
    path = tmp_path / 'x.json'
    path.write_bytes(b'{"models": [')
    with pytest.raises(InputError, match='a leaderboard in JSON'):
        read_summary(path)
