"""Predictions from dumps and from tables, on screen and as files."""
import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.cli.salience import main
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from tests.runs import OTHER_TEXTS, TEXTS, dump, model_losses, train
from tests.scripts import check_end, csv_rows, refusal
from tests.tables import small_tables, write_tables

FIT = 'fit/predictor.safetensors'


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Two dumps and their predictor, and tables.

    `fit` has a predictor of tables, fitted to all models but the first.
    """
    folder = tmp_path_factory.mktemp('files')
    save_predictor(train(), folder / 'p.safetensors')
    (folder / 'dumps').mkdir()
    (folder / 'empty').mkdir()
    for name, skill in (('weak', 0.3), ('strong', 1.8)):
        write_dump(folder / f'dumps/{name}.safetensors',
                   dump(name, model_losses(skill)))
    tables = small_tables()
    splits = dict.fromkeys(tables.models, 'train')
    splits[tables.models[0]] = 'test'
    assert main(['fit', *write_tables(folder, tables, splits), '--fit',
                 'train', '--out', str(folder / 'fit')]) == 0  # yapf: disable
    return folder


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """A copy that a test may change."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    return tmp_path


def predicted(capsys, *options, predictor='p.safetensors'):
    """Rows of the printed JSON by model and benchmark, and its notes."""
    capsys.readouterr()
    assert main(['predict', f'--predictor={predictor}', '--json',
                 *options]) == 0  # yapf: disable
    printed = json.loads(capsys.readouterr().out)
    rows = {(row['model'], row['benchmark']): row for row in printed['rows']}
    return rows, printed['notes']


def test_table_and_files(folder, capsys):
    assert main('predict --predictor p.safetensors dumps --out out'.split()
                ) == 0  # yapf: disable
    shown = capsys.readouterr().out
    assert 'strong' in shown and 'easy' in shown and 'Percent' in shown
    assert check_end(
        shown,
        is_last=True)[-3:] == ['Predicted 2 models.', '', 'Written to out.']
    table = {(r['model'], r['benchmark']): float(r['predicted'])
             for r in csv_rows(Path('out/leaderboard.csv'))}  # yapf: disable
    assert table['strong', 'easy'] > 60 and table['weak', 'easy'] < 40
    assert sorted(path.name for path in Path('out').iterdir()) == [
        f'leaderboard.{kind}' for kind in ('csv', 'json', 'md', 'txt')
    ]


@pytest.mark.parametrize('table', ['one.csv', 'my losses.parquet'])
def test_a_table_in_the_place_of_dumps(folder, capsys, table):
    """Whatever the predictor was fitted to."""
    Path(table).write_text('model,a\nnew,1\n')
    for predictor in ('p.safetensors', FIT):
        error = refusal(capsys, 'predict', table, '--predictor', predictor)
        assert f'--losses {shlex.quote(table)}`' in error


def test_the_table_fits_the_terminal_and_names_the_files(
        folder, capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '40')
    call = 'predict --predictor p.safetensors dumps'.split()
    assert main(call) == 0
    shown = capsys.readouterr().out
    table, left_out = shown.split('\n\n')[:2]
    assert max(map(len, table.splitlines())) <= 40
    assert 'strong' in table.splitlines()[2]
    assert '--out' in left_out
    assert main([*call, '--out', 'out']) == 0
    left_out = capsys.readouterr().out.split('\n\n')[1]
    assert 'out/leaderboard.txt' in left_out
    assert main([*call, '--wide']) == 0
    assert '(' in capsys.readouterr().out.splitlines()[3]


def test_the_same_call_with_files_is_next(folder, capsys):
    assert main('predict --predictor p.safetensors dumps'.split()) == 0
    shown = capsys.readouterr().out
    check_end(shown)
    assert shown.endswith('\nNext: salience predict --predictor p.safetensors '
                          'dumps --out outputs/predictions\n')


def test_a_label_names_the_predictions(folder, capsys):
    plain, _ = predicted(capsys, 'dumps')
    named, _ = predicted(capsys, 'dumps', predictor='mine=p.safetensors')
    for cell, row in named.items():
        assert row == {**plain[cell], 'predictor': 'mine'}


