"""From dumps to verdicts; bad input is refused or named in notes."""
import json
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.comparison import MEAN
from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictor import LEVEL
from csv_plugin.io.dumps import write_dump
from csv_plugin.triage.checkpoints import Checkpoint, describe_checkpoints
from csv_plugin.triage.forecasting import EarlierRuns
from csv_plugin.triage.future_losses import losses_of
from csv_plugin.triage.judging import judge_runs
from csv_plugin.triage.result import FINISHED, GO_ON
from csv_plugin.triage.runs import runs_of
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
    return judge_runs(predictor, run_dumps(NEW, 3), history)


@pytest.fixture(scope='module')
def finished(predictor, history):
    return judge_runs(predictor, run_dumps(NEW), history)


def value(triage, run, benchmark='easy'):
    return triage.forecasts.at(run, benchmark).value


def test_the_best_run_is_first(early):
    assert [end.name for end in early.ends] == ['good', 'bad']
    assert early.orders[MEAN].first.tolist() == [1, 2]
    assert early.verdicts[0] == GO_ON


def test_notes_have_the_error_of_the_backtest(predictor, history, early):
    """Of accuracies predicted at the ends of earlier runs, and at those losses
    that the others forecast.
    """
    features = predictor.features(history)
    runs = runs_of(
        predictor, features, describe_checkpoints(history), are_finished=True)
    law = EarlierRuns(runs).law(.35)
    found, end = (
        predictor.predict(
            replace(features, models=tuple(EARLIER), values=losses)).values
        for losses in (losses_of(predictor, law.left_out[:, 1:]),
                       losses_of(predictor, law.at_end[:, 1:])))
    error = 100 * np.abs(end - found).mean()
    [note] = [note for note in early.notes if 'Back-test' in note]
    assert note.startswith(
        'Back-test: 4 earlier runs were forecast after 35 %')
    assert 'from the other runs.' in note
    assert f'The forecasts differ by {error:.1f} points' in note
    assert 'from the predictions at the ends of these runs.' in note
    assert note.endswith('Errors of the predictions themselves come on top.')


def test_backtests_at_several_shares_are_one_note(predictor, history):
    runs = {**run_dumps({'good': 1.8}, 3), **run_dumps({'bad': 1.0}, 4)}
    both = judge_runs(predictor, runs, history)
    [note] = [note for note in both.notes if 'Back-test' in note]
    assert ' forecast after 35 % of the training from the other' in note
    assert ' of these runs; after 50 % (4 runs), by ' in note


def test_a_finished_run_has_one_number_and_one_interval(predictor, history):
    """In the table of checkpoints and in that of forecasts, known accuracies
    or not.
    """
    known = AccuracyTable(('good@35', 'good@100'), ('easy', ),
                          np.array([[.5], [.8]]), np.zeros(1),
                          np.zeros(1, int))
    for given in (None, known):
        both = run_dumps({'good': 1.8}) | run_dumps({'bad': 1.0}, 3)
        triage = judge_runs(predictor, both, history, known=given)
        for name in triage.benchmarks:
            end = triage.forecasts.at('good', name)
            assert end == triage.predictions.at('good@100', name)
        assert dict(zip([end.name for end in triage.ends],
                        triage.verdicts))['good'] == FINISHED


def test_errors_of_losses_widen_forecasts(early, finished):
    for run in NEW:
        for name in early.benchmarks:
            wide, narrow = (
                part.forecasts.at(run, name) for part in (early, finished))
            assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_known_accuracies_of_checkpoints_count(predictor, history, early):
    """For their run, on all of its benchmarks, and for no other run."""
    cell = early.predictions.at('good@35', 'easy')
    known = AccuracyTable(('good@35', ), ('easy', ),
                          np.array([[cell.value + .04]]), np.zeros(1),
                          np.zeros(1, int))
    triage = judge_runs(predictor, run_dumps(NEW, 3), history, known=known)
    for name in triage.benchmarks:
        assert value(triage, 'good', name) > value(early, 'good', name)
        assert value(triage, 'bad',
                     name) == pytest.approx(value(early, 'bad', name))
    assert triage.forecasts.at('good', 'hard').with_scores
    assert not triage.forecasts.at('bad', 'hard').with_scores
    assert triage.predictions.at('good@35', 'easy').in_sample
    assert any('known' in line for line in triage.legend())


def test_known_accuracies_of_others_are_named(predictor, history):
    known = AccuracyTable(('god@35', ), ('easy', ), np.full((1, 1), .5),
                          np.zeros(1), np.zeros(1, int))
    triage = judge_runs(predictor, run_dumps(NEW, 3), history, known=known)
    assert triage.notes[-1].startswith('None of the known accuracies was used')


