"""Run, step and tokens of checkpoints of pretraining runs."""
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.io.checkpoint_names import read_revision
from csv_plugin.io.files import FilePath
from csv_plugin.io.tables import read_rows

_REMEDY = 'Give run, step and tokens of each in a table (--checkpoints).'


@dataclass(frozen=True)
class Checkpoint:
    """Place of a checkpoint in its pretraining run.

    Name of the run, steps, training tokens, and the budget: the tokens at the
    end of the run, or the steps where no tokens are known. Tokens and budget
    are NaN where unknown.
    """
    run: str
    step: float
    tokens: float = math.nan
    budget: float = math.nan


def read_checkpoints(path: FilePath) -> dict[str, Checkpoint]:
    """Read the runs and steps of checkpoints from a CSV file, by model.

    Columns are `model`, `run`, `step` and optionally `tokens`, `budget` and
    `stage`. Tokens and budget have one unit in all rows and are empty where
    unknown. If there is a column `stage`, 1 by default, steps and tokens count
    from the beginning of that stage. A stage begins at the last checkpoint of
    the previous one. The budget is that of all stages.
    """
    checkpoints, stages = {}, {}
    for row in read_rows(path, ('model', 'run', 'step')):
        numbers = {
            'step': row.number('step'),
            'tokens': row.number('tokens', math.nan),
            'budget': row.number('budget', math.nan)
        }
        stage = row.number('stage', 1)
        if stage < 1 or stage % 1:
            raise row.error('stage', 'a whole number, 1 or more',
                            'Number the stages of a run in their order.')
        for column, number in numbers.items():
            if column == 'budget' and number <= 0:
                raise row.error(column, 'a positive number',
                                'Count from the start of the training.')
            if number < 0:
                raise row.error(column, '0 or more',
                                'Count from the start of the training.')
        model = row.cells['model']
        checkpoints[model] = Checkpoint(row.text('run'), **numbers)
        stages[model] = stage
    checkpoints = _from_the_start(checkpoints, stages)
    # This refuses two models at one place of a run.
    return describe_checkpoints(checkpoints, checkpoints)


def _from_the_start(checkpoints: Mapping[str, Checkpoint],
                    stages: Mapping[str, float]) -> dict[str, Checkpoint]:
    """Count steps and tokens from the start of the training, not of a stage.

    A stage begins at the last checkpoint of the earlier stages of the run. Its
    tokens are NaN if those of an earlier checkpoint are.
    """
    found = dict(checkpoints)
    # Earlier stages come first, so that what is found for them counts from the
    # start of the training already.
    for model in sorted(checkpoints, key=stages.__getitem__):
        point = checkpoints[model]
        steps, tokens = [0.0], [0.0]
        for name, other in checkpoints.items():
            if other.run == point.run and stages[name] < stages[model]:
                steps.append(found[name].step)
                tokens.append(found[name].tokens)
        # `np.max` of numbers and NaN is NaN, `max` may be a number.
        found[model] = replace(
            point,
            step=point.step + max(steps),
            tokens=point.tokens + float(np.max(tokens)))
    return found


def describe_checkpoints(
        models: Iterable[str],
        table: Optional[Mapping[str,
                                Checkpoint]] = None) -> dict[str, Checkpoint]:
    """Return the run, the step and perhaps the tokens of each model.

    They come from the table of `read_checkpoints`, else from a name such as
    `run@1000` or `run@step1000-tokens4B`; see `read_revision`.

    Raises:
        InputError: A name does not tell them, such as that of a later stage;
            or two checkpoints of a run have the same step, or the same number
            of tokens.
    """
    checkpoints: dict[str, Checkpoint] = {}
    # By run and count, such as "step 1000".
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
            first = model_at.setdefault((checkpoint.run, count), model)
            if first != model:
                raise InputError(
                    f'run {checkpoint.run!r}, {count}', 'one model',
                    f'{first!r} and {model!r}', 'Give two runs two names, and '
                    'unrounded tokens in a table (--checkpoints).')
    return checkpoints


