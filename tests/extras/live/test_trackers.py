"""Curves, and what TensorBoard gets of them."""
import pytest
from tensorboardX.proto.event_pb2 import Event

from csv_plugin.extras.live.trackers import curves_of, tensorboard_log
from csv_plugin.triage.judging import forecast
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
        triage = forecast(PREDICTOR, run_dumps({'good': 1.8}, n), history)
        log(curves_of(triage, None), step)
        cell = triage.predictions.at(f'good@{step}', 'easy')
        expected = triage.expected['good']
        points = dict.fromkeys(['predicted/hard', 'predicted/hard.low',
                                'predicted/hard.high'])  # yapf: disable
        points |= {
            'predicted/easy': cell.value,
            'predicted/easy.low': cell.low,
            'predicted/easy.high': cell.high
        }
        for b, name in enumerate(('easy', 'hard', 'mean')):
            points |= {
                f'forecast/{name}': expected.values[b],
                f'forecast/{name}.low': expected.low[b],
                f'forecast/{name}.high': expected.high[b]
            }
        logged = {
            tag: value
            for tag, of_step, value in scalars(tmp_path) if of_step == step
        }
        assert logged.keys() == points.keys()
        for tag, value in points.items():
            assert value is None or logged[tag] == pytest.approx(value)
