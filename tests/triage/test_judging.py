"""From dumps to verdicts; bad input is refused or named in notes."""
import json
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.io.dumps import write_dump
from csv_plugin.triage import judging
from csv_plugin.triage.checkpoints import Checkpoint, describe_checkpoints
from csv_plugin.triage.forecasting import forecast_state
from csv_plugin.triage.judging import OVERALL, _extrapolated, forecast
from csv_plugin.triage.loss_errors import LEVEL
from csv_plugin.triage.ranking import NOT_FORECAST, TOO_FAR
from csv_plugin.triage.watching import TriageJob
from tests.runs import OTHER_TEXTS, dump, model_losses, train
from tests.triage.pretraining import (EARLIER, NEW, STEPS, run_dumps,
                                      write_checkpoint, write_runs)


@pytest.fixture(scope='module')
def predictor():
    return train()


@pytest.fixture(scope='module')
def history():
    return run_dumps(EARLIER)


@pytest.fixture(scope='module')
def early(predictor, history):
    return forecast(predictor, run_dumps(NEW, 3), history)


@pytest.fixture(scope='module')
def finished(predictor, history):
    return forecast(predictor, run_dumps(NEW), history)


def test_error_to_expect_is_that_of_the_backtest(predictor, history, early):
    """Accuracies predicted at the ends of earlier runs, and beside them those
    at losses that the others forecast.
    """
    features = predictor.features(history)
    levels = predictor.joint(features).mean.mean(axis=1)
    states = np.column_stack([levels, np.log(features.values)])
    first = [features.models.index(f'{run}@35') for run in EARLIER]
    last = [features.models.index(f'{run}@100') for run in EARLIER]
    losses = np.exp([
        forecast_state(states[first[i]], states[np.delete(first, i)],
                       states[np.delete(last, i)])[1:] for i in range(4)
    ])
    actual = predictor.predict(features).values[:, :, 0]
    found = predictor.predict(
        replace(features, models=tuple(EARLIER), values=losses))
    test = early.errors['good']
    assert test.runs == tuple(EARLIER)
    assert test.forecast == pytest.approx(
        np.abs(actual[last] - found.values[:, :, 0]).mean(axis=0))
    assert test.now == pytest.approx(
        np.abs(actual[last] - actual[first]).mean(axis=0))
    assert (test.forecast < test.now).all()


def test_a_finished_run_has_one_number_and_one_interval(finished):
    """In the table of checkpoints and in that of forecasts."""
    for run in NEW:
        expected = finished.expected[run]
        for b, name in enumerate(finished.benchmarks):
            cell = finished.predictions.at(f'{run}@100', name)
            assert (expected.values[b], expected.low[b],
                    expected.high[b]) == (cell.value, cell.low, cell.high)


def test_of_two_runs_one_ends_best_with_the_probability_to_be_above(early):
    for ranking in early.rankings.values():
        assert ranking.above_next[0] == ranking.chance[0]


def test_errors_of_losses_widen_forecasts(early, finished):
    for run in NEW:
        wide, narrow = (part.expected[run] for part in (early, finished))
        assert (wide.high - wide.low > 2 * (narrow.high - narrow.low)).all()


def test_known_scores_of_checkpoints_count(predictor, history, early):
    """For their run, on all of its benchmarks, and for no other run."""
    cell = early.predictions.at('good@35', 'easy')
    known = AccuracyTable(('good@35', ), ('easy', ),
                          np.array([[cell.value + .04]]), np.zeros(1),
                          np.zeros(1, int))
    dumps = run_dumps(NEW, 3)
    features = predictor.features(dumps | history)
    triage = judging.judge(
        predictor,
        features,
        describe_checkpoints(dumps),
        describe_checkpoints(history),
        known=known)
    assert ('good: the known scores of checkpoints count in predictions and '
            'forecasts.') in triage.notes
    assert (triage.expected['good'].values > early.expected['good'].values
            ).all()  # yapf: disable
    assert triage.expected['bad'].values == pytest.approx(
        early.expected['bad'].values)


