"""Runs judged from tables: what is written, printed and refused."""
import json
import re
from contextlib import redirect_stdout
from io import StringIO
from itertools import count
from unittest.mock import Mock

import numpy as np
import pytest

from csv_plugin.cli import salience, triage_checkpoints
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.tables import write_csv
from tests.scripts import check_end, csv_rows, refusal
from tests.tables import Tables, write_tables

STEPS = (10, 20, 50, 100)
RUNS = 'abcdefg'
#: At the end of the run that is forecast.
SKILL = np.log(100) / 5


def checkpoints() -> Tables:
    """Runs that gain the more the better they are, and one ahead of all."""
    rng = np.random.default_rng(0)
    models = tuple(f'{run}@{step}' for run in RUNS for step in STEPS)
    skill = np.outer(np.arange(2, 9) / 8, np.log(STEPS)).ravel() / 5
    losses = 2 - skill[:, None] + 0.01 * rng.normal(size=(len(models), 4))
    scores = 0.25 + np.outer(skill, [0.5, 0.3])
    columns = Columns(('p/0', 'p/1', 'q/0', 'q/1'), np.full(4, 0.25), 'x')
    return Tables(
        FeatureTable(models, columns, losses),
        AccuracyTable(models, ('easy', 'hard'), scores, np.full(2, 0.25),
                      np.array([1000, 1000])),
        {model: model[0] for model in models})  # yapf: disable


def call_on(folder):
    """Of g, which has no scores, the last two checkpoints are yet to come."""
    tables = checkpoints()
    splits = {m: 'test' if m[0] == 'g' else 'train' for m in tables.models}
    given = write_tables(folder, tables, splits)
    drop(folder, ('g@50', 'g@100'), ('losses', 'scores', 'models'))
    drop(folder, ('g@', ), ('scores', ))
    return ['triage', *given, '--out', str(folder / 'out')]


@pytest.fixture
def options(tmp_path):
    return call_on(tmp_path)


@pytest.fixture(scope='module')
def usual(tmp_path_factory):
    """The outputs of a call, and what it printed."""
    folder = tmp_path_factory.mktemp('usual')
    with redirect_stdout(StringIO()) as printed:
        assert salience.main(call_on(folder)) == 0
    return folder / 'out', printed.getvalue()


def forecast_in(out):
    """The first of the forecasts."""
    told = json.loads((out / 'triage.json').read_text())
    return told['forecasts'][0]


def drop(folder, beginnings, tables):
    for name in tables:
        path = folder / f'{name}.csv'
        lines = path.read_text().splitlines(keepends=True)
        path.write_text(''.join(
            line for line in lines if not line.startswith(beginnings)))


def test_the_largest_run_is_forecast(usual):
    out, _ = usual
    told = json.loads((out / 'triage.json').read_text())
    table = csv_rows(out / 'forecasts.csv')
    rows = {row['benchmark']: row for row in table}
    assert {row['run'] for row in rows.values()} == {'g'}
    for name, slope in (('easy', 0.5), ('hard', 0.3)):
        row, end = rows[name], 0.25 + slope * SKILL
        now = 0.25 + slope * np.log(20) / 5
        assert (row['share'], row['budget']) == ('0.2', '100.0')
        assert float(row['low']) < end < float(row['high'])
        assert abs(float(row['forecast']) - end) < (end - now) / 2
    assert any('6 earlier runs' in note for note in told['notes'])


@pytest.mark.slow
def test_known_accuracies_count_if_asked_for(options, tmp_path, usual):
    with (tmp_path / 'scores.csv').open('a') as file:
        file.write('g@20,0.7,0.5\n')
    without = forecast_in(usual[0])
    found = []
    for more in ([], ['--known', str(tmp_path / 'scores.csv')]):
        assert salience.main([*options, *more]) == 0
        found.append(forecast_in(tmp_path / 'out'))
    assert [row['with_scores'] for row in found] == [False, True]
    assert found[0]['forecast'] == pytest.approx(without['forecast'])
    assert found[1]['forecast'] > without['forecast'] + .01


@pytest.mark.parametrize('header, model, found', [
    ('model,eazy', 'g@20', "'eazy'. Did you mean 'easy'?"),
    ('model,easy', 'G@20', "'G@20'. Did you mean 'g@20'?"),
    ('model,other', 'g@20',
     'found none. Add accuracies, or correct the names.'),
])
def test_a_wrong_name_of_a_known_accuracy(options, tmp_path, capsys, header,
                                          model, found):
    known = tmp_path / 'known.csv'
    known.write_text(f'{header}\n{model},0.5\n')
    assert found in refusal(capsys, *options, '--known', str(known))


