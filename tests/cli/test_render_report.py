"""The verb report."""
from dataclasses import replace
from pathlib import Path

import pytest

from csv_plugin.cli.salience import main
from csv_plugin.extras.page import run_pages
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from tests.extras.page.pages import page_run
from tests.runs import OTHER_TEXTS, TEXTS, train
from tests.scripts import refusal


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_texts('texts.jsonl', TEXTS)
    write_texts('other.jsonl', OTHER_TEXTS)
    page_run(Path())
    return Path('run')


def test_all_options(run, capsys):
    write_csv('models.csv', ('model', 'family', 'split'),
              [('fit-0', 'F', 'train'), ('new', 'Zed', 'test')])
    save_predictor(train(('easy', )), 'second')
    assert main('report run --predictor p --predictor again=second --texts '
                'texts.jsonl --models models.csv --out page.html'.split()) == 0
    *warnings, _, written, _ = capsys.readouterr().out.splitlines()
    assert written == 'Written to page.html.'
    assert sorted(warnings) == [
        f'warning: {model} has no family in models.csv and is one of its own'
        for model in ('far', 'fit-4', 'more')
    ]
    html = Path('page.html').read_text('utf-8')
    assert html.index('<bdi>predicted</bdi>') < html.index('<bdi>again</bdi>')
    assert '>ab</span>' in html and TEXTS.fingerprint in html
    assert not Path('run/report.html').exists()


def test_losses_that_cannot_be_read_are_told(run, capsys):
    dump, = (run / 'predictions/new').iterdir()
    dump.write_bytes(dump.read_bytes()[:-9])
    assert main(['report', 'run', '--predictor', 'p']) == 0
    warning, _, written, _ = capsys.readouterr().out.splitlines()
    assert warning.startswith('warning: predicted of new on all 2 benchmarks')
    assert str(dump) in warning and '..' not in warning
    assert written == 'Written to run/report.html.'


def test_the_outputs_of_a_training_are_no_run(run, capsys):
    Path('study').mkdir()
    Path('study/report.md').touch()
    error = refusal(capsys, 'report', 'study', '--predictor', 'p')
    assert error.startswith('error: study: expected a run of OpenCompass')
    assert 'report.md' in error and 'time-stamped folder' in error


@pytest.mark.parametrize(
    'arguments, says',
    [
        ('run --predictor none', 'no such file or folder'),
        ('run --predictor p --predictor t=tables',
         "predictor 't': expected one that was fitted to token losses"),
        ('run --predictor p --texts other.jsonl', OTHER_TEXTS.fingerprint),
        ('run --predictor p --out none/x.html', 'existing folder'),
        # Before anything is read.
        ('none --predictor p --out run', 'name of a file'),
    ])
def test_bad_input_is_one_line(run, monkeypatch, capsys, arguments, says):
    save_predictor(replace(train(), targets=None, matrix=None), 'tables')
    if 'other.jsonl' in arguments:
        # Texts are checked before the dumps, which take long.
        monkeypatch.setattr(run_pages, 'predict_run', None)
    before = sorted(Path().rglob('*'))
    assert says in refusal(capsys, 'report', *arguments.split())
    assert sorted(Path().rglob('*')) == before
