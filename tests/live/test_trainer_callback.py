"""Whatever happens in the callback, training goes on as without it."""
import errno
import os

import pytest
import torch
from transformers import TrainerControl, TrainerState, TrainingArguments

from csv_plugin.core.conventions import InputError
from csv_plugin.io.predictors import save_predictor
from csv_plugin.live import live_predictions
from csv_plugin.live.trainer_callback import PredictionCallback
from tests.live.training import (PREDICTOR, TEXTS, TOKENIZER, model, trainer,
                                 weights)
from tests.runs import OTHER_TEXTS

LEARNER = model()


@pytest.fixture
def play(tmp_path, caplog):
    """Events as of a trainer, in place of one; what was warned of."""
    arguments = TrainingArguments(str(tmp_path / 'run'), use_cpu=True)

    def played(callback, steps=range(1, 7), first=True, end=6, **given):
        state = TrainerState(max_steps=6, is_world_process_zero=first)
        things = arguments, state, TrainerControl()
        known = {'model': LEARNER, 'processing_class': TOKENIZER, **given}
        callback.on_train_begin(*things, **known)
        for state.global_step in steps:
            callback.on_step_end(*things, **known)
        state.global_step = end
        callback.on_train_end(*things, **known)
        return [
            record.getMessage() for record in caplog.records
            if record.name.startswith('csv_plugin')
        ]

    return played


def readings(folder):
    return sorted(path.name for path in (folder / 'losses').iterdir())


def test_every_few_steps_and_at_the_end(tmp_path, play, capsys):
    callback = PredictionCallback(PREDICTOR, TEXTS, tmp_path, 4)
    assert play(callback) == []
    assert readings(tmp_path) == ['run@4.parquet', 'run@6.parquet']
    assert callback.triage.runs[0].finished
    assert 0 < callback.share < 1
    assert 'Predictions at 2 steps took' in capsys.readouterr().out


def test_a_training_that_is_stopped_early_has_a_last_reading(tmp_path, play):
    callback = PredictionCallback(PREDICTOR, TEXTS, tmp_path, 4)
    assert play(callback, range(1, 6), end=5) == []
    assert readings(tmp_path) == ['run@4.parquet', 'run@5.parquet']


def test_other_ranks_go_on(tmp_path, play, capsys):
    callback = PredictionCallback(tmp_path / 'none', TEXTS, tmp_path / 'l', 1)
    assert play(callback, first=False) == []
    assert not (tmp_path / 'l').exists() and not capsys.readouterr().out


def damaged(folder):
    path = folder / 'p.safetensors'
    save_predictor(PREDICTOR, path)
    path.write_bytes(path.read_bytes()[:-9])
    return path


@pytest.mark.parametrize('predictor, texts, given, expected', [
    (lambda folder: folder / 'none', TEXTS, {}, 'No such file'),
    (damaged, TEXTS, {}, 'p.safetensors'),
    (lambda _: PREDICTOR, OTHER_TEXTS, {}, 'losses on the validation set'),
    (lambda _: PREDICTOR, TEXTS, {
        'processing_class': None
    }, 'a tokenizer'),
    (lambda _: PREDICTOR, TEXTS, {
        'model': torch.nn.Linear(1, 1)
    }, 'a Linear'),
    (lambda _: PREDICTOR, TEXTS, {
        'model': None
    }, 'a causal LM'),
])
def test_bad_input_is_one_warning(tmp_path, play, predictor, texts, given,
                                  expected):
    callback = PredictionCallback(
        predictor(tmp_path), texts, tmp_path / 'live', 2)
    warning, = play(callback, **given)
    assert warning.startswith(
        'Predictions at step 2 failed, training goes on: ')
    assert expected in warning and '\n' not in warning
    assert callback.triage is None


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize('name', ['write_dump', 'write_tables'])
def test_a_full_disk_is_one_warning_and_no_half_a_file(tmp_path, play,
                                                       monkeypatch, name):
    callback = PredictionCallback(PREDICTOR, TEXTS, tmp_path, 2)
    with monkeypatch.context() as patch:
        patch.setattr(live_predictions, name, full)
        warning, = play(callback)
    assert 'No space left on device' in warning
    assert not (tmp_path / 'forecasts.csv').exists()


def test_a_loss_that_is_not_finite_is_one_warning(tmp_path, play):
    learner = model()
    with torch.no_grad():
        learner.transformer.ln_f.weight.fill_(torch.nan)
    callback = PredictionCallback(PREDICTOR, TEXTS, tmp_path, 2)
    warning, = play(callback, model=learner)
    assert 'finite' in warning and readings(tmp_path) == []
    assert learner.training


def test_readings_after_a_failure(tmp_path, play, monkeypatch):
    callback = PredictionCallback(PREDICTOR, TEXTS, tmp_path, 2)
    write, calls = live_predictions.write_dump, []

    def once(*args):
        calls.append(args)
        return full() if len(calls) == 1 else write(*args)

    monkeypatch.setattr(live_predictions, 'write_dump', once)
    assert len(play(callback)) == 1
    assert readings(tmp_path) == ['run@4.parquet', 'run@6.parquet']


def test_steps_between_readings_are_positive():
    with pytest.raises(InputError, match='1 step or more'):
        PredictionCallback(PREDICTOR, TEXTS, 'live', 0)


@pytest.mark.slow
def test_a_trainer_ends_at_the_same_weights(tmp_path, caplog):
    """With readings, with failures in place of them, and without any."""
    callbacks = {
        'none': [],
        'sound': [PredictionCallback(PREDICTOR, TEXTS, tmp_path / 'live', 2)],
        'failing':
        [PredictionCallback(tmp_path / 'none', TEXTS, tmp_path / 'live', 2)],
    }
    ends = {}
    for name, given in callbacks.items():
        learner = trainer(tmp_path / name, given)
        learner.train()
        ends[name] = weights(learner.model)
    assert torch.equal(ends['none'], ends['sound'])
    assert torch.equal(ends['none'], ends['failing'])
    assert not torch.equal(ends['none'], weights(model()))
    assert readings(tmp_path /
                    'live') == [f'run@{step}.parquet' for step in (2, 4, 6)]
    assert len([
        record for record in caplog.records
        if record.name.startswith('csv_plugin')
    ]) == 1
