"""From the folder of a run to its page."""
import json
import math
from pathlib import Path

import pytest

from csv_plugin.cli import render_report
from csv_plugin.cli.render_report import run_page
from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictor import Predictor
from csv_plugin.extras.page import drawings
from csv_plugin.extras.page.rendering import Page, render
from csv_plugin.extras.pictures import capability_picture
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.runs import run_dumps
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from csv_plugin.report.leaderboards import write_leaderboard
from tests.extras.page.pages import page_cells
from tests.runs import (FITTED, OTHER_TEXTS, TEXTS, train, true_accuracy,
                        write_run, write_summary)

MODELS = {'new': 1.1, 'fit-4': FITTED['fit-4'], 'far': 5.5, 'more': 0.9}


@pytest.fixture(scope='module')
def predictor() -> Predictor:
    return train()


@pytest.fixture
def run(tmp_path, predictor) -> Path:
    """A run with dumps of four models, a predictor and a leaderboard."""
    write_run(tmp_path, MODELS)
    save_predictor(predictor, tmp_path / 'p')
    (tmp_path / 'summary').mkdir()
    cells = page_cells(tuple(MODELS), ('easy', 'hard'), ('predicted', ))
    for model, skill in MODELS.items():
        for b, benchmark in enumerate(cells.benchmarks):
            cells.real[model, benchmark] = true_accuracy(skill - b)
    write_leaderboard(tmp_path / 'summary/leaderboard_2', cells.board())
    return tmp_path


def predictors(run: Path, label: str = 'predicted') -> list[tuple[str, str]]:
    return [(label, str(run / 'p'))]


def rows_of(page: Page) -> dict[tuple[str, str, str], dict]:
    """Rows of the leaderboard by label, model and benchmark; percent."""
    return {(row['predictor'], row['model'], row['benchmark']): row
            for row in page.board.rows()}  # yapf: disable


def test_without_predictors_the_leaderboard_counts(run):
    page = run_page(run)
    assert page.title == run.name
    assert rows_of(page)['predicted', 'new', 'easy']['predicted'] == 40
    assert list(page.predictors) == [] and list(page.pictures) == []
    assert '--predictor' in page.heat_maps.reason
    # 0.3..0.5 is far below the accuracies of these models.
    assert {far.benchmark for far in page.outliers} == {'easy', 'hard'}
    assert page.outliers[0].model == 'far'


@pytest.mark.slow
def test_predicted_anew(run, predictor):
    page = run_page(run, predictors(run, 'mine'))
    expected = predictor.predict({
        model:
        read_run_dump(run, model, TEXTS.fingerprint)
        for model in MODELS
    })
    table = page.board.predictions
    assert table.methods == ('mine', )
    assert table.models == tuple(MODELS)
    for model, skill in MODELS.items():
        for b, benchmark in enumerate(table.benchmarks):
            cell = table.at(model, benchmark)
            wanted = expected.at(model, benchmark)
            assert cell.value == pytest.approx(wanted.value)
            assert (cell.extrapolated, cell.in_sample) == (wanted.extrapolated,
                                                           wanted.in_sample)
            assert table.real_at(model, benchmark) == pytest.approx(
                true_accuracy(skill - b))
    assert 'give the validation set' in page.heat_maps.reason
    titles = [p.title for p in page.pictures]
    assert titles[:3] == [
        'Accuracy against capability score', 'Predicted against real',
        'How often the intervals hold'
    ]
    # The last one if anything stands out.
    assert titles[3:] == ['Far from the prediction'] * bool(page.outliers)


@pytest.mark.slow
def test_everything_of_a_run(run):
    write_texts(run / 'texts.jsonl', TEXTS)
    write_csv(run / 'models.csv', ('model', 'family', 'split'),
              [('fit-0', 'F', 'train'), ('new', 'Zed', 'test')])
    page = run_page(
        run,
        predictors(run),
        models=run / 'models.csv',
        texts=run / 'texts.jsonl')
    assert [(section.benchmark, len(section.maps))
            for section in page.heat_maps] == [('easy', 3), ('hard', 3)]
    assert page.families == {'fit-0': 'F', 'new': 'Zed'}
    legend = page.pictures[0].svg
    assert '<!-- Zed -->' in legend and '<!-- far -->' in legend
    assert '<!-- new -->' not in legend
    html = render(page)
    assert str(run / 'p') in html and TEXTS.fingerprint in html
    assert '<b><bdi>F</bdi></b> (1): <bdi>fit-0</bdi>' in html


