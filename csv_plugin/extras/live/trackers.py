"""Triages of a training as curves, for any tracker."""
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.comparison import MEAN, Comparison
from csv_plugin.core.noise import LOSS, PREDICTED
from csv_plugin.core.predictions import Predictions
from csv_plugin.io.files import FilePath
from csv_plugin.triage.result import Triage

#: Takes fractions by the name of their curve, and the step.
Log = Callable[[dict[str, float], int], Any]


def curves_of(triage: Triage,
              comparison: Optional[Comparison]) -> dict[str, float]:
    """Return the points at the last checkpoint of a run, as far as known.

    The curves of a benchmark are `predicted/<benchmark>` and
    `forecast/<benchmark>`, and beside them `<benchmark>.low` and `.high`, the
    ends of the 90 % interval. Differences to a reference run are
    `difference/<benchmark>`, with the interval of the comparison.
    """
    [run] = triage.runs
    names = list(triage.benchmarks)
    now = triage.predictions.select([run.checkpoints[-1]])
    points = _points('predicted', names, _ends_of(now))
    if triage.ends:
        ends = np.column_stack([_ends_of(triage.forecasts), triage.means])
        points |= _points('forecast', [*names, MEAN], ends)
    if comparison:
        names = []
        differences = []
        for kind in (PREDICTED, LOSS):
            for part in comparison.of_kind(kind):
                names.append(part.benchmark or LOSS)
                differences.append((part.value, part.low, part.high))
        points |= _points('difference', names, np.transpose(differences))
    return points


def _ends_of(table: Predictions) -> NDArray[np.float64]:
    """Accuracies of one model and the ends of their intervals, `(3, B)`."""
    numbers = np.array([table.values, table.low, table.high])
    # Of the only model, by the only method.
    return numbers[:, 0, :, 0]


def _points(kind: str, benchmarks: Sequence[str],
            rows: NDArray) -> dict[str, float]:
    """Known values, lower and upper ends, `(3, B)`, by their curves."""
    points = {}
    for end, row in zip(('', '.low', '.high'), rows):
        for benchmark, value in zip(benchmarks, row):
            if not np.isnan(value):
                points[f'{kind}/{benchmark}{end}'] = float(value)
    return points


def tensorboard_log(folder: FilePath) -> Log:
    """Return a log of TensorBoard in a folder.

    An `InputError` if the package tensorboardX is not installed.
    """
    # Not at the top: it loads torch.
    from csv_plugin.lm.engines.protocol import optional_package
    writer_of = optional_package('tensorboardX', 'TensorBoard').SummaryWriter

    def log(curves: dict[str, float], step: int) -> None:
        # Files that are made within one second would have the same name.
        with writer_of(
                str(Path(folder)),
                filename_suffix=f'.{time.time_ns()}') as writer:
            for name, value in curves.items():
                writer.add_scalar(name, value, step)

    return log
