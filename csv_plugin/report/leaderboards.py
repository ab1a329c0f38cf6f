"""Real and predicted scores side by side."""
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional, Union

from tabulate import tabulate

from csv_plugin.core.predictions import Prediction
from csv_plugin.report.markdown import table_cell

#: Longest line of the text, in characters, if one benchmark fits into it.
WIDTH = 150

#: A score in percent, or one line that says why there is none.
Real = Union[float, str]
#: A prediction, or one line that says why there is none.
Predicted = Union[Prediction, str]

#: How many models or benchmarks a line names.
_NAMED = 8


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Models with their real and predicted scores, or why there are none.

    Args:
        models (tuple[str, ...]): M names.
        benchmarks (tuple[str, ...]): B names.
        labels (tuple[str, ...]): Names of the predictors, not 'real'.
        real (Mapping): Score in percent, or one line that says why there
            is none, by model and benchmark; of all of them.
        predicted (Mapping): Prediction, or one line that says why there is
            none, by label, model and benchmark; of all of them.
        folders (Mapping): What each model is called in the files of the
            run, by name.
        remarks (tuple[str, ...]): Lines to show below the table.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    labels: tuple[str, ...]
    real: Mapping[tuple[str, str], Real]
    predicted: Mapping[tuple[str, str, str], Predicted]
    folders: Mapping[str, str]
    remarks: tuple[str, ...] = ()

    def difference(self, label: str, model: str,
                   benchmark: str) -> Optional[float]:
        """Predicted minus real, in points; None unless both are there."""
        real = self.real[model, benchmark]
        predicted = self.predicted[label, model, benchmark]
        if isinstance(real, str) or isinstance(predicted, str):
            return None
        return 100 * predicted.value - real

    def mean_difference(self, label: str, benchmark: str) -> Optional[float]:
        """Mean size of the differences, without models fitted on."""
        sizes = []
        for model in self.models:
            predicted = self.predicted[label, model, benchmark]
            difference = self.difference(label, model, benchmark)
            if (difference is not None and isinstance(predicted, Prediction)
                    and not predicted.in_sample):
                sizes.append(abs(difference))
        return math.fsum(sizes) / len(sizes) if sizes else None


def explain_marks(level: float) -> str:
    """What the cells of `predicted_cell` mean, one line."""
    return (f'Percent; ± half the width of the {level:.0%} interval; * the '
            'real score was fitted on; > outside the range fitted on.')


def predicted_cell(prediction: Predicted) -> str:
    """A prediction in percent, its half-width and marks; '-' for none."""
    if isinstance(prediction, str):
        return '-'
    half = 50 * (prediction.high - prediction.low)
    marks = '*' * prediction.in_sample + '>' * prediction.extrapolated
    return f'{100 * prediction.value:.1f} ±{half:.1f}{marks}'


def real_cell(percent: Real) -> str:
    """A real score in percent; '-' for none."""
    if isinstance(percent, str) or math.isnan(percent):
        return '-'
    return f'{percent:.1f}'


def predicted_row(board: Leaderboard, label: str, benchmark: str) -> list[str]:
    """Cells of all models in one row."""
    return [
        predicted_cell(board.predicted[label, model, benchmark])
        for model in board.models
    ]


def as_text(board: Leaderboard) -> str:
    """Models as rows, notes below; for reading.

    As many benchmarks lie side by side as fit into `WIDTH`, the others
    follow below.
    """
    names = _names(board)
    blocks: list[list[list[str]]] = []
    room = 0
    for benchmark in board.benchmarks:
        group = _columns(board, benchmark)
        width = sum(2 + _width(column) for column in group)
        if width > room:
            blocks.append([names])
            room = WIDTH - _width(names)
        blocks[-1] += group
        room -= width
    return '\n\n'.join([*map(_plain, blocks), '\n'.join(notes(board))])


def _plain(columns: Sequence[Sequence[str]]) -> str:
    """Two lines of header, a rule, and the rest."""
    ruled = [[*column[:2], '-' * _width(column), *column[2:]]
             for column in columns]
    return tabulate(list(zip(*ruled)), tablefmt='plain',
                    colalign=_alignment(columns),
                    disable_numparse=True)  # yapf: disable


def as_markdown(board: Leaderboard) -> str:
    """Models as rows, all benchmarks side by side."""
    columns = [_names(board)]
    for benchmark in board.benchmarks:
        columns += _columns(board, benchmark)
    header = [table_cell(' '.join(column[:2])) for column in columns]
    rows = list(zip(*(map(table_cell, column[2:]) for column in columns)))
    return tabulate(rows, header, tablefmt='pipe',
                    colalign=_alignment(columns),
                    disable_numparse=True)  # yapf: disable


def _names(board: Leaderboard) -> list[str]:
    return ['', 'model', *board.models, 'mean abs. diff']


def _columns(board: Leaderboard, benchmark: str) -> list[list[str]]:
    """Two lines of header, the models, and the mean difference."""
    real = [real_cell(board.real[model, benchmark]) for model in board.models]
    columns = [[benchmark, 'real', *real, '']]
    for label in board.labels:
        differences = [
            board.difference(label, model, benchmark) for model in board.models
        ]
        mean = board.mean_difference(label, benchmark)
        columns += [['', label, *predicted_row(board, label, benchmark), ''],
                    [
                        '', 'diff', *('-' if d is None else f'{d:+.1f}'
                                      for d in differences),
                        '-' if mean is None else f'{mean:.1f}'
                    ]]
    return columns


def _width(column: Sequence[str]) -> int:
    return max(map(len, column))


def _alignment(columns: Sequence[object]) -> list[str]:
    return ['left', *['right'] * (len(columns) - 1)]


def notes(board: Leaderboard) -> list[str]:
    """What must be known to read the table: marks, reasons, remarks."""
    levels = {
        cell.level
        for cell in board.predicted.values() if isinstance(cell, Prediction)
    }
    legend = [*map(explain_marks, levels)]
    if legend:
        legend.append('diff is predicted minus real, its mean leaves out '
                      'models marked *.')
    return [*legend, *_reasons(board), *board.remarks]


def _reasons(board: Leaderboard) -> Iterator[str]:
    """Why there is no number in some cells, cells of one reason together."""
    cells = [
        *((('real', *place), cell) for place, cell in board.real.items()),
        *board.predicted.items()
    ]
    missing: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (column, model, benchmark), cell in cells:
        if isinstance(cell, str):
            missing[cell, column, model].append(benchmark)
    # Models that lack the same benchmarks, then columns that lack the same
    # of the same models.
    alike = defaultdict(list)
    for (reason, column, model), some in missing.items():
        alike[reason, column, tuple(some)].append(model)
    columns = defaultdict(list)
    for (reason, column, benchmarks), models in alike.items():
        columns[reason, benchmarks, tuple(models)].append(column)
    for (reason, benchmarks, lacking), names in columns.items():
        who = _named(lacking, board.models, 'models')
        where = _named(benchmarks, board.benchmarks, 'benchmarks')
        yield f'{", ".join(names)} of {who} on {where}: {reason}'


def _named(names: Sequence[str], known: Sequence[str], kind: str) -> str:
    if len(names) == len(known) > 1:
        return f'all {len(known)} {kind}'
    more = len(names) - _NAMED
    return ', '.join(
        names[:_NAMED]) + (f' and {more} more' if more > 0 else '')
