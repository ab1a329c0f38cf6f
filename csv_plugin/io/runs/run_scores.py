"""Scores of an OpenCompass run, as its own summary gives them."""
import csv
import math
import os
from collections.abc import Iterable
from pathlib import Path

from csv_plugin.core.conventions import InputError

#: Mode of the rows that hold predictions.
PREDICTED = 'losses'
_COLUMNS = ['dataset', 'version', 'metric', 'mode']


def read_run_scores(work_dir: str | os.PathLike[str],
                    benchmarks: Iterable[str]) -> dict[str, dict[str, float]]:
    """Scores of all models of a run, averages of groups among them.

    Read is the newest `summary/summary_*.csv`; scores are taken for percent.
    Of a dataset with several metrics the first one counts; of a group the
    last, its average, as OpenCompass lists the others in random order.

    Args:
        work_dir (str | os.PathLike[str]): Time-stamped folder of the run.
        benchmarks (Iterable[str]): Abbreviations of datasets or groups.

    Returns:
        dict: Fraction by model and benchmark; what was not run is missing.

    Raises:
        InputError: If the run has no summary, one of another form, or a
            score that is not in percent.
    """
    found = sorted(Path(work_dir, 'summary').glob('summary_*.csv'))
    if not found:
        raise InputError(
            str(work_dir), 'a run with a summary', 'no summary/summary_*.csv',
            'Give the time-stamped folder, and finish the run with -r.')
    with found[-1].open(encoding='utf-8', newline='') as file:
        header, *rows = [row for row in csv.reader(file) if row] or [[]]
    if header[:4] != _COLUMNS:
        raise InputError(
            str(found[-1]), f'columns {", ".join(_COLUMNS)} and models',
            ', '.join(header)[:80] or 'nothing', 'Write the summary again.')
    scores: dict[str, dict[str, float]] = {model: {} for model in header[4:]}
    for name in benchmarks:
        row = _row_of(rows, name)
        for model, cell in zip(header[4:], row):
            if cell not in ('-', 'nan'):
                scores[model][name] = _fraction(str(found[-1]), name, cell)
    return scores


def _row_of(rows: list[list[str]], name: str) -> list[str]:
    """Cells of the models on one benchmark."""
    mine = [row for row in rows if row[0] == name and row[3] != PREDICTED]
    if not mine:
        return []
    # Groups have no version.
    return mine[-1 if mine[0][1] == '-' else 0][4:]


def _fraction(where: str, name: str, cell: str) -> float:
    try:
        percent = float(cell)
    except ValueError:
        percent = math.nan
    if not 0 <= percent <= 100:
        raise InputError(where, f'a score of {name!r} in percent', repr(cell),
                         'Give scores of it as a table of your own.')
    return percent / 100
