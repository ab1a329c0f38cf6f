"""Find the run, step and tokens of checkpoints of pretraining runs."""
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.core.run_names import run_of
from csv_plugin.io.checkpoint_names import Revision, read_revision
from csv_plugin.io.files import FilePath
from csv_plugin.io.tables import CsvRow, read_rows

_REMEDY = ('Give run, step and tokens of each checkpoint in the columns run, '
           'step and tokens of a table (--checkpoints or, of tables of '
           'losses, --models).')


@dataclass(frozen=True)
class Checkpoint:
    """The run of a checkpoint, and how far the run is trained.

    `run` is the name of the run. `step` and `tokens` are the steps and tokens
    trained so far. `budget` is the number of tokens at the end of the run, or
    of steps if no tokens are known. Tokens and budget are NaN if unknown.
    """
    run: str
    step: float
    tokens: float = math.nan
    budget: float = math.nan


def read_checkpoints(path: FilePath) -> dict[str, Checkpoint]:
    """Read the runs and steps of checkpoints from a CSV file, by model.

    Columns are `model`, `run`, `step` and optionally `tokens`, `budget` and
    `stage`. Tokens and budget have the same unit in all rows, and are empty if
    unknown. If there is a column `stage`, steps and tokens count from the
    beginning of the stage. The first stage is 1, the default, and each further
    stage begins at the last checkpoint of the previous stage. The budget is
    the number of tokens (or steps) of all stages together.
    """
    checkpoints = {}
    stages = {}
    for row in read_rows(path, ('model', 'run', 'step')):
        model = row.cells['model']
        checkpoints[model] = _of_row(row, row.text('run'))
        stage = row.number('stage', 1)
        if stage < 1 or stage % 1:
            raise row.error('stage', 'a whole number, 1 or more',
                            'Number the stages of a run in their order.')
        stages[model] = stage
    checkpoints = _from_the_start(checkpoints, stages)
    # This raises an error for two models at the same step of a run.
    return describe_checkpoints(checkpoints, checkpoints)


def read_checkpoints_of_models(path: FilePath) -> dict[str, Checkpoint]:
    """Read the runs and steps of checkpoints from a table of models, by model.

    The columns are those of `read_checkpoints`, but for `stage`, and only
    `model` is required. Steps and tokens count from the beginning of the
    training. A run, a step or tokens that the table lacks are read from the
    name of the model, such as `run@1000`. A model is left out if neither the
    table nor its name tells its run and step.
    """
    checkpoints = {}
    for row in read_rows(path, ('model', )):
        model = row.cells['model']
        named = _in_name(model) or Checkpoint('', math.nan)
        run = row.cells.get('run') or named.run
        point = _of_row(row, run, named.step, named.tokens)
        if run and not math.isnan(point.step):
            checkpoints[model] = point
    return checkpoints


def _of_row(row: CsvRow,
            run: str,
            step: Optional[float] = None,
            tokens: float = math.nan) -> Checkpoint:
    """Return the checkpoint that a row of a table describes.

    `step` and `tokens` count where the row has none. Without `step`, the row
    must have a step.
    """
    numbers = {
        'step': row.number('step', step),
        'tokens': row.number('tokens', tokens),
        'budget': row.number('budget', math.nan)
    }
    for column, number in numbers.items():
        if column == 'budget' and number <= 0:
            raise row.error(column, 'a positive number',
                            'Count from the start of the training.')
        if number < 0:
            raise row.error(column, '0 or more',
                            'Count from the start of the training.')
    return Checkpoint(run, **numbers)


def _from_the_start(checkpoints: Mapping[str, Checkpoint],
                    stages: Mapping[str, float]) -> dict[str, Checkpoint]:
    """Return the checkpoints with steps and tokens from the start of training.

    `checkpoints` have steps and tokens from the start of a stage, whose number
    is in `stages`. A stage begins at the last checkpoint of all earlier stages
    of the run. The tokens in a stage become NaN if the tokens of a checkpoint
    of an earlier stage are NaN.
    """
    found = dict(checkpoints)
    # In the order of stages, so that the steps and tokens of earlier stages
    # already count from the start of the training.
    for model in sorted(checkpoints, key=stages.__getitem__):
        point = checkpoints[model]
        steps = [0.0]
        tokens = [0.0]
        for name, other in checkpoints.items():
            is_earlier = stages[name] < stages[model]
            if is_earlier and other.run == point.run:
                steps.append(found[name].step)
                tokens.append(found[name].tokens)
        # If one of the values is NaN, `np.max` always returns NaN; `max` does
        # not.
        tokens_before = float(np.max(tokens))
        found[model] = replace(
            point,
            step=point.step + max(steps),
            tokens=point.tokens + tokens_before)
    return found


