"""Run, step and tokens of checkpoints of pretraining runs."""
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath
from csv_plugin.io.tables import read_rows

#: A name such as `7b-mix2@36000`, or `@step1000` or `@step1000-tokens4B` for
#: revisions; no step has more digits.
_NAME = re.compile(r'(?P<run>.+)@([\w.-]*(step|iter|checkpoint)[_-]?)?'
                   r'(?P<step>[0-9]{1,18})(-tokens[0-9.]+[MBT])?')


@dataclass(frozen=True)
class Checkpoint:
    """Place of a checkpoint in its pretraining run.

    Name of the run, steps, training tokens, and the budget (tokens at the end
    of the run); tokens and budget are NaN where unknown.
    """
    run: str
    step: float
    tokens: float = math.nan
    budget: float = math.nan


def read_checkpoints(path: FilePath) -> dict[str, Checkpoint]:
    """Read the runs and steps of checkpoints from a CSV file, by model.

    Columns are `model`, `run`, `step` and optionally `tokens` and `budget`.
    These two have one unit in all rows and are empty where unknown.
    """
    checkpoints = {}
    for row in read_rows(path, ('model', 'run', 'step')):
        numbers = {
            'step': row.number('step'),
            'tokens': row.number('tokens', math.nan),
            'budget': row.number('budget', math.nan)
        }
        for column, number in numbers.items():
            if number < 0 or (number == 0 and column == 'budget'):
                raise row.error(column, 'a positive number',
                                'Count from the start of the training.')
        checkpoints[row.cells['model']] = Checkpoint(
            row.text('run'), **numbers)
    return describe_checkpoints(checkpoints, checkpoints)


def describe_checkpoints(
        models: Iterable[str],
        table: Optional[Mapping[str,
                                Checkpoint]] = None) -> dict[str, Checkpoint]:
    """Return the run and step of each model.

    They come from the table of `read_checkpoints`, else from a name
    `run@step`. An `InputError` for a name without a step, or a step of a run
    with two models.
    """
    checkpoints: dict[str, Checkpoint] = {}
    names: dict[tuple[str, float], str] = {}
    for model in models:
        if table is not None and model in table:
            checkpoint = table[model]
        elif match := _NAME.fullmatch(model):
            checkpoint = Checkpoint(match['run'], int(match['step']))
        else:
            raise InputError(
                f'model {model!r}', 'a name such as run@1000', 'no step in it',
                'Name its run and step in a table of checkpoints '
                '(--checkpoints).')
        checkpoints[model] = checkpoint
        first = names.setdefault((checkpoint.run, checkpoint.step), model)
        if first != model:
            raise InputError(
                f'run {checkpoint.run!r}, step {checkpoint.step:g}',
                'one model', f'{first!r} and {model!r}',
                'Give two runs two names.')
    return checkpoints


def last_checkpoints(
        models: Iterable[str],
        table: Optional[Mapping[str, Checkpoint]] = None) -> tuple[str, ...]:
    """Return the last checkpoint of each run, and models that are none.

    Checkpoints are described as in `describe_checkpoints`.
    """
    last: dict[str, tuple[float, str]] = {}
    others = []
    for model in models:
        if model in (table or ()) or _NAME.fullmatch(model):
            point = describe_checkpoints([model], table)[model]
            here = point.step, model
            last[point.run] = max(last.get(point.run, here), here)
        else:
            others.append(model)
    return (*(model for _, model in last.values()), *others)


def choose_measure(checkpoints: Sequence[Checkpoint]) -> str:
    """Return 'tokens' if the tokens of all runs are known, else 'steps'.

    An `InputError` if those of only some checkpoints are known.
    """
    without = [point for point in checkpoints if math.isnan(point.tokens)]
    if without and len(without) < len(checkpoints):
        raise InputError(
            f'tokens of run {without[0].run!r}, step {without[0].step:g}',
            'a number, as other checkpoints have', 'none',
            'Give the tokens of all checkpoints, or of none.')
    return 'steps' if without else 'tokens'


def known_budgets(checkpoints: Iterable[Checkpoint]) -> dict[str, float]:
    """Return budgets of runs, each known from one checkpoint or more.

    An `InputError` for a run with two.
    """
    budgets: dict[str, float] = {}
    for point in checkpoints:
        if not math.isnan(point.budget):
            budget = budgets.setdefault(point.run, point.budget)
            if budget != point.budget:
                raise InputError(f'run {point.run!r}', 'one budget',
                                 f'{budget:g} and {point.budget:g}',
                                 'Give all of its checkpoints the same.')
    return budgets


def rows_by_run(
    checkpoints: Sequence[Checkpoint]
) -> dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Return indices and tokens (or steps) of the checkpoints by run.

    Runs are sorted by name, their checkpoints by tokens, `(n,)` each.
    Checkpoints at 0 tokens are left out. Errors as in `choose_measure`.
    """
    column = 'tokens' if choose_measure(checkpoints) == 'tokens' else 'step'
    done = np.array([getattr(point, column) for point in checkpoints], float)
    rows: dict[str, list[int]] = {}
    for row in np.argsort(done).tolist():
        if done[row] > 0:
            rows.setdefault(checkpoints[row].run, []).append(row)
    return {
        run: (np.array(of_run), done[of_run])
        for run, of_run in sorted(rows.items())
    }
