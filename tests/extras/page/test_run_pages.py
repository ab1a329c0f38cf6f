"""From the folder of a run to its page."""
from pathlib import Path

import pytest

from csv_plugin.core.overall import mean_misses
from csv_plugin.extras.page.rendering import Page
from csv_plugin.extras.page.run_pages import run_page
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.report.leaderboard_tables import write_leaderboard
from tests.extras.page.pages import MODELS, page_cells, page_run
from tests.runs import TEXTS, train, true_accuracy, write_summary


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    page_run(Path())
    return Path('run')


def rows_of(page: Page) -> dict[tuple[str, str, str], dict]:
    """Rows of the leaderboard by label, model and benchmark; percent."""
    return {(row['predictor'], row['model'], row['benchmark']): row
            for row in page.board.rows()}  # yapf: disable


@pytest.mark.slow
def test_a_run_is_predicted(run):
    page = run_page(run, [('mine', 'p')])
    expected = train().predict({
        model:
        read_run_dump(run, model, TEXTS.fingerprint)
        for model in MODELS
    })
    table = page.board.predictions
    assert page.title == 'run'
    assert table.methods == ('mine', ) and table.models == tuple(MODELS)
    for m, (model, skill) in enumerate(MODELS.items()):
        for b, benchmark in enumerate(table.benchmarks):
            cell = table.at(model, benchmark)
            wanted = expected.at(model, benchmark)
            assert cell.value == pytest.approx(wanted.value)
            assert (cell.extrapolated, cell.in_sample) == (wanted.extrapolated,
                                                           wanted.in_sample)
            assert table.observed[m, b] == pytest.approx(
                true_accuracy(skill - b), abs=1e-6)
    assert 'give the validation set' in page.heat_maps.reason
    titles = [p.title for p in page.pictures]
    assert titles == [
        'Accuracy against capability', 'Predicted against observed'
    ]
    # Dark pages would show a white ground.
    assert 'fill: #ffffff' not in page.pictures[1].svg


@pytest.mark.slow
def test_means_outside_their_interval_are_misses(run):
    path, = (run / 'summary').glob('summary_*.csv')
    rows = [line.split(',') for line in path.read_text().splitlines()]
    for row in rows[1:]:
        row[4:] = ['99'] * len(row[4:])
    path.write_text(''.join(','.join(row) + '\n' for row in rows))
    page = run_page(run, [('mine', 'p')])
    found = [miss for miss in page.misses if miss.benchmark == 'mean of 2']
    assert found == mean_misses(page.board.overall, page.board.predictions,
                                'mine') != []
    distances = [abs(miss.distance) for miss in page.misses]
    assert distances == sorted(distances, reverse=True)


@pytest.mark.slow
def test_what_is_no_accuracy_stands_beside_no_prediction(run):
    path, = (run / 'summary').glob('summary_*.csv')
    path.write_text(path.read_text().replace('easy,1a,accuracy',
                                             'easy,1a,ppl'))
    assert 'easy,1a,ppl' in path.read_text()
    board = run_page(run, [('mine', 'p')]).board
    assert any('its metric, ppl, is not known' in note for note in board.notes)
    assert {(row['benchmark'], row['observed'] is None)
            for row in board.rows()} == {('easy', True), ('hard', False)}


@pytest.mark.slow
def test_models_that_the_summary_calls_otherwise(run):
    """One row each, and fitted models are known by their folders."""
    shown = {'Fit': 'fit-4', 'Far away': 'far', 'new': 'new'}
    cells = page_cells(tuple(shown), ('easy', ), ('predicted', ))
    cells.folders = shown
    write_leaderboard(run / 'summary/leaderboard_1', cells.board())
    write_summary(run, [['dataset', 'version', 'metric', 'mode', *shown],
                        ['easy', '1a', 'accuracy', 'gen', '50', '40', '62.5']],
                  '9')  # yapf: disable
    page = run_page(run, [('p', 'p')])
    table = page.board.predictions
    # A model that is not in the summary is called as its folder.
    assert page.board.folders == shown | {'more': 'more'}
    assert table.at('Fit', 'easy').in_sample
    assert table.at('Far away', 'easy').extrapolated
    rows = rows_of(page)
    assert [rows['p', model, 'easy']['observed']
            for model in shown] == [50, 40, 62.5]
    assert rows['p', 'more', 'easy']['missing'] == 'no accuracy in the run'
    assert '<!-- Fit -->' in page.pictures[0].svg


@pytest.mark.slow
def test_pictures_show_what_the_main_predictor_knows(run):
    save_predictor(train(('easy', )), 'main')
    page = run_page(run, [('main', 'main'), ('p', 'p')])
    assert page.board.predictions.benchmarks == ('easy', 'hard')
    for picture in page.pictures:
        assert '<!-- easy -->' in picture.svg
        assert '<!-- hard -->' not in picture.svg