def test_tokens_and_budgets(predictor):
    dumps = run_dumps(NEW, 3)
    chosen = {name: dumps[name] for name in ('good@10', 'good@20', 'bad@35')}
    checkpoints = {
        'good@10': Checkpoint('x', 2, 3e9),
        'good@20': Checkpoint('x', 1, 1e9, 1e10),
        'bad@35': Checkpoint('y', 1, 5e9)
    }
    triage = forecast(predictor, chosen, checkpoints=checkpoints, budget=2e10)
    x, y = triage.runs
    assert triage.measure == 'tokens'
    assert x.checkpoints == ('good@20', 'good@10') and x.budget == 1e10
    assert y.budget == 2e10
    assert not any('steps' in note for note in triage.notes)
    with pytest.raises(InputError, match="run 'y'.*budget of 5e.09"):
        forecast(predictor, chosen, checkpoints=checkpoints, budget=4e9)
    checkpoints['bad@35'] = Checkpoint('y', 1)
    with pytest.raises(InputError, match="run 'y', step 1"):
        forecast(predictor, chosen, checkpoints=checkpoints)


def with_tokens(dumps, times):
    """Names that state a million tokens a step, and so many times the steps.
    """
    named = {}
    for name, losses in dumps.items():
        run, step = name.split('@')
        named[f'{run}@step{times * int(step)}-tokens{step}M'] = losses
    return named


def test_tokens_in_names(predictor):
    """A run with a quarter of the tokens a step of the earlier ones."""
    dumps = with_tokens(run_dumps({'good': 1.8}, 3), 4)
    triage = forecast(predictor, dumps, with_tokens(run_dumps(EARLIER), 1))
    run, = triage.runs
    assert triage.measure == 'tokens' and run.budget == 1e8
    assert run.tokens.tolist() == [1e7, 2e7, 3.5e7]


def test_a_run_in_steps_with_a_history_in_tokens(predictor):
    """Shares of budgets have no unit; a budget of the history has one."""
    history = with_tokens(run_dumps(EARLIER), 1)
    dumps = run_dumps({'good': 1.8}, 3)
    with pytest.raises(InputError, match="run 'good'.*--budget.*--checkpoint"):
        forecast(predictor, dumps, history)
    plain = forecast(predictor, dumps, run_dumps(EARLIER), budget=100)
    given = forecast(predictor, dumps, history, budget=100)
    assert given.measure == 'steps'
    assert given.expected['good'].values.tolist() == \
        plain.expected['good'].values.tolist()


def test_a_run_without_a_budget_is_not_forecast(predictor):
    table = {
        f'good@{step}': Checkpoint('good', step, budget=35)
        for step in STEPS[:3]
    }
    both = forecast(predictor, run_dumps(NEW, 3), checkpoints=table)
    assert both.notes[-1].startswith('bad: nothing is forecast: the end of')
    assert np.isnan(both.expected['bad'].values).all()
    assert both.expected['good'].values[0] == pytest.approx(
        both.predictions.at('good@35', 'easy').value)


def test_budget_of_the_history(early, predictor, history):
    assert early.measure == 'steps'
    assert {run.budget for run in early.runs} == {100.0}
    assert any('measured in steps' in note for note in early.notes)
    given = forecast(predictor, run_dumps(NEW, 3), history, budget=200.0)
    assert {run.budget for run in given.runs} == {200.0}
    shorter = run_dumps({'old-8': 1.0, 'old-9': 1.3}, 6)
    mixed = shorter | run_dumps({'old-1': 1.0})
    median = forecast(predictor, run_dumps(NEW, 3), mixed)
    assert {run.budget for run in median.runs} == {80.0}


def test_without_history(predictor):
    triage = forecast(predictor, run_dumps(NEW, 3), budget=100.0)
    assert triage.notes[-1].startswith(
        'bad, good: after 35 % of the training, nothing is forecast')
    assert np.isfinite(triage.predictions.values).all()
    assert triage.rankings[OVERALL].verdicts == (NOT_FORECAST, ) * 2
    assert np.isnan(triage.expected['good'].values).all()
    assert not triage.forecast_runs
    plain = triage.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert {(record['forecast'], record['best_rank'], record['verdict'])
            for record in plain['forecasts']} == {(None, None, NOT_FORECAST)}


