"""Real and predicted scores as the page shows them."""
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath, check_fields, read_bytes
from csv_plugin.report.leaderboards import Leaderboard, notes

#: Files of leaderboards, in the order of their time.
LEADERBOARD = 'leaderboard_*.json'
_REMEDY = 'Write the summary again, with -m viz -r.'


@dataclass(frozen=True)
class Cell:
    """What is known of a model on a benchmark; percent, None = not known.

    Args:
        real (Optional[float]): The real score.
        predicted (Optional[float]): What the losses say.
        low (Optional[float]): Lower end of the interval.
        high (Optional[float]): Upper end of the interval.
        extrapolated (bool): As in `Prediction`.
        in_sample (bool): As in `Prediction`.
        missing (str): Why a number is not known.
    """
    real: Optional[float]
    predicted: Optional[float]
    low: Optional[float]
    high: Optional[float]
    extrapolated: bool
    in_sample: bool
    missing: str

    @property
    def difference(self) -> Optional[float]:
        """Predicted minus real, in points."""
        if self.predicted is None or self.real is None:
            return None
        return self.predicted - self.real

    @property
    def half_width(self) -> Optional[float]:
        """Half of the interval's width, in points."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2

    @property
    def covered(self) -> Optional[bool]:
        """Whether the interval holds the real score.

        None where one of them is not known, or the score was fitted on.
        """
        if (self.real is None or self.low is None or self.high is None
                or self.in_sample):
            return None
        return self.low <= self.real <= self.high


@dataclass(frozen=True, eq=False)
class Summary:
    """Scores of M models on B benchmarks.

    Args:
        models (tuple[str, ...]): M names.
        benchmarks (tuple[str, ...]): B names.
        labels (tuple[str, ...]): Names of the predictors, the main one
            first.
        cells (Mapping): By label, model and benchmark; of all of them.
        folders (Mapping): As in `Leaderboard`.
        notes (tuple[str, ...]): Marks, reasons and remarks, one line each.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    labels: tuple[str, ...]
    cells: Mapping[tuple[str, str, str], Cell]
    folders: Mapping[str, str]
    notes: tuple[str, ...]

    def mean_difference(self, label: str, benchmark: str) -> Optional[float]:
        """Mean size of the differences, without models fitted on."""
        return _mean_size(self.cells[label, model, benchmark]
                          for model in self.models)

    def overall_difference(self, label: str) -> Optional[float]:
        """The same over all benchmarks, every cell counting once."""
        return _mean_size(self.cells[label, model, benchmark]
                          for model in self.models
                          for benchmark in self.benchmarks)

    def coverage(self, label: str) -> tuple[int, int]:
        """How many intervals hold the real score, and of how many."""
        judged = [
            cell.covered for (name, *_), cell in self.cells.items()
            if name == label and cell.covered is not None
        ]
        return sum(judged), len(judged)


def _mean_size(cells: Iterable[Cell]) -> Optional[float]:
    sizes = [
        abs(cell.difference) for cell in cells
        if cell.difference is not None and not cell.in_sample
    ]
    return math.fsum(sizes) / len(sizes) if sizes else None


def summary_of(board: Leaderboard) -> Summary:
    """What a leaderboard says."""
    cells = {
        (label, model, benchmark): _cell(board, label, model, benchmark)
        for label, model, benchmark in product(board.labels, board.models,
                                               board.benchmarks)
    }
    return Summary(board.models, board.benchmarks, board.labels, cells,
                   board.folders, tuple(notes(board)))


def _cell(board: Leaderboard, label: str, model: str, benchmark: str) -> Cell:
    real = board.real[model, benchmark]
    found = board.predicted[label, model, benchmark]
    missing = '; '.join(why for why in (real, found) if isinstance(why, str))
    percent = None if isinstance(real, str) else real
    if isinstance(found, str):
        return Cell(percent, None, None, None, False, False, missing)
    return Cell(percent, 100 * found.value, 100 * found.low, 100 * found.high,
                found.extrapolated, found.in_sample, missing)


def newest(work_dir: FilePath, pattern: str) -> Optional[Path]:
    """The newest file of this kind in a run's summaries, None if none."""
    found = sorted(Path(work_dir, 'summary').glob(pattern))
    return found[-1] if found else None


def read_summary(path: FilePath) -> Summary:
    """Read the JSON file of a leaderboard.

    Args:
        path (FilePath): What `write_leaderboard` wrote.

    Raises:
        InputError: If it cannot be read or is no such file.
    """
    where = os.fspath(path)
    try:
        content = json.loads(read_bytes(where))
    except ValueError as error:
        raise InputError(where, 'a leaderboard in JSON', str(error),
                         _REMEDY) from error
    texts = dict.fromkeys(('models', 'benchmarks', 'predictors', 'notes'),
                          'a list of texts')
    check_fields(where, 'the leaderboard', content, {
        **texts, 'rows': 'a list'
    }, _REMEDY)
    # Earlier versions wrote none.
    folders = content.setdefault('folders', {})
    check_fields(where, 'the leaderboard', content,
                 {'folders': 'texts by name'}, _REMEDY)
    cells = dict(_read(where, row) for row in content['rows'])
    models, benchmarks, labels, lines = (tuple(content[key]) for key in texts)
    if not labels or not models:
        raise InputError(where, 'a model and a predictor or more', 'none',
                         _REMEDY)
    for place in product(labels, models, benchmarks):
        if place not in cells:
            raise InputError(where, f'a row of {", ".join(place)}', 'none',
                             _REMEDY)
    return Summary(models, benchmarks, labels, cells,
                   {model: folders.get(model, model)
                    for model in models}, lines)


#: Kinds of the fields of a row.
_ROW = dict.fromkeys(('model', 'benchmark', 'predictor', 'missing'), 'a text')
_NUMBERS = ('predicted', 'low', 'high', 'extrapolated', 'in_sample')
_ROW |= dict.fromkeys(('real', *_NUMBERS), 'a number or null')


def _read(where: str, row: Any) -> tuple[tuple[str, str, str], Cell]:
    check_fields(where, 'a row', row, _ROW, _REMEDY)
    place = row['predictor'], row['model'], row['benchmark']
    real, prediction = row['real'], [row[name] for name in _NUMBERS]
    if not (real is None or 0 <= real <= 100):
        raise InputError(
            where, f'a real score of {", ".join(place[1:])} in '
            'percent', repr(real), _REMEDY)
    if None in prediction and prediction != [None] * len(prediction):
        raise InputError(
            where, f'{", ".join(_NUMBERS)} of {", ".join(place)} '
            'or none of them', repr(prediction), _REMEDY)
    predicted, low, high, extrapolated, in_sample = prediction
    return place, Cell(real, predicted, low, high, bool(extrapolated),
                       bool(in_sample), row['missing'])
