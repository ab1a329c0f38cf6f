"""Predictions from dumps and from tables, on screen and as files."""
import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from csv_plugin.cli import salience
from csv_plugin.cli.salience import main
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.predictors import save_predictor
from tests.runs import OTHER_TEXTS, dump, model_losses, train, write_run
from tests.scripts import check_end
from tests.tables import small_tables, write_tables


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_predictor(train(), 'p.safetensors')
    (tmp_path / 'dumps').mkdir()
    (tmp_path / 'empty').mkdir()
    for name, skill in (('weak', 0.3), ('strong', 1.8)):
        write_dump(f'dumps/{name}.safetensors', dump(name,
                                                     model_losses(skill)))
    return tmp_path


def call(*options):
    return main(['predict', '--predictor', 'p.safetensors', *options])


def rows(text):
    return {
        (row['model'], row['benchmark']): row
        for row in json.loads(text)['rows']
    }


def test_table_and_files(folder, capsys):
    assert call('dumps', '--out', 'out') == 0
    shown = capsys.readouterr().out
    assert 'strong' in shown and 'easy' in shown and 'Percent' in shown
    assert check_end(
        shown,
        is_last=True)[-3:] == ['Predicted 2 models.', '', 'Written to out.']
    with open('out/leaderboard.csv', encoding='utf-8') as file:
        table = {(r['model'], r['benchmark']): r for r in csv.DictReader(file)}
    assert float(table['strong', 'easy']['predicted']) > 60
    assert float(table['weak', 'easy']['predicted']) < 40
    # In percent, so none is called predictions, as what `salience fit` writes.
    assert sorted(path.name for path in Path('out').iterdir()) == [
        f'leaderboard.{kind}' for kind in ('csv', 'json', 'md', 'txt')
    ]


def test_the_same_call_with_files_is_next(folder, capsys):
    Path('s.csv').write_text('model,easy\nweak,0.3\n')
    assert call('dumps', '--known', 's.csv') == 0
    shown = capsys.readouterr().out
    check_end(shown)
    assert shown.endswith('\nNext: salience predict --out outputs/predictions '
                          '--predictor p.safetensors dumps --known s.csv\n')


def test_a_label_names_the_predictions(folder, capsys):
    assert call('dumps', '--json') == 0
    plain = rows(capsys.readouterr().out)
    assert main(
        ['predict', '--predictor', 'mine=p.safetensors', 'dumps',
         '--json']) == 0
    for cell, row in rows(capsys.readouterr().out).items():
        assert row['predictor'] == 'mine'
        assert row['predicted'] == plain[cell]['predicted']


def test_runs_of_opencompass(folder, capsys):
    write_run('run', {'a': 0.3, 'b': 1.8})
    assert call('run', '--json') == 0
    assert rows(capsys.readouterr().out)['b', 'easy']['predicted'] > 60


def test_dumps_that_cannot_be_used_are_told(folder, capsys):
    write_dump('dumps/other.safetensors',
               dump('other', model_losses(1, OTHER_TEXTS), OTHER_TEXTS))
    assert call('dumps', '--json') == 0
    printed = json.loads(capsys.readouterr().out)
    missing = {row['model']: row['missing'] for row in printed['rows']}
    assert 'losses of \'other\'' in missing['other']
    assert not missing['weak']
    assert call('dumps/other.safetensors') == 2
    assert 'dumps: expected losses that the predictor can use, found other: ' \
        in capsys.readouterr().err


def fit_to_tables(folder, losses):
    """A predictor in `fit`, fitted to all models but the first."""
    tables = small_tables()
    models = tables.features.models
    splits = dict.fromkeys(models, 'train') | {models[0]: 'test'}
    write_tables(folder, tables, splits)
    (folder / 'units.txt').write_text('\n'.join(tables.features.columns.units))
    values = tables.features.values.astype(np.float16)
    save_file({'losses': values}, folder / 'losses.safetensors')
    pq.write_table(
        pa.table([pa.array(models), *values.T.copy()],
                 ['model', *tables.features.columns.units]),
        folder / 'losses.parquet')
    names = ('scores', 'models', 'benchmarks')
    assert salience.main([
        'fit', '--losses', losses, *(f'--{name}={name}.csv' for name in names),
        '--fit', 'train', '--solver', 'uniform', '--out', 'fit'
    ]) == 0


