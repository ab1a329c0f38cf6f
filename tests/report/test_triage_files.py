"""Files of a triage agree with it, and the picture shows its forecasts."""
import csv
import json
import sys

import pytest

from csv_plugin.extras.pictures.accuracy_by_tokens import Forecast
from csv_plugin.report.triage_files import write_triage
from csv_plugin.report.triage_picture import trajectory_of
from csv_plugin.triage.judging import OVERALL, forecast
from tests.runs import train
from tests.triage.pretraining import EARLIER, NEW, run_dumps


@pytest.fixture(scope='module')
def predictor():
    return train()


@pytest.fixture(scope='module')
def early(predictor):
    return forecast(predictor, run_dumps(NEW, 3), run_dumps(EARLIER))


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
    assert len(rows) == 12 and list(rows[0]) == [
        'run', 'checkpoint', 'tokens', 'share', 'benchmark', 'predicted',
        'low', 'high', 'extrapolated', 'alarm'
    ]
    cell = early.predictions.at(rows[0]['checkpoint'], rows[0]['benchmark'])
    assert float(rows[0]['predicted']) == cell.value
    assert float(rows[0]['share']) == 0.1
    assert rows[0]['extrapolated'] in '01'
    with files[3].open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 and list(rows[0]) == [
        'run', 'benchmark', 'tokens', 'share', 'budget', 'forecast', 'low',
        'high', 'rank', 'verdict'
    ]
    assert [row['rank'] for row in rows] == ['1', '2'] * 3
    assert rows[0]['run'] == 'good' and rows[-1]['benchmark'] == OVERALL
    assert (rows[0]['tokens'], rows[0]['budget']) == ('35.0', '100.0')
    data = json.loads(files[1].read_text('utf-8'))
    assert data == early.to_dict()
    assert data['forecasts'][0]['forecast'] == float(rows[0]['forecast'])
    assert data['above']['easy']['runs'] == ['good', 'bad']
    assert set(data['error_to_expect']) == set(NEW)


def test_unknown_values_are_null_or_empty(predictor, tmp_path):
    too_early = forecast(predictor, run_dumps(NEW, 2), budget=100.0)
    write_triage(tmp_path, too_early)
    text = (tmp_path / 'triage.json').read_text('utf-8')
    assert 'NaN' not in text
    assert json.loads(text)['forecasts'][0]['forecast'] is None
    with (tmp_path / 'forecasts.csv').open(newline='') as file:
        row = next(csv.DictReader(file))
    assert row['forecast'] == row['low'] == row['high'] == ''


def test_picture_shows_forecasts_of_unfinished_runs(predictor, early):
    finished = forecast(predictor, run_dumps(NEW), run_dumps(EARLIER))
    for triage, ahead in ((early, True), (finished, False)):
        for run in triage.runs:
            drawn = trajectory_of(triage, run, 1)
            assert (drawn.forecast is not None) == ahead
            if ahead:
                expected = triage.expected[run.run]
                assert drawn.forecast == Forecast(100.0, expected.values[1],
                                                  expected.low[1],
                                                  expected.high[1])
            cell = triage.predictions.at(run.checkpoints[-1], 'hard')
            assert drawn.predicted[-1] == cell.value
            assert (drawn.low[-1], drawn.high[-1]) == (cell.low, cell.high)


def test_no_picture_without_matplotlib(early, tmp_path, monkeypatch):
    monkeypatch.delitem(
        sys.modules, 'csv_plugin.report.triage_picture', raising=False)
    for name in list(sys.modules):
        if name.startswith('csv_plugin.extras.pictures'):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    for name in list(sys.modules):
        if name.startswith('matplotlib.'):
            monkeypatch.setitem(sys.modules, name, None)
    files = write_triage(tmp_path, early)
    assert 'triage.png' not in [file.name for file in files]
    assert not (tmp_path / 'triage.png').exists()
