"""Accuracies that were read one by one, as a table."""
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.measured import N_ITEMS, PART, Measured
from csv_plugin.extras.importers.left_out import LeftOut
from csv_plugin.io.known_benchmarks import benchmark_infos, known_benchmarks

#: An accuracy and what is stated about it.
Cell = tuple[float, Measured]


def accuracy_table(where: str, models: Optional[Sequence[str]],
                   cells: Iterable[Cell], patterns: Sequence[str],
                   chance: Optional[Mapping[str, float]],
                   check: Callable[[Sequence[Measured]],
                                   None], left_out: LeftOut) -> AccuracyTable:
    """Return cells as a table, in the order of the patterns.

    Its rows are `models`, by default those with a cell, sorted. Benchmarks
    without a chance level are left out, unless `patterns` name them in full or
    none has one. The number of items is the least that is stated, else the
    known one. `check` is called with all records. Warns of what is left out;
    an `InputError` if there is no cell.
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
    places = {model: place for place, model in enumerate(models)}
    accuracies = np.full((len(models), len(kept)), math.nan)
    records: list[Measured] = []
    by_benchmark: dict[str, list[Measured]] = {}
    for column, name in enumerate(kept):
        by_benchmark[name] = []
        for model, (accuracy, record) in found[name].items():
            accuracies[places[model], column] = accuracy
            by_benchmark[name].append(record)
        records += by_benchmark[name]
    check(records)
    levels = []
    n_items = []
    for name in kept:
        levels.append(infos[name].chance)
        n_items.append(_n_items(name, by_benchmark[name], infos[name].n_items))
    return AccuracyTable(
        tuple(models), tuple(kept), accuracies, np.array(levels),
        np.array(n_items, np.int64), tuple(records))


def _kept(found: Iterable[str], patterns: Sequence[str], chance: Iterable[str],
          left_out: LeftOut) -> list[str]:
    """Benchmarks that patterns match, with a chance level if one has it."""
    known = {*known_benchmarks(), *chance, *patterns}
    # Each once, in the order of the patterns.
    names: dict[str, None] = {}
    for pattern in patterns or ['*']:
        for name in sorted(found):
            if fnmatchcase(name, pattern):
                names[name] = None
    kept = [name for name in names if name in known] or [*names]
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
        parts.append(record.facts.get(PART))
        if record.facts.get(N_ITEMS):
            stated.add(record.facts[N_ITEMS])
    if len(stated) > 1:
        warnings.warn(
            f'accuracies on {name!r} are of {min(stated)} to {max(stated)} '
            f'items: all are taken to be of {min(stated)}.',
            stacklevel=4)
    if not stated and 'some' in parts:
        return 0
    return min(stated, default=known)