def describe_checkpoints(
        models: Iterable[str],
        table: Optional[Mapping[str,
                                Checkpoint]] = None) -> dict[str, Checkpoint]:
    """Return the run, the step and perhaps the tokens of each model.

    `table` is what `read_checkpoints` or `read_checkpoints_of_models` returns.
    The run and step of a model that is not in the table come from a name such
    as `run@1000` or `run@step1000-tokens4B`; see `read_revision`.

    Raises:
        InputError: A name does not contain a run and a step, or its step is
            counted from the start of a later stage; or two checkpoints of a
            run have the same step, or the same number of tokens.
    """
    checkpoints: dict[str, Checkpoint] = {}
    # The model at each (run, count), where a count is such as "step 1000".
    model_at: dict[tuple[str, str], str] = {}
    for model in models:
        if table is not None and model in table:
            checkpoint = table[model]
        else:
            checkpoint = _from_name(model)
        checkpoints[model] = checkpoint
        counts = [f'step {checkpoint.step:.15g}']
        if checkpoint.tokens > 0:
            counts.append(f'tokens {checkpoint.tokens:.15g}')
        for count in counts:
            place = checkpoint.run, count
            first = model_at.setdefault(place, model)
            if first != model:
                raise InputError(
                    f'run {checkpoint.run!r}, {count}', 'one model',
                    f'{first!r} and {model!r}', 'Give each run its own name, '
                    'and each checkpoint its exact step and the tokens that '
                    'it has seen, in a table (--checkpoints or, of tables of '
                    'losses, --models).')
    return checkpoints


def check_described(where: FilePath, table: Mapping[str, Checkpoint],
                    models: Collection[str]) -> list[str]:
    """Check that a table describes checkpoints that have losses.

    `table` is what `read_checkpoints` returns, `where` says in messages where
    it comes from, and `models` are the names of all checkpoints with losses.
    Return a note if some of these checkpoints have no row although their names
    tell a step: rows with other names may be meant for them.

    Raises:
        InputError: No row is about a checkpoint with losses.
    """
    where = os.fspath(where)
    if not models:
        return []
    if table.keys().isdisjoint(models):
        example = next(iter(models))
        found = 'no rows'
        for model in table:
            found = f'other names, such as {model!r}'
            break
        raise InputError(
            f'{where}, column model',
            f'names of checkpoints with losses, such as {example!r}', found,
            f'{did_you_mean(table, models)}Correct the names in this column, '
            'or leave the table out.')
    without_row = []
    for model in models:
        if model not in table and _revision(model) is not None:
            without_row.append(model)
    if not without_row:
        return []
    # The note names at most this many checkpoints.
    n_named = 3
    names = ', '.join(without_row[:n_named])
    n_more = len(without_row) - n_named
    if n_more > 0:
        names += f' and {n_more} more'
    return [
        f'{where} has no row for {names}: run and step are read from the '
        'names of these checkpoints.'
    ]


def _revision(model: str) -> Optional[Revision]:
    """Return what a name such as run@1000 states behind the @.

    Its steps may count from the start of a stage. The result is None for a
    name without a run or a step.
    """
    run, _, name = model.rpartition('@')
    return read_revision(name) if run else None


def _in_name(model: str) -> Optional[Checkpoint]:
    """Return the run, step and tokens that the name of a checkpoint states.

    The result is None if the name states no step of the whole training.
    """
    revision = _revision(model)
    if revision is None or not revision.is_of_training:
        return None
    return Checkpoint(run_of(model), revision.step, revision.tokens)


def _from_name(model: str) -> Checkpoint:
    """Return what `_in_name` does, or raise an `InputError` for None."""
    point = _in_name(model)
    if point is not None:
        return point
    run, sign, name = model.rpartition('@')
    where = f'run {run!r}, checkpoint {name!r}' if sign else f'model {name!r}'
    revision = _revision(model)
    if revision is None:
        raise InputError(where,
                         'a name such as run@1000 or run@step1000-tokens4B',
                         'a name that does not tell run and step', _REMEDY)
    raise InputError(
        where, 'steps and tokens since the beginning of the training',
        f'steps and tokens since the beginning of stage {revision.stage}',
        _REMEDY)


