"""Curves in trackers of experiments: Weights & Biases, Trackio and MLflow.

Their packages are imported when a log is made. If a run of the tracker is
under way, such as one that `transformers.Trainer` began, the curves become
part of it, else they get one of their own.
"""
import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from csv_plugin.lm.engines.packages import optional_package
from csv_plugin.report.triage_curves import CurveLog, Point

#: The scalar that is the x-axis in Weights & Biases, as in `Trainer`.
STEP = 'train/global_step'


class _TrackerLog(CurveLog):
    """Curves as a part of a tracker's run, which is ended by who began it.

    Args:
        project (str): Name of the project.
        package (str): What is imported.
        title (str): What it is called.

    Raises:
        InputError: The package is not installed.
    """

    def __init__(self, project: str, package: str, title: str) -> None:
        super().__init__()
        self.project = project
        self._package: Any = optional_package(package, title, 'live.md')
        self._run: Any = None
        self._own = False

    def write(self, run: str, points: Sequence[Point]) -> None:
        """See `CurveLog`."""
        if self._run is None:
            self._run = self._under_way()
            if self._run is None:
                self._run, self._own = self._begin(run), True
            self._prepare()
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

    def _prepare(self) -> None:
        """What a run needs before its first point."""

    @abstractmethod
    def _put(self, point: Point) -> None:
        """Log a point."""

    @abstractmethod
    def _end(self) -> None:
        """End a run that was begun here."""


class WandbLog(_TrackerLog):
    """Logs to Weights & Biases, by the steps of the training.

    Runs that it begins are offline unless `WANDB_MODE` says otherwise, since
    the first that is not would ask for a key.

    Args:
        project (str): Name of the project.

    Raises:
        InputError: wandb is not installed.
    """

    def __init__(self, project: str) -> None:
        super().__init__(project, 'wandb', 'Weights & Biases')

    def _under_way(self) -> Any:
        return self._package.run

    def _begin(self, run: str) -> Any:
        return self._package.init(
            project=self.project,
            name=run,
            mode=os.environ.get('WANDB_MODE', 'offline'))

    def _prepare(self) -> None:
        # Points by its own count of steps would be dropped when late.
        self._run.define_metric(STEP)
        for kind in ('predicted', 'forecast'):
            self._run.define_metric(f'{kind}/*', step_metric=STEP)

    def _put(self, point: Point) -> None:
        self._run.log({**point.scalars, STEP: point.step})

    def _end(self) -> None:
        self._run.finish()


class TrackioLog(_TrackerLog):
    """Logs to Trackio, whose database is on this machine.

    Args:
        project (str): Name of the project.

    Raises:
        InputError: trackio is not installed.
    """

    def __init__(self, project: str) -> None:
        super().__init__(project, 'trackio', 'Trackio')

    def _under_way(self) -> Any:
        return self._package.context_vars.current_run.get()

    def _begin(self, run: str) -> Any:
        return self._package.init(project=self.project, name=run)

    def _put(self, point: Point) -> None:
        self._run.log(point.scalars, step=point.step)

    def _end(self) -> None:
        self._package.finish()


class MLflowLog(_TrackerLog):
    """Logs to MLflow, where its tracking URI points to.

    Its names hold no signs but `_-.: /`, others become their code points. In
    a store of files a curve is a file, so that the ends of an interval are
    called `predicted/<benchmark>.low` and `.high`.

    Args:
        project (str): Name of the experiment.

    Raises:
        InputError: mlflow is not installed.
    """

    def __init__(self, project: str) -> None:
        super().__init__(project, 'mlflow', 'MLflow')
        self._client: Any = None

    def _under_way(self) -> Any:
        self._client = self._package.MlflowClient()
        return self._package.active_run()

    def _begin(self, run: str) -> Any:
        found = self._client.get_experiment_by_name(self.project)
        experiment = (
            found.experiment_id
            if found else self._client.create_experiment(self.project))
        return self._client.create_run(experiment, run_name=run)

    def _put(self, point: Point) -> None:
        now, metric = round(1000 * time.time()), self._package.entities.Metric
        self._client.log_batch(self._run.info.run_id, [
            metric(mlflow_name(name), value, now, point.step)
            for name, value in point.scalars.items()
        ])

    def _end(self) -> None:
        self._client.set_terminated(self._run.info.run_id)


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
    'wandb': WandbLog,
    'trackio': TrackioLog,
    'mlflow': MLflowLog
}
