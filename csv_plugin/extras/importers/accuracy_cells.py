"""Accuracies that were read one by one, as a table."""
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.measured import N_ITEMS, PART, Measured
from csv_plugin.extras.importers.left_out import LeftOut
from csv_plugin.io.known_benchmarks import benchmark_infos, known_benchmarks
from csv_plugin.io.tables import BenchmarkInfo

#: An accuracy and what is stated about it.
Cell = tuple[float, Measured]


def chance_levels(names: Sequence[str], patterns: Iterable[str],
                  chance: Mapping[str, float],
                  left_out: LeftOut) -> dict[str, BenchmarkInfo]:
    """Return what is known about benchmarks with a chance level.

    Others are left out, unless `patterns` name them in full or none has one.
    """
    known = {*known_benchmarks(), *chance, *patterns}
    kept = [name for name in names if name in known] or names
    for name in names:
        if name not in kept:
            left_out.add('benchmark',
                         'give its chance level, --chance NAME=0.25', name)
    return benchmark_infos(kept, chance)


def accuracy_table(models: Sequence[str], columns: Mapping[str, Mapping[str,
                                                                        Cell]],
                   infos: Mapping[str, BenchmarkInfo]) -> AccuracyTable:
    """Return cells, by benchmark and model, as a table with these rows.

    The number of items is the least that is stated, else the known one.
    """
    silent = math.nan, Measured('')
    values = [[cells.get(model, silent)[0] for cells in columns.values()]
              for model in models]
    records = {
        name: [record for _, record in cells.values()]
        for name, cells in columns.items()
    }
    n_items = [_n_items(n, records[n], infos[n].n_items) for n in columns]
    return AccuracyTable(
        tuple(models), tuple(columns), np.array(values),
        np.array([infos[name].chance for name in columns]),
        np.array(n_items, np.int64), tuple(sum(records.values(), [])))


def _n_items(name: str, records: Sequence[Measured], known: int) -> int:
    stated = {n for r in records if (n := r.facts.get(N_ITEMS))}
    if len(stated) > 1:
        warnings.warn(
            f'accuracies on {name!r} are of {min(stated)} to {max(stated)} '
            'items: the least counts for all.',
            stacklevel=4)
    if not stated and any(r.facts.get(PART) == 'some' for r in records):
        return 0
    return min(stated, default=known)
