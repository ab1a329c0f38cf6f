"""The command line: what it writes, and what it says of bad input."""
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from csv_plugin.cli import render_report
from csv_plugin.core.conventions import InputError
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from csv_plugin.report.leaderboards import write_leaderboard
from tests.report.boards import make_cells, predict
from tests.runs import OTHER_TEXTS, TEXTS, train, write_run

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / 'tools/render_report.py'

main = render_report.main


@pytest.fixture(scope='module')
def folder(tmp_path_factory) -> Path:
    """A run, and beside it predictors, texts and tables."""
    folder = tmp_path_factory.mktemp('report')
    (folder / 'run/summary').mkdir(parents=True)
    write_run(folder / 'run', {'new': 1.1})
    cells = make_cells(['new'], ['easy'], ['losses'], [0.6125],
                       predict(0.5, 0.2, 0.2))
    write_leaderboard(folder / 'run/summary/leaderboard_1', cells.board())
    save_predictor(train(), folder / 'p')
    save_predictor(
        replace(train(), targets=None, matrix=None), folder / 'tables')
    write_texts(folder / 'texts.jsonl', TEXTS)
    write_texts(folder / 'other.jsonl', OTHER_TEXTS)
    write_csv(folder / 's.csv', ('model', 'easy'), [('new', 0.4375)])
    write_csv(folder / 'x.csv', ('model', 'family', 'split'),
              [('nwe', 'Zebra', 'train')])
    write_csv(folder / 'm.csv', ('model', 'family', 'split'),
              [('fit-0', 'Zebra', 'train')])
    return folder


def test_leaderboard_alone(folder, capsys):
    run = folder / 'run'
    before = sorted(os.listdir(run))
    assert main([str(run)]) == 0
    assert str(run / 'report.html') in capsys.readouterr().out
    html = (run / 'report.html').read_text('utf-8')
    assert '61.2' in html and '50.0' in html and 'losses' in html
    assert sorted(os.listdir(run)) == sorted([*before, 'report.html'])
    (run / 'report.html').unlink()


def test_losses_that_cannot_be_read_are_told(folder, tmp_path, capsys):
    """The other models have a page."""
    write_run(tmp_path / 'run', {'new': 1.1, 'torn': 1.2})
    dump, = (tmp_path / 'run/predictions/torn').iterdir()
    dump.write_bytes(dump.read_bytes()[:-9])
    options = ['--predictor', f'p={folder / "p"}', '--scores',
               str(folder / 's.csv')]  # yapf: disable
    assert main([str(tmp_path / 'run'), *options]) == 0
    warning, written = capsys.readouterr().out.splitlines()
    assert warning.startswith('warning: p of torn on all 2 benchmarks: ')
    assert '..' not in warning
    assert str(dump) in warning and written.startswith('Written to')


def test_title(folder, tmp_path):
    out = tmp_path / 'page.html'
    assert main([str(folder / 'run'), '--title', 'Mine <3', '--out',
                 str(out)]) == 0  # yapf: disable
    assert '<h1><bdi>Mine &lt;3</bdi></h1>' in out.read_text('utf-8')


@pytest.mark.slow
def test_all_options(folder, tmp_path, capsys):
    out = tmp_path / 'page.html'
    assert main([
        str(folder / 'run'), '--predictor', f'mine={folder / "p"}',
        '--predictor', f'again={folder / "p"}', '--texts',
        str(folder / 'texts.jsonl'), '--scores',
        str(folder / 's.csv'), '--models',
        str(folder / 'm.csv'), '--out',
        str(out)
    ]) == 0
    html = out.read_text('utf-8')
    assert '43.8' in html and '61.2' not in html
    assert html.index('<bdi>mine') < html.index('<bdi>again')
    assert 'Zebra' in html and '>ab</span>' in html
    assert os.listdir(tmp_path) == ['page.html']
    assert not (folder / 'run/report.html').exists()


