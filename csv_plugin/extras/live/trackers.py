"""Triages as curves in TensorBoard, Weights & Biases, Trackio and MLflow."""
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Optional

import numpy as np

from csv_plugin.core.comparing import Comparison
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import file_name
from csv_plugin.core.paired import LOSS, PREDICTED
from csv_plugin.io.files import FilePath
from csv_plugin.triage.judging import Triage
from csv_plugin.triage.trajectories import RunTrajectory

#: The scalar that is the x-axis in Weights & Biases, as in `Trainer`.
STEP = 'train/global_step'
#: Tokens, or steps where no tokens are known; and fractions by curve.
Point = tuple[int, dict[str, float]]
#: What logs points, and what ends a run that was begun here, if one was.
_Open = tuple[Callable[[Sequence[Point]], None], Optional[Callable[[], Any]]]


class TrackerLog:
    """Logs predictions and forecasts of runs, each checkpoint once.

    The curves of a benchmark are `predicted/<benchmark>` and
    `forecast/<benchmark>`, and below them `low` and `high`, the ends of the
    90 % interval. Differences to a reference run are
    `difference/<benchmark>`, with the interval of the comparison. If a run of
    the tracker is under way, such as one that `transformers.Trainer` began,
    the curves become part of it, else they get one of their own.

    Args:
        package (str): A key of `TRACKERS`.
        project (FilePath): Name of the project, or of the experiment in
            MLflow; for TensorBoard, the folder of the logs.

    Raises:
        InputError: The package is not installed.
    """

    def __init__(self, package: str, project: FilePath) -> None:
        module, self._take = TRACKERS[package]
        self._project = os.fspath(project)
        self._logged: set[str] = set()
        self._open: dict[str, _Open] = {}
        try:
            self._tracker: Any = import_module(module)
        except ImportError as error:
            raise InputError('tracker', f'the package {module}',
                             f'the error {str(error)!r}',
                             f'Install {module} (docs/live.md).') from error

    def add(self,
            triage: Triage,
            comparison: Optional[Comparison] = None) -> None:
        """Log the checkpoints that were not logged before.

        Forecasts, and a comparison with a reference run, are logged at the
        last checkpoint of their run. What could not be logged is tried again
        with the next triage.
        """
        for run in triage.runs:
            if not self._logged.issuperset(run.checkpoints):
                points = list(_points(triage, run, self._logged))
                if comparison:
                    points.append(
                        (round(run.tokens[-1]), _differences(comparison)))
                self.write(run.run, points)
                self._logged.update(run.checkpoints)

    def write(self, run: str, points: Sequence[Point]) -> None:
        """Log points of a run, by rising steps."""
        if run not in self._open:
            self._open[run] = self._take(self._tracker, self._project, run)
        put, _ = self._open[run]
        put(points)

    def close(self) -> None:
        """End the runs that were begun here."""
        while self._open:
            _, (_, end) = self._open.popitem()
            if end:
                end()


def _points(triage: Triage, run: RunTrajectory,
            logged: Collection[str]) -> Iterator[Point]:
    """Predictions at the new checkpoints, then the forecast at the last."""
    steps = [round(tokens) for tokens in run.tokens]
    predicted = triage.predictions.select(run.checkpoints)
    cube = np.stack([predicted.values, predicted.low, predicted.high])
    for i, name in enumerate(run.checkpoints):
        if name not in logged:
            yield steps[i], _scalars('predicted', triage.benchmarks,
                                     cube[:, i, :, 0])
    expected = triage.expected[run.run]
    scalars = _scalars(
        'forecast', list(triage.rankings),
        np.stack([expected.values, expected.low, expected.high]))
    if scalars:
        yield steps[-1], scalars


def _differences(comparison: Comparison) -> dict[str, float]:
    parts = [*comparison.of_kind(PREDICTED), *comparison.of_kind(LOSS)]
    return _scalars(
        'difference', [part.benchmark or LOSS for part in parts],
        np.array([[part.value, part.low, part.high] for part in parts]).T)


def _scalars(kind: str, benchmarks: Sequence[str],
             rows: np.ndarray) -> dict[str, float]:
    """Those that are known of values, lower and upper ends, `(3, B)`."""
    return {
        f'{kind}/{benchmark}{end}': float(value)
        for end, row in zip(('', '/low', '/high'), rows)
        for benchmark, value in zip(benchmarks, row) if not np.isnan(value)
    }


def _tensorboard(tensorboard: Any, folder: str, run: str) -> _Open:

    def put(points: Sequence[Point]) -> None:
        # Files that are made within one second would have the same name.
        with tensorboard.SummaryWriter(
                str(Path(folder, file_name(run))),
                filename_suffix=f'.{time.time_ns()}') as writer:
            for step, scalars in points:
                for name, value in scalars.items():
                    writer.add_scalar(name, value, step)

    return put, None


def _wandb(wandb: Any, project: str, run: str) -> _Open:
    # The first run that is not offline would ask for a key.
    mode = os.environ.get('WANDB_MODE', 'offline')
    active = wandb.run
    used = active or wandb.init(project=project, name=run, mode=mode)
    # Points by its own count of steps would be dropped when late.
    used.define_metric(STEP)
    for kind in ('predicted', 'forecast', 'difference'):
        used.define_metric(f'{kind}/*', step_metric=STEP)

    def put(points: Sequence[Point]) -> None:
        for step, scalars in points:
            used.log({**scalars, STEP: step})

    return put, None if active else used.finish


def _trackio(trackio: Any, project: str, run: str) -> _Open:
    active = trackio.context_vars.current_run.get()
    used = active or trackio.init(project=project, name=run)

    def put(points: Sequence[Point]) -> None:
        for step, scalars in points:
            used.log(scalars, step=step)

    return put, None if active else trackio.finish


def _mlflow(mlflow: Any, project: str, run: str) -> _Open:
    client, begun = mlflow.MlflowClient(), mlflow.active_run()
    is_own = begun is None
    if is_own:
        found = client.get_experiment_by_name(project)
        experiment = (
            found.experiment_id
            if found else client.create_experiment(project))
        begun = client.create_run(experiment, run_name=run)
    name = begun.info.run_id

    def put(points: Sequence[Point]) -> None:
        now = round(1000 * time.time())
        for step, scalars in points:
            client.log_batch(name, [
                mlflow.entities.Metric(mlflow_name(curve), value, now, step)
                for curve, value in scalars.items()
            ])

    return put, partial(client.set_terminated, name) if is_own else None


def mlflow_name(name: str) -> str:
    """Return the name of a curve in MLflow, which has few signs.

    In its store of files a curve is a file, so no name is that of a folder.

    >>> mlflow_name('predicted/mmlu/low'), mlflow_name('predicted/a@b')
    ('predicted/mmlu.low', 'predicted/a_40_b')
    """
    kind, _, rest = name.partition('/')
    return f'{kind}/' + re.sub(r'[^\w.\- :]', lambda m: f'_{ord(m[0]):x}_',
                               rest.replace('/', '.'))


#: Package, and what takes the run that is under way or begins one.
TRACKERS: dict[str, tuple[str, Callable[[Any, str, str], _Open]]] = {
    'tensorboard': ('tensorboardX', _tensorboard),
    'wandb': ('wandb', _wandb),
    'trackio': ('trackio', _trackio),
    'mlflow': ('mlflow', _mlflow)
}