@pytest.mark.parametrize('more', [[], ['--params', '7B', '--tokens', '4T']])
def test_a_table_of_checkpoints_that_matches_none(options, tmp_path, capsys,
                                                  more):
    table = tmp_path / 'checkpoints.csv'
    table.write_text('model,run,step\nA@10,A,10\n')
    error = refusal(capsys, *options, '--checkpoints', str(table), *more)
    assert "found other names, such as 'A@10'. Did you mean 'a@10'?" in error


@pytest.mark.slow
def test_errors_are_those_of_families_left_out(options, tmp_path, usual):
    """Runs of few families say less; runs of one family are a family each, and
    a note says so.
    """
    found = [forecast_in(usual[0])]
    notes = []
    for families in ('aabbcc', 'aaaaaa'):
        rows = csv_rows(tmp_path / 'models.csv')
        for row in rows:
            row['family'] = families['abcdefg'.index(row['model'][0]) % 6]
        write_csv(tmp_path / 'models.csv', list(rows[0]),
                  [row.values() for row in rows])
        assert salience.main(options) == 0
        found.append(forecast_in(tmp_path / 'out'))
        told = json.loads((tmp_path / 'out/triage.json').read_text())
        notes.append(told['notes'][0])
    widths = [row['high'] - row['low'] for row in found]
    assert widths[0] == widths[2] < widths[1]
    assert notes[0].startswith('Mean absolute error of families left out')
    assert notes[1] == (
        'All models to fit to are of one family, so each run counts as a '
        'family: errors are measured on runs that are left out.')
    assert 'no family can be left out' not in ' '.join(told['notes'])


@pytest.mark.slow
def test_names_that_state_tokens(options, tmp_path):
    """The run that is forecast has four times as many steps a token."""
    for name in ('losses', 'scores', 'models'):
        path = tmp_path / f'{name}.csv'
        path.write_text(
            re.sub(
                r'([a-g])@(\d+)', lambda m: f'{m[1]}@step'
                f'{int(m[2]) * (4 if m[1] == "g" else 1)}-tokens{m[2]}M',
                path.read_text()))
    assert salience.main(options) == 0
    row = csv_rows(tmp_path / 'out/forecasts.csv')[0]
    assert (row['share'], row['budget']) == ('0.2', '100000000.0')


@pytest.mark.slow
def test_a_long_fit_shows_its_steps(options, capsys, monkeypatch):
    monkeypatch.setattr('csv_plugin.cli.options.monotonic', count().__next__)
    assert salience.main(options) == 0
    assert 'steps of the fit: 100%' in capsys.readouterr().err


def test_a_later_stage_is_asked_for(options, tmp_path, capsys):
    for name in ('losses', 'scores', 'models'):
        path = tmp_path / f'{name}.csv'
        text = path.read_text()
        text = text.replace('@100,', '@stage2-ingredient1-step10,')
        path.write_text(re.sub(r'@(\d+,)', r'@stage1-step\1', text))
    error = refusal(capsys, *options)
    assert "run 'a', checkpoint 'stage2-" in error
    assert '--checkpoints' in error


def test_the_screen(usual):
    out, printed = usual
    assert 'Predicted at 2 checkpoints of 1 run\n' in printed
    assert 'Forecast at the end of the training\n' in printed
    check_end(printed, is_last=True)
    assert (out / 'triage.png').is_file()


@pytest.mark.slow
def test_the_fit_is_shown_and_kept(options, tmp_path, capsys):
    """As by `salience fit`, whose notes and predictor are the same."""
    rows = csv_rows(tmp_path / 'scores.csv')
    rows[0]['easy'] = rows[0]['hard'] = '0.99'
    write_csv(tmp_path / 'scores.csv', list(rows[0]),
              [row.values() for row in rows])
    assert salience.main(options) == 0
    printed = ' '.join(capsys.readouterr().out.split())
    assert 'Outliers, which count less than other training models: a@10' in (
        printed)
    assert salience.main(['fit', *options[1:-1], f'{tmp_path}/fit']) == 0
    fitted = ' '.join(capsys.readouterr().out.split())
    error, = re.findall(r'Mean absolute error of families [^,]*,', fitted)
    assert error in printed
    assert printed.count('error of families left out') == 1
    kept, other = (
        load_predictor(tmp_path / folder / 'predictor.safetensors')
        for folder in ('out', 'fit'))
    np.testing.assert_allclose(kept.left_out, other.left_out)


