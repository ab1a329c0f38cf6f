"""Errors and intervals next to the training models, beyond, and by cause.

    OMP_NUM_THREADS=1 python -m tools.studies.beyond_training FOLDER ...

reads `losses.csv` (or `.safetensors`), `scores.csv`, `models.csv` and
`benchmarks.csv` (docs/formats.md) of each folder. Predicted are

* the models of the split `test`;
* the fifth of the other models with the most compute (parameters times
  tokens, as far as known), by all others, and by those with less than a third,
  a tenth and a thirtieth of their least compute;
* each of the four parts to which families are dealt, by the others. A few
  unusual families have most of the error, so all parts count as one.

Of a collection with more than `--most` models in the other splits, every
second, third and so on counts. Prints three tables in Markdown: protocols,
their means by collection, and misses of 90 % intervals by cause.
"""
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.salience import Averaged
from csv_plugin.core.salience.base import grouped_folds
from csv_plugin.io.model_tables import ModelTables
from tools.studies.options import add_number, parser_of, tables_in

#: Share of the models that is predicted.
PREDICTED = 0.2
#: How many times less compute than those predicted the training models have.
FACTORS = (1, 3, 10, 30)
#: Fewer models are not fitted to.
LEAST_MODELS = 20
#: Parts of the families, and the protocol that leaves each out.
PARTS, FAMILIES = 4, 'families left out'
#: A prediction so far above all training models is a step, real accuracies so
#: high have met their ceiling, and so far below those of training models that
#: a prompt format may be the reason.
STEP, CEILING, FORMAT = 0.1, 0.9, 0.02
#: Causes of misses; the first that holds counts.
CAUSES = ('at chance', 'step', 'ceiling', 'format', 'family', 'distance',
          'none of these')


@dataclass(frozen=True)
class Protocol:
    """Models to fit to and to predict."""
    name: str
    fitted: tuple[str, ...]
    predicted: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Cells:
    """Predictions of N cells, real accuracies, and what is known of them.

    Benchmarks are places among those of the tables. Accuracies are fractions;
    `best` and `worst` are those of the training models.
    """
    benchmark: NDArray
    real: NDArray
    predicted: NDArray
    low: NDArray
    high: NDArray
    expected: NDArray
    flagged: NDArray
    at_chance: NDArray
    new_family: NDArray
    best: NDArray
    worst: NDArray

    @classmethod
    def of(cls, predictions: Predictions, tables: ModelTables,
           protocol: Protocol) -> 'Cells':
        """Take all cells with a real accuracy."""
        table = predictions.with_real(tables.accuracies)
        training = tables.accuracies.select(protocol.fitted, table.benchmarks)
        known = {tables.families[name] for name in protocol.fitted}
        new = [tables.families[name] not in known for name in table.models]
        shape = table.real.shape

        def column(of_benchmark: NDArray) -> NDArray:
            return np.broadcast_to(of_benchmark, shape)

        places = [
            tables.accuracies.benchmarks.index(name)
            for name in table.benchmarks
        ]
        parts = [
            column(np.array(places)), table.real,
            *(part[:, :, 0] for part in (table.values, table.low, table.high,
                                         table.expected_error,
                                         table.extrapolated, table.at_chance)),
            np.broadcast_to(np.array(new)[:, None], shape),
            column(np.nanmax(training.values, axis=0)),
            column(np.nanmin(training.values, axis=0))
        ]
        rows = ~np.isnan(table.real)
        return cls(*(part[rows] for part in parts))

    @classmethod
    def joined(cls, parts: Sequence['Cells']) -> 'Cells':
        """All cells of several fits."""
        return cls(
            *(np.concatenate([getattr(part, field.name) for part in parts])
              for field in fields(cls)))

    @property
    def missed(self) -> NDArray[np.bool_]:
        """True where the interval does not hold the real accuracy."""
        return (self.real < self.low) | (self.high < self.real)

    def measures(self) -> list[float]:
        """Error, expected error, their ratio, coverage, and width.

        Errors are in points; coverage of all, of flagged and of other
        intervals.
        """
        errors = self._rms(self.predicted - self.real)
        expected = self._rms(self.expected)
        both = errors > 0
        covered = ~self.missed
        shares = [
            covered[rows].mean() if rows.any() else math.nan
            for rows in (np.ones(len(covered), bool), self.flagged,
                         ~self.flagged)
        ]
        return [
            100 * float(np.exp(np.log(part[both]).mean()))
            for part in (errors, expected)
        ] + [
            float(np.exp(np.log(errors[both] / expected[both]).mean())),
            *shares, 100 * float((self.high - self.low).mean())
        ]

    def _rms(self, values: NDArray) -> NDArray[np.float64]:
        """Root mean squares by benchmark, where an error is expected."""
        known = ~np.isnan(self.expected)
        return np.array([
            np.sqrt(np.mean(values[known & (self.benchmark == b)]**2))
            for b in np.unique(self.benchmark[known])
        ])

    def causes(self) -> list[int]:
        """Numbers of misses by cause."""
        reasons = [
            self.at_chance, self.predicted > self.best + STEP,
            np.maximum(self.real, self.predicted) > CEILING, self.real
            < self.worst - FORMAT, self.new_family, self.flagged,
            np.ones(len(self.real), bool)
        ]
        first = np.argmax(reasons, axis=0)[self.missed]
        return np.bincount(first, minlength=len(CAUSES)).tolist()


