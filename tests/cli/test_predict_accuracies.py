"""Predictions from dumps and from tables, on screen and as files."""
import csv
import json

import pytest

from csv_plugin.cli import fit_from_tables
from csv_plugin.cli.salience import main
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.predictors import save_predictor
from tests.runs import OTHER_TEXTS, dump, model_losses, train, write_run
from tests.tables import small_tables, write_tables


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A predictor, and two dumps that it can use."""
    monkeypatch.chdir(tmp_path)
    save_predictor(train(), 'p.safetensors')
    (tmp_path / 'dumps').mkdir()
    for name, skill in (('weak', 0.3), ('strong', 1.8)):
        write_dump(f'dumps/{name}.parquet', dump(name, model_losses(skill)))
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
    assert 'out/predictions.md' in shown
    with open('out/predictions.csv', encoding='utf-8') as file:
        table = {(r['model'], r['benchmark']): r for r in csv.DictReader(file)}
    assert float(table['strong', 'easy']['predicted']) > 60
    assert float(table['weak', 'easy']['predicted']) < 40
    for kind in ('txt', 'md', 'json'):
        assert (folder / f'out/predictions.{kind}').is_file()


def test_json(folder, capsys):
    assert call('dumps/*.parquet', '--json', '--out', 'out') == 0
    printed = rows(capsys.readouterr().out)
    assert printed == rows((folder / 'out/predictions.json').read_text())
    assert {*printed} == {(model, benchmark)
                          for model in ('strong', 'weak')
                          for benchmark in ('easy', 'hard')}


def test_runs_of_opencompass(folder, capsys):
    write_run('run', {'a': 0.3, 'b': 1.8})
    assert call('run', '--json') == 0
    assert rows(capsys.readouterr().out)['b', 'easy']['predicted'] > 60


def test_dumps_that_cannot_be_used_are_told(folder, capsys):
    write_dump('dumps/other.parquet',
               dump('other', model_losses(1, OTHER_TEXTS), OTHER_TEXTS))
    assert call('dumps', '--json') == 0
    printed = json.loads(capsys.readouterr().out)
    missing = {row['model']: row['missing'] for row in printed['rows']}
    assert 'losses of \'other\'' in missing['other']
    assert not missing['weak']
    assert call('dumps/other.parquet') == 2
    assert 'dumps: expected losses that the predictor can use, found other: ' \
        in capsys.readouterr().err


def test_tables(folder, capsys):
    tables = small_tables()
    models = tables.features.models
    splits = dict.fromkeys(models, 'train') | {models[0]: 'test'}
    write_tables(folder, tables, splits)
    files = [
        f'--{name}={name}.csv'
        for name in ('losses', 'scores', 'models', 'benchmarks')
    ]
    assert fit_from_tables.main([*files, '--fit', 'train', '--out',
                                 'fit']) == 0
    capsys.readouterr()
    assert main([
        'predict', '--losses', 'losses.csv', '--predictor',
        'fit/predictor.safetensors', '--json'
    ]) == 0
    printed = rows(capsys.readouterr().out)
    with open('fit/predictions.csv', encoding='utf-8') as file:
        for row in csv.DictReader(file):
            predicted = printed[row['model'], row['benchmark']]['predicted']
            assert predicted == pytest.approx(100 * float(row['predicted']))


@pytest.mark.parametrize('options, says', [
    ([], 'PLACE or --losses: expected one of them, found none'),
    (['dumps', '--losses', 'l.csv'], 'found both'),
    (['none'], "dumps 'none'"),
    (['.'], 'found none'),
    (['--losses', 'none.csv'], 'none.csv'),
])
def test_bad_input(folder, capsys, options, says):
    assert call(*options) == 2
    assert says in capsys.readouterr().err