def _from_name(model: str) -> Checkpoint:
    """Read run, step and tokens from a name."""
    run, sign, name = model.rpartition('@')
    revision = read_revision(name) if run else None
    where = f'run {run!r}, checkpoint {name!r}' if sign else f'model {name!r}'
    if revision is None:
        raise InputError(where,
                         'a name such as run@1000 or run@step1000-tokens4B',
                         'one that does not tell run and step', _REMEDY)
    if not revision.is_of_training:
        raise InputError(
            where, 'steps and tokens since the beginning of the training',
            f'those of stage {revision.stage}, and names do not tell where '
            'it begins', _REMEDY)
    return Checkpoint(run, revision.step, revision.tokens)


def families_of(checkpoints: Mapping[str, Checkpoint],
                families: Mapping[str, str]) -> list[str]:
    """Return the family of each checkpoint, in order.

    `families` has them by the name of the checkpoint. If all are of one
    family, the run of each takes its place, since no family could be left out.
    """
    found = [families[name] for name in checkpoints]
    if len(set(found)) == 1:
        found = [point.run for point in checkpoints.values()]
    return found


def last_checkpoints(
        models: Iterable[str],
        table: Optional[Mapping[str, Checkpoint]] = None) -> tuple[str, ...]:
    """Return the last checkpoint of each run, and models of no run.

    Checkpoints are described as in `describe_checkpoints`. A model whose name
    begins like those of a run has to tell its step, or is refused.
    """
    of_runs, others = [], []
    for model in models:
        is_described = table is not None and model in table
        if is_described or _tells_step(model):
            of_runs.append(model)
        else:
            others.append(model)
    known = describe_checkpoints(of_runs, table)
    runs: dict[str, list[str]] = {}
    for model, point in known.items():
        runs.setdefault(point.run, []).append(model)
    for model in others:
        if model.rpartition('@')[0] in runs:
            # Raises the error that says what is wrong with the name.
            _from_name(model)
    last = []
    for of_run in runs.values():
        done = _amounts_done([known[model] for model in of_run])
        last.append(of_run[int(np.argmax(done))])
    return (*last, *others)


def _tells_step(model: str) -> bool:
    """True for a name such as run@1000."""
    run, _, name = model.rpartition('@')
    return bool(run) and read_revision(name) is not None


def choose_measure(checkpoints: Sequence[Checkpoint]) -> str:
    """Return 'tokens' if the tokens of all runs are known, else 'steps'.

    An `InputError` if those of only some checkpoints are known.
    """
    without = [point for point in checkpoints if math.isnan(point.tokens)]
    if without and len(without) < len(checkpoints):
        raise InputError(
            f'tokens of run {without[0].run!r}, step {without[0].step:g}',
            'a number, as other checkpoints have', 'none',
            'Give the tokens of all checkpoints in a table (--checkpoints).')
    return 'steps' if without else 'tokens'


def _amounts_done(checkpoints: Sequence[Checkpoint]) -> NDArray[np.float64]:
    """Tokens of n checkpoints or, where they are not known, steps, `(n,)`."""
    measure = choose_measure(checkpoints)
    done = []
    for point in checkpoints:
        done.append(point.tokens if measure == 'tokens' else point.step)
    return np.array(done, float)


def known_budgets(checkpoints: Iterable[Checkpoint]) -> dict[str, float]:
    """Return the budget of each run that has one, by name.

    An `InputError` for a run with two budgets.
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
    done = _amounts_done(checkpoints)
    rows: dict[str, list[int]] = {}
    for row in np.argsort(done).tolist():
        if done[row] > 0:
            rows.setdefault(checkpoints[row].run, []).append(row)
    found = {}
    for run in sorted(rows):
        of_run = np.array(rows[run])
        found[run] = of_run, done[of_run]
    return found
