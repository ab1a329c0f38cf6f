"""Triages as curves, for any tracker of trainings."""
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np

from csv_plugin.core.comparing import Comparison
from csv_plugin.core.conventions import InputError
from csv_plugin.core.paired import LOSS, PREDICTED
from csv_plugin.io.files import FilePath
from csv_plugin.triage.judging import Triage
from csv_plugin.triage.trajectories import RunTrajectory

#: Takes fractions by the name of their curve, and tokens, or steps where no
#: tokens are known.
Log = Callable[[dict[str, float], int], Any]


class CurveLog:
    """Gives a log the predictions and forecasts of runs, each checkpoint once.

    The curves of a benchmark are `predicted/<benchmark>` and
    `forecast/<benchmark>`, and beside them `<benchmark>.low` and `.high`, the
    ends of the 90 % interval. Differences to a reference run are
    `difference/<benchmark>`, with the interval of the comparison.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
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
                for step, curves in _points(triage, run, self._logged):
                    self._log(curves, step)
                if comparison:
                    self._log(_differences(comparison), round(run.tokens[-1]))
                self._logged.update(run.checkpoints)


def _points(triage: Triage, run: RunTrajectory,
            logged: Collection[str]) -> Iterator[tuple[int, dict[str, float]]]:
    """Predictions at the new checkpoints, then the forecast at the last."""
    steps = [round(tokens) for tokens in run.tokens]
    predicted = triage.predictions.select(run.checkpoints)
    cube = np.stack([predicted.values, predicted.low, predicted.high])
    for i, name in enumerate(run.checkpoints):
        if name not in logged:
            yield steps[i], _curves('predicted', triage.benchmarks,
                                    cube[:, i, :, 0])
    expected = triage.expected[run.run]
    curves = _curves('forecast', list(triage.rankings),
                     np.stack([expected.values, expected.low, expected.high]))
    if curves:
        yield steps[-1], curves


def _differences(comparison: Comparison) -> dict[str, float]:
    parts = [*comparison.of_kind(PREDICTED), *comparison.of_kind(LOSS)]
    return _curves(
        'difference', [part.benchmark or LOSS for part in parts],
        np.array([[part.value, part.low, part.high] for part in parts]).T)


def _curves(kind: str, benchmarks: Sequence[str],
            rows: np.ndarray) -> dict[str, float]:
    """Those that are known of values, lower and upper ends, `(3, B)`."""
    return {
        f'{kind}/{benchmark}{end}': float(value)
        for end, row in zip(('', '.low', '.high'), rows)
        for benchmark, value in zip(benchmarks, row) if not np.isnan(value)
    }


def tensorboard_log(folder: FilePath) -> Log:
    """Return a log of TensorBoard in a folder.

    Raises:
        InputError: The package tensorboardX is not installed.
    """
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise InputError('TensorBoard', 'the package tensorboardX',
                         f'the error {str(error)!r}',
                         'pip install tensorboardX') from error

    def log(curves: dict[str, float], step: int) -> None:
        # Files that are made within one second would have the same name.
        with SummaryWriter(
                str(Path(folder)),
                filename_suffix=f'.{time.time_ns()}') as writer:
            for name, value in curves.items():
                writer.add_scalar(name, value, step)

    return log
