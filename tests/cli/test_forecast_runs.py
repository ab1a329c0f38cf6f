"""Runs forecast from tables: what is written, printed and refused."""
import csv
import json

import numpy as np
import pytest

from csv_plugin.cli import salience
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.report.forecast_tables import as_report
from csv_plugin.triage.checkpoints import Checkpoint, describe_checkpoints
from csv_plugin.triage.run_notes import as_sentences
from csv_plugin.triage.table_forecasts import LOSS, forecast_tables
from tests.tables import Tables, write_tables

STEPS = (10, 20, 50, 100)
RUNS = 'abcdefg'


def checkpoints() -> Tables:
    """Runs with losses on two sources, and scores that follow them."""
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


@pytest.fixture
def options(tmp_path):
    tables = checkpoints()
    splits = {m: 'test' if m[0] == 'g' else 'train' for m in tables.models}
    return [
        'forecast', *write_tables(tmp_path, tables, splits), '--fit', 'train',
        '--out',
        str(tmp_path / 'out')
    ]


def records(path):
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def test_the_largest_run_is_forecast(options, tmp_path, capsys):
    assert salience.main([*options, '--after', '10', '20']) == 0
    rows = records(tmp_path / 'out/forecasts.csv')
    assert {row['run'] for row in rows} == {'g'}
    assert {row['share'] for row in rows} == {'0.1', '0.2'}
    assert {row['name']
            for row in rows if row['quantity'] == 'loss'} == {'p', 'q'}

    def errors(method, quantity='accuracy'):
        return [
            abs(float(row['forecast']) - float(row['real'])) for row in rows
            if (row['method'], row['quantity']) == (method, quantity)
        ]

    now = np.mean(errors('score observed now'))
    for method in ('losses', 'scores', 'losses and scores'):
        assert len(errors(method)) == 4
        assert np.mean(errors(method)) < now / 5
    assert max(errors('losses', 'loss')) < 0.1
    printed = capsys.readouterr().out
    for text in (printed, (tmp_path / 'out/forecasts.md').read_text()):
        assert '1 run forecast\n' in text and 'MAE, points' in text


def test_a_finished_run_is_called_so(options, capsys):
    assert salience.main(options) == 0
    assert '1 run forecast, 1 at the end\n' in capsys.readouterr().out


def test_an_unfinished_run_without_scores(options, tmp_path, capsys):
    """Its budget is that of the others, and its end is not known."""
    for name in ('losses', 'scores', 'models'):
        path = tmp_path / f'{name}.csv'
        lines = path.read_text().splitlines()
        gone = ('g@50', 'g@100') if name != 'scores' else ('g@', )
        path.write_text('\n'.join(
            line for line in lines if not line.startswith(gone)) + '\n')
    assert salience.main([*options, '--json']) == 0
    rows = json.loads(capsys.readouterr().out)['forecasts']
    assert {row['method']
            for row in rows} == {'losses', 'predicted from losses now'}
    assert all(row['real'] is None and row['share'] == 0.2 for row in rows)
    easy = next(row for row in rows if row['name'] == 'easy')
    assert easy['low'] < 0.25 + 0.5 * np.log(100) / 5 < easy['high']


def start_late(tmp_path, *runs):
    """Take the first checkpoint of runs out of all tables."""
    for name in ('losses', 'scores', 'models'):
        path = tmp_path / f'{name}.csv'
        gone = tuple(f'{run}@10,' for run in runs)
        path.write_text(''.join(
            line for line in path.read_text().splitlines(keepends=True)
            if not line.startswith(gone)))


def test_runs_that_start_late_are_left_out_with_a_note(options, tmp_path,
                                                       capsys):
    start_late(tmp_path, 'a', 'c')
    assert salience.main([*options, '--after', '10', '20', '--json']) == 0
    printed = json.loads(capsys.readouterr().out)
    [note] = printed['notes']
    assert note == (
        'After 10 % of the training of g, the losses and scores of a, c do '
        'not count, for want of a checkpoint with scores as early.')
    assert note in (tmp_path / 'out/forecasts.md').read_text()
    assert {row['share'] for row in printed['forecasts']} == {0.1, 0.2}


