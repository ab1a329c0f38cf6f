"""From dumps to verdicts: what is said, and what is said of bad input."""
import csv
import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.scaling_law import accuracy_at
from csv_plugin.io.dumps import write_dump
from csv_plugin.report.pictures.accuracy_by_tokens import Forecast
from csv_plugin.report.triage_files import (CHECKPOINT_FIELDS, FORECAST_FIELDS,
                                            write_triage)
from csv_plugin.report.triage_picture import trajectory_of
from csv_plugin.report.triage_tables import as_markdown, as_text
from csv_plugin.triage.checkpoints import Checkpoint, place_checkpoints
from csv_plugin.triage.dump_places import find_dumps
from csv_plugin.triage.judging import OVERALL, triage
from csv_plugin.triage.ranking import OPEN, UNKNOWN
from csv_plugin.triage.readings import Readings
from tests.runs import OTHER_TEXTS, TEXTS, model_losses, train
from tests.triage.pretraining import (EARLIER, STEPS, skill_at,
                                      write_checkpoint, write_runs)

NEW = {'good': 1.8, 'bad': 1.0}


@pytest.fixture(scope='module')
def predictor():
    return train()


@pytest.fixture(scope='module')
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp('dumps')
    write_runs(folder, EARLIER)
    return write_runs(folder, NEW)


def judge(predictor, folder, runs, n=7, earlier=tuple(EARLIER), **kwargs):
    """The first n checkpoints of some runs."""
    places = {
        name: dump
        for name, dump in find_dumps([folder]).items() if '@' in name
    }
    known = place_checkpoints(places)
    few = {
        name: one
        for name, one in known.items()
        if one.run in runs and one.step <= STEPS[n - 1]
    }
    past = {name: one for name, one in known.items() if one.run in earlier}
    readings = Readings(predictor)
    readings.add({name: places[name] for name in (few | past)})
    return triage(readings, few, past, **kwargs)


@pytest.fixture(scope='module')
def early(predictor, dumps):
    return judge(predictor, dumps, NEW, 3)


@pytest.fixture(scope='module')
def finished(predictor, dumps):
    return judge(predictor, dumps, NEW)


def test_forecasts_come_near_the_end(early, finished):
    assert early.benchmarks == ('easy', 'hard')
    assert [run.run for run in early.runs] == ['bad', 'good']
    for run in NEW:
        wanted = finished.expected[run].values
        assert early.expected[run].values == pytest.approx(wanted, abs=0.1)
        now = early.predictions.at(f'{run}@35', 'easy').value
        assert abs(early.expected[run].values[0] - wanted[0]) < abs(now -
                                                                    wanted[0])


def test_the_better_run_is_ranked_first(early):
    for benchmark in (*early.benchmarks, OVERALL):
        assert early.rankings[benchmark].runs == ('good', 'bad')
        assert early.rankings[benchmark].above[0, 1] > 0.75


def test_a_finished_run_is_as_predicted(finished):
    for run in NEW:
        for b, benchmark in enumerate(finished.benchmarks):
            cell = finished.predictions.at(f'{run}@100', benchmark)
            assert finished.expected[run].values[b] == pytest.approx(
                cell.value)
    assert finished.backtests == {}


def test_error_to_expect_is_that_of_the_backtest(early):
    forecast, now = early.error_to_expect('good')
    test = early.backtests['good']
    actual, wrong = (
        accuracy_at(part, early.floors) for part in (test.actual, test.now))
    assert test.runs == tuple(EARLIER)
    assert now == pytest.approx(np.abs(actual - wrong).mean(axis=0))
    assert (forecast < now).all()


def test_order_of_checkpoints_does_not_matter(predictor, dumps, early):
    places = find_dumps([dumps])
    names = [f'{run}@{step}' for step in (35, 10, 20) for run in NEW]
    readings = Readings(predictor)
    past = [name for name in places if name.partition('@')[0] in EARLIER]
    readings.add({name: places[name] for name in (*names, *past)})
    found = triage(readings, place_checkpoints(names), place_checkpoints(past))
    assert found.runs[0].checkpoints == early.runs[0].checkpoints
    assert found.expected['good'].values == pytest.approx(
        early.expected['good'].values)


def test_tokens_and_budgets(predictor, dumps):
    names = ['good@10', 'good@20', 'bad@35']
    places = find_dumps([dumps / f'{name}.parquet' for name in names])
    readings = Readings(predictor)
    readings.add(places)
    known = {
        'good@10': Checkpoint('x', 2, 3e9),
        'good@20': Checkpoint('x', 1, 1e9, 1e10),
        'bad@35': Checkpoint('y', 1, 5e9)
    }
    found = triage(readings, known, budget=2e10)
    x, y = found.runs
    assert found.measure == 'tokens'
    assert x.checkpoints == ('good@20', 'good@10') and x.budget == 1e10
    assert y.budget == 2e10
    assert not any('steps' in note for note in found.notes)
    with pytest.raises(InputError, match="run 'y'.*budget of 5e.09"):
        triage(readings, known, budget=4e9)
    known['bad@35'] = Checkpoint('y', 1)
    with pytest.raises(InputError, match="run 'y', step 1"):
        triage(readings, known)


