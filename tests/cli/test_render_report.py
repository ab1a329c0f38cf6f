"""From the folder of a run to its page."""
import math
from dataclasses import replace
from pathlib import Path

import pytest

from csv_plugin.cli import render_report
from csv_plugin.cli.render_report import main, run_page
from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictor import Predictor
from csv_plugin.extras.page.rendering import Page, render
from csv_plugin.io.predictors import save_predictor
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
def run(tmp_path, predictor, monkeypatch) -> Path:
    """A run with dumps of four models, a summary, and files beside it."""
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / 'run', MODELS)
    write_summary(
        tmp_path / 'run', [
            ['dataset', 'version', 'metric', 'mode', *MODELS],
            *([name, '1a', 'accuracy', 'gen'] +
              [f'{100 * true_accuracy(skill - b):.4f}'
               for skill in MODELS.values()]
              for b, name in enumerate(('easy', 'hard')))
        ])  # yapf: disable
    save_predictor(predictor, 'p')
    write_texts('texts.jsonl', TEXTS)
    write_texts('other.jsonl', OTHER_TEXTS)
    return Path('run')


def rows_of(page: Page) -> dict[tuple[str, str, str], dict]:
    """Rows of the leaderboard by label, model and benchmark; percent."""
    return {(row['predictor'], row['model'], row['benchmark']): row
            for row in page.board.rows()}  # yapf: disable


def test_a_run_is_predicted(run, predictor):
    page = run_page(run, [('mine', 'p')])
    expected = predictor.predict({
        model:
        read_run_dump(run, model, TEXTS.fingerprint)
        for model in MODELS
    })
    table = page.board.predictions
    assert page.title == 'run'
    assert table.methods == ('mine', ) and table.models == tuple(MODELS)
    for model, skill in MODELS.items():
        for b, benchmark in enumerate(table.benchmarks):
            cell = table.at(model, benchmark)
            wanted = expected.at(model, benchmark)
            assert cell.value == pytest.approx(wanted.value)
            assert (cell.extrapolated, cell.in_sample) == (wanted.extrapolated,
                                                           wanted.in_sample)
            assert table.real_at(model, benchmark) == pytest.approx(
                true_accuracy(skill - b), abs=1e-6)
    assert 'give the validation set' in page.heat_maps.reason
    titles = [p.title for p in page.pictures]
    assert titles[:3] == [
        'Accuracy against capability score', 'Predicted against real',
        'How often the intervals hold'
    ]
    # The last one if anything stands out.
    assert titles[3:] == ['Far from the prediction'] * bool(page.outliers)
    assert ('losses of all 4 models: transformers (), float32, no cache'
            in page.board.notes)


def test_all_options(run, predictor, capsys):
    write_csv('models.csv', ('model', 'family', 'split'),
              [('fit-0', 'F', 'train'), ('new', 'Zed', 'test')])
    write_csv('s.csv', ('model', 'easy', 'other'),
              [('far', 0.25, 0.5), ('new', math.nan, 0.5),
               ('elsewhere', 0.5, 0.5)])  # yapf: disable
    save_predictor(train(('easy', )), 'second')
    assert main([
        'run', '--predictor', 'p', '--predictor', 'again=second', '--texts',
        'texts.jsonl', '--scores', 's.csv', '--models', 'models.csv',
        '--title', 'Mine <3', '--out', 'page.html'
    ]) == 0
    *warnings, written = capsys.readouterr().out.splitlines()
    assert written == 'Written to page.html'
    assert warnings == [
        f'warning: {model} has no family in models.csv and is one of its own'
        for model in ('far', 'fit-4', 'more')
    ]
    html = Path('page.html').read_text('utf-8')
    assert '<h1><bdi>Mine &lt;3</bdi></h1>' in html
    assert html.index('<bdi>predicted</bdi>') < html.index('<bdi>again</bdi>')
    assert '<b><bdi>F</bdi></b> (1): <bdi>fit-0</bdi>' in html
    assert '>ab</span>' in html and TEXTS.fingerprint in html
    assert not Path('run/report.html').exists()


