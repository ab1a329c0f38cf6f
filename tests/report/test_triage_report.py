"""Tables of a triage, on the screen and in files."""
import json
import math

import pytest

from csv_plugin.core.formatting import interval
from csv_plugin.report.triage_report import as_text, write_triage
from csv_plugin.triage.judging import OVERALL, forecast
from tests.runs import train
from tests.scripts import csv_rows
from tests.triage.pretraining import EARLIER, NEW, run_dumps


@pytest.fixture(scope='module')
def early():
    return forecast(train(), run_dumps(NEW, 3), run_dumps(EARLIER))


def test_tables(early):
    text = as_text(early)
    assert 'Predicted at 6 checkpoints of 2 runs' in text
    expected, overall = early.expected['good'], early.rankings[OVERALL]
    hard = interval(expected.low[1], expected.high[1])
    assert f'{100 * expected.values[1]:.1f} ({hard})' in text
    [line] = [ln for ln in text.splitlines() if ln.startswith('good   ')]
    assert line.split()[1] == '35%'
    assert line.split()[4:8] == [
        '1', f'{overall.chance[0]:.0%}', f'{overall.above_next[0]:.0%}', 'go'
    ]
    [other] = [ln for ln in text.splitlines() if ln.startswith('bad   ')]
    assert other.split()[4:6] == ['2', f'{overall.chance[1]:.0%}']
    assert text.index(line) < text.index(other)
    test = early.errors['good']
    forecasts, now = (f'{100 * errors.mean():.1f}'
                      for errors in (test.forecast, test.now))
    first, second = [ln for ln in text.splitlines() if ln.startswith('35% ')]
    assert first.split()[:4] == ['35%', '4', 'forecast', forecasts]
    assert second.split()[4] == now


def test_runs_forecast_from_the_same_share_have_one_error():
    judged = run_dumps(NEW, 3)
    del judged['bad@10']
    text = as_text(forecast(train(), judged, run_dumps(EARLIER)))
    assert sum(ln.startswith('35% ') for ln in text.splitlines()) == 2


@pytest.mark.parametrize('runs, earlier, shown, absent', [
    (run_dumps(NEW, 3), {'old-1': 1.0}, '? or (?) no error known.', ()),
    (run_dumps(NEW, 2), {}, 'nothing is forecast: no earlier run',
     ('Forecast at', 'verdict', 'stop', '(?)', ' - ')),
    (run_dumps({'good': 1.8}, 1), EARLIER,
     'Predicted at 1 checkpoint of 1 run\n', ('verdict', 'stop', 'best run')),
])  # yapf: disable
def test_what_is_not_known_or_compared(runs, earlier, shown, absent):
    budget = math.nan if earlier else 100.0
    made = forecast(train(), runs, run_dumps(earlier), budget=budget)
    text = as_text(made)
    assert shown in text
    for word in absent:
        assert word not in text
    if len(made.forecast_runs) == 1:
        [line] = [ln for ln in text.splitlines() if ln.startswith('good ')]
        assert line.split()[1:3] == [
            '10%', f'{100 * made.rankings[OVERALL].values[0]:.1f}'
        ]


def test_files(early, tmp_path):
    write_triage(tmp_path, early)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [
        'checkpoints.csv', 'forecasts.csv', 'triage.json', 'triage.txt'
    ]
    rows = csv_rows(files[0])
    assert len(rows) == 12 and list(rows[0]) == [
        'run', 'checkpoint', 'tokens', 'share', 'benchmark', 'predicted',
        'low', 'high', 'extrapolated'
    ]
    cell = early.predictions.at(rows[0]['checkpoint'], rows[0]['benchmark'])
    assert float(rows[0]['predicted']) == cell.value
    assert (rows[0]['share'], rows[0]['extrapolated']) == ('0.1', '0')
    rows = csv_rows(files[1])
    assert len(rows) == 6 and list(rows[0]) == [
        'run', 'benchmark', 'tokens', 'share', 'budget', 'forecast', 'low',
        'high', 'extrapolated', 'best_rank', 'worst_rank', 'chance_best',
        'above_next', 'verdict'
    ]
    assert [row['worst_rank'] for row in rows] == ['1', '2'] * 3
    assert rows[0]['run'] == 'good' and rows[-1]['benchmark'] == OVERALL
    assert (rows[0]['tokens'], rows[0]['budget']) == ('35.0', '100.0')
    data = json.loads(files[2].read_text('utf-8'))
    assert data == early.to_dict()
    assert data['forecasts'][0]['forecast'] == float(rows[0]['forecast'])
    assert set(data['error_to_expect']) == set(NEW)


def test_unknown_values_are_null_or_empty(tmp_path):
    too_early = forecast(train(), run_dumps(NEW, 2), budget=100.0)
    write_triage(tmp_path, too_early)
    text = (tmp_path / 'triage.json').read_text('utf-8')
    assert 'NaN' not in text
    assert json.loads(text)['forecasts'][0]['forecast'] is None
    row, *_ = csv_rows(tmp_path / 'forecasts.csv')
    assert row['forecast'] == row['low'] == row['high'] == ''
