"""Whatever happens in the callback, training goes on as without it."""
import errno
import logging
import os

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from csv_plugin.extras.live import live_predictions
from csv_plugin.extras.live.trainer_callback import PredictionCallback
from csv_plugin.io.predictors import save_predictor
from tests.extras.live.training import (PREDICTOR, TEXTS, TOKENIZER, logged,
                                        model, predicting_trainer, trainer)
from tests.logs import logged_by
from tests.runs import OTHER_TEXTS

LEARNER = model()


@pytest.fixture
def play(tmp_path):
    """Events as of a trainer, in place of one; what was warned of."""
    arguments = TrainingArguments(str(tmp_path / 'run'), use_cpu=True)

    def played(callback,
               steps=range(1, 7),
               first=True,
               end=6,
               seen=0,
               best=False,
               **given):
        arguments.load_best_model_at_end = best
        state = TrainerState(
            max_steps=6,
            is_world_process_zero=first,
            num_input_tokens_seen=seen)
        things = arguments, state, TrainerControl()
        known = {'model': LEARNER, 'processing_class': TOKENIZER, **given}
        callback.on_train_begin(*things, **known)
        for state.global_step in steps:
            callback.on_step_end(*things, **known)
        state.global_step = end
        callback.on_train_end(*things, **known)
        return warnings

    with logged_by(logging.getLogger('csv_plugin')) as warnings:
        yield played


def readings(folder):
    return sorted(path.name for path in (folder / 'losses').iterdir())


@pytest.mark.parametrize('end, best, steps', [(5, False, (4, 5)),
                                              (6, False, (4, 6)),
                                              (5, True, (4, )),
                                              (6, True, (4, 6))])
def test_every_few_steps_and_at_the_end(tmp_path, play, capsys, end, best,
                                        steps):
    """The end may be early, and the model then the best one before it."""
    callback = PredictionCallback(PREDICTOR, TEXTS, tmp_path, 4)
    assert play(callback, range(1, end + 1), end=end, best=best) == []
    assert readings(tmp_path) == [f'run@{step}.safetensors' for step in steps]
    assert callback.triage.runs[0].finished == (end == 6)
    assert f'Predictions at {len(steps)} step' in capsys.readouterr().out


def test_the_log_of_the_trainer_keeps_its_own_losses(tmp_path):
    """Readings at steps 3 and 6 meet losses at 2, 4 and 6."""
    often = dict(logging_strategy='steps', logging_steps=2)
    plain = trainer(tmp_path / 'plain', **often)
    plain.train()
    predicted = predicting_trainer(tmp_path / 'predicted', 3, **often)
    predicted.train()
    assert [*logged(plain, 'loss')] == [2, 4, 6]
    assert logged(predicted, 'loss') == logged(plain, 'loss')
    assert [*logged(predicted, 'predicted/hard')] == [3, 6]


def test_differences_to_a_reference_are_logged(tmp_path, play):
    points = []
    assert play(PredictionCallback(PREDICTOR, TEXTS, tmp_path / 'old',
                                   6)) == []
    assert play(
        PredictionCallback(
            PREDICTOR,
            TEXTS,
            tmp_path / 'new',
            6,
            logs=[lambda curves, step: points.append((step, curves))],
            reference=tmp_path / 'old'),
        seen=90) == []
    step, curves = points[-1]
    assert step == 6 and curves['difference/easy'] == 0
    assert (tmp_path / 'new/readings.csv').read_text().endswith('6,90\n')


def test_readings_of_an_earlier_training_are_left_out(tmp_path, play):
    play(PredictionCallback(PREDICTOR, TEXTS, tmp_path, 2))
    callback = PredictionCallback(PREDICTOR, TEXTS, tmp_path, 3)
    warning, = play(callback)
    assert warning.startswith('Readings at 2, 4, 6 in ')
    assert 'beyond step 0' in warning
    assert callback.triage.runs[0].checkpoints == ('run@3', 'run@6')


def test_other_ranks_go_on(tmp_path, play, capsys):
    callback = PredictionCallback(tmp_path / 'none', TEXTS, tmp_path / 'l', 1)
    assert play(callback, first=False) == []
    assert not (tmp_path / 'l').exists() and not capsys.readouterr().out


@pytest.mark.parametrize('changed, given, expected', [
    (dict(predictor='none'), {}, 'no such file'),
    (dict(texts=OTHER_TEXTS), {}, 'losses on the validation'),
    (dict(history=['none']), {}, 'no such file'),
    ({}, dict(processing_class=None), 'a tokenizer'),
])
def test_a_wrong_setup_is_one_warning_when_training_begins(
        tmp_path, play, changed, given, expected):
    callback = PredictionCallback(
        **dict(predictor=PREDICTOR, texts=TEXTS, folder=tmp_path) | changed,
        every=2)
    warning, = play(callback, steps=(), end=0, **given)
    assert warning.startswith(
        'Preparing predictions failed, training goes on: ')
    assert expected in warning and '\n' not in warning
    # Nor is there another one at the readings.
    assert play(callback, **given) == [warning, warning]
    assert callback.triage is None


def test_what_was_missing_at_the_beginning_may_come(tmp_path, play):
    callback = PredictionCallback(tmp_path / 'p', TEXTS, tmp_path / 'live', 2)
    assert len(play(callback, steps=(), end=0)) == 1
    save_predictor(PREDICTOR, tmp_path / 'p')
    state = TrainerState(max_steps=6, global_step=2)
    callback.on_step_end(
        None,
        state,
        TrainerControl(),
        model=LEARNER,
        processing_class=TOKENIZER)
    assert callback.triage.runs[0].checkpoints == ('run@2', )


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_readings_after_a_failure(tmp_path, play, monkeypatch):
    callback = PredictionCallback(PREDICTOR, TEXTS, tmp_path, 2)
    write, calls = live_predictions.write_dump, []

    def once(*args):
        calls.append(args)
        return full() if len(calls) == 1 else write(*args)

    monkeypatch.setattr(live_predictions, 'write_dump', once)
    warning, = play(callback)
    assert 'No space left on device' in warning
    assert readings(tmp_path) == ['run@4.safetensors', 'run@6.safetensors']
