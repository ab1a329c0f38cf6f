"""From the folder of a run to its page."""
import json
import math
from pathlib import Path

import pytest

from csv_plugin.core.errors import InputError
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from csv_plugin.report.leaderboard_files import write_leaderboard
from csv_plugin.report.page.rendering import render
from csv_plugin.report.page.runs import predicted_summary, read_run
from csv_plugin.report.run_predictions import predict_run
from tests.report.page.pages import make_board
from tests.runs import FITTED, TEXTS, train, true_accuracy, write_run

MODELS = {'new': 1.1, 'fit-4': FITTED['fit-4'], 'far': 9.0}


@pytest.fixture(scope='module')
def predictor() -> Predictor:
    return train()


@pytest.fixture
def run(tmp_path, predictor) -> Path:
    """A run with dumps of three models, a predictor and a leaderboard."""
    write_run(tmp_path, MODELS)
    save_predictor(predictor, tmp_path / 'p')
    (tmp_path / 'summary').mkdir()
    board = make_board(tuple(MODELS), ('easy', 'hard'), ('predicted', ))
    for model, skill in MODELS.items():
        for b, benchmark in enumerate(board.benchmarks):
            board.real[model, benchmark] = 100 * true_accuracy(skill - b)
    write_leaderboard(tmp_path / 'summary/leaderboard_2', board)
    return tmp_path


def predictors(run: Path, label: str = 'predicted') -> list[tuple[str, str]]:
    return [(label, str(run / 'p'))]


def test_without_predictors_the_leaderboard_counts(run):
    page = read_run(run)
    assert page.title == run.name
    assert page.summary.cells['predicted', 'new', 'easy'].predicted == 40
    assert list(page.predictors) == [] and list(page.pictures) == []
    assert '--predictor' in page.heat_maps
    # 30..50 is far below what these models score.
    assert {one.benchmark for one in page.outliers} == {'easy', 'hard'}
    assert page.outliers[0].model == 'far'


def test_predicted_anew(run):
    page = read_run(run, predictors(run, 'mine'))
    [found] = predict_run(run, list(MODELS), predictors(run))
    assert page.summary.labels == ('mine', )
    for (_, model, benchmark), cell in page.summary.cells.items():
        wanted = found.at(model, benchmark)
        assert cell.predicted == pytest.approx(100 * wanted.value)
        assert (cell.extrapolated, cell.in_sample) == (wanted.extrapolated,
                                                       wanted.in_sample)
        b = page.summary.benchmarks.index(benchmark)
        assert cell.real == pytest.approx(100 *
                                          true_accuracy(MODELS[model] - b))
    assert page.summary.models == tuple(MODELS)
    assert 'give the validation set' in page.heat_maps
    assert [p.title for p in page.pictures] == [
        'Accuracy against capability score', 'How often the intervals hold'
    ]


def test_everything_of_a_run(run):
    write_texts(run / 'texts.jsonl', TEXTS)
    write_csv(run / 'models.csv', ('model', 'family', 'split'),
              [('fit-0', 'F', 'train'), ('new', 'Zed', 'test')])
    page = read_run(
        run,
        predictors(run),
        models=run / 'models.csv',
        texts=run / 'texts.jsonl')
    assert [(one.benchmark, len(one.maps))
            for one in page.heat_maps] == [('easy', 3), ('hard', 3)]
    assert page.families == {'fit-0': 'F', 'new': 'Zed'}
    drawing = page.pictures[0].svg
    assert 'id="Zed"' in drawing and 'id="far"' in drawing
    assert 'id="new"' not in drawing
    html = render(page)
    assert str(run / 'p') in html and TEXTS.fingerprint in html
    assert '<b>F</b> (1): fit-0' in html