def predicted_from(losses, capsys):
    capsys.readouterr()
    assert main([
        'predict', '--losses', losses, '--predictor',
        'fit/predictor.safetensors', '--json'
    ]) == 0
    return rows(capsys.readouterr().out)


def test_tables_in_any_format(folder, capsys):
    fit_to_tables(folder, 'losses.safetensors')
    printed = predicted_from('losses.safetensors', capsys)
    assert printed == predicted_from('losses.parquet', capsys)
    assert len(printed) == 15 * 5
    with open('fit/predictions.csv', encoding='utf-8') as file:
        for row in csv.DictReader(file):
            predicted = printed[row['model'], row['benchmark']]['predicted']
            assert predicted == pytest.approx(100 * float(row['predicted']))


def test_means_are_over_the_main_benchmarks_of_the_fit(folder):
    fit_to_tables(folder, 'losses.csv')
    assert main([
        'predict', '--losses', 'losses.csv', '--predictor',
        'fit/predictor.safetensors', '--out', 'out'
    ]) == 0
    fitted, predicted = ([[cell.strip() for cell in line.split('|')[1:]]
                          for line in Path(file).read_text().splitlines()]
                         for file in ('fit/leaderboard.md',
                                      'out/leaderboard.md'))
    assert predicted[0][:2] == ['model', 'mean of 2 predicted']
    assert fitted[0][1:4] == ['mean of 2 real', 'rank', 'uniform']
    row, = (row for row in predicted if row[:1] == fitted[2][:1])
    assert row[1] == fitted[2][3]
    # Models that cannot be told apart share possible ranks.
    assert any('-' in cells[2] for cells in predicted[2:])
    assert 'rank 2-4: ' in Path('out/leaderboard.txt').read_text()


def test_a_table_is_not_for_a_predictor_of_token_losses(folder, capsys):
    fit_to_tables(folder, 'losses.csv')
    assert call('--losses', 'losses.csv') == 2
    assert ('expected token losses, to which it was fitted, found a table of '
            'losses') in capsys.readouterr().err
    assert main(
        ['predict', 'dumps', '--predictor', 'fit/predictor.safetensors']) == 2
    error = capsys.readouterr().err
    assert error.startswith('error: predictor: expected one that was fitted')
    assert '--losses of salience predict' in error


@pytest.mark.parametrize('options, says', [
    ([], 'PLACE or --losses: expected one of them, found none'),
    (['dumps', '--losses', 'l.csv'], 'found both'),
    (['none'], "dumps 'none'"),
    (['empty'], 'found none'),
])
def test_bad_input(folder, capsys, options, says):
    assert call(*options) == 2
    assert says in capsys.readouterr().err


def write_known(*lines):
    with open('scores.csv', 'w', encoding='utf-8') as file:
        file.write('\n'.join(['model,easy,hard,new', *lines, '']))


def test_known_scores_fill_the_holes(folder, capsys):
    assert call('dumps', '--json') == 0
    alone = rows(capsys.readouterr().out)
    write_known('weak,0.3,,0.5', 'other,0.2,0.2,')
    assert call('dumps', '--json', '--known', 'scores.csv') == 0
    text = capsys.readouterr().out
    table = rows(text)
    assert [cell for cell, row in table.items()
            if row['with_scores']] == [('weak', 'hard')]
    assert table['weak', 'easy']['real'] == 30
    assert table['strong', 'easy']['real'] is None
    for cell in table.keys() - {('weak', 'hard')}:
        assert table[cell]['predicted'] == alone[cell]['predicted']
    assert table['weak', 'hard']['predicted'] != alone['weak',
                                                       'hard']['predicted']
    assert any('scores.csv: scores on new, which' in note
               for note in json.loads(text)['notes'])
