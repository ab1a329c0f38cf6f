"""Trains a small model with a real tracker, and reads what that has kept.

    python -m tools.studies.real_trackers TRACKER FOLDER

where TRACKER is wandb, trackio, mlflow or tensorboard.

`real_trackers.sh` makes the environments for it, since the trackers are not
among the packages of the constraints.
"""
import glob
import os
import sqlite3
import sys
from importlib import import_module, metadata
from pathlib import Path

from csv_plugin.extras.live.trackers import STEP, TrackerLog
from csv_plugin.extras.live.trainer_callback import PredictionCallback
from tests.extras.live.training import PREDICTOR, TEXTS, trainer

PROJECT, RUN = 'salience', 'mix1'


def wandb_points(folder):
    """From the file that an offline run leaves."""
    # The process behind it writes what it still has.
    import_module('wandb').teardown()
    record = import_module('wandb.proto.wandb_internal_pb2').Record
    [path] = glob.glob(f'{folder}/wandb/offline-run-*/run-*.wandb')
    axes, points = set(), []
    for data in leveldb_records(Path(path).read_bytes()[7:]):
        found = record.FromString(data)
        if found.metric.step_metric:
            axes.add((found.metric.glob_name, found.metric.step_metric))
        items = {
            item.key or '/'.join(item.nested_key): item.value_json
            for item in found.history.item
        }
        points += [(name, int(items[STEP]), float(value))
                   for name, value in items.items() if STEP in items]
    print('x-axes:', sorted(axes))
    return points


def leveldb_records(data, block=2**15, head=7):
    """Records of a log in the format of LevelDB, in parts of blocks."""
    record, place = b'', 0
    while place < len(data):
        left = block - (place + head) % block
        if left < head:
            place += left
            continue
        size = int.from_bytes(data[place + 4:place + 6], 'little')
        kind = data[place + 6]
        record += data[place + head:place + head + size]
        place += head + size
        if kind in (1, 4):  # whole, or the last part
            yield record
            record = b''


def trackio_points(folder):
    storage = import_module('trackio.sqlite_storage').SQLiteStorage
    [path] = Path(os.environ['TRACKIO_DIR']).glob('*.db')
    with sqlite3.connect(path) as database:
        tables = database.execute(
            "select name from sqlite_master where type = 'table'").fetchall()
    print(f'{path.name}:', ', '.join(sorted(name for name, in tables)))
    return [(name, log['step'], value)
            for log in storage.get_logs(PROJECT, RUN)
            for name, value in log.items() if isinstance(value, float)]


def mlflow_points(folder):
    client = import_module('mlflow').MlflowClient()
    experiment = client.get_experiment_by_name(PROJECT)
    [run] = client.search_runs([experiment.experiment_id])
    print('run', run.info.run_name, run.info.status)
    return [(name, metric.step, metric.value) for name in run.data.metrics
            for metric in client.get_metric_history(run.info.run_id, name)]


def tensorboard_points(folder):
    module = import_module(
        'tensorboard.backend.event_processing.event_accumulator')
    events = module.EventAccumulator(str(folder / 'tb' / RUN)).Reload()
    return [(name, scalar.step, scalar.value)
            for name in events.Tags()['scalars']
            for scalar in events.Scalars(name)]


def main(tracker, folder):
    folder = Path(folder).resolve()
    folder.mkdir(parents=True)
    os.chdir(folder)
    os.environ['TRACKIO_DIR'] = str(folder / 'trackio')
    log = TrackerLog(tracker,
                     folder / 'tb' if tracker == 'tensorboard' else PROJECT)
    callback = PredictionCallback(
        PREDICTOR, TEXTS, folder / 'live', 2, run=RUN, logs=[log])
    trainer(folder / 'run', [callback]).train()
    predicted = callback.triage.predictions
    expected = {
        ('predicted/easy', step): predicted.at(f'{RUN}@{step}', 'easy').value
        for step in (2, 4, 6)
    }
    points = globals()[f'{tracker}_points'](folder)
    found = {(name, step): value for name, step, value in points}
    for place, value in expected.items():
        assert abs(found[place] - value) < 1e-6, (place, value, found)
    for end in ('low', 'high'):
        sign = '.' if tracker == 'mlflow' else '/'
        curve = [
            step for name, step in found
            if name == f'predicted/easy{sign}{end}'
        ]
        assert sorted(curve) == [2, 4, 6], curve
    print(
        f'{tracker} {metadata.version(tracker)} holds '
        f'{len({name for name, _ in found})} curves; predicted/easy:',
        ', '.join(f'{value:.4f} at step {step}'
                  for (name, step), value in sorted(found.items())
                  if name == 'predicted/easy'))


if __name__ == '__main__':
    main(*sys.argv[1:])