@pytest.mark.parametrize('arguments, says', [
    (['none'], 'none: expected a run'),
    (['none', '--predictor', 'p=p'], 'a run with a summary'),
    (['run', '--predictor', 'p=none'], 'No such file'),
    (['run', '--predictor', 'p=p', '--predictor', 'p=p'], "'p' twice"),
    (['run', '--predictor', 'p=p', '--predictor', 't=tables'],
     "predictor 't': expected one that was fitted to token losses"),
    (['run', '--predictor', 'p=p', '--texts', 'none'], 'can be read'),
    (['run', '--predictor', 'p=p', '--texts', 'other.jsonl'], 'texts: '),
    (['run', '--predictor', 'p=p', '--scores', 'none'], 'ends in .csv'),
    (['run', '--predictor', 'p=p', '--scores', 'none.csv'], 'can be read'),
    (['run', '--models', 'none'], 'can be read'),
    (['run', '--models', 'x.csv'],
     "models of the run such as 'new', found nwe. Use the names"),
    (['run', '--models', 'x.csv', '--predictor', 'p=p'], 'found nwe. Use the'),
    (['run', '--out', 'none/page.html'], 'existing folder'),
    (['run', '--out', 'run'], 'run: expected the name of a file'),
    # Before anything is read.
    (['none', '--predictor', 'p=p', '--out', 'run'], 'name of a file'),
])  # yapf: disable
def test_bad_input_is_one_line(folder, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob('*'))
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith('error: ') and error.count('\n') == 1
    assert says in error
    assert sorted(folder.rglob('*')) == before


@pytest.mark.parametrize('arguments, says', [
    (['run', '--predictor', 'p'], "LABEL=FILE, found 'p'"),
    (['run', '--predictor', '=p'], 'LABEL=FILE'),
    (['run', '--predictor', 'p='], 'LABEL=FILE'),
])
def test_wrong_options(capsys, arguments, says):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize('option', ['--texts', '--scores'])
def test_options_that_need_a_predictor(capsys, option):
    assert main(['run', option, 'file']) == 2
    assert capsys.readouterr().err == (
        f'error: {option}: expected --predictor beside it, found none. Name '
        'a predictor, or leave the option out.\n')


@pytest.mark.slow
def test_as_a_script(folder, tmp_path):
    out = tmp_path / 'page.html'
    process = subprocess.run(
        [sys.executable, SCRIPT, folder / 'run', '--out', out],
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        capture_output=True, text=True)  # yapf: disable
    assert process.returncode == 0, process.stderr
    assert out.is_file() and process.stderr == ''


def test_misspelt_models_are_told_before_losses_are_read(
        folder, monkeypatch, capsys):
    monkeypatch.setattr(render_report, 'predict_run', None)
    assert main([
        str(folder / 'run'), '--predictor', f'p={folder / "p"}', '--models',
        str(folder / 'x.csv')
    ]) == 2


@pytest.mark.slow
def test_models_without_a_family_are_named(folder, tmp_path, capsys):
    assert main([
        str(folder / 'run'), '--predictor', f'p={folder / "p"}', '--models',
        str(folder / 'm.csv'), '--out',
        str(tmp_path / 'page.html')
    ]) == 0
    assert (f'warning: new has no family in {folder / "m.csv"} and is one of '
            'its own\n') in capsys.readouterr().out


@pytest.mark.parametrize('option', [[], ['--out']])
def test_the_page_can_be_written_or_nothing_is_read(folder, monkeypatch,
                                                    capsys, tmp_path, option):
    """Without --out, too; everybody may write where root runs the tests."""

    def refused(folder):
        raise InputError('--out', 'a folder', 'none', 'Stop.')

    monkeypatch.setattr(render_report, 'check_folder', refused)
    monkeypatch.setattr(render_report, 'run_page', None)
    out = [*option, *[str(tmp_path / 'page.html')] * len(option)]
    assert main([str(folder / 'run'), *out]) == 2


def test_folder_whose_name_is_no_text(folder, tmp_path, capsys):
    """As file systems allow; shown, but not written as it is."""
    run = tmp_path / 'r\udcff'
    try:
        shutil.copytree(folder / 'run', run)
    except OSError as error:
        pytest.skip(f'the file system refuses the name: {error}')
    assert main([str(run)]) == 0
    assert 'r⟨U+DCFF⟩' in capsys.readouterr().out
    html = (run / 'report.html').read_text('utf-8')
    assert '<bdi>r⟨U+DCFF⟩</bdi>' in html
