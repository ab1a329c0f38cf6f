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
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Optional

import numpy as np

from csv_plugin.core.comparing import Comparison
from csv_plugin.core.escaping import file_name
from csv_plugin.core.input_error import InputError
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
        project (str): Name of the project, or of the experiment in MLflow.

    Raises:
        InputError: The package of the tracker is not installed.
    """
    package: ClassVar[str]

    def __init__(self, project: str) -> None:
        super().__init__()
        self.project = project
        try:
            self._tracker: Any = import_module(self.package)
        except ImportError as error:
            raise InputError(
                type(self).__name__, f'the package {self.package}',
                f'the error {str(error)!r}',
                f'Install {self.package} (docs/live.md).') from error
        self._open: Optional[Open] = None

    def write(self, run: str, points: Sequence[Point]) -> None:
        """See `CurveLog`."""
        if self._open is None:
            self._open = self._opened(run)
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

    @abstractmethod
    def _opened(self, run: str) -> Open:
        """Take the run that is under way, or begin one of this name."""


class WandbLog(TrackerLog):
    """Logs to Weights & Biases, by the steps of the training.

    Runs that it begins are offline unless `WANDB_MODE` says otherwise, since
    the first that is not would ask for a key. Arguments as in `TrackerLog`.
    """
    package = 'wandb'

    def _opened(self, run: str) -> Open:
        active = self._tracker.run
        mode = os.environ.get('WANDB_MODE', 'offline')
        used = active or self._tracker.init(
            project=self.project, name=run, mode=mode)
        # Points by its own count of steps would be dropped when late.
        used.define_metric(STEP)
        for kind in ('predicted', 'forecast', 'difference'):
            used.define_metric(f'{kind}/*', step_metric=STEP)

        def put(point: Point) -> None:
            used.log({**point.scalars, STEP: point.step})

        return put, None if active else used.finish


class TrackioLog(TrackerLog):
    """Logs to Trackio, whose database is on this machine.

    Arguments as in `TrackerLog`.
    """
    package = 'trackio'

    def _opened(self, run: str) -> Open:
        active = self._tracker.context_vars.current_run.get()
        used = active or self._tracker.init(project=self.project, name=run)

        def put(point: Point) -> None:
            used.log(point.scalars, step=point.step)

        return put, None if active else self._tracker.finish


class MLflowLog(TrackerLog):
    """Logs to MLflow, where its tracking URI points to.

    Names in MLflow have no signs but `_-.: /`; others become their code
    points. In a store of files a curve is a file, so the ends of an interval
    are called `predicted/<benchmark>.low` and `.high`. Arguments as in
    `TrackerLog`.
    """
    package = 'mlflow'

    def _opened(self, run: str) -> Open:
        client, mlflow = self._tracker.MlflowClient(), self._tracker
        active = mlflow.active_run()
        name = (active or self._begun(client, run)).info.run_id

        def put(point: Point) -> None:
            now = round(1000 * time.time())
            client.log_batch(name, [
                mlflow.entities.Metric(
                    mlflow_name(curve), value, now, point.step)
                for curve, value in point.scalars.items()
            ])

        def end() -> None:
            client.set_terminated(name)

        return put, None if active else end

    def _begun(self, client: Any, run: str) -> Any:
        found = client.get_experiment_by_name(self.project)
        experiment = (
            found.experiment_id
            if found else client.create_experiment(self.project))
        return client.create_run(experiment, run_name=run)


def mlflow_name(name: str) -> str:
    """Return the name of a curve in MLflow.

    >>> mlflow_name('predicted/mmlu/low'), mlflow_name('predicted/a@b')
    ('predicted/mmlu.low', 'predicted/a_40_b')
    """
    kind, _, rest = name.partition('/')
    return f'{kind}/' + re.sub(r'[^\w.\- :]', lambda m: f'_{ord(m[0]):x}_',
                               rest.replace('/', '.'))


#: Logs by the name of their package.
TRACKERS: dict[str, Callable[[str], CurveLog]] = {
    log.package: log
    for log in (WandbLog, TrackioLog, MLflowLog)
}
