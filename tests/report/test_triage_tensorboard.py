"""Every checkpoint is logged once, forecasts at the last one."""
import pytest
from tensorboardX.proto.event_pb2 import Event

from csv_plugin.report.triage_tensorboard import TensorBoardLog
from csv_plugin.triage.judging import forecast
from tests.runs import train
from tests.triage.pretraining import EARLIER, run_dumps


def scalars(folder):
    """Tag, step and value of everything that was logged."""
    logged = []
    # In the order in which they were written.
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


def test_tensorboard(tmp_path):
    predictor, history = train(), run_dumps(EARLIER)
    log = TensorBoardLog(tmp_path)
    first = forecast(predictor, run_dumps({'good': 1.8}, 2), history)
    log.add(first)
    log.add(first)
    logged = scalars(tmp_path / 'good')
    easy = [(step, value) for tag, step, value in logged
            if tag == 'predicted/easy']  # yapf: disable
    assert easy == [
        (step,
         pytest.approx(first.predictions.at(f'good@{step}', 'easy').value))
        for step in (10, 20)
    ]
    [last] = [(step, value) for tag, step, value in logged
              if tag == 'forecast/hard']  # yapf: disable
    assert last == (20, pytest.approx(first.expected['good'].values[1]))
    log.add(forecast(predictor, run_dumps({'good': 1.8}, 3), history))
    later = scalars(tmp_path / 'good')[len(logged):]
    assert {step for _, step, _ in later} == {35}
    # Of two predictions and three forecasts, with both ends.
    assert len(later) == 15
    shown = first.predictions.at('good@20', 'hard')
    assert [(step, value) for tag, step, value in logged
            if tag in ('predicted/hard/low', 'predicted/hard/high')
            ][-2:] == [(20, pytest.approx(shown.low)),
                       (20, pytest.approx(shown.high))]