def test_scores_in_place_of_those_of_the_run(run):
    write_csv(run / 's.csv', ('model', 'easy', 'other'),
              [('far', 0.25, 0.5), ('new', math.nan, 0.5),
               ('elsewhere', 0.5, 0.5)])  # yapf: disable
    page = run_page(run, predictors(run), run / 's.csv')
    # Folders of the run, sorted; nothing of models that are elsewhere.
    assert page.board.predictions.models == ('far', 'fit-4', 'more', 'new')
    rows = rows_of(page)
    assert rows['predicted', 'far', 'easy']['real'] == 25
    for place in (('new', 'easy'), ('fit-4', 'easy'), ('far', 'hard')):
        row = rows[('predicted', *place)]
        assert row['real'] is None and row['missing'] == 'no score in s.csv'


@pytest.mark.slow
def test_score_that_the_leaderboard_lacks(run):
    *_, path = sorted((run / 'summary').glob('*.json'))
    content = json.loads(path.read_text('utf-8'))
    content['rows'][0].update(real=None, missing='why')
    path.write_text(json.dumps(content), 'utf-8')
    rows = rows_of(run_page(run, predictors(run)))
    lacking = [place for place, row in rows.items() if row['real'] is None]
    assert lacking == [('predicted', 'new', 'easy')]
    assert rows[lacking[0]]['missing'] == 'no score in leaderboard_2.json'


def test_run_whose_summary_made_no_predictions(run):
    for path in (run / 'summary').iterdir():
        path.unlink()
    with pytest.raises(InputError, match='leaderboard_.*none'):
        run_page(run)
    write_summary(
        run, [[*HOST[0][:4], 'gone', 'far'], [*HOST[1][:4], '-', '62.50']],
        '1')
    page = run_page(run, predictors(run))
    assert page.board.predictions.models == ('gone', 'far', 'fit-4', 'more',
                                             'new')
    rows = rows_of(page)
    assert rows['predicted', 'far', 'easy']['real'] == 62.5
    assert rows['predicted', 'new',
                'easy']['missing'] == 'no score in summary_1.csv'
    missing = rows['predicted', 'gone', 'easy']['missing']
    assert 'no score' in missing and 'a dump of' in missing


def test_model_without_a_usable_dump(run):
    for path in (run / 'predictions/new').iterdir():
        path.write_bytes(b'PAR1')
    page = run_page(run, predictors(run))
    assert rows_of(page)['predicted', 'new', 'easy']['predicted'] is None
    assert any('new' in note for note in page.board.notes)
    # Of two models that were not fitted on, there is nothing to see.
    assert len(page.pictures) == 1 + bool(page.outliers)


@pytest.mark.slow
@pytest.mark.parametrize('models, n_pictures', [
    (('new', 'more'), 0),
    (('new', 'more', 'fit-4'), 1),
    (('new', 'more', 'far'), 3),
])
def test_pictures_need_three_models(tmp_path, predictor, models, n_pictures):
    """Not fitted on, but for that of capability scores."""
    write_run(tmp_path, {model: MODELS[model] for model in models})
    save_predictor(predictor, tmp_path / 'p')
    write_csv(tmp_path / 's.csv', ('model', 'easy'),
              [(model, 0.5) for model in models])
    page = run_page(tmp_path, predictors(tmp_path), tmp_path / 's.csv')
    assert len(page.pictures) == n_pictures + bool(page.outliers)


def test_run_without_any_score(run):
    write_csv(run / 's.csv', ('model', 'easy'), [('elsewhere', 0.5)])
    page = run_page(run, predictors(run), run / 's.csv')
    assert page.pictures == [] and page.outliers == []
    assert '0 of 0' in render(page)


@pytest.mark.parametrize('second, says', [
    (('other', 'none'), 'No such file'),
    (('real', 'p'), "'real', which is what"),
    (('predicted', 'p'), "'predicted' twice"),
])
def test_predictor_that_was_named_is_not_left_out(run, second, says):
    label, path = second
    with pytest.raises(InputError, match=says):
        run_page(run, [*predictors(run), (label, str(run / path))])


def test_folder_of_no_run(run, tmp_path):
    (tmp_path / 'empty').mkdir()
    write_csv(tmp_path / 's.csv', ('model', 'easy'), [('new', 0.5)])
    with pytest.raises(InputError, match='run with a summary'):
        run_page(tmp_path / 'empty', predictors(run))
    with pytest.raises(InputError, match='predictions/<model>'):
        run_page(tmp_path / 'empty', predictors(run), tmp_path / 's.csv')


@pytest.mark.slow
def test_names_of_models_that_are_not_those_of_their_folders(run):
    """One row each, and fitted models are known by their folders."""
    shown = {
        'Fit': 'fit-4', 'Far away': 'far', 'new': 'new', 'more': 'more'
    }  # yapf: disable
    cells = page_cells(tuple(shown), ('easy', 'hard'), ('predicted', ))
    cells.folders = shown
    write_leaderboard(run / 'summary/leaderboard_3', cells.board())
    assert run_page(run).board.folders == shown
    page = run_page(run, predictors(run))
    table = page.board.predictions
    assert table.models == tuple(shown)
    assert table.at('Fit', 'easy').in_sample
    assert table.at('Far away', 'easy').extrapolated
    assert [table.real_at(model, 'easy')
            for model in shown] == pytest.approx([0.50, 0.51, 0.52, 0.53])
    legend = page.pictures[0].svg
    assert '<!-- Far away -->' in legend and '<!-- fitted on -->' in legend
    # A model that was not there when the leaderboard was made.
    write_run(run, {'late': 0.5})
    page = run_page(run, predictors(run))
    assert page.board.predictions.models == (*shown, 'late')


