"""Accuracies of models in an OpenCompass run, read from its summary."""
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Optional

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.metric_names import first_accuracy, is_no_accuracy
from csv_plugin.io.files import FilePath, read_bytes
from csv_plugin.io.tables import decimal

#: Leaderboards and OpenCompass's summaries; the name ends with the time.
LEADERBOARD, SUMMARY = 'leaderboard_*.json', 'summary_*.csv'

#: Mode of the rows of predicted accuracies.
PREDICTED_MODE = 'losses'
#: Ends of the names of columns with the ends of intervals, behind a model's.
ENDS = (' low', ' high')
_COLUMNS = ['dataset', 'version', 'metric', 'mode']
#: A metric in the text beside a summary.
_METRIC = re.compile(r"'[^'@]*@([^']+)':")
_REMEDY = 'Write the summary again, with -m viz -r, or copy it again.'


def newest_summary(work_dir: FilePath, pattern: str) -> Optional[Path]:
    """Return the newest file of one kind in the summaries of a run."""
    return max(Path(work_dir, 'summary').glob(pattern), default=None)


class RunAccuracies(NamedTuple):
    """Accuracies in 0..1 by model and benchmark, and what is left out.

    `other_metrics` has the metrics of benchmarks without an accuracy.
    """
    by_model: dict[str, dict[str, float]]
    other_metrics: dict[str, str]


def read_run_accuracies(work_dir: FilePath,
                        benchmarks: Iterable[str]) -> RunAccuracies:
    """Return accuracies of models in the newest summary of a run.

    Those that were not run are left out. If a dataset has several metrics, the
    first accuracy counts. If a summary group has several, the last counts: it
    is the average of the group, and OpenCompass lists the others in random
    order.
    """
    path = newest_summary(work_dir, SUMMARY)
    if path is None:
        raise InputError(
            work_dir, 'a run with a summary', 'no summary/summary_*.csv',
            'Give the time-stamped folder, and finish the run with -r.')
    header, *rows = _read_table(path)
    names = header[len(_COLUMNS):]
    check_unique(f'{path}, models', names)
    ends: set[str] = set()
    for end in ENDS:
        ends.update(name + end for name in names)
    models = [name for name in names if name not in ends]
    by_model: dict[str, dict[str, float]] = {model: {} for model in models}
    found = RunAccuracies(by_model, {})
    for name in benchmarks:
        rows_of = []
        for row in rows:
            dataset, _, metric, mode = row[:len(_COLUMNS)]
            # A benchmark that was not run has a row, but no metric.
            if dataset == name and metric != '-' and mode != PREDICTED_MODE:
                rows_of.append(row)
        row, other_metrics = _accuracies_in(path, rows_of)
        if other_metrics:
            found.other_metrics[name] = other_metrics
        for model, cell in zip(models, row[len(_COLUMNS):]):
            if cell not in ('', '-', 'nan'):
                by_model[model][name] = _fraction(str(path), name, cell)
    return found


def _read_table(path: Path) -> list[list[str]]:
    """Return the header and all rows of a table of OpenCompass, as written."""
    try:
        text = read_bytes(path).decode('utf-8').replace('\r\n', '\n')
    except UnicodeDecodeError as error:
        raise InputError(path, 'UTF-8 text', str(error), _REMEDY) from error
    # OpenCompass puts no cell into quotation marks.
    table = [line.split(',') for line in text.split('\n') if line] or [[]]
    if table[0][:len(_COLUMNS)] != _COLUMNS:
        raise InputError(path, f'columns {", ".join(_COLUMNS)} and models',
                         ', '.join(table[0])[:80] or 'nothing', _REMEDY)
    for row in table:
        if len(row) != len(table[0]):
            raise InputError(path, f'{len(table[0])} cells in every row',
                             f'{len(row)} in that of {row[0]!r}', _REMEDY)
    if not text.endswith('\n'):
        raise InputError(path, 'a line feed at the end', repr(text[-20:]),
                         _REMEDY)
    return table


def _accuracies_in(path: Path, rows: list[list[str]]) -> tuple[list[str], str]:
    """Return the row of a benchmark's accuracy, or else its other metrics."""
    if not rows:
        return [], ''
    metrics = [row[2] for row in rows]
    if rows[0][1] != '-':
        metric = first_accuracy(metrics)
        if metric is None:
            return [], ', '.join(metrics)
        return rows[metrics.index(metric)], ''
    # A group, which has no version. Metrics before the last, the average, are
    # those that all its datasets have.
    *shared, average = metrics
    averaged = _averaged(path, rows[0][0], average)
    others = list(filter(is_no_accuracy, [average, *averaged]))
    if not averaged and shared and all(map(is_no_accuracy, shared)):
        others += shared
    if others:
        return [], ', '.join(others)
    return rows[-1], ''


def _averaged(path: Path, group: str, average: str) -> list[str]:
    """Metrics that the average of a group is made of.

    OpenCompass writes them as 'DATASET@METRIC' into the text beside a summary,
    which may be missing.
    """
    text = path.with_suffix('.txt')
    if not text.is_file():
        return []
    for line in read_bytes(text).decode('utf-8', 'replace').splitlines():
        name, _, metrics = line.partition(f"'{average}': {{")
        if name.startswith(f'{group}: {{') and metrics:
            return _METRIC.findall(metrics.partition('}')[0])
    return []


def _fraction(where: str, name: str, cell: str) -> float:
    percent = decimal(cell)
    if not 0 <= percent <= 100:
        raise InputError(where, f'accuracies on {name!r} in percent',
                         repr(cell), 'Give them as a table of your own.')
    return percent / 100
