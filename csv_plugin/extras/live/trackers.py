"""Give the predictions of a training to experiment trackers, as curves."""
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

#: Values of curves at one step, by the name of the curve.
Points = dict[str, float]
#: A function that logs the values of curves at a step.
Log = Callable[[Points, int], Any]


def curves_of(triage: Triage, comparison: Optional[Comparison]) -> Points:
    """Return the values at a run's last checkpoint by name of their curve.

    A benchmark has the curves `predicted/<benchmark>` and
    `forecast/<benchmark>`. `forecast/mean` is the forecast of the mean over
    the benchmarks. Curves with `.low` and `.high` after these names are the
    limits of the 90 % interval.
    Accuracies are fractions. Differences from a reference run are
    `difference/<benchmark>` and `difference/loss`, with the limits of the
    comparison's intervals. Unknown values have no entry.
    """
    [run] = triage.runs
    names = list(triage.benchmarks)
    last = triage.predictions.select([run.checkpoints[-1]])
    points = _points('predicted', names, _limits(last))
    if triage.ends:
        names.append(MEAN)
        forecasts = _limits(triage.forecasts)
        with_mean = np.column_stack([forecasts, triage.means])
        points |= _points('forecast', names, with_mean)
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
        rows = np.transpose(columns)
        points |= _points('difference', names, rows)
    return points


def _limits(table: Predictions) -> Floats:
    """Return one model's accuracies and interval limits, `(3, B)`.

    The rows are the accuracies, the lower and the upper limits.
    """
    numbers = np.array([table.values, table.low, table.high])
    # The axes are model, benchmark and method; the table has one model and
    # one method.
    return numbers[:, 0, :, 0]


def _points(kind: str, benchmarks: Sequence[str], rows: NDArray) -> Points:
    """Return the values in `rows` by name of their curve, without NaN.

    `rows`, `(3, B)`, are values, lower and upper limits.
    """
    suffixes = '', '.low', '.high'
    points = {}
    for suffix, row in zip(suffixes, rows):
        for benchmark, value in zip(benchmarks, row):
            curve = f'{kind}/{benchmark}{suffix}'
            if not np.isnan(value):
                points[curve] = float(value)
    return points


def tensorboard_log(folder: FilePath) -> Log:
    """Return a function that logs to TensorBoard files in a folder.

    An `InputError` if the package tensorboardX is not installed.
    """
    # This import is not at the top of the file, because it loads torch.
    from csv_plugin.lm.engines.protocol import optional_package
    package = optional_package('tensorboardX', 'TensorBoard')
    path = str(Path(folder))

    def log(curves: Points, step: int) -> None:
        # Without the suffix, files that are created within one second would
        # have the same name.
        suffix = f'.{time.time_ns()}'
        with package.SummaryWriter(path, filename_suffix=suffix) as writer:
            for name, value in curves.items():
                writer.add_scalar(name, value, step)

    return log
