"""Tables of a triage, on the screen and in files."""
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.comparison import MEAN
from csv_plugin.core.formatting import interval
from csv_plugin.core.run_names import run_of
from csv_plugin.report.triage_report import as_text, write_triage
from csv_plugin.triage.checkpoints import Checkpoint
from csv_plugin.triage.judging import judge_runs
from csv_plugin.triage.result import CHECKPOINT_FIELDS, FORECAST_FIELDS
from tests.runs import train
from tests.scripts import csv_rows
from tests.triage.pretraining import EARLIER, NEW, run_dumps


@pytest.fixture(scope='module')
def early():
    return judge_runs(train(), run_dumps(NEW, 3), run_dumps(EARLIER))


def test_tables(early):
    text = as_text(early)
    assert 'Predicted at 6 checkpoints of 2 runs' in text
    cell, order = early.forecasts.at('good', 'hard'), early.orders[MEAN]
    hard = interval(cell.low, cell.high)
    assert f'{100 * cell.value:.1f} ({hard})' in text
    [line] = [ln for ln in text.splitlines() if ln.startswith('good   ')]
    assert line.split()[1] == '35%'
    assert line.split()[4:7] == ['1', f'{order.best[0]:.0%}', 'go']
    [other] = [ln for ln in text.splitlines() if ln.startswith('bad   ')]
    assert other.split()[4:6] == ['2', f'{order.best[1]:.0%}']
    assert text.index(line) < text.index(other)
    assert 'rank, best: the ranks that are possible (90%)' in text
    stop, best = text.splitlines()[0].split('. ')
    assert stop == ('Stop bad' if ' stop ' in other else 'Stop none')
    assert best.startswith('good is most likely to end best')


def test_lines_fit_the_width(early):
    assert max(map(len, as_text(early, 60).splitlines())) <= 60


def test_the_conclusion_is_about_all_runs():
    """A shorter run without strong rivals is not called the best."""
    runs = {**run_dumps(NEW, 3), **run_dumps({'long': 2.2}, 3)}
    points = {
        name:
        Checkpoint(
            run_of(name), float(name.partition('@')[2]), math.nan,
            300. if name.startswith('long') else 100.)
        for name in runs
    }
    made = judge_runs(train(), runs, run_dumps(EARLIER), checkpoints=points)
    best = dict(zip([end.name for end in made.ends], made.best_of_all))
    assert sum(best.values()) == pytest.approx(1)
    assert np.argmax(made.orders[MEAN].best) != np.argmax(made.best_of_all)
    name = max(best, key=best.__getitem__)
    assert name == 'long'
    conclusion, _ = as_text(made).split('\n\n', 1)
    assert ' '.join(conclusion.split()).endswith(
        f'{name} is most likely to end best of all judged runs, with a '
        f'probability of {best[name]:.0%}.')


def test_the_largest_mean_may_not_have_the_largest_probability(early):
    """Then the conclusion names both, in the order of the table."""
    uncertain = replace(early, best_of_all=np.array([.49, .51]))
    text = ' '.join(as_text(uncertain).split())
    assert ('It is too close to call which of all judged runs ends best: good '
            'has the largest mean, but bad ends best with the largest '
            'probability, 51%. ') in text
    assert 'most likely to end best' not in text


def text_with_budgets(budgets):
    """The text of a triage of runs with these budgets, on one line."""
    runs = run_dumps(dict.fromkeys(budgets, 1.5), 3)
    points = {}
    for name in runs:
        run, _, step = name.partition('@')
        points[name] = Checkpoint(run, int(step), budget=budgets[run])
    text = as_text(judge_runs(train(), runs, run_dumps(EARLIER), points))
    return ' '.join(text.split())


@pytest.mark.parametrize('budgets, begins', [
    (dict(a=1e6, b=1e6), 'Nothing can be forecast: fewer than 2 earlier runs '
     'have a checkpoint as early as after 0.0035 % of the training. Check the '
     'budget, 1000000 steps, or give more checkpoints of finished runs '),
    (dict(a=1e6, b=1e7), 'Nothing can be forecast for a, b: see the notes. '),
    (dict(a=100, b=1e6), 'No runs can be compared. Nothing is forecast for b: '
     'see the notes. '),
])  # yapf: disable
def test_the_conclusion_if_runs_have_no_forecast(budgets, begins):
    assert text_with_budgets(budgets).startswith(begins)


def test_a_run_without_a_forecast_beside_others():
    text = text_with_budgets(dict(a=100, b=100, c=1e6))
    assert text.startswith('Stop none. ')
    assert 'Nothing is forecast for c: see the notes. Predicted' in text
    assert ' c 0% - - - - - - ' in text


@pytest.mark.parametrize('runs, earlier, shown, absent', [
    (run_dumps(NEW, 3), {'old-1': 1.0}, 'nothing is forecast, as fewer than 2',
     ('Forecast at', 'verdict', '(?)')),
    (run_dumps(NEW, 2), {}, 'nothing is forecast, as fewer than 2 earlier',
     ('Forecast at', 'verdict', 'stop', '(?)', ' - ')),
    (run_dumps({'good': 1.8}, 1), EARLIER,
     'Predicted at 1 checkpoint of 1 run\n', ('verdict', 'stop', 'best run')),
])  # yapf: disable
def test_what_is_not_known_or_compared(runs, earlier, shown, absent):
    budget = math.nan if earlier else 100.0
    made = judge_runs(
        train(), runs, run_dumps(earlier) if earlier else None, budget=budget)
    text = as_text(made)
    assert shown in ' '.join(text.split(' ')) or shown in text
    if 'as fewer than 2' in text:
        assert '(--history or, of tables, --fit)' in ' '.join(text.split())
    for word in absent:
        assert word not in text
    if len(made.ends) == 1:
        [line] = [ln for ln in text.splitlines() if ln.startswith('good ')]
        assert line.split()[1:3] == ['10%', f'{100 * made.means[0, 0]:.1f}']


def test_files(early, tmp_path):
    write_triage(tmp_path, early)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [
        'checkpoints.csv', 'forecasts.csv', 'triage.json', 'triage.txt'
    ]
    rows = csv_rows(files[0])
    assert len(rows) == 12 and tuple(rows[0]) == CHECKPOINT_FIELDS
    cell = early.predictions.at(rows[0]['checkpoint'], rows[0]['benchmark'])
    assert float(rows[0]['predicted']) == cell.value
    assert (rows[0]['share'], rows[0]['extrapolated']) == ('0.1', '0')
    rows = csv_rows(files[1])
    assert len(rows) == 6 and tuple(rows[0]) == FORECAST_FIELDS
    assert [row['worst_rank'] for row in rows] == ['1', '2'] * 3
    assert rows[0]['run'] == 'good' and rows[-1]['benchmark'] == MEAN
    assert (rows[0]['tokens'], rows[0]['budget']) == ('35.0', '100.0')
    data = json.loads(files[2].read_text('utf-8'))
    assert data == early.to_dict()
    assert data['forecasts'][0]['forecast'] == float(rows[0]['forecast'])


def test_without_forecasts_their_table_is_empty(tmp_path):
    too_early = judge_runs(train(), run_dumps(NEW, 2), budget=100.0)
    write_triage(tmp_path, too_early)
    assert 'NaN' not in (tmp_path / 'triage.json').read_text('utf-8')
    lines = (tmp_path / 'forecasts.csv').read_text().splitlines()
    assert lines == [','.join(FORECAST_FIELDS)]
