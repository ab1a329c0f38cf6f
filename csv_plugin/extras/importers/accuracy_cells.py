"""Join accuracies that were read one by one into a table."""
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import EXTENT, N_ITEMS, Measured
from csv_plugin.extras.importers.left_out import LeftOut
from csv_plugin.io.known_benchmarks import benchmark_infos, known_benchmarks

#: An accuracy, a fraction, and the record of how it was measured.
Cell = tuple[float, Measured]
#: A function that raises an `InputError` if accuracies cannot be compared,
#: because of the records of how they were measured.
Check = Callable[[Sequence[Measured]], None]


def accuracy_table(where: str, models: Optional[Sequence[str]],
                   cells: Iterable[Cell], patterns: Sequence[str],
                   chance: Optional[Mapping[str, float]], check: Check,
                   left_out: LeftOut) -> AccuracyTable:
    """Join cells to a table of accuracies.

    The rows are `models`, by default all models with a cell, sorted. The
    columns are the benchmarks that match one of `patterns`, in the order of
    the patterns. Benchmarks without a known chance level are left out, unless
    `patterns` contains their full name or no benchmark has a known level.

    The number of items of a benchmark is the smallest number that a record
    states. If no record states one, it is the number in
    `io.known_benchmarks`. `check` is called with the records of all cells.
    `where` names the source in errors. A warning lists what is left out. An
    `InputError` if there is no cell.
    """
    found: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        _, record = cell
        of_task = found.setdefault(record.task, {})
        of_task[record.name] = cell
    if not found:
        raise InputError(
            where, f'accuracies on {", ".join(patterns) or "a benchmark"}',
            left_out.text, 'Name benchmarks whose metric is an accuracy.')
    chance = chance or {}
    kept = _kept(found, patterns, chance, left_out)
    infos = benchmark_infos(kept, chance)
    left_out.warn()
    if models is None:
        with_cell: set[str] = set()
        for name in kept:
            with_cell.update(found[name])
        models = sorted(with_cell)
    rows = {model: row for row, model in enumerate(models)}
    shape = len(models), len(kept)
    accuracies = np.full(shape, math.nan)
    records: list[Measured] = []
    by_benchmark: dict[str, list[Measured]] = {}
    for column, name in enumerate(kept):
        own_records = []
        for model, (accuracy, record) in found[name].items():
            row = rows[model]
            accuracies[row, column] = accuracy
            own_records.append(record)
        by_benchmark[name] = own_records
        records += own_records
    check(records)
    levels = []
    n_items = []
    for name in kept:
        info = infos[name]
        levels.append(info.chance)
        number = _n_items(name, by_benchmark[name], info.n_items)
        n_items.append(number)
    return AccuracyTable(
        tuple(models), tuple(kept), accuracies, np.array(levels),
        np.array(n_items, np.int64), tuple(records))


def _kept(found: Iterable[str], patterns: Sequence[str], chance: Iterable[str],
          left_out: LeftOut) -> list[str]:
    """Return the benchmarks among `found` to keep, in the patterns' order.

    A benchmark is kept if it matches a pattern, and its chance level is known
    or a pattern is its full name. If no benchmark is kept by this rule, all
    benchmarks that match a pattern are kept.
    """
    known = {*known_benchmarks(), *chance, *patterns}
    # A dict keeps each name once, in the order of the patterns.
    names: dict[str, None] = {}
    for pattern in patterns or ['*']:
        for name in sorted(found):
            if fnmatchcase(name, pattern):
                names[name] = None
    kept = [name for name in names if name in known]
    if not kept:
        return list(names)
    for name in names:
        if name not in kept:
            left_out.add('benchmark',
                         'give its chance level, --chance NAME=0.25', name)
    return kept


def _n_items(name: str, records: Sequence[Measured], known: int) -> int:
    """Return the number of items of a benchmark, 0 if it is not known."""
    stated: set[int] = set()
    parts = []
    for record in records:
        parts.append(record.facts.get(EXTENT))
        n_items = record.facts.get(N_ITEMS)
        if n_items:
            stated.add(n_items)
    if not stated:
        return 0 if 'some' in parts else known
    least = min(stated)
    if len(stated) > 1:
        warnings.warn(
            f'accuracies on {name!r} were measured on {least} to '
            f'{max(stated)} items: {least} is taken for all.',
            stacklevel=4)
    return least
