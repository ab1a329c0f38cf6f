"""Predictions of a training as curves for any experiment tracker."""
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.comparison import MEAN, Comparison
from csv_plugin.core.noise import LOSS, PREDICTED
from csv_plugin.core.predictions import Predictions
from csv_plugin.io.files import FilePath
from csv_plugin.triage.result import Triage

#: A function that logs values, by the name of their curve, at a step.
Log = Callable[[dict[str, float], int], Any]


def curves_of(triage: Triage,
              comparison: Optional[Comparison]) -> dict[str, float]:
    """Return the values at a run's last checkpoint by name of their curve.

    The curves of a benchmark are `predicted/<benchmark>` and
    `forecast/<benchmark>`, and `forecast/mean` is the forecast of their mean.
    The same names with `.low` and `.high` are the limits of the 90 % interval.
    Accuracies are fractions. Differences from a reference run are
    `difference/<benchmark>` and `difference/loss`, with the limits of the
    comparison's intervals. Unknown values have no entry.
    """
    [run] = triage.runs
    names = list(triage.benchmarks)
    last = triage.predictions.select([run.checkpoints[-1]])
    points = _points('predicted', names, _limits(last))
    if triage.ends:
        at_end = _limits(triage.forecasts)
        with_mean = np.column_stack([at_end, triage.means])
        points |= _points('forecast', [*names, MEAN], with_mean)
    if comparison:
        differences = [
            *comparison.of_kind(PREDICTED),
            *comparison.of_kind(LOSS),
        ]
        names = []
        columns = []
        for part in differences:
            names.append(part.benchmark or LOSS)
            columns.append((part.value, part.low, part.high))
        points |= _points('difference', names, np.transpose(columns))
    return points


def _limits(table: Predictions) -> Floats:
    """Return one model's accuracies and interval limits, `(3, B)`.

    The rows are the accuracies, the lower and the upper limits.
    """
    numbers = np.array([table.values, table.low, table.high])
    # The axes are model, benchmark and method; the table has one model and
    # one method.
    return numbers[:, 0, :, 0]


def _points(kind: str, benchmarks: Sequence[str],
            rows: NDArray) -> dict[str, float]:
    """Return the values of `rows` that are known by name of their curve.

    `rows`, `(3, B)`, are values, lower and upper limits.
    """
    points = {}
    for end, row in zip(('', '.low', '.high'), rows):
        for benchmark, value in zip(benchmarks, row):
            curve = f'{kind}/{benchmark}{end}'
            if not np.isnan(value):
                points[curve] = float(value)
    return points


def tensorboard_log(folder: FilePath) -> Log:
    """Return a function that logs to TensorBoard files in a folder.

    An `InputError` if the package tensorboardX is not installed.
    """
    # Imported here, because this import loads torch.
    from csv_plugin.lm.engines.protocol import optional_package
    package = optional_package('tensorboardX', 'TensorBoard')
    path = str(Path(folder))

    def log(curves: dict[str, float], step: int) -> None:
        # Without the suffix, files that are created within one second would
        # have the same name.
        suffix = f'.{time.time_ns()}'
        with package.SummaryWriter(path, filename_suffix=suffix) as writer:
            for name, value in curves.items():
                writer.add_scalar(name, value, step)

    return log