@pytest.mark.parametrize(('late', 'then'), [
    (('old-2', ), None),
    (('old-1', 'old-2', 'old-4'), 'the error of the forecast is unknown: '
     'only one earlier run'),
    (tuple(EARLIER), 'nothing is forecast: no earlier run'),
])
def test_earlier_runs_that_begin_late_are_named(predictor, history, late,
                                                then):
    begun = {
        name: past
        for name, past in history.items()
        if name not in [f'{run}@{step}' for run in late for step in (10, 20)]
    }
    both = run_dumps({'good': 1.8}, 2) | run_dumps({'bad': 1.0}, 3)
    triage = forecast(predictor, both, begun)
    about = [note for note in triage.notes if 'as early' in note]
    begin = 'good: after 20 % of the training, '
    names = ', '.join(late)
    assert about[0] == (f'{begin}the losses of {names} do not count: no '
                        'checkpoint is as early.')
    assert len(about) == (2 if then else 1)
    assert about[-1].startswith(begin + (then or ''))
    without = {
        name: past
        for name, past in begun.items() if not name.startswith(late)
    }
    others = forecast(predictor, both, without, budget=100)
    np.testing.assert_allclose(triage.expected['good'].values,
                               others.expected['good'].values)


def test_the_untrained_model_is_left_out(predictor):
    untrained = {'good@0': dump('good@0', model_losses(0.0))}
    triage = forecast(predictor, untrained | run_dumps({'good': 1.8}, 1))
    assert triage.runs[0].checkpoints == ('good@10', )
    assert not any('no checkpoint yet' in note for note in triage.notes)
    other = forecast(predictor, untrained | run_dumps({'bad': 1.0}, 1))
    assert other.notes[-1] == ('good: nothing is forecast: there is no '
                               'checkpoint yet.')
    with pytest.raises(InputError, match='none beyond 0 tokens'):
        forecast(predictor, untrained)


def test_a_benchmark_that_is_called_like_the_mean():
    dumps = {name: dump(name, model_losses(1)) for name in ('a@1', 'a@2')}
    with pytest.raises(InputError, match="^predictor: .* found 'mean'"):
        forecast(train(('easy', 'mean')), dumps)


def test_losses_that_cannot_be_used(predictor):
    dumps = run_dumps(NEW, 2)
    message = f"^losses of 'other@10': .* set {OTHER_TEXTS.fingerprint}"
    with pytest.raises(InputError, match=message):
        forecast(
            predictor, dumps
            | {'other@10': dump('other', model_losses(1.0), OTHER_TEXTS)})
    with pytest.raises(InputError, match="model 'last'.*run@1000"):
        forecast(predictor, dumps | {'last': dumps['good@20']})


def test_dumps_that_cannot_be_used(predictor, tmp_path):
    write_runs(tmp_path, {'good': 1.8}, 2)
    write_checkpoint(tmp_path, 'other@10', 1.0, OTHER_TEXTS)
    (tmp_path / 'half@10.safetensors').write_bytes(b'PAR1')
    losses = model_losses(1.0)
    losses[2] = replace(losses[2], losses=losses[2].losses * np.nan)
    write_dump(tmp_path / 'gaps@10.safetensors', dump('gaps', losses))
    job = TriageJob(predictor, [tmp_path])
    triage = job.update()
    assert triage.predictions.models == ('good@10', 'good@20')
    assert [run.run for run in triage.runs] == ['good']
    left_out = [note for note in triage.notes if ' is left out: ' in note]
    assert [note.partition(' ')[0]
            for note in left_out] == ['gaps@10', 'half@10', 'other@10']
    assert OTHER_TEXTS.fingerprint in left_out[2]
    for step in STEPS[:2]:
        (tmp_path / f'good@{step}.safetensors').unlink()
    with pytest.raises(InputError, match='one or more that can be used'):
        TriageJob(predictor, [tmp_path]).update()


def test_a_copy_of_another_checkpoint_is_named(predictor, finished):
    dumps = run_dumps(NEW)
    dumps['good@50'] = dumps['good@35']
    notes = forecast(predictor, dumps).notes
    assert ('good: good@50 has the losses of good@35. One of the two may be a '
            'wrong upload.') in notes
    assert not any('upload' in note for note in finished.notes)


def test_an_interval_of_the_mean_from_guessing_to_100_says_nothing(early):
    expected = early.expected['good']
    chance = np.mean([*early.predictions.chance.values()])
    for low, shown in ((chance - 0.01, '(any)'), (chance + 0.02, '-100)')):
        wide = replace(expected, low=np.full(3, low), high=np.ones(3))
        triage = replace(early, expected=dict(good=wide))
        mean, *_ = triage.forecast_cells('good')
        assert mean == f'{100 * expected.values[2]:.1f} {mean.split()[1]}'
        assert shown in mean