def test_scores_in_place_of_those_of_the_run(run):
    write_csv(run / 's.csv', ('model', 'easy', 'other'),
              [('far', 0.25, 0.5), ('new', math.nan, 0.5),
               ('elsewhere', 0.5, 0.5)])  # yapf: disable
    summary, _ = predicted_summary(run, predictors(run), run / 's.csv')
    # Folders of the run, sorted; nothing of models that are elsewhere.
    assert summary.models == ('far', 'fit-4', 'new')
    assert summary.cells['predicted', 'far', 'easy'].real == 25
    for place in (('new', 'easy'), ('fit-4', 'easy'), ('far', 'hard')):
        cell = summary.cells[('predicted', *place)]
        assert cell.real is None and cell.missing == 'no score in s.csv'


def test_score_that_the_leaderboard_lacks(run):
    *_, path = sorted((run / 'summary').glob('*.json'))
    content = json.loads(path.read_text('utf-8'))
    content['rows'][0].update(real=None, missing='why')
    path.write_text(json.dumps(content), 'utf-8')
    summary, _ = predicted_summary(run, predictors(run))
    known = [place for place, cell in summary.cells.items()
             if cell.real is None]  # yapf: disable
    assert known == [('predicted', 'new', 'easy')]
    assert summary.cells[known[0]].missing == 'no score in leaderboard_2.json'


def test_run_whose_summary_made_no_predictions(run):
    for path in (run / 'summary').iterdir():
        path.unlink()
    with pytest.raises(InputError, match='leaderboard_.*none'):
        read_run(run)
    (run / 'summary/summary_1.csv').write_text(
        'dataset,version,metric,mode,gone,far\n'
        'easy,1a,accuracy,gen,-,62.50\n', 'utf-8')
    summary, _ = predicted_summary(run, predictors(run))
    assert summary.models == ('gone', 'far', 'fit-4', 'new')
    cells = summary.cells
    assert cells['predicted', 'far', 'easy'].real == 62.5
    assert cells['predicted', 'new',
                 'easy'].missing == ('no score in the summary of this run')
    missing = cells['predicted', 'gone', 'easy'].missing
    assert 'no score' in missing and 'a dump of' in missing


def test_model_without_a_usable_dump(run):
    for path in (run / 'predictions/new').iterdir():
        path.write_bytes(b'PAR1')
    page = read_run(run, predictors(run))
    assert page.summary.cells['predicted', 'new', 'easy'].predicted is None
    assert any('new' in note for note in page.summary.notes)
    assert len(page.pictures) == 2


@pytest.mark.parametrize('models, n_pictures', [({
    'fit-4': 0.5
}, 1), ({
    'new': 1.1
}, 2)])
def test_coverage_needs_models_not_fitted_on(tmp_path, predictor, models,
                                             n_pictures):
    write_run(tmp_path, models)
    save_predictor(predictor, tmp_path / 'p')
    write_csv(tmp_path / 's.csv', ('model', 'easy'),
              [(model, 0.5) for model in models])
    page = read_run(tmp_path, predictors(tmp_path), tmp_path / 's.csv')
    assert len(page.pictures) == n_pictures


def test_run_without_any_score(run):
    write_csv(run / 's.csv', ('model', 'easy'), [('elsewhere', 0.5)])
    page = read_run(run, predictors(run), run / 's.csv')
    assert page.pictures == [] and page.outliers == []
    assert '0 of 0' in render(page)


@pytest.mark.parametrize('second, says', [
    (('other', 'none'), 'No such file'),
    (('real', 'p'), "'real' twice"),
    (('predicted', 'p'), "'predicted' twice"),
])
def test_predictor_that_was_named_is_not_left_out(run, second, says):
    label, path = second
    with pytest.raises(InputError, match=says):
        read_run(run, [*predictors(run), (label, str(run / path))])


def test_folder_of_no_run(run, tmp_path):
    (tmp_path / 'empty').mkdir()
    write_csv(tmp_path / 's.csv', ('model', 'easy'), [('new', 0.5)])
    with pytest.raises(InputError, match='run with a summary'):
        read_run(tmp_path / 'empty', predictors(run))
    with pytest.raises(InputError, match='predictions/<model>'):
        read_run(tmp_path / 'empty', predictors(run), tmp_path / 's.csv')
