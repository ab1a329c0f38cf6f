"""Accuracies of models in an OpenCompass run, read from its summary."""
import csv
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath

#: Leaderboards and OpenCompass's summaries; the name ends with the time.
LEADERBOARD, SUMMARY = 'leaderboard_*.json', 'summary_*.csv'

#: Mode of the rows with predicted accuracies.
_PREDICTED = 'losses'
_COLUMNS = ['dataset', 'version', 'metric', 'mode']


def newest_summary(work_dir: FilePath, pattern: str) -> Optional[Path]:
    """The newest file of one kind in the summaries of a run.

    Args:
        work_dir (FilePath): Time-stamped folder of the run.
        pattern (str): Names of these files, such as `SUMMARY`.

    Returns:
        Optional[Path]: None if there is no such file.
    """
    return max(Path(work_dir, 'summary').glob(pattern), default=None)


def read_run_accuracies(
        work_dir: FilePath,
        benchmarks: Iterable[str]) -> dict[str, dict[str, float]]:
    """Read the accuracies of all models of a run.

    They are taken from the newest `summary/summary_*.csv`, in percent. If a
    dataset has several metrics, the first counts. If a summary group has
    several, the last counts: it is the average of the group, and OpenCompass
    lists the others in random order.

    Args:
        work_dir (FilePath): Time-stamped folder of the run.
        benchmarks (Iterable[str]): Abbreviations of datasets or summary
            groups.

    Returns:
        dict: Accuracies in 0..1 by model and benchmark, without those that
        were not run.

    Raises:
        InputError: The run has no summary, the summary has other columns,
            or an accuracy is not in percent.
    """
    path = newest_summary(work_dir, SUMMARY)
    if path is None:
        raise InputError(
            str(work_dir), 'a run with a summary', 'no summary/summary_*.csv',
            'Give the time-stamped folder, and finish the run with -r.')
    with path.open(encoding='utf-8', newline='') as file:
        header, *rows = [row for row in csv.reader(file) if row] or [[]]
    if header[:4] != _COLUMNS:
        raise InputError(
            str(path), f'columns {", ".join(_COLUMNS)} and models',
            ', '.join(header)[:80] or 'nothing', 'Write the summary again.')
    models = header[4:]
    accuracies: dict[str, dict[str, float]] = {model: {} for model in models}
    for name in benchmarks:
        for model, cell in zip(models, _row_of(rows, name)):
            if cell not in ('-', 'nan'):
                accuracies[model][name] = _fraction(str(path), name, cell)
    return accuracies


def _row_of(rows: list[list[str]], name: str) -> list[str]:
    """Cells of the models in the row of a benchmark that counts."""
    candidates = [
        row for row in rows if row[0] == name and row[3] != _PREDICTED
    ]
    if not candidates:
        return []
    is_group = candidates[0][1] == '-'  # no version
    return candidates[-1 if is_group else 0][4:]


def _fraction(where: str, name: str, cell: str) -> float:
    try:
        percent = float(cell)
    except ValueError:
        percent = math.nan
    if not 0 <= percent <= 100:
        raise InputError(where, f'accuracies on {name!r} in percent',
                         repr(cell), 'Give them as a table of your own.')
    return percent / 100