def test_means_are_over_the_main_benchmarks(predictor, history, early):
    easy, hard = predictor.benchmarks
    one = replace(predictor, benchmarks=(easy, replace(hard, main=False)))
    triage = forecast(one, run_dumps(NEW, 3), history)
    assert triage.rankings[OVERALL].values.tolist() == pytest.approx(
        early.rankings['easy'].values)
    for run, test in triage.errors.items():
        named = triage.to_dict()['error_to_expect'][run]['forecast']
        assert named[OVERALL] == named['easy'] == test.forecast[0]
        assert test.forecast[0] != test.forecast[1]


def test_records(early):
    plain = early.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain['measure'], plain['level']) == ('steps', LEVEL)
    records = plain['checkpoints']
    assert [record['checkpoint'] for record in records[::2]] == [
        f'{run}@{step}' for run in ('bad', 'good') for step in STEPS[:3]
    ]
    cell = early.predictions.at('good@20', 'hard')
    assert records[9] == dict(
        run='good', checkpoint='good@20', tokens=20.0, share=0.2,
        benchmark='hard', predicted=cell.value, low=cell.low, high=cell.high,
        extrapolated=int(cell.extrapolated))  # yapf: disable
    records, ranking = plain['forecasts'], early.rankings['easy']
    assert [record['benchmark']
            for record in records[::2]] == ['easy', 'hard', OVERALL]
    expected = early.expected['bad']
    assert records[1] == dict(
        run='bad', benchmark='easy', tokens=35.0, share=.35, budget=100.0,
        forecast=ranking.values[1], low=expected.low[0],
        high=expected.high[0], extrapolated=0, best_rank=ranking.best[1],
        worst_rank=ranking.worst[1], chance_best=ranking.chance[1],
        above_next=None, verdict=ranking.verdicts[1])  # yapf: disable
    test = early.errors['good']
    errors = plain['error_to_expect']['good']
    assert errors['forecast'] == pytest.approx({
        'easy': test.forecast[0],
        'hard': test.forecast[1],
        OVERALL: test.forecast.mean()
    })
    assert errors['prediction now']['hard'] == test.now[1]


def test_a_run_far_from_the_training_models_gets_no_verdict(
        predictor, history, early):
    """Nor does it count in the ranks of the others."""
    far = {
        f'far@{step}':
        dump(f'far@{step}', [
            replace(text, losses=(9 - step / 100) * text.losses)
            for text in model_losses(0)
        ])
        for step in STEPS[:3]
    }
    triage = forecast(predictor, run_dumps(NEW, 3) | far, history)
    expected = triage.expected['far']
    assert (expected.low[:2] == 0).all() and (expected.high[:2] == 1).all()
    chance = replace(
        triage.predictions,
        at_chance=np.broadcast_to([[True], [False]], (9, 2, 1)))
    cells = replace(triage, predictions=chance).forecast_cells('far')
    assert [cell.partition(')')[2] for cell in cells] == ['>', '>?', '>']
    for name, ranking in triage.rankings.items():
        assert ranking.runs == ('good', 'bad', 'far')
        assert ranking.verdicts[2] == TOO_FAR
        for part in ('best', 'worst', 'chance'):
            known = [*getattr(early.rankings[name], part), np.nan]
            assert getattr(ranking, part) == pytest.approx(
                known, abs=0.02, nan_ok=True)
    assert f'{TOO_FAR}: far. No prediction' in triage.notes[-1]
    assert not any(part.useless.any() for part in early.expected.values())


def test_a_run_that_is_far_on_one_benchmark_has_a_rank(predictor, history,
                                                       monkeypatch):
    marks = np.full((2, 2, 3), [False, True, False])
    monkeypatch.setattr(judging, '_extrapolated', lambda *_: marks)
    triage = forecast(predictor, run_dumps(NEW, 3), history)
    assert triage.rankings['hard'].verdicts == (TOO_FAR, ) * 2
    assert not any(TOO_FAR in note for note in triage.notes)


def test_a_mean_is_marked_if_all_of_its_benchmarks_are(early):
    last = replace(
        early.predictions.select(['good@35', 'bad@35']),
        extrapolated=np.array([[1, 0], [1, 1]], bool)[:, :, None])
    far, useless = np.moveaxis(_extrapolated(last, [0, 1]), 1, 0)
    assert far.tolist() == [[True, False, False], [True] * 3]
    assert not useless.any()
