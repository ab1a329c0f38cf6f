"""Readings in any training loop."""
import numpy as np
import pytest
import torch

from csv_plugin.core.conventions import InputError
from csv_plugin.extras.live.live_predictions import LivePredictions
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.text_sets import write_texts
from csv_plugin.triage.watching import TriageJob
from tests.extras.live.training import (PREDICTOR, TEXTS, TOKENIZER, model,
                                        weights)
from tests.runs import OTHER_TEXTS, dump, model_losses
from tests.scripts import csv_rows
from tests.triage.pretraining import write_runs


class Notes:

    def __init__(self, error=None):
        self.error, self.points = error, []

    def __call__(self, curves, step):
        if self.error:
            raise self.error
        self.points.append((step, *sorted(curves)))


def train(live=None, steps=4):
    """A loop of its own; readings after every second step."""
    torch.manual_seed(0)
    learner = model()
    optimiser = torch.optim.AdamW(learner.parameters(), 6e-3)
    triage = None
    for step in range(1, steps + 1):
        ids = torch.randint(5, 200, (2, 12))
        learner(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        if live and step % 2 == 0:
            triage = live.read(learner, TOKENIZER, step)
    return weights(learner), triage


def test_a_loop_with_readings_ends_at_the_same_weights(tmp_path):
    history = write_runs(tmp_path / 'old', {'old-1': 1.0, 'old-2': 1.3})
    live = LivePredictions(PREDICTOR, TEXTS, tmp_path / 'live', 'mix1', 20,
                           [history])
    plain, _ = train()
    read, triage = train(live)
    assert torch.equal(plain, read)
    assert triage.runs[0].checkpoints == ('mix1@2', 'mix1@4')
    assert triage.predictions.level == .9
    assert triage.forecasts.models == ('mix1', )
    table = csv_rows(tmp_path / 'live/checkpoints.csv')
    assert [(row['benchmark'], row['tokens'])
            for row in table] == [('easy', '2.0'), ('hard', '2.0'),
                                  ('easy', '4.0'), ('hard', '4.0')]
    forecasts = csv_rows(tmp_path / 'live/forecasts.csv')
    assert {row['budget'] for row in forecasts} == {'20.0'}
    assert live.steps() == [2, 4]


def test_known_accuracies_count_as_they_come(tmp_path):
    """And the numbers are those of the command."""
    known = tmp_path / 'known.csv'
    history = write_runs(tmp_path / 'old', {'old-1': 1.0, 'old-2': 1.3})
    live = LivePredictions(
        PREDICTOR,
        TEXTS,
        tmp_path / 'live',
        'mix1',
        100, [history],
        known=known)
    plain = live.read(model(), TOKENIZER, 20)
    now = plain.predictions.at('mix1@20', 'easy').value
    # One of a later reading changes nothing yet.
    known.write_text('model,easy\nmix1@40,0.9\n')
    early = live.read(model(), TOKENIZER, 20)
    assert early.predictions.at('mix1@20', 'easy').value == now
    known.write_text(f'model,easy\nmix1@20,{now + .1}\n')
    told = live.read(model(), TOKENIZER, 20)
    assert told.predictions.at('mix1@20', 'easy').in_sample
    for name in told.benchmarks:
        end = told.forecasts.at('mix1', name)
        assert end.with_scores
        assert end.value >= plain.forecasts.at('mix1', name).value
    assert told.forecasts.at('mix1', 'easy').value > .9 > .2 > (
        plain.forecasts.at('mix1', 'easy').value)
    job = TriageJob(
        PREDICTOR, [live.losses], [history], budget=100, known=known)
    assert job.update().to_dict() == told.to_dict()


def test_a_step_that_is_trained_again_is_read_again(tmp_path):
    live = LivePredictions(PREDICTOR, TEXTS, tmp_path)
    first = live.read(model(), TOKENIZER, 100)
    live.begin(50)
    trained, learner = train()[0], model()
    torch.nn.utils.vector_to_parameters(trained, learner.parameters())
    second = live.read(learner, TOKENIZER, 100)
    fresh = LivePredictions(PREDICTOR, TEXTS, tmp_path / 'fresh')
    expected = fresh.read(learner, TOKENIZER, 100).predictions.values
    assert np.array_equal(second.predictions.values, expected)
    assert not np.array_equal(second.predictions.values,
                              first.predictions.values)


def test_files_and_a_resumed_training(tmp_path):
    """Readings beyond the checkpoint that it was resumed from are no more."""
    save_predictor(PREDICTOR, tmp_path / 'p.safetensors')
    write_texts(tmp_path / 'texts.jsonl', TEXTS)
    given = tmp_path / 'p.safetensors', tmp_path / 'texts.jsonl', tmp_path
    train(LivePredictions(*given))
    log = Notes()
    live = LivePredictions(*given, logs=[log])
    triage = live.read(model(), TOKENIZER, 3)
    assert triage.runs[0].checkpoints == ('run@2', 'run@3')
    # Without a budget, there is no point of a forecast.
    assert [step for step, *_ in log.points] == [3]
    assert any('end of training is unknown' in note for note in triage.notes)
    assert log.points[0][1:4] == ('predicted/easy', 'predicted/easy.high',
                                  'predicted/easy.low')
    with pytest.raises(InputError, match='a step of 1 or more, found 0'):
        live.read(model(), TOKENIZER, 0)
    assert live.read(model(), TOKENIZER,
                     5).runs[0].checkpoints == ('run@2', 'run@3', 'run@5')


def test_a_log_that_fails_keeps_no_other_from_its_points(tmp_path):
    broken, sound = Notes(RuntimeError('no network')), Notes()
    live = LivePredictions(PREDICTOR, TEXTS, tmp_path, logs=[broken, sound])
    with pytest.raises(InputError, match='logs: .*RuntimeError: no network'):
        live.read(model(), TOKENIZER, 2)
    assert live.triage.runs[0].checkpoints == ('run@2', )
    assert sound.points and (tmp_path / 'forecasts.csv').exists()


def test_differences_to_a_reference_run(tmp_path):
    """They are logged where the reference has a reading of the same step."""
    train(LivePredictions(PREDICTOR, TEXTS, tmp_path / 'old'))
    log = Notes()
    live = LivePredictions(
        PREDICTOR,
        TEXTS,
        tmp_path / 'new',
        'mix1',
        logs=[log],
        reference=tmp_path / 'old')
    live.read(model(), TOKENIZER, 3)
    assert live.comparison is None
    live.read(model(), TOKENIZER, 4)
    assert live.comparison.models[0] != live.comparison.models[1]
    (_, *before), (step, *names) = log.points
    assert step == 4 and {*names} - {*before} == {
        f'difference/{name}{end}'
        for name in ('easy', 'hard', 'mean', 'loss')
        for end in ('', '.low', '.high')
    }


@pytest.mark.slow
def test_a_reference_after_as_many_tokens(tmp_path):
    """Where both runs know their tokens; else at the same step."""
    old = LivePredictions(PREDICTOR, TEXTS, tmp_path / 'old', 'old')
    for step in (2, 4):
        old.read(model(), TOKENIZER, step, 1000 * step)
    assert csv_rows(tmp_path / 'old/readings.csv')[1] == {
        'model': 'old@4', 'run': 'old', 'step': '4', 'tokens': '4000'
    }  # yapf: disable
    live = LivePredictions(
        PREDICTOR, TEXTS, tmp_path / 'new', reference=tmp_path / 'old')
    for step, tokens, found in ((2, 3000, None), (3, 4002, 'old@4'),
                                (4, 0, 'old@4')):
        live.read(model(), TOKENIZER, step, tokens)
        assert (live.comparison and live.comparison.models[0]) == found
        measure = 'tokens' if tokens else 'steps'
        assert not found or live.comparison.notes[
            0] == f'A is the reference after as many {measure} of training.'
    # They are known to a later call, until a step is read anew.
    again = LivePredictions(
        PREDICTOR, TEXTS, tmp_path / 'new', reference=tmp_path / 'old')
    again.judge(3)
    assert again.comparison.models[0] == 'old@4'
    again.write_losses(model(), TOKENIZER, 3)
    assert 'run@3' not in (tmp_path / 'new/readings.csv').read_text()
    again.judge(3)
    assert again.comparison is None


def test_a_reference_is_one_run_on_the_same_texts(tmp_path):
    place = write_runs(tmp_path / 'old', {'old-1': 1.0, 'old-2': 1.3})
    with pytest.raises(InputError, match='dumps of one run, found old-1, ol'):
        LivePredictions(PREDICTOR, TEXTS, tmp_path, reference=place)
    other = tmp_path / 'run@1.safetensors'
    write_dump(other, dump('run@1', model_losses(1, OTHER_TEXTS), OTHER_TEXTS))
    with pytest.raises(InputError, match='reference: expected losses on the'):
        LivePredictions(PREDICTOR, TEXTS, tmp_path, reference=other)


def test_bad_input(tmp_path):
    with pytest.raises(InputError, match='texts: expected losses on the'):
        LivePredictions(PREDICTOR, OTHER_TEXTS, tmp_path)
    with pytest.raises(InputError, match='a name without slashes'):
        LivePredictions(PREDICTOR, TEXTS, tmp_path, '../run')
    with pytest.raises(InputError, match='none.safetensors'):
        LivePredictions(tmp_path / 'none.safetensors', TEXTS, tmp_path)