def test_budget_of_the_history(early):
    assert early.measure == 'steps'
    assert {run.budget for run in early.runs} == {100.0}
    assert any('goes by steps' in note for note in early.notes)


def test_without_history(predictor, dumps):
    as_they_are = judge(predictor, dumps, NEW, 3, earlier=())
    assert any('compared as they are' in note for note in as_they_are.notes)
    assert as_they_are.expected['good'].values[0] == pytest.approx(
        as_they_are.predictions.at('good@35', 'easy').value)
    open_end = judge(predictor, dumps, NEW, 3, earlier=(), budget=100.0)
    assert any('Fewer than two earlier' in note for note in open_end.notes)
    assert open_end.rankings[OVERALL].verdicts == (UNKNOWN, UNKNOWN)
    assert '(?)' in as_text(open_end)
    two = judge(predictor, dumps, NEW, 2, earlier=(), budget=100.0)
    assert np.isnan(two.expected['good'].values).all()
    assert ' - ' in as_text(two)


def test_one_checkpoint_only(predictor, dumps):
    found = judge(predictor, dumps, ['good'], 1)
    assert any('good: one checkpoint only' in note for note in found.notes)
    assert found.rankings[OVERALL].verdicts == (OPEN, )
    assert np.isfinite(found.expected['good'].values).all()


def test_a_missing_step(predictor, dumps, early):
    places = find_dumps([dumps])
    names = ['good@10', 'good@35']
    past = [name for name in places if name.partition('@')[0] in EARLIER]
    past.remove('old-2@20')
    readings = Readings(predictor)
    readings.add({name: places[name] for name in (*names, *past)})
    found = triage(readings, place_checkpoints(names), place_checkpoints(past))
    assert found.expected['good'].values == pytest.approx(
        early.expected['good'].values, abs=0.05)


def test_the_untrained_model_is_left_out(predictor, dumps, tmp_path):
    write_checkpoint(tmp_path, 'good@0', 0.0)
    places = find_dumps([tmp_path, dumps / 'good@10.parquet'])
    readings = Readings(predictor)
    readings.add(places)
    found = triage(readings, place_checkpoints(places))
    assert found.runs[0].checkpoints == ('good@10', )
    with pytest.raises(InputError, match='none beyond 0 tokens'):
        triage(readings, place_checkpoints(['good@0']))


def test_dumps_that_cannot_be_used(predictor, tmp_path):
    write_runs(tmp_path, {'good': 1.8}, 2)
    write_checkpoint(tmp_path, 'other@10', 1.0, OTHER_TEXTS)
    (tmp_path / 'half@10.parquet').write_bytes(b'PAR1')
    losses = model_losses(1.0)
    losses[2] = replace(losses[2], losses=losses[2].losses * np.nan)
    whole = find_dumps([tmp_path])['good@10'].read(TEXTS.fingerprint)
    write_dump(tmp_path / 'gaps@10.parquet',
               replace(whole, texts=tuple(losses)))
    places = find_dumps([tmp_path])
    readings = Readings(predictor)
    assert readings.add(places) == ('good@10', 'good@20')
    assert set(readings.refused) == {'other@10', 'half@10', 'gaps@10'}
    assert OTHER_TEXTS.fingerprint in readings.refused['other@10']
    found = triage(readings, place_checkpoints(places))
    assert [run.run for run in found.runs] == ['good']
    for name in readings.refused:
        assert sum(f'left out, {name}: ' in note for note in found.notes) == 1
    del places['good@10'], places['good@20']
    with pytest.raises(InputError, match='one or more that can be used'):
        triage(readings, place_checkpoints(places))


def test_a_broken_save_is_named(predictor, dumps, tmp_path):
    write_runs(tmp_path, EARLIER | NEW)
    write_checkpoint(tmp_path, 'good@50', 0.01)
    found = judge(predictor, tmp_path, NEW)
    assert [one.checkpoint for one in found.off] == ['good@50']
    assert 'OFF TRAJECTORY good@50: mean loss +' in as_text(found)
    assert judge(predictor, dumps, NEW).off == ()