def test_tokens_and_budgets(predictor):
    dumps = run_dumps(NEW, 3)
    chosen = {name: dumps[name] for name in ('good@10', 'good@20', 'bad@35')}
    checkpoints = {
        'good@10': Checkpoint('x', 2, 3e9),
        'good@20': Checkpoint('x', 1, 1e9, 1e10),
        'bad@35': Checkpoint('y', 1, 5e9)
    }
    triage = judge_runs(
        predictor, chosen, checkpoints=checkpoints, budget=2e10)
    x, y = triage.runs
    assert triage.measure == 'tokens'
    assert x.checkpoints == ('good@20', 'good@10') and x.budget == 1e10
    assert y.budget == 2e10
    assert not any('steps' in note for note in triage.notes)
    with pytest.raises(InputError, match="run 'y'.*budget of at least 5e.09"):
        judge_runs(predictor, chosen, checkpoints=checkpoints, budget=4e9)
    checkpoints['bad@35'] = Checkpoint('y', 1)
    with pytest.raises(InputError, match="run 'y', step 1"):
        judge_runs(predictor, chosen, checkpoints=checkpoints)


def test_a_path_in_place_of_a_predictor_is_refused():
    with pytest.raises(InputError, match='a Predictor, found a str. Load it'):
        judge_runs('predictor.safetensors', run_dumps(NEW, 3))


def test_checkpoints_of_other_runs_are_refused(predictor):
    with pytest.raises(InputError, match="checkpoints, .*'bod@10'"):
        judge_runs(
            predictor,
            run_dumps(NEW, 3),
            checkpoints={'bod@10': Checkpoint('x', 1)})


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
    triage = judge_runs(predictor, dumps, with_tokens(run_dumps(EARLIER), 1))
    run, = triage.runs
    assert triage.measure == 'tokens' and run.budget == 1e8
    assert run.tokens.tolist() == [1e7, 2e7, 3.5e7]


def test_a_run_in_steps_with_a_history_in_tokens(predictor):
    """Shares of budgets have no unit; a budget of the history has one."""
    history = with_tokens(run_dumps(EARLIER), 1)
    dumps = run_dumps({'good': 1.8}, 3)
    with pytest.raises(InputError, match="run 'good'.*--budget.*--checkpoint"):
        judge_runs(predictor, dumps, history)
    plain = judge_runs(predictor, dumps, run_dumps(EARLIER), budget=100)
    given = judge_runs(predictor, dumps, history, budget=100)
    assert given.measure == 'steps'
    assert given.forecasts.values.tolist() == plain.forecasts.values.tolist()


def test_a_run_without_a_budget_is_not_judge_runs(predictor):
    table = {
        f'good@{step}': Checkpoint('good', step, budget=35)
        for step in STEPS[:3]
    }
    both = judge_runs(predictor, run_dumps(NEW, 3), checkpoints=table)
    assert any(
        note.startswith('bad: nothing is forecast, as the end of')
        for note in both.notes)
    assert [end.name for end in both.ends] == ['good']
    assert value(both, 'good') == both.predictions.at('good@35', 'easy').value


def test_budget_of_the_history(early, predictor, history):
    assert early.measure == 'steps'
    assert {run.budget for run in early.runs} == {100.0}
    assert any('measured in steps' in note for note in early.notes)
    given = judge_runs(predictor, run_dumps(NEW, 3), history, budget=200.0)
    assert {run.budget for run in given.runs} == {200.0}
    shorter = run_dumps({'old-8': 1.0, 'old-9': 1.3}, 6)
    mixed = shorter | run_dumps({'old-1': 1.0})
    median = judge_runs(predictor, run_dumps(NEW, 3), mixed)
    assert {run.budget for run in median.runs} == {80.0}


def test_budgets_and_their_sources_are_shown(early, predictor, history):
    """In one line, if all runs have the same."""
    assert early.legend()[0] == ('Budget: 100 steps (median of the earlier '
                                 'runs).')
    assert early.to_dict()['budgets'][0] == dict(
        run='bad', budget=100.0, source='median of the earlier runs')
    table = {'good@35': Checkpoint('good', 35, budget=90)}
    both = judge_runs(predictor, run_dumps(NEW, 3), history, table, budget=70)
    assert both.legend()[0] == (
        'Budget: 70 steps (--budget) for bad; 90 steps '
        '(column budget) for good.')
    unknown = judge_runs(predictor, run_dumps(NEW, 3))
    assert not any('Budget' in line for line in unknown.legend())
    assert unknown.to_dict()['budgets'][0]['source'] is None


