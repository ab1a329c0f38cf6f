"""Triages as curves in TensorBoard, Weights & Biases, Trackio and MLflow.

The package of a tracker is imported when a log is made. If a run of the
tracker is under way, such as one that `transformers.Trainer` began, the curves
become part of it, else they get one of their own.
"""
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from csv_plugin.core.comparing import Comparison
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import file_name
from csv_plugin.core.paired import LOSS, PREDICTED
from csv_plugin.triage.judging import Triage
from csv_plugin.triage.trajectories import RunTrajectory

#: The scalar that is the x-axis in Weights & Biases, as in `Trainer`.
STEP = 'train/global_step'


class Point(NamedTuple):
    """Accuracies at one checkpoint.

    Args:
        step (int): Tokens, or steps where no tokens are known.
        scalars (dict[str, float]): Accuracies by the name of their curve,
            fractions.
    """
    step: int
    scalars: dict[str, float]


class CurveLog(ABC):
    """Logs predictions and forecasts of runs, each checkpoint once.

    The curves of a benchmark are `predicted/<benchmark>` and
    `forecast/<benchmark>`, and below them `low` and `high`, the ends of the
    90 % interval. Differences to a reference run are
    `difference/<benchmark>`, with the interval of the comparison.
    """

    def __init__(self) -> None:
        self._logged: set[str] = set()

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
                        Point(round(run.tokens[-1]), _differences(comparison)))
                self.write(run.run, points)
                self._logged.update(run.checkpoints)

    @abstractmethod
    def write(self, run: str, points: Sequence[Point]) -> None:
        """Log points of a run, by rising steps."""

    def close(self) -> None:
        """End what was begun for the log."""


def _points(triage: Triage, run: RunTrajectory,
            logged: Collection[str]) -> Iterator[Point]:
    """Predictions at the new checkpoints, then the forecast at the last."""
    steps = [round(tokens) for tokens in run.tokens]
    predicted = triage.predictions.select(run.checkpoints)
    cube = np.stack([predicted.values, predicted.low, predicted.high])
    for i, name in enumerate(run.checkpoints):
        if name not in logged:
            yield Point(
                steps[i],
                _scalars('predicted', triage.benchmarks, cube[:, i, :, 0]))
    forecasts = np.array([[ranking.values[r], ranking.low[r], ranking.high[r]]
                          for ranking in triage.rankings.values()
                          for r in [ranking.runs.index(run.run)]])
    scalars = _scalars('forecast', list(triage.rankings), forecasts.T)
    if scalars:
        yield Point(steps[-1], scalars)


def _differences(comparison: Comparison) -> dict[str, float]:
    """Differences of predicted accuracies, and of the mean loss."""
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


class TensorBoardLog(CurveLog):
    """Logs predictions and forecasts by tensorboardX, one folder per run.

    Args:
        folder (Path): Log directory for TensorBoard.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def write(self, run: str, points: Sequence[Point]) -> None:
        """See `CurveLog`."""
        from tensorboardX import SummaryWriter

        # Files that are made within one second would have the same name.
        suffix = f'.{len(self._logged)}'
        with SummaryWriter(
                str(self.folder / file_name(run)),
                filename_suffix=suffix) as writer:
            for point in points:
                for name, value in point.scalars.items():
                    writer.add_scalar(name, value, point.step)


#: What logs a point, and what ends a run that was begun here, if one was.
Open = tuple[Callable[[Point], Any], Optional[Callable[[], Any]]]


class TrackerLog(CurveLog):
    """Curves as a part of a tracker's run, which is ended by who began it.

    Args:
        package (str): A key of `TRACKERS`.
        project (str): Name of the project, or of the experiment in MLflow.

    Raises:
        InputError: The package is not installed.
    """

    def __init__(self, package: str, project: str) -> None:
        super().__init__()
        self.package, self.project = package, project
        try:
            self._tracker: Any = import_module(package)
        except ImportError as error:
            raise InputError('tracker', f'the package {package}',
                             f'the error {str(error)!r}',
                             f'Install {package} (docs/live.md).') from error
        self._open: Optional[Open] = None

    def write(self, run: str, points: Sequence[Point]) -> None:
        """See `CurveLog`."""
        if self._open is None:
            take = TRACKERS[self.package]
            self._open = take(self._tracker, self.project, run)
        put, _ = self._open
        for point in points:
            put(point)

    def close(self) -> None:
        """See `CurveLog`."""
        if self._open is not None:
            _, end = self._open
            if end is not None:
                end()
            self._open = None


def _wandb(wandb: Any, project: str, run: str) -> Open:
    # The first run that is not offline would ask for a key.
    mode = os.environ.get('WANDB_MODE', 'offline')
    active = wandb.run
    used = active or wandb.init(project=project, name=run, mode=mode)
    # Points by its own count of steps would be dropped when late.
    used.define_metric(STEP)
    for kind in ('predicted', 'forecast', 'difference'):
        used.define_metric(f'{kind}/*', step_metric=STEP)
    end = None if active else used.finish
    return lambda point: used.log({**point.scalars, STEP: point.step}), end


def _trackio(trackio: Any, project: str, run: str) -> Open:
    active = trackio.context_vars.current_run.get()
    used = active or trackio.init(project=project, name=run)
    end = None if active else trackio.finish
    return lambda point: used.log(point.scalars, step=point.step), end


def _mlflow(mlflow: Any, project: str, run: str) -> Open:
    client, active = mlflow.MlflowClient(), mlflow.active_run()
    begun = active
    if active is None:
        found = client.get_experiment_by_name(project)
        experiment = (
            found.experiment_id
            if found else client.create_experiment(project))
        begun = client.create_run(experiment, run_name=run)
    name = begun.info.run_id

    def put(point: Point) -> None:
        now = round(1000 * time.time())
        client.log_batch(name, [
            mlflow.entities.Metric(mlflow_name(curve), value, now, point.step)
            for curve, value in point.scalars.items()
        ])

    return put, None if active else partial(client.set_terminated, name)


def mlflow_name(name: str) -> str:
    """Return the name of a curve in MLflow, which has few signs.

    In its store of files a curve is a file, so no name is that of a folder.

    >>> mlflow_name('predicted/mmlu/low'), mlflow_name('predicted/a@b')
    ('predicted/mmlu.low', 'predicted/a_40_b')
    """
    kind, _, rest = name.partition('/')
    return f'{kind}/' + re.sub(r'[^\w.\- :]', lambda m: f'_{ord(m[0]):x}_',
                               rest.replace('/', '.'))


#: What takes the run that is under way, or begins one, by package.
TRACKERS: dict[str, Callable[[Any, str, str], Open]] = {
    'wandb': _wandb,
    'trackio': _trackio,
    'mlflow': _mlflow
}
