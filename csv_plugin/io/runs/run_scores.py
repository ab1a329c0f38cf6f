"""Accuracies of models in an OpenCompass run, read from its summary."""
from collections.abc import Iterable
from pathlib import Path
from typing import Optional

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.io.files import FilePath, read_bytes
from csv_plugin.io.tables import decimal

#: Leaderboards and OpenCompass's summaries; the name ends with the time.
LEADERBOARD, SUMMARY = 'leaderboard_*.json', 'summary_*.csv'

#: Mode of the rows of predicted accuracies.
PREDICTED_MODE = 'losses'
_COLUMNS = ['dataset', 'version', 'metric', 'mode']
_REMEDY = 'Write the summary again, with -m viz -r, or copy it again.'


def newest_summary(work_dir: FilePath, pattern: str) -> Optional[Path]:
    """Return the newest file of one kind in the summaries of a run."""
    return max(Path(work_dir, 'summary').glob(pattern), default=None)


def read_run_accuracies(
        work_dir: FilePath,
        benchmarks: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return accuracies in 0..1 by model and benchmark of the newest summary.

    Those that were not run are left out. If a dataset has several metrics, the
    first counts. If a summary group has several, the last counts: it is the
    average of the group, and OpenCompass lists the others in random order.
    """
    path = newest_summary(work_dir, SUMMARY)
    if path is None:
        raise InputError(
            work_dir, 'a run with a summary', 'no summary/summary_*.csv',
            'Give the time-stamped folder, and finish the run with -r.')
    header, *rows = _read_table(path)
    models = header[4:]
    check_unique(f'{path}, models', models)
    accuracies: dict[str, dict[str, float]] = {model: {} for model in models}
    for name in benchmarks:
        for model, cell in zip(models, _row_of(rows, name)):
            if cell not in ('-', 'nan'):
                accuracies[model][name] = _fraction(str(path), name, cell)
    return accuracies


def _read_table(path: Path) -> list[list[str]]:
    """The cells of the header and of all rows, as OpenCompass wrote them."""
    try:
        text = read_bytes(path).decode('utf-8').replace('\r\n', '\n')
    except UnicodeDecodeError as error:
        raise InputError(path, 'UTF-8 text', str(error), _REMEDY) from error
    # OpenCompass puts no cell into quotation marks.
    table = [line.split(',') for line in text.split('\n') if line] or [[]]
    if table[0][:4] != _COLUMNS:
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


def _row_of(rows: list[list[str]], name: str) -> list[str]:
    """Cells of the models in the row of a benchmark that counts."""
    candidates = [
        row for row in rows if row[0] == name and row[3] != PREDICTED_MODE
    ]
    if not candidates:
        return []
    is_group = candidates[0][1] == '-'  # no version
    return candidates[-1 if is_group else 0][4:]


def _fraction(where: str, name: str, cell: str) -> float:
    percent = decimal(cell)
    if not 0 <= percent <= 100:
        raise InputError(where, f'accuracies on {name!r} in percent',
                         repr(cell), 'Give them as a table of your own.')
    return percent / 100
