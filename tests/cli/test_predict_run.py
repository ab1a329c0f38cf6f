"""The verb predict with a run of OpenCompass, and the page of the run."""
from dataclasses import replace
from pathlib import Path

import pytest

from csv_plugin.cli.salience import main
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from csv_plugin.report import run_leaderboards
from tests.extras.page.pages import MODELS, page_run
from tests.runs import OTHER_TEXTS, TEXTS, train
from tests.scripts import refusal


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_texts('texts.jsonl', TEXTS)
    write_texts('other.jsonl', OTHER_TEXTS)
    page_run(Path())
    return Path('run')


@pytest.mark.slow
def test_a_page_of_a_run(run, capsys):
    save_predictor(train(('easy', )), 'second')
    rows = [(model, model.upper(), 'test') for model in MODELS]
    write_csv('models.csv', ('model', 'family', 'split'), rows)
    assert main('predict run --predictor p --predictor again=second --texts '
                'texts.jsonl --models models.csv --page page.html'.split()
                ) == 0  # yapf: disable
    written = capsys.readouterr().out.splitlines()[-1]
    assert written == 'Written to page.html.'
    html = Path('page.html').read_text('utf-8')
    assert html.index('<bdi>predicted</bdi>') < html.index('<bdi>again</bdi>')
    assert '>ab</span>' in html and TEXTS.fingerprint in html
    write_csv('models.csv', ('model', 'family', 'split'), rows[1:])
    assert rows[0][0] in refusal(capsys, 'predict', 'run', '--predictor', 'p',
                                 '--models', 'models.csv')


def test_losses_that_cannot_be_read_are_told(run, capsys):
    dump, = (run / 'predictions/new').iterdir()
    dump.write_bytes(dump.read_bytes()[:-9])
    assert main(['predict', 'run', '--predictor', 'p', '--out', 'out']) == 0
    notes = Path('out/leaderboard.txt').read_text('utf-8')
    assert 'predicted of new on all 2 benchmarks' in ' '.join(notes.split())
    assert str(dump) in notes


def test_a_run_without_any_usable_losses_is_refused(run, capsys):
    for path in (run / 'predictions').glob('*/*.safetensors'):
        path.write_bytes(path.read_bytes()[:-9])
    error = refusal(capsys, 'predict', 'run', '--predictor', 'p')
    assert 'expected losses that the predictor can use' in error
    assert 'safetensors' in error


@pytest.mark.parametrize('arguments, says', [
    ('run --predictor none', 'no such file or folder'),
    ('run --predictor p --predictor t=tables',
     "predictor 't': expected one that was fitted to token losses"),
    ('run --predictor p --predictor p', "'predicted'"),
    ('run --predictor p --texts other.jsonl --page p.html',
     OTHER_TEXTS.fingerprint),
    ('run --predictor p --page none/x.html', 'existing folder'),
])
def test_bad_input_is_one_line(run, monkeypatch, capsys, arguments, says):
    save_predictor(replace(train(), targets=None, matrix=None), 'tables')
    if 'other.jsonl' in arguments:
        # Texts are checked before the dumps, which take long.
        monkeypatch.setattr(run_leaderboards, 'predict_run', None)
    before = sorted(Path().rglob('*'))
    assert says in refusal(capsys, 'predict', *arguments.split())
    assert sorted(Path().rglob('*')) == before
