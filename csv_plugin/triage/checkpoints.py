"""Checkpoints of pretraining runs: which run, step and tokens."""
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.io.csv_rows import CsvRow, read_rows
from csv_plugin.io.tables import FilePath

#: `run@step`, such as `7b-mix2@36000`.
_NAME = re.compile(r'(?P<run>.+)@(?P<step>\d+)')


@dataclass(frozen=True)
class Checkpoint:
    """Where in which training a checkpoint was taken.

    Args:
        run (str): The training.
        step (float): Optimiser steps until then.
        tokens (float): Training tokens until then, NaN if not known.
        budget (float): Tokens at the end of the training, NaN if not known.
    """
    run: str
    step: float
    tokens: float = math.nan
    budget: float = math.nan


def read_checkpoints(path: FilePath) -> dict[str, Checkpoint]:
    """Read the columns `model`, `run`, `step`, and perhaps `tokens`, `budget`.

    Args:
        path (FilePath): A CSV file; `tokens` and `budget` in any unit, the
            same for all, and empty where they are not known.

    Returns:
        dict[str, Checkpoint]: By model.

    Raises:
        InputError: The file is not such a table, two rows are one step of
            one run, a number is not positive or a step negative, or a run
            has two budgets.
    """
    found: dict[str, Checkpoint] = {}
    rows: dict[tuple[str, float], CsvRow] = {}
    budgets: dict[str, float] = {}
    for row in read_rows(path, ('model', 'run', 'step')):
        run, step = row.text('run'), row.number('step')
        if step < 0:
            raise row.error('step', 'a number, 0 or more', 'Count the steps.')
        if (run, step) in rows:
            raise row.error(
                'step', f'a step that run {run!r} has not on line '
                f'{rows[run, step].line}', 'Remove one of the two rows.')
        rows[run, step] = row
        tokens, budget = (_amount(row, name) for name in ('tokens', 'budget'))
        if budgets.setdefault(run, budget) != budget and budget == budget:
            raise row.error('budget', f'one budget for all of run {run!r}',
                            'Write the same number in every row.')
        found[row.cells['model']] = Checkpoint(run, step, tokens, budget)
    return found


def _amount(row: CsvRow, column: str) -> float:
    """A positive number; NaN if the cell is empty or there is no column."""
    if not row.cells.get(column):
        return math.nan
    number = row.number(column)
    if number < 0 or not number and column == 'budget':
        raise row.error(column, 'a positive number', 'Count what was read.')
    return number


def place_checkpoints(
        models: Iterable[str],
        table: Optional[Mapping[str,
                                Checkpoint]] = None) -> dict[str, Checkpoint]:
    """What is known of each model, from a table or else from its name.

    Args:
        models (Iterable[str]): Names; those that are not in the table must
            read `run@step`.
        table (Optional[Mapping[str, Checkpoint]]): See `read_checkpoints`.

    Raises:
        InputError: If a name tells no step, or is one step of a run twice.
    """
    known, found = table or {}, {}
    names: dict[tuple[str, float], str] = {}
    for model in models:
        if model in known:
            found[model] = known[model]
        elif match := _NAME.fullmatch(model):
            found[model] = Checkpoint(match['run'], int(match['step']))
        else:
            raise InputError(f'model {model!r}', 'a name such as run@1000',
                             'no step in it',
                             'Name its run and step in --checkpoints.')
        at = found[model].run, found[model].step
        if names.setdefault(at, model) != model:
            raise InputError(f'run {at[0]!r}, step {at[1]:g}', 'one model',
                             f'{names[at]!r} and {model!r}',
                             'Give two runs two names.')
    return found


def measure(checkpoints: Sequence[Checkpoint]) -> str:
    """By what trainings are measured: 'tokens', or 'steps' if none is known.

    Raises:
        InputError: If only some have tokens.
    """
    unknown = [one for one in checkpoints if math.isnan(one.tokens)]
    if unknown and len(unknown) < len(checkpoints):
        raise InputError(
            f'tokens of run {unknown[0].run!r}, step {unknown[0].step:g}',
            'a number, as other checkpoints have', 'none',
            'Give the tokens of all checkpoints, or of none.')
    return 'steps' if unknown else 'tokens'