def families_of(checkpoints: Mapping[str, Checkpoint],
                families: Mapping[str, str]) -> list[str]:
    """Return the family of each checkpoint, in order.

    `families` maps the names of checkpoints to families. If all checkpoints
    are of one family, no family could be left out, so the run of each
    checkpoint is returned in place of its family.
    """
    found = [families[name] for name in checkpoints]
    if len(set(found)) == 1:
        found = [point.run for point in checkpoints.values()]
    return found


def last_checkpoints(
        models: Iterable[str],
        table: Optional[Mapping[str, Checkpoint]] = None) -> tuple[str, ...]:
    """Return the last checkpoint of each run, then the models without a run.

    Runs and steps are found as in `describe_checkpoints`.

    Raises:
        InputError: As in `describe_checkpoints` and `unit_of_training`; or the
            name of a model begins with the name of a run and @, but does not
            contain a step.
    """
    of_runs = []
    others = []
    for model in models:
        is_described = table is not None and model in table
        if is_described or _revision(model) is not None:
            of_runs.append(model)
        else:
            others.append(model)
    known = describe_checkpoints(of_runs, table)
    runs: dict[str, list[str]] = {}
    for model, point in known.items():
        runs.setdefault(point.run, []).append(model)
    for model in others:
        run, _, _ = model.rpartition('@')
        if run in runs:
            # This raises the error that says what is wrong with the name.
            _from_name(model)
    last = []
    for of_run in runs.values():
        points = [known[model] for model in of_run]
        latest = int(np.argmax(_amounts_done(points)))
        last.append(of_run[latest])
    return (*last, *others)


def unit_of_training(checkpoints: Sequence[Checkpoint]) -> str:
    """Return 'tokens' if the tokens of checkpoints are known, else 'steps'.

    Raises an `InputError` if the tokens of only some checkpoints are known.
    """
    without = [point for point in checkpoints if math.isnan(point.tokens)]
    if not without:
        return 'tokens'
    if len(without) < len(checkpoints):
        first = without[0]
        raise InputError(
            f'tokens of run {first.run!r}, step {first.step:g}',
            'a number, as other checkpoints have', 'none',
            'Give the tokens of all checkpoints, or of none, in the column '
            'tokens of a table (--checkpoints or, of tables of losses, '
            '--models).')
    return 'steps'


def _amounts_done(checkpoints: Sequence[Checkpoint]) -> Floats:
    """Return the tokens of n checkpoints, or else their steps, `(n,)`."""
    in_tokens = unit_of_training(checkpoints) == 'tokens'
    done = []
    for point in checkpoints:
        amount = point.tokens if in_tokens else point.step
        done.append(amount)
    return np.array(done, float)


def known_budgets(checkpoints: Iterable[Checkpoint]) -> dict[str, float]:
    """Return the known budgets by the name of the run.

    Raises an `InputError` for a run with two budgets.
    """
    budgets: dict[str, float] = {}
    for point in checkpoints:
        if not math.isnan(point.budget):
            budget = budgets.setdefault(point.run, point.budget)
            if budget != point.budget:
                raise InputError(
                    f'run {point.run!r}', 'one budget',
                    f'{budget:g} and {point.budget:g}',
                    'Give all checkpoints of the run the same '
                    'budget, in the column budget.')
    return budgets


def rows_by_run(
    checkpoints: Sequence[Checkpoint]
) -> dict[str, tuple[NDArray[np.intp], Floats]]:
    """Return the indices and tokens (or steps) of the checkpoints of each run.

    Both arrays are `(n,)` for a run with n checkpoints. Runs are sorted by
    name, the checkpoints of a run by tokens. Checkpoints at 0 tokens are left
    out. Errors are as in `unit_of_training`.
    """
    done = _amounts_done(checkpoints)
    rows: dict[str, list[int]] = {}
    for row in np.argsort(done).tolist():
        run = checkpoints[row].run
        if done[row] > 0:
            rows.setdefault(run, []).append(row)
    found = {}
    for run in sorted(rows):
        of_run = np.array(rows[run])
        found[run] = of_run, done[of_run]
    return found
