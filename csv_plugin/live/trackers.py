"""Curves in trackers of experiments: Weights & Biases, Trackio and MLflow.

Their packages are imported when a log is made. If a run of the tracker is
under way, such as one that `transformers.Trainer` began, the curves become
part of it, else they get one of their own.
"""
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from csv_plugin.lm.engines.packages import optional_package
from csv_plugin.report.triage_curves import CurveLog, Point

#: The scalar that is the x-axis in Weights & Biases, as in `Trainer`.
STEP = 'train/global_step'


class WandbLog(CurveLog):
    """Logs to Weights & Biases, by the steps of the training.

    Runs that it begins are offline unless `WANDB_MODE` says otherwise, since
    the first that is not would ask for a key.

    Args:
        project (str): Name of the project.

    Raises:
        InputError: wandb is not installed.
    """

    def __init__(self, project: str) -> None:
        super().__init__()
        self.project = project
        self._wandb: Any = optional_package('wandb', 'Weights & Biases',
                                            'live.md')
        self._run: Any = None
        self._own = False

    def write(self, run: str, points: Sequence[Point]) -> None:
        """See `CurveLog`."""
        if self._run is None:
            self._own = self._wandb.run is None
            self._run = self._wandb.run or self._wandb.init(
                project=self.project,
                name=run,
                mode=os.environ.get('WANDB_MODE', 'offline'))
            # Points by its own count of steps would be dropped when late.
            self._run.define_metric(STEP)
            for kind in ('predicted', 'forecast'):
                self._run.define_metric(f'{kind}/*', step_metric=STEP)
        for point in points:
            self._run.log({**point.scalars, STEP: point.step})

    def close(self) -> None:
        """See `CurveLog`."""
        if self._own:
            self._run.finish()
            self._run, self._own = None, False


class TrackioLog(CurveLog):
    """Logs to Trackio, whose database is on this machine.

    Args:
        project (str): Name of the project.

    Raises:
        InputError: trackio is not installed.
    """

    def __init__(self, project: str) -> None:
        super().__init__()
        self.project = project
        self._trackio: Any = optional_package('trackio', 'Trackio', 'live.md')
        self._run: Any = None
        self._own = False

    def write(self, run: str, points: Sequence[Point]) -> None:
        """See `CurveLog`."""
        if self._run is None:
            active = self._trackio.context_vars.current_run.get()
            self._own = active is None
            self._run = active or self._trackio.init(
                project=self.project, name=run)
        for point in points:
            self._run.log(point.scalars, step=point.step)

    def close(self) -> None:
        """See `CurveLog`."""
        if self._own:
            self._trackio.finish()
            self._run, self._own = None, False


class MLflowLog(CurveLog):
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
        super().__init__()
        self.project = project
        self._mlflow: Any = optional_package('mlflow', 'MLflow', 'live.md')
        self._client: Any = None
        self._run_id = ''
        self._own = False

    def write(self, run: str, points: Sequence[Point]) -> None:
        """See `CurveLog`."""
        if self._client is None:
            self._begin(run)
        now = round(1000 * time.time())
        metric = self._mlflow.entities.Metric
        for point in points:
            self._client.log_batch(self._run_id, [
                metric(mlflow_name(name), value, now, point.step)
                for name, value in point.scalars.items()
            ])

    def _begin(self, run: str) -> None:
        """Find the run that is under way, or begin one."""
        client, active = self._mlflow.MlflowClient(), self._mlflow.active_run()
        if active is None:
            found = client.get_experiment_by_name(self.project)
            experiment = (
                found.experiment_id
                if found else client.create_experiment(self.project))
            active = client.create_run(experiment, run_name=run)
            self._own = True
        self._client, self._run_id = client, active.info.run_id

    def close(self) -> None:
        """See `CurveLog`."""
        if self._own:
            self._client.set_terminated(self._run_id)
            self._client, self._own = None, False


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