def test_tables(early):
    text = as_text(early)
    assert 'Predicted at 6 checkpoints of 2 runs' in text
    one, overall = early.expected['good'], early.rankings[OVERALL]
    hard = [f'{100 * part[1]:.0f}' for part in (one.low, one.high)]
    assert f'{100 * one.values[1]:.1f} ({"-".join(hard)})' in text
    [line] = [ln for ln in text.splitlines() if ln.startswith('good   ')]
    assert line.split()[1] == '35%'
    assert f' {overall.above[0, 1]:.0%} ' in line
    assert text.index('\ngood  ') < text.index('\nbad  ')
    forecast, now = (f'{100 * errors.mean():.1f}'
                     for errors in early.error_to_expect('good'))
    [errors, alone] = [ln for ln in text.splitlines() if ln.startswith('35% ')]
    assert errors.split()[:4] == ['35%', '4', 'forecast', forecast]
    assert alone.split()[4] == now
    assert '| good@35' in as_markdown(early)
    assert '## Error to expect' in as_markdown(early)


def test_names_in_markdown(dumps):
    found = judge(train(('a|b', 'c')), dumps, NEW, 2)
    assert ' a|b' in as_text(found)
    tables = [ln for ln in as_markdown(found).splitlines() if ln[:1] == '|']
    assert sum(r' a\|b ' in line for line in tables) == 3
    assert not any(' a|b' in line for line in tables)


def test_many_benchmarks_stand_below_each_other(dumps):
    names = tuple(f'bench-{i}' for i in range(8))
    found = judge(train(names), dumps, NEW, 2)
    text = as_text(found)
    assert max(map(len, text.splitlines()[:-2])) < 300
    blocks = text.split('\n\n')
    heads = [block.split() for block in blocks if 'bench-7' in block]
    assert [head[0] for head in heads] == ['checkpoint', 'run', 'from']
    assert all(head[1:3] == ['bench-6', 'bench-7'] for head in heads)
    assert text.count('bench-0') == 3


def test_files(early, tmp_path):
    files = write_triage(tmp_path / 'new' / 'folder', early)
    assert [file.name for file in files] == [
        'triage.md', 'triage.json', 'checkpoints.csv', 'forecasts.csv',
        'triage.png'
    ]
    assert sorted(p.name for p in files[0].parent.iterdir()) == sorted(
        file.name for file in files)
    with files[2].open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == CHECKPOINT_FIELDS and len(rows) == 12
    cell = early.predictions.at(rows[0]['checkpoint'], rows[0]['benchmark'])
    assert float(rows[0]['predicted']) == cell.value
    assert float(rows[0]['share']) == 0.1
    with files[3].open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == FORECAST_FIELDS and len(rows) == 6
    assert [row['rank'] for row in rows] == ['1', '2'] * 3
    assert rows[0]['run'] == 'good' and rows[-1]['benchmark'] == OVERALL
    assert (rows[0]['tokens'], rows[0]['budget']) == ('35.0', '100.0')
    data = json.loads(files[1].read_text('utf-8'))
    assert data['forecasts'][0]['forecast'] == float(rows[0]['forecast'])
    assert data['above']['easy']['runs'] == ['good', 'bad']
    assert set(data['error_to_expect']) == set(NEW)


def test_picture_shows_forecasts_of_open_runs(early, finished):
    for found, ahead in ((early, True), (finished, False)):
        for run in found.runs:
            drawn = trajectory_of(found, run, 1)
            assert (drawn.forecast is not None) == ahead
            if ahead:
                one = found.expected[run.run]
                assert drawn.forecast == Forecast(100.0, one.values[1],
                                                  one.low[1], one.high[1])
            cell = found.predictions.at(run.checkpoints[-1], 'hard')
            assert drawn.predicted[-1] == cell.value
            assert (drawn.low[-1], drawn.high[-1]) == (cell.low, cell.high)


def test_json_has_no_nan(predictor, dumps, tmp_path):
    found = judge(predictor, dumps, NEW, 2, earlier=(), budget=100.0)
    write_triage(tmp_path, found)
    text = (tmp_path / 'triage.json').read_text('utf-8')
    assert 'NaN' not in text
    assert json.loads(text)['forecasts'][0]['forecast'] is None


def test_no_picture_without_matplotlib(early, tmp_path, monkeypatch):
    monkeypatch.delitem(
        sys.modules, 'csv_plugin.report.triage_picture', raising=False)
    for name in list(sys.modules):
        if name.startswith('csv_plugin.report.pictures'):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    for name in list(sys.modules):
        if name.startswith('matplotlib.'):
            monkeypatch.setitem(sys.modules, name, None)
    files = write_triage(tmp_path, early)
    assert 'triage.png' not in [file.name for file in files]
    assert not (tmp_path / 'triage.png').exists()


def test_skills_rise():
    assert np.diff([skill_at(step, 1.0) for step in STEPS]).min() > 0
