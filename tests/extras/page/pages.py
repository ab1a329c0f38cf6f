"""Pages for tests, and how tests read them."""
import html
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from csv_plugin.core.predictions import Miss, Missing
from csv_plugin.core.texts import Text
from csv_plugin.extras.heat_maps import HeatMap, Piece
from csv_plugin.extras.page.rendering import (HeatSection, Page, Picture,
                                              PredictorFile)
from csv_plugin.io.predictors import save_predictor
from csv_plugin.report.leaderboards import Leaderboard
from tests.report.boards import NO_DUMP, Cells, make_cells, predict
from tests.runs import FITTED, train, true_accuracy, write_run, write_summary

#: Ends attributes and elements if it is not escaped.
EVIL = '\'"></td></script><script>alert(1)</script><b onclick="alert(2)">&lt;'


def page_cells(
        models=('m0', 'm1', 'm2'),
        benchmarks=('b0', 'b1'),
        labels=('predicted', 'mean-loss')) -> Cells:
    """Observed accuracies of 0.5, 0.51, ... by model, predictions of 0.4."""
    observed = [0.5 + m % 50 / 100 for m in range(len(models))]
    return make_cells(models, benchmarks, labels, observed)


def make_board(*names) -> Leaderboard:
    return page_cells(*names).board()


def make_page(board: Leaderboard, **parts) -> Page:
    empty = dict(
        title='run',
        misses=(),
        predictors=(),
        heat_maps=Missing('none'),
        families={})
    return Page(board=board, **{**empty, **parts})


class Reader(HTMLParser):
    """Elements, the style, and the text outside of it."""

    def __init__(self, document: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.words = self.style = self.inside = ''
        self.feed(document)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ''

    def handle_data(self, data):
        if self.inside == 'style':
            self.style += data
        else:
            self.words += data


def awkward_board() -> Leaderboard:
    """A leaderboard with marks and missing values."""
    cells = page_cells()
    cells.observed['m0', 'b0'] = NO_DUMP
    cells.predicted['predicted', 'm1', 'b0'] = Missing('unknown')
    cells.predicted['predicted', 'm2', 'b0'] = predict(
        0.55, 0.05, 0.05, in_sample=True)
    cells.predicted['predicted', 'm2', 'b1'] = predict(
        0.6, 0.2, 0.2, extrapolated=True)
    return cells.board()


def hostile_page() -> Page:
    """Something hostile in every place for a text from other people."""
    cells = page_cells((EVIL, 'm'), (EVIL, 'b'), (EVIL, 'p'))
    cells.observed[EVIL, 'b'] = Missing(EVIL)
    cells.predicted[EVIL, EVIL, 'b'] = Missing(EVIL)
    predictor = train((EVIL, 'b'))
    predictor = replace(
        predictor,
        benchmarks=tuple(
            replace(b, notes=(EVIL, ), fit_models=(EVIL, 'm'))
            for b in predictor.benchmarks),
        versions={EVIL: EVIL})
    heat = HeatMap(Text(EVIL, EVIL, EVIL), [Piece(EVIL, 1.0), Piece('', -1)])
    return make_page(
        cells.board(),
        title=EVIL,
        misses=[Miss(EVIL, EVIL, 0.9, 0.1, 0.0, 0.1)],
        predictors=[PredictorFile(EVIL, EVIL, predictor)],
        heat_maps=[HeatSection(EVIL, 1.0, [heat])],
        families={EVIL: EVIL},
        pictures=[
            Picture(
                EVIL, EVIL, '<svg xmlns="http://www.w3.org/2000/svg" '
                'onload="alert(3)"><script>alert(4)</script>'
                f'<text>{html.escape(EVIL)}</text></svg>')
        ])


#: Skills of the models of `page_run`, one of them fitted on.
MODELS = {'new': 1.1, 'fit-4': FITTED['fit-4'], 'far': 5.5, 'more': 0.9}


def page_run(folder: Path) -> Path:
    """A run with dumps and scores of four models; a predictor `p` beside."""
    write_run(folder / 'run', MODELS)
    write_summary(
        folder / 'run', [
            ['dataset', 'version', 'metric', 'mode', *MODELS],
            *([name, '1a', 'accuracy', 'gen'] +
              [f'{100 * true_accuracy(skill - b):.4f}'
               for skill in MODELS.values()]
              for b, name in enumerate(('easy', 'hard')))
        ])  # yapf: disable
    save_predictor(train(), folder / 'p')
    return folder / 'run'
