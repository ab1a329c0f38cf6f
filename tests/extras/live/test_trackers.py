"""What is asked of trackers; `real_trackers.py` runs the trackers."""
import sys
from types import SimpleNamespace

import pytest
from tensorboardX.proto.event_pb2 import Event

from csv_plugin.extras.live.trackers import (STEP, TRACKERS, TrackerLog,
                                             mlflow_name)
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


class Run:
    """Stands for a run of any tracker."""
    info = SimpleNamespace(run_id='r1')

    def __init__(self):
        self.logged, self.axes, self.ended = [], {}, 0

    def log(self, scalars, step=None):
        self.logged.append((scalars.get(STEP, step), set(scalars) - {STEP}))

    def log_batch(self, run_id, metrics):
        step, = {metric['step'] for metric in metrics}
        self.logged.append((step, {metric['key'] for metric in metrics}))

    def define_metric(self, name, step_metric=None):
        self.axes[name] = step_metric

    def finish(self):
        self.ended += 1

    def set_terminated(self, run_id):
        self.finish()


def module(name, run, active):
    """Stands for the package of a tracker."""

    def metric(key, value, timestamp, step):
        return {'key': key, 'step': step}

    client = SimpleNamespace(
        get_experiment_by_name=lambda project: None,
        create_experiment=lambda project: '7',
        create_run=lambda experiment, run_name: run,
        log_batch=run.log_batch,
        set_terminated=run.set_terminated)
    return {
        'wandb':
        SimpleNamespace(run=active, init=lambda project, name, mode: run),
        'trackio':
        SimpleNamespace(
            context_vars=SimpleNamespace(
                current_run=SimpleNamespace(get=lambda: active)),
            init=lambda project, name: run,
            finish=run.finish),
        'mlflow':
        SimpleNamespace(
            entities=SimpleNamespace(Metric=metric),
            MlflowClient=lambda: client,
            active_run=lambda: active),
    }[name]


@pytest.mark.parametrize('is_active', [False, True])
@pytest.mark.parametrize('name', [*TRACKERS][1:])
def test_points_by_step_in_the_run_that_is_under_way(monkeypatch, triages,
                                                     name, is_active):
    run = Run()
    monkeypatch.setitem(sys.modules, name,
                        module(name, run, run if is_active else None))
    log = TrackerLog(name, 'project')
    for triage in (triages[0], *triages):
        log.add(triage)
    log.close()
    log.close()
    assert [step for step, _ in run.logged] == [10, 20, 20, 35, 35]
    end = '.high' if name == 'mlflow' else '/high'
    assert {'predicted/easy', f'predicted/easy{end}'} < run.logged[0][1]
    assert 'forecast/mean' in run.logged[-1][1]
    assert run.ended == (not is_active)
    if name == 'wandb':
        assert run.axes == {
            STEP: None,
            'predicted/*': STEP,
            'forecast/*': STEP,
            'difference/*': STEP
        }


def test_names_of_mlflow_stay_apart():
    names = [
        'predicted/a', 'predicted/a/low', 'predicted/a@low', 'predicted/物理'
    ]
    assert len({*map(mlflow_name, names)}) == 4
    assert mlflow_name('predicted/物理') == 'predicted/物理'


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
    log = TrackerLog('tensorboard', tmp_path)
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
    log.add(second)
    later = scalars(tmp_path / 'good')[len(logged):]
    assert {step for _, step, _ in later} == {35}
    # Of two predictions and three forecasts, with both ends.
    assert len(later) == 15
    shown = first.predictions.at('good@20', 'hard')
    assert [(step, value) for tag, step, value in logged
            if tag in ('predicted/hard/low', 'predicted/hard/high')
            ][-2:] == [(20, pytest.approx(shown.low)),
                       (20, pytest.approx(shown.high))]
