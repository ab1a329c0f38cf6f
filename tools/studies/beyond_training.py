"""Errors and intervals next to the training models, beyond, and by cause.

    OMP_NUM_THREADS=1 python -m tools.studies.beyond_training FOLDER ... \\
        --every 3

reads `losses.csv` (or `.safetensors`), `scores.csv`, `models.csv` and
`benchmarks.csv` (docs/formats.md) of each folder. Predicted are

* the models of the split `test`;
* the fifth of the other models with the most compute (parameters times
  tokens, as far as known), by all others, and by those with less than a third,
  a tenth and a thirtieth of their least compute;
* families left out: two of the four parts to which families are dealt.

With `--every 3`, every third model of the other splits counts. Prints two
tables in Markdown: protocols, and misses of 90 % intervals by cause.
"""
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
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
#: Parts of the families, and how many of these are predicted.
PARTS, LEFT_OUT = 4, 2
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

    Accuracies are fractions; `best` and `worst` are those of the training
    models.
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

        parts = [
            column(np.arange(shape[1])), table.real,
            *(part[:, :, 0] for part in (table.values, table.low, table.high,
                                         table.expected_error,
                                         table.extrapolated, table.at_chance)),
            np.broadcast_to(np.array(new)[:, None], shape),
            column(np.nanmax(training.values, axis=0)),
            column(np.nanmin(training.values, axis=0))
        ]
        rows = ~np.isnan(table.real)
        return cls(*(part[rows] for part in parts))

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
        both = ~np.isnan(expected) & (errors > 0)
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
        """Root mean squares by benchmark."""
        return np.array([
            np.sqrt(np.mean(values[self.benchmark == b]**2))
            for b in np.unique(self.benchmark)
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


def thinned(tables: ModelTables, every: int) -> ModelTables:
    """Every nth model of the splits other than `test`."""
    names = tables.features.models
    test = [name for name in names if tables.info[name].split == 'test']
    others = [name for name in names if name not in test]
    return tables.select((*test, *others[::every]))


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
    for part in range(LEFT_OUT):
        yield Protocol('families left out', _where(others, folds != part),
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
    add_number(parser, '--every', 1, 'every nth of the training models')
    args = parser.parse_args()
    rows, misses = [], []
    for folder in args.folders:
        tables = thinned(tables_in(folder), args.every)
        for protocol in protocols(tables):
            cells = judged(tables, protocol)
            start = [folder.name, protocol.name, len(protocol.fitted)]
            rows.append([*start, *cells.measures()])
            misses.append([*start, len(cells.real), *cells.causes()])
            print(rows[-1], misses[-1], flush=True)
    print_tables(rows, misses)


def print_tables(rows: list[list], misses: list[list]) -> None:
    start = ['collection', 'predicted', 'fitted']
    header = [
        *start, 'error', 'expected', 'found / expected', 'coverage', 'flagged',
        'not flagged', 'width'
    ]
    digits = ('', '', '', *['.1f'] * 2, *['.2f'] * 4, '.1f')
    print(tabulate(rows, header, tablefmt='pipe', floatfmt=digits))
    print()
    print(tabulate(misses, [*start, 'intervals', *CAUSES], tablefmt='pipe'))


if __name__ == '__main__':
    main()
