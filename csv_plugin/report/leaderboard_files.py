"""Leaderboards as files: text, Markdown, CSV and JSON."""
import json
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Optional

from csv_plugin.io.files import atomic_path
from csv_plugin.io.tables import write_csv
from csv_plugin.report.leaderboards import (Leaderboard, Predicted,
                                            as_markdown, as_text, notes)

#: Columns of the CSV file and fields of the JSON rows.
FIELDS = ('model', 'benchmark', 'predictor', 'real', 'predicted', 'low',
          'high', 'difference', 'extrapolated', 'in_sample', 'missing')


def write_leaderboard(stem: str | os.PathLike[str],
                      board: Leaderboard) -> list[Path]:
    """Write a leaderboard in four formats.

    Args:
        stem (str | os.PathLike[str]): Path of the files without `.txt`,
            `.md`, `.csv` and `.json`; they are replaced if they exist.
        board (Leaderboard): What to write. CSV and JSON have a row for
            every model, benchmark and predictor with the fields `FIELDS`,
            in percent, flags as 0 and 1; `missing` says why something is.
            JSON also has the notes, and as `folders` what models are called
            in the files of the run.

    Returns:
        list[Path]: The files, in this order.

    Raises:
        InputError: If the folder does not exist.
    """
    text, markdown, table, data = (
        Path(f'{os.fspath(stem)}.{kind}')
        for kind in ('txt', 'md', 'csv', 'json'))
    below = notes(board)
    _write(text, as_text(board))
    _write(markdown, '\n'.join([
        as_markdown(board), '', *(f'* {note}' for note in below)
    ]))  # yapf: disable
    write_csv(table, FIELDS, _rows(board))
    content = {
        'models': board.models,
        'benchmarks': board.benchmarks,
        'predictors': board.labels,
        'rows': [dict(zip(FIELDS, row)) for row in _rows(board)],
        'folders': dict(board.folders),
        'notes': below,
    }
    _write(data, json.dumps(content, indent=1, ensure_ascii=False))
    return [text, markdown, table, data]


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(f'{text}\n', 'utf-8')


def _rows(board: Leaderboard) -> Iterator[tuple[object, ...]]:
    """Values of `FIELDS`, None for what is not known."""
    for model, benchmark, label in product(board.models, board.benchmarks,
                                           board.labels):
        real = board.real[model, benchmark]
        cell = board.predicted[label, model, benchmark]
        missing = [why for why in (real, cell) if isinstance(why, str)]
        yield (model, benchmark, label,
               None if isinstance(real, str) else real, *_numbers(cell)[:3],
               board.difference(label, model, benchmark), *_numbers(cell)[3:],
               '; '.join(missing))


def _numbers(cell: Predicted) -> tuple[Optional[float], ...]:
    """Value, low, high in percent, and both flags; None if not known."""
    if isinstance(cell, str):
        return (None, ) * 5
    return (100 * cell.value, 100 * cell.low, 100 * cell.high,
            int(cell.extrapolated), int(cell.in_sample))