def test_scores_in_place_of_those_of_the_run(run):
    write_csv('s.csv', ('model', 'easy', 'other'),
              [('far', 0.25, 0.5), ('new', math.nan, 0.5),
               ('elsewhere', 0.5, 0.5)])  # yapf: disable
    page = run_page(run, [('p', 'p')], 's.csv')
    # Folders of the run, sorted; nothing of models that are elsewhere.
    assert page.board.predictions.models == ('far', 'fit-4', 'more', 'new')
    rows = rows_of(page)
    assert rows['p', 'far', 'easy']['real'] == 25
    for place in (('new', 'easy'), ('fit-4', 'easy'), ('far', 'hard')):
        row = rows[('p', *place)]
        assert row['real'] is None and row['missing'] == 'no score in s.csv'


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
    assert [rows['p', model, 'easy']['real']
            for model in shown] == [50, 40, 62.5]
    assert rows['p', 'more', 'easy']['missing'] == 'no score in the run'
    assert '<!-- Fit -->' in page.pictures[0].svg


def test_losses_that_cannot_be_read_are_told(run, capsys):
    """The other models have a page."""
    dump, = (run / 'predictions/new').iterdir()
    dump.write_bytes(dump.read_bytes()[:-9])
    assert main(['run', '--predictor', 'p']) == 0
    warning, written = capsys.readouterr().out.splitlines()
    assert warning.startswith('warning: predicted of new on all 2 benchmarks')
    assert str(dump) in warning and '..' not in warning
    assert written == 'Written to run/report.html'
    page = run_page(run, [('p', 'p')])
    assert rows_of(page)['p', 'new', 'easy']['predicted'] is None
    # Of two models that were not fitted on, there is nothing to see.
    assert len(page.pictures) == 1 + bool(page.outliers)


@pytest.mark.parametrize('models, n_pictures', [
    (('new', 'more'), 0),
    (('new', 'more', 'fit-4'), 1),
    (('new', 'more', 'far'), 3),
])
def test_pictures_need_three_models(run, tmp_path, models, n_pictures):
    """Not fitted on, but for that of capability scores."""
    write_run(tmp_path / 'few', {model: MODELS[model] for model in models})
    write_csv('s.csv', ('model', 'easy'), [(model, 0.5) for model in models])
    page = run_page(tmp_path / 'few', [('p', 'p')], 's.csv')
    assert len(page.pictures) == n_pictures + bool(page.outliers)


def test_run_without_any_score(run):
    write_csv('s.csv', ('model', 'easy'), [('elsewhere', 0.5)])
    page = run_page(run, [('p', 'p')], 's.csv')
    assert page.pictures == [] and page.outliers == []
    assert '0 of 0' in render(page)


def test_pictures_show_what_the_main_predictor_knows(run):
    save_predictor(train(('easy', )), 'main')
    page = run_page(run, [('main', 'main'), ('p', 'p')])
    assert page.board.predictions.benchmarks == ('easy', 'hard')
    for picture in page.pictures[:3]:
        assert '<!-- easy -->' in picture.svg
        assert '<!-- hard -->' not in picture.svg


@pytest.mark.parametrize('arguments, says', [
    (['none', '--predictor', 'p'], 'a run with a summary'),
    (['run', '--predictor', 'none'], 'No such file'),
    (['run', '--predictor', 'p', '--predictor', 'p'], "'predicted' twice"),
    (['run', '--predictor', 'real=p'], "'real', which is what"),
    (['run', '--predictor', 'p', '--predictor', 't=tables'],
     "predictor 't': expected one that was fitted to token losses"),
    (['run', '--predictor', 'p', '--texts', 'none'], 'can be read'),
    (['run', '--predictor', 'p', '--texts', 'other.jsonl'],
     OTHER_TEXTS.fingerprint),
    (['run', '--predictor', 'p', '--scores', 'none.csv'], 'can be read'),
    (['run', '--predictor', 'p', '--models', 'none'], 'can be read'),
    (['run', '--predictor', 'p', '--out', 'none/x.html'], 'existing folder'),
    # Before anything is read.
    (['none', '--predictor', 'p', '--out', 'run'], 'name of a file'),
])  # yapf: disable
def test_bad_input_is_one_line(run, predictor, monkeypatch, capsys, arguments,
                               says):
    save_predictor(replace(predictor, targets=None, matrix=None), 'tables')
    if 'other.jsonl' in arguments:
        # Texts are checked before the dumps, which take long.
        monkeypatch.setattr(render_report, 'predict_run', None)
    before = sorted(Path().rglob('*'))
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith('error: ') and error.count('\n') == 1
    assert says in error
    assert sorted(Path().rglob('*')) == before


def test_folder_of_no_run(run):
    Path('empty').mkdir()
    write_csv('s.csv', ('model', 'easy'), [('new', 0.5)])
    with pytest.raises(InputError, match='predictions/<model>'):
        run_page('empty', [('p', 'p')], 's.csv')