def compute_of(tables: ModelTables, models: Sequence[str]) -> NDArray:
    """Parameters times tokens; an unknown one counts as 1."""
    numbers = np.array([[tables.info[name].params_b, tables.info[name].tokens]
                        for name in models], float)
    return np.nan_to_num(numbers, nan=1).prod(axis=1)


def thinned(tables: ModelTables, most: int) -> ModelTables:
    """Every nth model of the splits other than `test`, so many at most."""
    names = tables.features.models
    test = [name for name in names if tables.info[name].split == 'test']
    others = [name for name in names if name not in test]
    return tables.select((*test, *others[::math.ceil(len(others) / most)]))


def protocols(tables: ModelTables) -> Iterator[Protocol]:
    """All protocols that a collection has models for."""
    names = tables.features.models
    test = tuple(n for n in names if tables.info[n].split == 'test')
    others = tuple(n for n in names if n not in test)
    if test:
        yield Protocol('split test', others, test)
    compute = compute_of(tables, others)
    largest = compute > np.quantile(compute, 1 - PREDICTED)
    for factor in FACTORS if largest.any() else ():
        rows = compute < compute[largest].min() / factor
        if rows.sum() >= LEAST_MODELS:
            yield Protocol(f'{factor} times less compute',
                           _where(others, rows), _where(others, largest))
    groups = [tables.families[name] for name in others]
    folds = grouped_folds(groups, PARTS, 0)
    for part in np.unique(folds):
        yield Protocol(FAMILIES, _where(others, folds != part),
                       _where(others, folds == part))


def _where(names: Sequence[str], rows: NDArray) -> tuple[str, ...]:
    return tuple(name for name, chosen in zip(names, rows) if chosen)


def judged(tables: ModelTables, protocol: Protocol) -> Cells:
    """Fit and predict."""
    fitted = tables.accuracies.select(protocol.fitted)
    fitted = fitted.select(benchmarks=fitted.benchmarks_run)
    families = [tables.families[name] for name in protocol.fitted]
    predictor = fit_predictor(tables.features, fitted, families, Averaged())
    return Cells.of(
        predictor.predict(tables.features.select(protocol.predicted)), tables,
        protocol)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('folders', nargs='+', type=Path)
    add_number(parser, '--most', 150, 'training models of a collection')
    args = parser.parse_args()
    rows, misses = [], []
    for folder in args.folders:
        tables = thinned(tables_in(folder), args.most)
        for name, parts in groupby(protocols(tables), lambda part: part.name):
            cells = Cells.joined([judged(tables, part) for part in parts])
            rows.append([folder.name, name, *cells.measures()])
            misses.append(
                [folder.name, name,
                 len(cells.real), *cells.causes()])
            print(rows[-1], misses[-1], flush=True)
    print_tables(rows, misses)


def print_tables(rows: list[list], misses: list[list]) -> None:
    start = ['collection', 'predicted']
    header = [
        *start, 'error', 'expected', 'found / expected', 'coverage', 'flagged',
        'not flagged', 'width'
    ]
    digits = ('', '', *['.1f'] * 2, *['.2f'] * 4, '.1f')
    for table in (rows, means(rows)):
        print(tabulate(table, header, tablefmt='pipe', floatfmt=digits))
        print()
    totals = np.sum([row[2:] for row in misses], axis=0).tolist()
    print(
        tabulate([*misses, ['all', '', *totals]],
                 [*start, 'intervals', *CAUSES],
                 tablefmt='pipe'))


def means(rows: list[list]) -> list[list]:
    """Means over the protocols of a collection, and over collections."""
    table = pd.DataFrame(rows)
    table[1] = table[1].where(table[1] == FAMILIES, 'larger models')
    by_collection = table.groupby([0, 1], sort=False).mean()
    overall = by_collection.groupby(level=1, sort=False).mean()
    return [
        *by_collection.reset_index().values.tolist(),
        *(['all', *row] for row in overall.reset_index().values.tolist())
    ]


if __name__ == '__main__':
    main()
