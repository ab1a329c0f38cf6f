"""Curves, and what TensorBoard gets of them."""
import pytest
from tensorboardX.proto.event_pb2 import Event

from csv_plugin.extras.live.trackers import curves_of, tensorboard_log
from csv_plugin.triage.judging import judge_runs
from tests.runs import train
from tests.triage.pretraining import EARLIER, run_dumps

PREDICTOR = train()


def scalars(folder):
    """Tag, step and value of everything that was logged."""
    logged = []
    for path in sorted(
            folder.glob('events*'), key=lambda p: int(p.suffix[1:])):
        data = path.read_bytes()
        while data:
            size = int.from_bytes(data[:8], 'little')
            event = Event.FromString(data[12:12 + size])
            logged += [(value.tag, event.step, value.simple_value)
                       for value in event.summary.value]
            data = data[16 + size:]
    return logged


def test_tensorboard_gets_the_last_checkpoint(tmp_path):
    log, history = tensorboard_log(tmp_path), run_dumps(EARLIER)
    for n, step in ((2, 20), (3, 35)):
        triage = judge_runs(PREDICTOR, run_dumps({'good': 1.8}, n), history)
        log(curves_of(triage, None), step)
        cell = triage.predictions.at(f'good@{step}', 'hard')
        end = triage.forecasts.at('good', 'easy')
        logged = {
            tag: value
            for tag, of_step, value in scalars(tmp_path) if of_step == step
        }
        assert len(logged) == 3 * 2 + 3 * 3
        for part, mean in zip(('low', 'high'), triage.means[1:, 0]):
            assert logged[f'predicted/hard.{part}'] == pytest.approx(
                getattr(cell, part))
            assert logged[f'forecast/mean.{part}'] == pytest.approx(mean)
        assert logged['predicted/hard'] == pytest.approx(cell.value)
        assert logged['forecast/easy'] == pytest.approx(end.value)
