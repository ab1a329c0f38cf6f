"""Pages for tests, and how tests read them."""
import html
import math
from dataclasses import replace
from html.parser import HTMLParser

from csv_plugin.core.predictions import Prediction
from csv_plugin.core.texts import Text
from csv_plugin.report.heat_maps import HeatMap, Piece
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.outliers import Outlier
from csv_plugin.report.page.drawings import Picture
from csv_plugin.report.page.rendering import Page
from csv_plugin.report.page.sections import HeatMaps
from csv_plugin.report.page.summaries import summary_of
from csv_plugin.report.run_predictions import RunPredictions
from tests.runs import train

#: Ends attributes and elements if it is not escaped.
EVIL = '\'"></td></script><script>alert(1)</script><b onclick="alert(2)">&lt;'
NONE = 'no dump'


def predict(value: float = 0.4,
            half: float = 0.1,
            **marks: bool) -> Prediction:
    flags = dict(extrapolated=False, in_sample=False) | marks
    return Prediction(value, value - half, value + half, 0.9, **flags)


def make_board(
        models=('m0', 'm1', 'm2'),
        benchmarks=('b0', 'b1'),
        labels=('predicted', 'all-token')) -> Leaderboard:
    """Real scores of 50, 51, ... by model, predictions of 40."""
    real = {
        (model, benchmark): 50.0 + m
        for m, model in enumerate(models)
        for benchmark in benchmarks
    }
    predicted = {(label, *place): predict()
                 for label in labels
                 for place in real}  # yapf: disable
    folders = {model: model for model in models}
    return Leaderboard(models, benchmarks, labels, real, predicted, folders)


def make_page(board: Leaderboard, **parts) -> Page:
    empty = dict(
        title='run', outliers=(), predictors=(), heat_maps='none', families={})
    return Page(summary=summary_of(board), **{**empty, **parts})


class Reader(HTMLParser):
    """Elements, and the text outside of script and style."""

    def __init__(self, document: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.words = ''
        self.code = {'script': '', 'style': ''}
        self.inside = ''
        self.feed(document)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ''

    def handle_data(self, data):
        if self.inside in self.code:
            self.code[self.inside] += data
        else:
            self.words += data

    def cells(self, value: str) -> list[dict]:
        return [a for _, a in self.tags if a.get('data-value') == value]


def awkward_board() -> Leaderboard:
    board = make_board()
    board.real['m0', 'b0'] = NONE
    board.predicted['predicted', 'm1', 'b0'] = 'unknown'
    board.predicted['predicted', 'm2', 'b0'] = predict(
        0.55, 0.05, in_sample=True)
    board.predicted['predicted', 'm2', 'b1'] = predict(
        0.6, 0.2, extrapolated=True)
    return board


def hostile_page() -> Page:
    """Something hostile wherever a text comes from outside."""
    board = make_board((EVIL, 'm'), (EVIL, 'b'), (EVIL, 'p'))
    board.real[EVIL, 'b'] = EVIL
    board.predicted[EVIL, EVIL, 'b'] = EVIL
    predictor = train((EVIL, 'b'))
    predictor = replace(
        predictor,
        benchmarks=tuple(
            replace(b, solver=EVIL, fit_models=(EVIL, 'm'), notes=(EVIL, ))
            for b in predictor.benchmarks),
        versions={EVIL: EVIL})
    heat = HeatMap(Text(EVIL, EVIL, EVIL), [Piece(EVIL, 1.0), Piece('', -1)])
    return make_page(
        board,
        title=EVIL,
        outliers=[Outlier(EVIL, EVIL, 0.9, 0.1, 0.0, 0.2, math.inf)],
        predictors=[RunPredictions(EVIL, EVIL, predictor, {})],
        heat_maps=[HeatMaps(EVIL, 1.0, True, [heat])],
        families={EVIL: EVIL},
        pictures=[
            Picture(
                EVIL, EVIL, '<svg xmlns="http://www.w3.org/2000/svg" '
                'onload="alert(3)"><script>alert(4)</script>'
                f'<text>{html.escape(EVIL)}</text></svg>')
        ])
