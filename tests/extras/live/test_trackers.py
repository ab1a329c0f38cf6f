"""Curves, and what TensorBoard gets of them."""
import pytest
from tensorboardX.proto.event_pb2 import Event

from csv_plugin.extras.live.trackers import CurveLog, tensorboard_log
from csv_plugin.triage.judging import forecast
from tests.runs import train
from tests.triage.pretraining import EARLIER, run_dumps

PREDICTOR = train()


@pytest.fixture(scope='module')
def triages():
    """After two checkpoints, and after a third."""
    history = run_dumps(EARLIER)
    return [
        forecast(PREDICTOR, run_dumps({'good': 1.8}, n), history)
        for n in (2, 3)
    ]


def test_points_by_step_each_once(triages):
    points = []
    log = CurveLog(lambda curves, step: points.append((step, {*curves})))
    for triage in (triages[0], *triages):
        log.add(triage)
    assert [step for step, _ in points] == [10, 20, 20, 35, 35]
    assert {'predicted/easy', 'predicted/easy.high'} < points[0][1]
    assert 'forecast/mean' in points[-1][1]


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


def test_tensorboard(tmp_path, triages):
    first, second = triages
    log = CurveLog(tensorboard_log(tmp_path))
    log.add(first)
    log.add(first)
    logged = scalars(tmp_path)
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
    log.add(second)
    later = scalars(tmp_path)[len(logged):]
    assert {step for _, step, _ in later} == {35}
    # Of two predictions and three forecasts, with both ends.
    assert len(later) == 15
    shown = first.predictions.at('good@20', 'hard')
    assert [(step, value) for tag, step, value in logged
            if tag in ('predicted/hard.low', 'predicted/hard.high')
            ][-2:] == [(20, pytest.approx(shown.low)),
                       (20, pytest.approx(shown.high))]
