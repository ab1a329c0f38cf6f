"""Read the accuracies of models from the summary of an OpenCompass run."""
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Optional

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.metric_names import first_accuracy, is_no_accuracy
from csv_plugin.io.files import FilePath, read_bytes
from csv_plugin.io.tables import decimal

#: Patterns of this package's leaderboards and of OpenCompass's summaries. The
#: names end with the time, so that the last name is the newest file.
LEADERBOARD, SUMMARY = 'leaderboard_*.json', 'summary_*.csv'

#: The content of the column `mode` in rows of predicted accuracies.
PREDICTED_MODE = 'losses'
#: Suffixes that are appended to a model's name to name the columns with the
#: lower and the upper limits of its prediction intervals.
ENDS = (' low', ' high')
_COLUMNS = ['dataset', 'version', 'metric', 'mode']
#: Pattern of 'DATASET@METRIC' in the text file beside a summary.
_METRIC = re.compile(r"'[^'@]*@([^']+)':")
_REMEDY = 'Write the summary again, with -m viz -r, or copy it again.'


def newest_summary(work_dir: FilePath, pattern: str) -> Optional[Path]:
    """Return the newest file in a run's folder `summary` that fits a pattern.

    The result is None if there is no such file.
    """
    return max(Path(work_dir, 'summary').glob(pattern), default=None)


class RunAccuracies(NamedTuple):
    """The accuracies of a run in 0..1, by model and benchmark.

    `other_metrics` maps each benchmark whose metrics are no accuracies to the
    names of these metrics.
    """
    by_model: dict[str, dict[str, float]]
    other_metrics: dict[str, str]


def read_run_accuracies(work_dir: FilePath,
                        benchmarks: Iterable[str]) -> RunAccuracies:
    """Return the accuracies of all models in the newest summary of a run.

    Benchmarks that a model was not run on are left out. If a dataset has
    several metrics, the first accuracy counts. If a summary group has several
    metrics, the last one counts: it is the average of the group, and
    OpenCompass lists the other metrics in random order.
    """
    path = newest_summary(work_dir, SUMMARY)
    if path is None:
        raise InputError(
            work_dir, 'a run with a summary', 'no summary/summary_*.csv',
            'Give the time-stamped folder, and finish the run with -r.')
    header, *rows = _read_table(path)
    n_columns = len(_COLUMNS)
    names = header[n_columns:]
    check_unique(f'{path}, models', names)
    ends = set()
    for name in names:
        for end in ENDS:
            ends.add(name + end)
    models = [name for name in names if name not in ends]
    by_model: dict[str, dict[str, float]] = {}
    for model in models:
        by_model[model] = {}
    metrics_by_name = {}
    for name in benchmarks:
        own_rows = []
        for row in rows:
            dataset, _, metric, mode = row[:n_columns]
            # A benchmark that was not run has a row, but no metric.
            if dataset == name and metric != '-' and mode != PREDICTED_MODE:
                own_rows.append(row)
        row, other_metrics = _accuracies_in(path, own_rows)
        if other_metrics:
            metrics_by_name[name] = other_metrics
        for model, cell in zip(models, row[n_columns:]):
            if cell not in ('', '-', 'nan'):
                accuracy = _fraction(str(path), name, cell)
                by_model[model][name] = accuracy
    return RunAccuracies(by_model, metrics_by_name)


def _read_table(path: Path) -> list[list[str]]:
    """Return the cells of the header and of all rows of a summary."""
    try:
        text = read_bytes(path).decode('utf-8')
    except UnicodeDecodeError as error:
        raise InputError(path, 'UTF-8 text', str(error), _REMEDY) from error
    text = text.replace('\r\n', '\n')
    table = []
    for line in text.split('\n'):
        if line:
            # OpenCompass puts no cell into quotation marks.
            table.append(line.split(','))
    header = table[0] if table else []
    if header[:len(_COLUMNS)] != _COLUMNS:
        found = ', '.join(header)[:80] or 'nothing'
        raise InputError(path, f'columns {", ".join(_COLUMNS)} and models',
                         found, _REMEDY)
    for row in table:
        if len(row) != len(header):
            raise InputError(path, f'{len(header)} cells in every row',
                             f'{len(row)} in the row of {row[0]!r}', _REMEDY)
    if not text.endswith('\n'):
        raise InputError(path, 'a line feed at the end', repr(text[-20:]),
                         _REMEDY)
    return table


def _accuracies_in(path: Path, rows: list[list[str]]) -> tuple[list[str], str]:
    """Return the row with a benchmark's accuracy, and the text ''.

    If the benchmark has no accuracy, return an empty row, and the names of its
    other metrics as text.
    """
    if not rows:
        return [], ''
    dataset, version, *_ = rows[0]
    metrics = [row[2] for row in rows]
    if version != '-':
        metric = first_accuracy(metrics)
        if metric is None:
            return [], ', '.join(metrics)
        chosen = metrics.index(metric)
        return rows[chosen], ''
    # Rows without a version belong to a summary group. The last metric is the
    # average; the metrics before it are those that all its datasets share.
    *shared, average = metrics
    averaged = _averaged(path, dataset, average)
    others = list(filter(is_no_accuracy, [average, *averaged]))
    if not averaged and shared and all(map(is_no_accuracy, shared)):
        others += shared
    if others:
        return [], ', '.join(others)
    return rows[-1], ''


def _averaged(path: Path, group: str, average: str) -> list[str]:
    """Return the metrics that the average of a summary group is made of.

    OpenCompass writes them as 'DATASET@METRIC' into a text file beside the
    summary. If this file is missing, the result is empty.
    """
    text = path.with_suffix('.txt')
    if not text.is_file():
        return []
    content = read_bytes(text).decode('utf-8', 'replace')
    for line in content.splitlines():
        name, _, rest = line.partition(f"'{average}': {{")
        if name.startswith(f'{group}: {{') and rest:
            metrics, _, _ = rest.partition('}')
            return _METRIC.findall(metrics)
    return []


def _fraction(where: str, name: str, cell: str) -> float:
    """Return the accuracy in a cell, which is in percent, as a fraction."""
    percent = decimal(cell)
    if not 0 <= percent <= 100:
        raise InputError(where, f'accuracies on {name!r} in percent',
                         repr(cell),
                         'Give the accuracies as a table of your own.')
    return percent / 100