def test_too_few_runs_start_early(options, tmp_path, capsys):
    start_late(tmp_path, 'a', 'c', 'd')
    assert salience.main([*options, '--after', '10']) == 2
    message = capsys.readouterr().err
    assert 'the losses and scores of a, c, d do not count' in message
    assert ('nothing is forecast from losses or scores, as fewer than 4 '
            'finished runs (3) have scores as early') in message
    # Another part is forecast all the same.
    assert salience.main([*options, '--after', '10', '20', '--json']) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {
        row['share']
        for row in printed['forecasts'] if row['method'] == 'losses'
    } == {0.2}
    assert len(printed['notes']) == 2


def test_parts_that_a_run_has_no_checkpoints_of():
    ends = forecast_longer('g', after=(.01, .75), budget=400)
    assert as_sentences(ends.notes) == [
        'After 1 % of the training of g, nothing is forecast, for want of a '
        'checkpoint so early.',
        'After 75 % of the training of g, nothing is forecast, for want of a '
        'checkpoint yet.'
    ]
    assert not ends.forecasts


def test_an_end_beyond_those_of_all_finished_runs():
    longer = forecast_longer('g', after=(.1, ), budget=400)
    assert longer.forecasts and as_sentences(longer.notes) == [
        'For g, the end, 400 steps, lies beyond those of all finished runs, '
        '100 at most: the forecast extrapolates, and takes equal parts of '
        'trainings for alike.'
    ]


def test_the_end_that_is_assumed_is_told():
    ends = forecast_longer('g', after=(.1, .5), budget=400)
    assert {one[:4]
            for one in ends.forecasts} == {('g', .1, 400, 'steps'),
                                           ('g', .5, 400, 'steps')}
    assert len(ends.notes) == 1
    for table in as_report(ends).split('\n\n')[1:4:2]:
        header, _, *rows = table.splitlines()
        cells = [row.split('|')[2:4] for row in rows]
        assert header.split('|')[3].strip() == 'end, steps'
        assert [[cell.strip() for cell in row]
                for row in cells] == [['10 %', '400'], ['50 %', '400']]


def test_runs_are_ranked_by_the_most_that_is_known():
    tables = checkpoints()
    ends = forecast_tables(
        tables.features, tables.accuracies,
        describe_checkpoints(tables.models),
        [name for name in tables.models if name[0] not in 'fg'],
        [name for name in tables.models if name[0] in 'fg'],
        after=(.1, .2))  # yapf: disable
    heading, table, about_losses, of_losses = as_report(ends).split('\n\n')[:4]
    header, _, *rows = ([cell.strip() for cell in row.split('|')[1:-1]]
                        for row in table.splitlines())
    assert header == [
        'run', 'known', 'end, steps', 'from', 'mean (rank)', 'easy', 'hard'
    ]
    assert [row[:2] for row in rows] == [['f', '10 %'], ['f', '20 %'],
                                         ['g', '10 %'], ['g', '20 %']]
    assert {row[3] for row in rows} == {'losses and scores'}
    for row in rows:
        mean = np.mean([float(cell.split()[0]) for cell in row[5:]])
        assert float(row[4].split()[0]) == pytest.approx(mean, abs=0.1)
    assert [row[4].partition(' ')[2] for row in rows] == ['', '(2)', '', '(1)']
    assert 'percent' in heading and 'unit of the table' in about_losses
    assert '| losses |' in of_losses and 'mean' not in of_losses


def test_a_run_that_has_not_begun(options, tmp_path, capsys):
    for name in ('losses', 'scores', 'models'):
        path = tmp_path / f'{name}.csv'
        lines = path.read_text().splitlines()
        first = next(line for line in lines if line.startswith('g@10,'))
        path.write_text(
            '\n'.join([*lines, first.replace('g@10', 'h@0')]) + '\n')
    assert salience.main([*options, '--after', '20', '--json']) == 0
    assert json.loads(capsys.readouterr().out)['notes'] == [
        'After 0 % of the training of h, nothing is forecast, for want of a '
        'checkpoint yet.'
    ]


def test_parts_with_the_same_last_checkpoint_are_forecast_once():
    once, twice = ([
        one[:8] for one in forecast_longer(
            'g', all_finished=True, after=after).forecasts
    ] for after in ((.2, ), (.2, .22, .4)))
    assert twice == once


