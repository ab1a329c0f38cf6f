"""Where curves go: TensorBoard, Weights & Biases, Trackio and MLflow.

The package of a tracker is imported when a log is made. If a run of the
tracker is under way, such as one that `transformers.Trainer` began, the curves
become part of it, else they get one of their own.
"""
import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import file_name
from csv_plugin.extras.live.curves import CurveLog, Point

#: The scalar that is the x-axis in Weights & Biases, as in `Trainer`.
STEP = 'train/global_step'


class TensorBoardLog(CurveLog):
    """Logs predictions and forecasts, one folder per run.

    tensorboardX must be installed.

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


class TrackerLog(CurveLog):
    """Curves as a part of a tracker's run, which is ended by who began it.

    Args:
        project (str): Name of the project, or of the experiment in MLflow.

    Raises:
        InputError: The package of the tracker is not installed.
    """
    #: What is imported.
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
        self._run: Any = None
        self._own = False

    def write(self, run: str, points: Sequence[Point]) -> None:
        """See `CurveLog`."""
        if self._run is None:
            self._run = self._under_way()
            if self._run is None:
                self._run, self._own = self._begin(run), True
        for point in points:
            self._put(point)

    def close(self) -> None:
        """See `CurveLog`."""
        if self._own:
            self._end()
            self._run, self._own = None, False

    @abstractmethod
    def _under_way(self) -> Any:
        """The tracker's run that somebody else began, or None."""

    @abstractmethod
    def _begin(self, run: str) -> Any:
        """A new run of the tracker."""

    @abstractmethod
    def _put(self, point: Point) -> None:
        """Log a point."""

    @abstractmethod
    def _end(self) -> None:
        """End a run that was begun here."""


class WandbLog(TrackerLog):
    """Logs to Weights & Biases, by the steps of the training.

    Runs that it begins are offline unless `WANDB_MODE` says otherwise, since
    the first that is not would ask for a key. Arguments as in `TrackerLog`.
    """
    package = 'wandb'

    def _under_way(self) -> Any:
        return self._by_step(self._tracker.run)

    def _begin(self, run: str) -> Any:
        mode = os.environ.get('WANDB_MODE', 'offline')
        return self._by_step(
            self._tracker.init(project=self.project, name=run, mode=mode))

    @staticmethod
    def _by_step(run: Any) -> Any:
        # Points by its own count of steps would be dropped when late.
        if run is not None:
            run.define_metric(STEP)
            for kind in ('predicted', 'forecast'):
                run.define_metric(f'{kind}/*', step_metric=STEP)
        return run

    def _put(self, point: Point) -> None:
        self._run.log({**point.scalars, STEP: point.step})

    def _end(self) -> None:
        self._run.finish()


class TrackioLog(TrackerLog):
    """Logs to Trackio, whose database is on this machine.

    Arguments as in `TrackerLog`.
    """
    package = 'trackio'

    def _under_way(self) -> Any:
        return self._tracker.context_vars.current_run.get()

    def _begin(self, run: str) -> Any:
        return self._tracker.init(project=self.project, name=run)

    def _put(self, point: Point) -> None:
        self._run.log(point.scalars, step=point.step)

    def _end(self) -> None:
        self._tracker.finish()


class MLflowLog(TrackerLog):
    """Logs to MLflow, where its tracking URI points to.

    Its names hold no signs but `_-.: /`, others become their code points. In
    a store of files a curve is a file, so that the ends of an interval are
    called `predicted/<benchmark>.low` and `.high`. Arguments as in
    `TrackerLog`.
    """
    package = 'mlflow'

    def _under_way(self) -> Any:
        return self._tracker.active_run()

    def _begin(self, run: str) -> Any:
        client = self._tracker.MlflowClient()
        found = client.get_experiment_by_name(self.project)
        experiment = (
            found.experiment_id
            if found else client.create_experiment(self.project))
        return client.create_run(experiment, run_name=run)

    def _put(self, point: Point) -> None:
        now, metric = round(1000 * time.time()), self._tracker.entities.Metric
        self._tracker.MlflowClient().log_batch(self._run.info.run_id, [
            metric(mlflow_name(name), value, now, point.step)
            for name, value in point.scalars.items()
        ])

    def _end(self) -> None:
        self._tracker.MlflowClient().set_terminated(self._run.info.run_id)


def mlflow_name(name: str) -> str:
    """The name of a curve in MLflow.

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