def test_dumps_that_cannot_be_used_are_told(folder, capsys):
    write_dump('dumps/other.safetensors',
               dump('other', model_losses(1, OTHER_TEXTS), OTHER_TEXTS))
    rows, _ = predicted(capsys, 'dumps')
    assert "losses of 'other'" in rows['other', 'easy']['missing']
    assert not rows['weak', 'easy']['missing']
    assert ('dumps: expected losses that the predictor can use, found other: '
            ) in refusal(capsys, 'predict', 'dumps/other.safetensors',
                         '--predictor', 'p.safetensors')  # yapf: disable


def test_tables(folder, capsys):
    """They may have more units than those of the predictor, in any order."""
    rows = csv_rows(Path('losses.csv'))
    write_csv('new.csv', ['more', *reversed(rows[0])],
              [(1, *reversed(row.values())) for row in rows])
    cells, _ = predicted(capsys, '--losses=new.csv', predictor=FIT)
    assert len(cells) == 15 * 5
    for row in csv_rows(Path('fit/predictions.csv')):
        cell = cells[row['model'], row['benchmark']]
        assert cell['predicted'] == pytest.approx(100 *
                                                  float(row['predicted']))


@pytest.mark.slow
def test_a_page_of_a_table(folder, capsys):
    pytest.importorskip('jinja2')
    assert main(['predict', '--losses', 'losses.csv', '--predictor', FIT,
                 '--page', 'pages']) == 0  # yapf: disable
    assert 'Written to pages/predictions.html.' in capsys.readouterr().out
    html = Path('pages/predictions.html').read_text('utf-8')
    rows = csv_rows(Path('losses.csv'))
    assert all(f'<bdi>{row["model"]}</bdi>' in html for row in rows)
    assert 'id="tokens"' not in html and '<title>losses.csv: ' in html
    # Nothing is known that predictions could be compared with.
    assert '>diff<' not in html and 'id="misses"' not in html
    known = ['predict', '--losses', 'losses.csv', '--predictor', FIT,
             '--known', 'scores.csv', '--page', 'known.html']  # yapf: disable
    assert main(known) == 0
    assert '>diff<' in Path('known.html').read_text('utf-8')


def test_a_page_of_dumps_shows_their_tokens(folder):
    pytest.importorskip('jinja2')
    write_texts('texts.jsonl', TEXTS)
    call = 'predict dumps --predictor p.safetensors --texts texts.jsonl'
    assert main([*call.split(), '--page', 'page.html']) == 0
    html = Path('page.html').read_text('utf-8')
    assert '<bdi>strong</bdi>' in html and '>ab</span>' in html
    assert '<title>dumps: ' in html
    two = call.replace('dumps', 'dumps/strong.safetensors '
                       'dumps/weak.safetensors')
    assert main([*two.split(), '--page', 'page.html']) == 0
    assert '<title>Predictions: ' in Path('page.html').read_text('utf-8')


def test_means_are_over_the_main_benchmarks_of_the_fit(folder):
    assert main(['predict', '--losses', 'losses.csv', '--predictor', FIT,
                 '--out', 'out']) == 0  # yapf: disable
    fit, predicted = ([[cell.strip() for cell in line.split('|')[1:]]
                       for line in Path(file).read_text().splitlines()]
                      for file in ('fit/leaderboard.md', 'out/leaderboard.md'))
    assert predicted[0][:2] == ['model', 'mean of 2 predicted']
    assert fit[0][1:4] == ['mean of 2 observed', 'rank', 'salience']
    row, *_ = (row for row in predicted if row[:1] == fit[2][:1])
    assert row[1] == fit[2][3]
    # Models that cannot be told apart share possible ranks.
    assert any('-' in cells[2] for cells in predicted[2:])
    assert 'Ranks such as 2-4: ' in Path('out/leaderboard.txt').read_text()