@pytest.mark.slow
def test_a_table_tells_how_long_a_run_is(options, tmp_path):
    table = tmp_path / 'checkpoints.csv'
    write_csv(table, ('model', 'run', 'step', 'budget'),
              [(f'{run}@{step}', run, step, 400 if run == 'g' else '')
               for run in RUNS for step in STEPS if run != 'g' or step < 50])
    assert salience.main([*options, '--checkpoints', str(table)]) == 0
    told = json.loads((tmp_path / 'out/triage.json').read_text())
    # The others are known from a tenth on.
    assert told['forecasts'] == []
    assert 'do not count: a, b, c, d, e, f.' in told['notes'][2]


@pytest.mark.slow
def test_the_table_of_models_describes_checkpoints(options, tmp_path, capsys):
    """As the columns of --checkpoints do, which count before these."""
    path = tmp_path / 'models.csv'
    rows = csv_rows(path)
    for row in rows:
        _, _, step = row['model'].partition('@')
        row |= {'tokens': int(step) * 1e9, 'budget': 1e11}
    write_csv(path, list(rows[0]), [row.values() for row in rows])
    assert salience.main([*options, '--budget', '300B']) == 0
    told = json.loads((tmp_path / 'out/triage.json').read_text())
    assert told['measure'] == 'tokens'
    assert told['budgets'] == [
        dict(run='g', budget=1e11, source='column budget')
    ]
    assert told['forecasts'][0]['tokens'] == 2e10
    # Names that tell nothing, in all tables.
    for name in ('losses', 'scores', 'models'):
        file = tmp_path / f'{name}.csv'
        file.write_text(file.read_text().replace('@', ' after '))
    assert 'columns run, step and tokens of a table' in refusal(
        capsys, *options)
    rows = csv_rows(path)
    for row in rows:
        run, _, step = row['model'].partition(' after ')
        row |= {'run': run, 'step': step}
    write_csv(path, list(rows[0]), [row.values() for row in rows])
    assert salience.main(options) == 0
    again = json.loads((tmp_path / 'out/triage.json').read_text())
    assert again['forecasts'][0] == told['forecasts'][0]
    # The tokens of whole runs are no tokens of checkpoints.
    for row in rows:
        row['tokens'] = 1e11
    write_csv(path, list(rows[0]), [row.values() for row in rows])
    assert 'the tokens that it has seen' in refusal(capsys, *options)
    other = tmp_path / 'checkpoints.csv'
    write_csv(other, ('model', 'run', 'step'),
              [(row['model'], row['run'], row['step']) for row in rows])
    assert salience.main([*options, '--checkpoints', str(other)]) == 0
    told = json.loads((tmp_path / 'out/triage.json').read_text())
    assert told['measure'] == 'steps'


SIZE = ['--params', '7e9', '--tokens', '4e13']


@pytest.fixture
def sized(options, tmp_path):
    """The runs are families; later ones have more parameters and tokens."""
    rows = csv_rows(tmp_path / 'models.csv')
    for row in rows:
        size = ord(row['model'][0]) - 96
        row |= {'params_b': size, 'tokens': size * int(row['model'][2:]) * 1e9}
    write_csv(tmp_path / 'models.csv', list(rows[0]),
              [row.values() for row in rows])
    path = tmp_path / 'scores.csv'
    header, *lines = path.read_text().split()
    path.write_text('\n'.join([f'{header},none', *(f'{s},' for s in lines)]))
    with (tmp_path / 'benchmarks.csv').open('a') as file:
        print('none,0.25,100,1', file=file)
    return options


@pytest.mark.slow
def test_a_size_is_forecast(sized, tmp_path, capsys):
    """From the ends of the runs, as one more family."""
    assert salience.main([*sized, *SIZE, '--json']) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((tmp_path / 'out/triage.json').read_text())
    easy, hard, mean = told['forecasts']
    assert {row['run'] for row in (easy, hard, mean)} == {'7B-40T new family'}
    assert hard['low'] < hard['forecast'] < easy['forecast'] < easy['high']
    assert easy['forecast'] > .25 + .5 * SKILL * 6 / 7
    assert (easy['share'], easy['verdict']) == (0, 'not begun')
    assert told['notes'][1].startswith('Mean absolute error of families')
    del told['notes'][1]
    assert told['notes'] == [
        'none: left out, as none of the models to fit to was run on it.',
        'The law of losses was fitted to 6 models.',
        'The largest target has 78 times the compute of the largest model. '
        'Few forecasts beyond 30 times its compute were checked.'
    ]
    assert (tmp_path / 'out/triage.png').is_file()