@pytest.mark.slow
def test_leaderboard_without_folders(run):
    *_, path = sorted((run / 'summary').glob('*.json'))
    content = json.loads(path.read_text('utf-8'))
    del content['folders']
    path.write_text(json.dumps(content), 'utf-8')
    page = run_page(run, predictors(run))
    assert page.board.predictions.models == tuple(MODELS)
    assert page.board.folders == {model: model for model in MODELS}


HOST = [
    ['dataset', 'version', 'metric', 'mode', 'new', 'far'],
    ['easy', '1a', 'accuracy', 'gen', '1.50', '-'],
    ['hard', '1a', 'accuracy', 'gen', '2.50', '3.50'],
]


@pytest.mark.slow
@pytest.mark.parametrize('time, easy', [('1', 10), ('2', 10), ('3', 1.5)])
def test_leaderboard_and_summary(run, time, easy):
    """The summary fills in benchmarks, and counts if it is newer."""
    cells = page_cells(('new', 'far'), ('easy', ), ('predicted', ))
    cells.real['new', 'easy'], cells.real['far', 'easy'] = 0.1, 0.2
    write_leaderboard(run / 'summary/leaderboard_2', cells.board())
    write_summary(run, HOST, time)
    rows = rows_of(run_page(run, predictors(run)))
    real = {
        place[1:]: row['real']
        for place, row in rows.items() if row['real'] is not None
    }
    assert real == pytest.approx({
        ('new', 'easy'): easy,
        ('far', 'easy'): 20,
        ('new', 'hard'): 2.5,
        ('far', 'hard'): 3.5
    })
    assert rows['predicted', 'fit-4', 'easy']['missing'] == (
        f'no score in leaderboard_2.json or summary_{time}.csv')


@pytest.mark.slow
def test_summary_is_not_read_for_what_the_leaderboard_knows(run):
    """Not even where a score is missing for a reason, or not in percent."""
    write_summary(run, [HOST[0], [*HOST[1][:4], '1500', '-']], '2')
    page = run_page(run, predictors(run))
    assert page.board.predictions.models == tuple(MODELS)


@pytest.mark.slow
def test_pictures_show_what_the_main_predictor_knows(run):
    save_predictor(train(('easy', )), run / 'main')
    pairs = [('main', str(run / 'main')), *predictors(run)]
    page = run_page(run, pairs)
    assert page.board.predictions.benchmarks == ('easy', 'hard')
    assert len(page.pictures) >= 3
    for picture in page.pictures[:3]:
        assert '<!-- easy -->' in picture.svg
        assert '<!-- hard -->' not in picture.svg
        assert '<!-- no model -->' not in picture.svg


@pytest.mark.slow
def test_files_are_read_once(run, monkeypatch):
    read = []

    def count(module, name):
        real = getattr(module, name)
        monkeypatch.setattr(module, name,
                            lambda path: read.append(path) or real(path))

    count(run_dumps, 'read_dump')
    count(render_report, 'load_predictor')
    page = run_page(run, predictors(run))
    assert len(page.pictures) >= 3
    assert len(read) == len(set(read)) == 1 + len(MODELS)


def test_texts_are_checked_before_the_dumps(run, monkeypatch):
    monkeypatch.setattr(render_report, 'predict_run', None)
    write_texts(run / 'other.jsonl', OTHER_TEXTS)
    with pytest.raises(InputError, match=OTHER_TEXTS.fingerprint):
        run_page(run, predictors(run), texts=run / 'other.jsonl')


@pytest.mark.slow
def test_full_line_over_all_models_fitted_on(run, monkeypatch):
    """Though none of them is a model of the run."""
    drawn = []
    monkeypatch.setattr(
        drawings, 'capability_picture',
        lambda points: drawn.extend(points) or capability_picture(points))
    page = run_page(run, predictors(run))
    intervals = train().benchmarks[0].intervals
    assert drawn[0].fitted_range == pytest.approx(
        (intervals.score_low, intervals.score_high))
    assert '<!-- scaling law -->' in page.pictures[0].svg


@pytest.mark.slow
def test_title_engine_and_notes_of_the_training(run):
    page = run_page(run, predictors(run), title='Mine', verbose=True)
    assert page.title == 'Mine' and page.verbose
    assert '<h1><bdi>Mine</bdi></h1>' in render(page)
    assert ('losses of all 4 models: transformers (), float32, no cache'
            in page.board.notes)