def test_errors_are_told_by_the_parts_that_were_asked_for():
    """Though runs have their last checkpoints before them elsewhere."""
    tables = checkpoints()
    described = describe_checkpoints(tables.models)
    described['g@10'] = Checkpoint('g', 15)
    ends = forecast_tables(
        tables.features, tables.accuracies, described,
        [name for name in tables.models if name[0] not in 'fg'],
        [name for name in tables.models if name[0] in 'fg'],
        after=(.12, .16))  # yapf: disable
    assert {one[:2] for one in ends.forecasts} == {('f', .1), ('g', .15)}
    accuracies, losses = as_report(ends).split('\n\n')[5:7]
    for table in (accuracies, losses):
        header, _, *rows = ([cell.strip() for cell in row.split('|')[1:-1]]
                            for row in table.splitlines())
        assert header[1:] == ['12 %', '16 %']
        assert all(row[1] != '-' for row in rows)
    # At 12 %, g has no checkpoint yet, and one run has no interval.
    now = accuracies.splitlines()[2].split('|')
    assert 'score observed now' in now[1]
    assert '(' not in now[2] and '(' in now[3]


@pytest.mark.slow
def test_a_late_run_is_left_out_of_runs_left_out(options, tmp_path, capsys):
    start_late(tmp_path, 'a')
    options = [*options, '--leave-run-out', '--after', '10', '20', '--json']
    assert salience.main(options) == 0
    printed = json.loads(capsys.readouterr().out)
    shares = {'b': {0.1, 0.2}, 'a': {0.2}}
    for run, expected in shares.items():
        assert expected == {
            row['share']
            for row in printed['forecasts'] if row['run'] == run
        }
    begin = 'After 10 % of the training of '
    assert set(printed['notes']) == {
        begin + 'a, nothing is forecast, for want of a checkpoint so early.',
        begin + 'b, c, d, e, f, the losses and scores of a do not count, for '
        'want of a checkpoint with scores as early.'
    }


@pytest.mark.slow
def test_every_finished_run_is_left_out_in_turn(options, tmp_path):
    assert salience.main([*options, '--leave-run-out', '--after', '20']) == 0
    rows = records(tmp_path / 'out/forecasts.csv')
    assert sorted({row['run'] for row in rows}) == list('abcdef')
    losses = [
        float(row['low']) <= float(row['real']) <= float(row['high'])
        for row in rows if row['quantity'] == 'loss'
    ]
    report = (tmp_path / 'out/forecasts.md').read_text().splitlines()
    held, = (line for line in report if '| intervals: hold the end, %' in line)
    assert held.split('|')[2].strip() == f'{100 * np.mean(losses):.0f}'


def forecast_longer(run, budget=np.nan, **more):
    """Forecast g, where the steps of a run are twice those of the others.

    The first checkpoint of that run tells its budget.
    """
    tables = checkpoints()
    described = describe_checkpoints(tables.models)
    for name, point in described.items():
        if point.run == run:
            told = budget if point.step == STEPS[0] else np.nan
            described[name] = Checkpoint(run, 2 * point.step, budget=told)
    models = sorted(tables.models)
    return forecast_tables(
        tables.features, tables.accuracies, described,
        [name for name in models if name[0] != 'g'],
        [name for name in models if name[0] == 'g'], **more)  # yapf: disable


def test_a_longer_run_that_is_finished_ends_where_it_is():
    with pytest.raises(
            InputError,
            match='has come to 200: expected a budget of 200 or more, found '
            'none, where finished runs end at 100 in the median'):
        forecast_longer('g')
    ends = forecast_longer('g', all_finished=True)
    assert all(one.share == 1 and one.real == one.real
               for one in ends.forecasts)
    losses = [one for one in ends.forecasts if one.quantity == LOSS]
    assert {one.name for one in losses} == {'p', 'q'}
    for one in losses:
        assert [one.forecast, one.low,
                one.high] == pytest.approx([one.real] * 3)


def test_a_run_to_fit_to_has_reached_its_budget():
    with pytest.raises(InputError, match='come to 200.*budget of 200, .*400'):
        forecast_longer('a', budget=400)


@pytest.mark.parametrize(('more', 'message'), [
    (['--predict', 'train'], 'train in both'),
    (['--fit', 'test', '--leave-run-out'], '4 or more, finished'),
    (['--after', '1', '2'], 'for want of a checkpoint so early'),
])  # yapf: disable
def test_what_is_refused(options, more, message, capsys):
    assert salience.main(options + more) == 2
    assert message in capsys.readouterr().err