@pytest.mark.parametrize('options, found', [
    ('--predictor p', 'PLACE or --losses: expected one of them, found none'),
    ('dumps --losses losses.csv --predictor p', 'found both'),
    ('none --predictor p.safetensors', "dumps 'none'"),
    ('empty --predictor p.safetensors', 'found none'),
    ('--losses losses.csv --predictor p.safetensors', 'expected token losses, '
     'like the losses of the training, found a table of losses'),
    ('dumps --predictor p.safetensors --texts texts.jsonl', 'no --page: '
     'expected none of --texts beside it'),
    (f'--losses losses.csv --predictor {FIT} --page scores.csv/p', 'found'),
    (f'--losses losses.csv --predictor {FIT} --page p.pdf',
     "a folder, found 'p.pdf'. Write 'p.html', or"),
    (f'--losses losses.csv --predictor {FIT} --page p.html --texts none',
     'no tokens: expected none of --texts'),
    (f'dumps --predictor {FIT}', 'error: predictor: expected one that was'),
])
def test_bad_input(folder, capsys, options, found):
    assert found in refusal(capsys, 'predict', *options.split())


def test_known_scores_of_a_checkpoint_help_its_run(folder, capsys):
    """Families are by names such as run@1000, or of a table."""
    names = [path.stem for path in Path('dumps').iterdir()]
    Path('known.csv').write_text('model,easy\nweak,0.3\n')
    Path('models.csv').write_text('model,family\n' +
                                  ''.join(f'{name},one\n'
                                          for name in sorted(names)))
    options = 'dumps', '--known=known.csv', '--models=models.csv'
    table, _ = predicted(capsys, *options)
    changed = {cell for cell, row in table.items() if row['with_scores']}
    assert changed == {*table} - {('weak', 'easy')}
    Path('models.csv').write_text('model,family\nweak,one\n')
    assert 'dumps: expected models of models.csv, found' in refusal(
        capsys, 'predict', *options, '--predictor=p.safetensors')


def test_known_scores_fill_the_holes(folder, capsys):
    alone, _ = predicted(capsys, 'dumps')
    Path('scores.csv').write_text(
        'model,easy,hard,new\nweak,0.3,,0.5\nother,0.2,0.2,\n')
    table, notes = predicted(capsys, 'dumps', '--known=scores.csv')
    assert [cell for cell, row in table.items()
            if row['with_scores']] == [('weak', 'hard')]
    assert table['weak', 'easy']['observed'] == 30
    assert table['strong', 'easy']['observed'] is None
    changed = {cell for cell, row in table.items()
               if row['predicted'] != alone[cell]['predicted']
               }  # yapf: disable
    # A known score moves its own prediction, too, which is then in the sample.
    assert changed == {('weak', 'hard'), ('weak', 'easy')}
    assert [cell for cell, row in table.items()
            if row['in_sample']] == [('weak', 'easy')]
    for unused in ('benchmarks of the predictor do not count: new.',
                   'models with losses do not count: other.'):
        assert any(note.endswith(unused) for note in notes)


def test_means_and_ranks_with_known_scores(folder, capsys):
    """Gaps are filled, so known scores of few cells take no mean away."""
    call = 'predict', 'dumps', '--predictor', 'p.safetensors'
    assert main([*call]) == 0
    alone = capsys.readouterr().out
    assert 'mean of 2' in alone and 'rank' in alone
    Path('scores.csv').write_text('model,easy\nweak,0.3\n')
    assert main([*call, '--known', 'scores.csv', '--out', 'out']) == 0
    shown = capsys.readouterr().out
    assert shown.split()[:5] == alone.split()[:5]
    row, = (line for line in shown.splitlines() if line.startswith('weak'))
    table, _ = predicted(capsys, 'dumps', '--known=scores.csv')
    mean = np.mean(
        [table['weak', name]['predicted'] for name in ('easy', 'hard')])
    assert row.split()[1] == f'{mean:.1f}'
    # Neither does the file have empty columns of observed means.
    header = Path('out/leaderboard.txt').read_text().splitlines()[1]
    assert header.split()[:3] == ['model', 'predicted', 'rank']
    # All scores are known: there are observed means, too.
    names = {model for model, _ in table}
    Path('scores.csv').write_text('model,easy,hard\n' +
                                  ''.join(f'{name},0.3,0.4\n'
                                          for name in sorted(names)))
    assert main([*call, '--known', 'scores.csv']) == 0
    assert '35.0' in capsys.readouterr().out