@pytest.mark.slow
def test_runs_of_one_length_count_with_all_checkpoints(sized, tmp_path):
    path = tmp_path / 'models.csv'
    path.write_text(
        re.sub(
            r'@(\d+)(.*),[\d.]+$', r'@\1\2,\1', path.read_text(), flags=re.M))
    assert salience.main([*sized, *SIZE]) == 0
    assert 'fitted to 24 models.' in (tmp_path / 'out/triage.txt').read_text()


@pytest.mark.slow
def test_without_main_benchmarks_all_count(options, tmp_path, usual):
    path = tmp_path / 'benchmarks.csv'
    path.write_text(path.read_text().replace(',1\n', ',0\n'))
    assert salience.main(options) == 0
    out, _ = usual
    assert forecast_in(tmp_path / 'out') == forecast_in(out)


def test_no_score_of_a_model_to_fit_to(options, tmp_path, capsys):
    drop(tmp_path, ('a@1', *'bcdef'), ('scores', ))
    path = tmp_path / 'scores.csv'
    path.write_text(re.sub(r',[\d.]+', ',', path.read_text()))
    assert 'scores.csv: expected at least one acc' in refusal(capsys, *options)


@pytest.fixture
def no_fit(monkeypatch):
    """A fit takes long, so errors are found before it."""
    monkeypatch.setattr(triage_checkpoints, 'fit_predictor',
                        Mock(side_effect=AssertionError('a fit')))


@pytest.mark.parametrize('rows, more, message', [
    ({}, ['--budget', '15'], "run 'g': expected a budget of at least 20"),
    ({'a': 400}, [], "run 'a': expected a finished run, found a last check"),
    ({'g': 15}, [], "run 'g': expected a budget of at least 20"),
])  # yapf: disable
def test_runs_are_checked_before_the_fit(options, tmp_path, capsys, no_fit,
                                         rows, more, message):
    table = tmp_path / 'checkpoints.csv'
    write_csv(table, ('model', 'run', 'step', 'budget'),
              [(f'{run}@{step}', run, step, rows.get(run, '')) for run in RUNS
               for step in STEPS if run != 'g' or step < 50])
    assert message in refusal(capsys, *options, '--checkpoints', str(table),
                              *more)


@pytest.mark.parametrize('size, message', [
    (('7', '4000'), '--params: expected 1M parameters or more, a thousandth '
     'of the smallest model to forecast from, found 7 parameters. Did you '
     'mean 7B?'),
    (('5e4', '4e12'), 'found 50000 parameters. Forecast a model of a size '),
    (('7e9', '4000'), 'found 4000 tokens. Did you mean 4T?'),
])  # yapf: disable
def test_sizes_in_billions_are_refused_before_the_fit(sized, capsys, no_fit,
                                                      size, message):
    params, tokens = size
    assert message in refusal(capsys, *sized, '--params', params, '--tokens',
                              tokens)


@pytest.mark.parametrize(('more', 'message'), [
    (['--fit', 'train', '--predict', 'train'], 'train in both'),
    (['--predict', 'none'], "split 'none'"),
    (['--params', '7e9'], '--params: expected --params and --tokens'),
    ([*SIZE, '--predict', 'test'], 'no --predict'),
    (SIZE, "models.csv, model 'a@10', column 'params_b': expected a number"),
])
def test_what_is_refused(options, more, message, capsys):
    assert message in refusal(capsys, *options, *more)


def test_a_run_is_fitted_to_or_forecast(options, tmp_path, capsys):
    path = tmp_path / 'models.csv'
    path.write_text(path.read_text().replace('f@10,f,train', 'f@10,f,test'))
    assert "run 'f': expected a run that is not in" in refusal(
        capsys, *options)


@pytest.mark.slow
def test_without_a_folder_nothing_is_written(usual, options, tmp_path,
                                             monkeypatch, capsys):
    """JSON and tables are the same as with a folder."""
    out, said = usual
    place = options.index('--out')
    del options[place:place + 2]
    (tmp_path / 'empty').mkdir()
    monkeypatch.chdir(tmp_path / 'empty')
    assert salience.main([*options, '--json']) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((out / 'triage.json').read_text())
    assert salience.main(options) == 0
    tables, next_line = capsys.readouterr().out.rsplit('\n\n', 1)
    assert tables and said.startswith(tables)
    assert next_line.endswith('--out outputs/triage\n')
    assert not list((tmp_path / 'empty').iterdir())