@pytest.mark.parametrize(
    ('budget', 'says'),
    [
        (151,
         "more than 1.5 times the longest earlier run's budget, 100 steps."),
        (49,
         "less than half of the shortest earlier run's budget, 100 steps."),
        (150, None),
        (50, None),
        # Nothing is forecast, so nothing goes beyond.
        (1000, None),
    ])
def test_budgets_beyond_those_of_earlier_runs_are_named(
        predictor, history, budget, says):
    triage = judge_runs(predictor, run_dumps(NEW, 3), history, budget=budget)
    about = [note for note in triage.notes if 'earlier runs show' in note]
    expected = []
    if says:
        expected.append(f'bad, good: the budget is {says} Forecasts go beyond '
                        'what earlier runs show, and the back-test does not '
                        'cover them.')
    assert about == expected
    in_tokens = with_tokens(history, 1)
    other = judge_runs(predictor, run_dumps(NEW, 3), in_tokens, budget=budget)
    assert not any('earlier runs show' in note for note in other.notes)


def test_without_history(predictor):
    triage = judge_runs(predictor, run_dumps(NEW, 3), budget=100.0)
    assert triage.notes[-1].startswith(
        'bad, good: nothing is forecast, as fewer than 2 earlier runs have a '
        'checkpoint as early as after 35 % of the training.')
    assert np.isfinite(triage.predictions.values).all()
    assert triage.ends == triage.verdicts == triage.forecasts.models == ()
    plain = triage.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain['forecasts'] == []
    assert [*plain['not_forecast']] == ['bad', 'good']


def test_a_run_without_a_forecast_keeps_a_row(predictor, history):
    """Of a budget so large that no earlier run was as early."""
    table = {'good@35': Checkpoint('good', 35, budget=1e6)}
    triage = judge_runs(predictor, run_dumps(NEW, 3), history, table)
    _, *rows = triage.forecast_rows()
    assert rows[0][:2] == ['bad', '35%'] and rows[0][2] != '-'
    assert rows[1] == ['good', '0%', '-', '-', '-']
    assert any(
        note.startswith('good: nothing is forecast, as fewer than 2 earlier')
        for note in triage.notes)
    assert not triage.among(['bad']).not_forecast
    assert [end.name for end in triage.among(['bad', 'good']).ends] == ['bad']


def test_a_run_of_impossible_losses_alone_has_no_forecast(
        predictor, history, monkeypatch):
    forecast = EarlierRuns.forecast

    def too_low(earlier, run):
        found = forecast(earlier, run)
        return replace(found, logs=found.logs - 9 * (run.name == 'bad'))

    monkeypatch.setattr(EarlierRuns, 'forecast', too_low)
    triage = judge_runs(predictor, run_dumps(NEW, 3), history)
    assert [end.name for end in triage.ends] == ['good']
    reason = triage.not_forecast['bad']
    assert reason.startswith('the mean loss would end at 0.000')
    assert reason.endswith('training models. Check the budget, 100 steps.')
    assert f'bad: nothing is forecast, as {reason}' in triage.notes


@pytest.mark.parametrize(('late', 'then'), [
    (('old-2', ), None),
    (('old-1', 'old-2', 'old-4'), 'nothing is forecast, as fewer than 2'),
    (tuple(EARLIER), 'nothing is forecast, as fewer than 2 earlier'),
])
def test_earlier_runs_that_begin_late_are_named(predictor, history, late,
                                                then):
    begun = {
        name: past
        for name, past in history.items()
        if name not in [f'{run}@{step}' for run in late for step in (10, 20)]
    }
    both = run_dumps({'good': 1.8}, 2) | run_dumps({'bad': 1.0}, 3)
    triage = judge_runs(predictor, both, begun)
    about = [note for note in triage.notes if 'as early' in note]
    names = ', '.join(late)
    assert about[0] == (
        'good: after 20 % of the training, earlier runs '
        f'without a checkpoint as early do not count: {names}.')
    assert len(about) == (2 if then else 1)
    if then:
        assert about[1].startswith(f'good: {then}')
    without = {
        name: past
        for name, past in begun.items() if not name.startswith(late)
    }
    others = judge_runs(predictor, both, without, budget=100)
    assert ('good' in triage.forecasts.models) == (then is None)
    if then is None:
        assert value(triage, 'good') == pytest.approx(value(others, 'good'))


def test_the_untrained_model_is_left_out(predictor):
    untrained = {'good@0': dump('good@0', model_losses(0.0))}
    triage = judge_runs(predictor, untrained | run_dumps({'good': 1.8}, 1))
    assert triage.runs[0].checkpoints == ('good@10', )
    assert not any('no checkpoint yet' in note for note in triage.notes)
    other = judge_runs(predictor, untrained | run_dumps({'bad': 1.0}, 1))
    assert other.notes[-1] == ('good: nothing is forecast, as there is no '
                               'checkpoint yet.')
    with pytest.raises(InputError, match='none beyond 0 tokens'):
        judge_runs(predictor, untrained)


def test_a_benchmark_that_is_called_like_the_mean():
    dumps = {name: dump(name, model_losses(1)) for name in ('a@1', 'a@2')}
    with pytest.raises(InputError, match="^predictor: .* found 'mean'"):
        judge_runs(train(('easy', 'mean')), dumps)


def test_losses_that_cannot_be_used(predictor):
    dumps = run_dumps(NEW, 2)
    message = f"^losses of 'other@10': .* {OTHER_TEXTS.fingerprint}"
    with pytest.raises(InputError, match=message):
        judge_runs(
            predictor, dumps
            | {'other@10': dump('other', model_losses(1.0), OTHER_TEXTS)})
    with pytest.raises(InputError, match="model 'last'.*run@1000"):
        judge_runs(predictor, dumps | {'last': dumps['good@20']})


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
    assert [run.name for run in triage.runs] == ['good']
    left_out = [note for note in triage.notes if ' is left out: ' in note]
    assert [note.partition(' ')[0]
            for note in left_out] == ['gaps@10', 'half@10', 'other@10']
    assert OTHER_TEXTS.fingerprint in left_out[2]
    for step in STEPS[:2]:
        (tmp_path / f'good@{step}.safetensors').unlink()
    with pytest.raises(InputError, match='at least one that can be used'):
        TriageJob(predictor, [tmp_path]).update()


def test_a_copy_of_another_checkpoint_is_named(predictor):
    """Of the same run, of another one and of the history."""
    # At step 10, all runs have the skill 0.
    dumps = run_dumps(NEW)
    past = run_dumps({'past': 1.07, 'other': 1.23})
    for run in NEW:
        del dumps[f'{run}@10']
    for run in ('past', 'other'):
        del past[f'{run}@10']
    notes = judge_runs(predictor, dumps, past).notes
    assert not any('upload' in note for note in notes)
    dumps['good@50'] = dumps['good@35']
    dumps['bad@65'] = past['past@35']
    notes = judge_runs(predictor, dumps, past).notes
    assert (
        'Checkpoints with exactly the same losses, of which all but one '
        'may be wrong uploads: bad@65 = past@35; good@35 = good@50.') in notes


def test_an_interval_of_the_mean_from_guessing_to_100_says_nothing(early):
    chance = np.mean([*early.predictions.chance.values()])
    for low, shown in ((chance - 0.01, '(any)'), (chance + 0.02, '-100)')):
        wide = np.array([early.means[0], np.full(2, low), np.ones(2)])
        _, row, _ = replace(early, means=wide).forecast_rows()
        assert row[2].startswith(f'{100 * early.means[0, 0]:.1f} (')
        assert row[2].endswith(shown)


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
        extrapolated=int(cell.extrapolated), in_sample=0, with_scores=0,
        at_chance=0)  # yapf: disable
    records, order = plain['forecasts'], early.orders['easy']
    assert [record['benchmark']
            for record in records[::2]] == ['easy', 'hard', MEAN]
    cell = early.forecasts.at('bad', 'easy')
    assert records[1] == dict(
        run='bad', benchmark='easy', tokens=35.0, share=.35, budget=100.0,
        forecast=cell.value, low=cell.low, high=cell.high, extrapolated=0,
        in_sample=0, with_scores=0, at_chance=0, best_rank=order.first[1],
        worst_rank=order.last[1], probability_best=order.best[1],
        verdict=early.verdicts[1])  # yapf: disable
    assert records[4]['forecast'] == early.means[0, 0]
    assert records[4]['extrapolated'] is None


def test_a_run_far_from_the_training_models_may_have_any_rank(
        predictor, history):
    far = {
        f'far@{step}':
        dump(f'far@{step}', [
            replace(text, losses=(9 - step / 100) * text.losses)
            for text in model_losses(0)
        ])
        for step in STEPS[:3]
    }
    triage = judge_runs(predictor, run_dumps(NEW, 3) | far, history)
    place = [end.name for end in triage.ends].index('far')
    order = triage.orders[MEAN]
    assert triage.forecasts.at('far', 'easy').extrapolated
    assert (order.first[place], order.last[place]) == (1, 3)
    assert triage.verdicts[place] == GO_ON
