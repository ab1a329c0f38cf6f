"""Errors and intervals on the full collections: what the default is judged by.

    OMP_NUM_THREADS=1 python -m tools.studies.full_collections \\
        --shared ../shared/real --public outputs \\
        --methods before product mean-loss --out outputs/full

Every protocol fits a method to some models of a collection and predicts
others, with all fitted models, all loss columns and all main benchmarks, and
without random draws. Protocols that leave families out fit several times, each
time without one of at most eight groups of families; their cells count
together. The first table has a row for each protocol and method, compared with
the first method:

    MSE ratio    ratio of the mean squared errors, geometric mean over the
                 benchmarks
    coverage     share of the 90 % intervals that hold the observed accuracy
    width ratio  ratio of the mean widths of the intervals
    score        log score in nats a cell (as in `yard`), less that of the
                 first method: larger is better

The last row of a method has geometric means of ratios, means of the others and
the sum of CPU seconds. The second table has the figures themselves. `--out`
keeps the figures of every benchmark in one CSV file a method; protocols that
are there are not run again.

`product` is the default of the package, for the demonstration that for token
losses. `before` is the default of commit a99d670e: an average of ridges for
tables, and columns chosen by benchmark for token losses. Its figures are kept
in yard_before/full_before.csv.
"""
import csv
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import resources
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

import csv_plugin as cp
from csv_plugin.demo import shipped
from csv_plugin.io.model_tables import ModelTables
from tools.studies.options import TABLES, parser_of, tables_in
from tools.studies.real_models.tables import RealModels
from tools.studies.yard import (BEFORE, KEPT, LEVEL, METHODS, Forecast, Models,
                                Trial, demonstration, log_scores)

#: Families are left out in at most so many groups.
PARTS = 8
DEMONSTRATION, REAL_MODELS = 'demonstration', 'real models'
#: Splits of `read_models`, which calls `val` `validation` too.
TRAINING = ('train', 'validation')
#: Start of the names of the tables of bits per character in the package.
BITS = str(resources.files('csv_plugin') / 'data/bits_per_character_')

# ---- collections


@dataclass(frozen=True, eq=False)
class Full:
    """All M models of a collection, with their main benchmarks alone.

    `models` and `benchmarks` are their names, `values` losses and accuracies;
    `splits` has M names. `dumps` are token losses, if these are fitted to: the
    losses among `values` are then means of texts, and of answers' tokens.
    """
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    values: Models
    splits: NDArray
    dumps: Optional[cp.Collection] = None


def of_tables(features: cp.FeatureTable, accuracies: cp.AccuracyTable,
              families: Sequence[str], splits: Sequence[str]) -> Full:
    """A collection of tables, whose models have one order."""
    main = accuracies.select(benchmarks=accuracies.main)
    values = Models(features.values, main.values, np.array(families),
                    main.chance, main.n_items,
                    np.full(features.values.shape[1], ''))
    return Full(features.models, main.benchmarks, values, np.array(splits))


def of_model_tables(tables: ModelTables) -> Full:
    """A collection of the tables of `salience fit`."""
    rows = [tables.info[model] for model in tables.features.models]
    return of_tables(tables.features, tables.accuracies,
                     [row.family for row in rows], [row.split for row in rows])


def of_real_models(by_kind: bool) -> Full:
    """The kept real models, whose splits are their kinds of degradations.

    The kind of models without a degradation is ''. Kinds may stand for
    families: then models of one kind are never separated by cross-validation.
    """
    real = RealModels.read()
    kinds = [kind or 'as it is' for kind in real.kinds]
    return of_tables(real.losses, real.accuracies,
                     kinds if by_kind else real.families, real.kinds)


def of_dumps(whole: cp.Collection) -> Full:
    """The demonstration, by text and by token."""
    names = tuple(whole.losses)
    splits = [whole.info[model].split for model in names]
    return Full(names, whole.accuracies.benchmarks, demonstration(whole),
                np.array(splits), whole)


# ---- protocols


@dataclass(frozen=True, eq=False)
class Protocol:
    """One or several fits to models of a collection, and models to predict.

    `fits` has a pair of masks for each fit, `(M,)` each: models to fit to, and
    models to predict.
    """
    name: str
    full: Full
    fits: tuple[tuple[NDArray, NDArray], ...]

    @cached_property
    def trials(self) -> list[Trial]:
        """The fits as trials of the yard, in which all benchmarks count."""
        every = np.arange(len(self.full.benchmarks))
        return [
            Trial(self.name, f'fit {number}', self.full.values.take(fitted),
                  self.full.values.take(predicted), every)
            for number, (fitted, predicted) in enumerate(self.fits, start=1)
        ]

    def names(self, rows: NDArray) -> list[str]:
        """Names of the models of a mask."""
        return [self.full.models[place] for place in np.flatnonzero(rows)]


def by_split(name: str, full: Full, fitted: Sequence[str],
             predicted: str) -> Protocol:
    """Predict the models of a split from those of others."""
    for split in (*fitted, predicted):
        if split not in full.splits:
            raise cp.InputError(name, f'models of the split {split!r}',
                                f'those of {sorted(set(full.splits))}',
                                'Name splits of its models.csv.')
    pair = np.isin(full.splits, fitted), full.splits == predicted
    return Protocol(name, full, (pair, ))


def families_out(name: str, full: Full) -> Protocol:
    """Predict all models, each from other families, in groups of families."""
    part_of_model = dealt(full.values.families)
    fits = []
    for part in np.unique(part_of_model):
        predicted = part_of_model == part
        fits.append((~predicted, predicted))
    return Protocol(name, full, tuple(fits))


def dealt(families: NDArray) -> NDArray[np.int64]:
    """The group of each model, `(M,)`; groups never divide a family.

    The largest family goes first, into the group with the fewest models;
    families of equal size go in a random order, with a fixed seed.
    """
    names, family_of_model, n_models = np.unique(
        families, return_inverse=True, return_counts=True)
    shuffled = np.random.default_rng(0).permutation(len(names))
    part_of_family = np.empty(len(names), np.int64)
    sizes = np.zeros(PARTS, np.int64)
    for family in shuffled[np.argsort(-n_models[shuffled], kind='stable')]:
        part_of_family[family] = sizes.argmin()
        sizes[sizes.argmin()] += n_models[family]
    return part_of_family[family_of_model]


def degradations_out(name: str, full: Full) -> Protocol:
    """Predict each kind of degradation, a split, from the others.

    Models without a degradation, of the split '', are always fitted to.
    """
    fits = []
    for kind in np.unique(full.splits):
        predicted = full.splits == kind
        if kind:
            fits.append((~predicted, predicted))
    return Protocol(name, full, tuple(fits))


def protocols(shared: Path, public: Path) -> Iterator[Protocol]:
    """All protocols; those that take longest come last."""
    full = of_model_tables(tables_in(shared))
    yield by_split('public models, split', full, TRAINING, 'test')
    yield families_out('public models, families out', full)
    full = of_model_tables(tables_in(shared / 'dclm'))
    yield by_split('dclm, 7B', full, TRAINING, 'test')
    # Models of 1.4B with five times the tokens, from all with fewer.
    yield by_split('dclm, over', full, ['train'], 'validation')
    yield families_out('dclm, families out', full)
    full = of_model_tables(tables_in(shared / 'bigscience'))
    yield families_out('bigscience, families out', full)
    full = of_model_tables(
        cp.read_model_tables(*(f'{BITS}{part}.csv' for part in TABLES)))
    yield families_out('bits per character, families out', full)
    full = of_model_tables(tables_in(public / 'ladder'))
    yield by_split('ladder, split', full, TRAINING, 'test')
    for name in ('mixtures', 'overtrained'):
        full = of_model_tables(tables_in(public / name))
        yield by_split(f'{name}, split', full, ['train'], 'test')
    yield families_out('real models, families out', of_real_models(False))
    yield degradations_out('real models, degradations out',
                           of_real_models(True))
    full = of_model_tables(tables_in(shared / 'gemstones'))
    yield by_split('gemstones, split', full, TRAINING, 'test')
    full = of_dumps(cp.read_collection(shipped.COLLECTION))
    yield by_split('demonstration, split', full, TRAINING, 'test')
    yield families_out('demonstration, series out', full)


# ---- methods for token losses

#: Fits to the token losses of some models, and predicts others, by name.
DumpMethod = Callable[[cp.Collection, Sequence[str], Sequence[str]], Forecast]


def by_package(whole: cp.Collection,
               fitted: Sequence[str],
               predicted: Sequence[str],
               method: str = 'salience') -> Forecast:
    """A method of the package, by default its own default."""
    predictor = cp.fit(
        whole.losses,
        whole.accuracies.select(fitted),
        whole.families,
        method=method)
    found = predictor.predict(whole.losses.select(predicted), LEVEL)
    found = found.select(benchmarks=whole.accuracies.main)
    return Forecast(*(cube[:, :, 0]
                      for cube in (found.values, found.low, found.high)))


#: Methods for token losses, in place of those of the yard for tables.
DUMP_METHODS: dict[str, DumpMethod] = {
    'mean-loss': partial(by_package, method='mean-loss'),
    'product': by_package,
}

# ---- figures


class Row(NamedTuple):
    """Figures of a method on one benchmark of a protocol.

    The mean squared error is of fractions, the mean absolute error and the
    mean width of intervals are in points, the log score is in nats a cell. CPU
    seconds are those of all fits and benchmarks of the protocol.
    """
    protocol: str
    benchmark: str
    cells: int
    mse: float
    mae: float
    score: float
    coverage: float
    width: float
    seconds: float


def figures(protocol: Protocol, method: str) -> list[Row]:
    """Run a method on a protocol: a row for each benchmark."""
    start = time.process_time()
    forecast = predicted_by(protocol, method)
    seconds = time.process_time() - start
    observed = np.concatenate(
        [trial.predicted.accuracies for trial in protocol.trials])
    scores = log_scores(observed, forecast)
    rows = []
    for b, benchmark in enumerate(protocol.full.benchmarks):
        known = ~np.isnan(observed[:, b])
        real = observed[known, b]
        value, low, high = (part[known, b] for part in forecast)
        rows.append(
            Row(protocol.name, benchmark, len(real),
                float(np.mean((value - real)**2)),
                float(100 * np.mean(np.abs(value - real))),
                float(np.mean(scores[known, b])),
                float(np.mean((low <= real) & (real <= high))),
                float(100 * np.mean(high - low)), round(seconds, 2)))
    return rows


def predicted_by(protocol: Protocol, method: str) -> Forecast:
    """Predictions of all fits of a protocol, one after the other."""
    parts = []
    for trial, (fitted, predicted) in zip(protocol.trials, protocol.fits):
        dumps = protocol.full.dumps
        if dumps is not None and method in DUMP_METHODS:
            parts.append(DUMP_METHODS[method](dumps, protocol.names(fitted),
                                              protocol.names(predicted)))
        else:
            parts.append(METHODS[method](trial.fitted, trial.predicted))
    return Forecast(*(np.concatenate(part) for part in zip(*parts)))


class Summary(NamedTuple):
    """Figures of a method on a protocol, over its benchmarks.

    `log_mse` is the mean over benchmarks; all others are means over cells.
    """
    log_mse: float
    mae: float
    score: float
    coverage: float
    width: float
    seconds: float


def summary(rows: Sequence[Row]) -> Summary:
    """Figures over all benchmarks of a protocol."""
    cells = [row.cells for row in rows]
    means = [
        float(np.average([getattr(row, name) for row in rows], weights=cells))
        for name in ('mae', 'score', 'coverage', 'width')
    ]
    log_mse = float(np.mean(np.log([row.mse for row in rows])))
    return Summary(log_mse, *means, rows[0].seconds)


def summaries(rows: Sequence[Row]) -> dict[str, Summary]:
    """Figures by protocol."""
    names = dict.fromkeys(row.protocol for row in rows)
    return {
        name: summary([row for row in rows if row.protocol == name])
        for name in names
    }


# ---- files


def path_of(method: str, out: Path) -> Path:
    """Where figures of a method are kept."""
    return (KEPT if method == BEFORE else out) / f'full_{method}.csv'


def read(path: Path) -> list[Row]:
    """Read kept figures."""
    if not path.exists():
        return []
    with path.open(newline='') as file:
        return [
            Row(row['protocol'], row['benchmark'], int(row['cells']),
                *(float(row[name]) for name in Row._fields[3:]))
            for row in csv.DictReader(file)
        ]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Keep figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        for row in rows:
            writer.writerow([*row[:3], *(f'{value:.8g}' for value in row[3:])])


def run(method: str, everything: Sequence[Protocol], out: Path) -> list[Row]:
    """Run a method on all protocols; those that are kept are read."""
    kept = read(path_of(method, out))
    done = {row.protocol for row in kept}
    for protocol in tqdm([] if method == BEFORE else everything, desc=method):
        if protocol.name not in done:
            kept += figures(protocol, method)
            write(path_of(method, out), kept)
    asked = {protocol.name for protocol in everything}
    return [row for row in kept if row.protocol in asked]


# ---- tables


def comparison(found: dict[str, dict[str, Summary]]) -> str:
    """Every method but the first, compared with the first, in Markdown.

    Figures are by method and protocol.
    """
    base, *others = found
    rows = []
    for method in others:
        names = [name for name in found[base] if name in found[method]]
        part = [
            _compared(found[method][name], found[base][name]) for name in names
        ]
        rows += [[name, method, *row] for name, row in zip(names, part)]
        ratio, coverage, before, width, score, seconds, first = zip(*part)
        rows.append([
            f'all {len(names)}', method,
            float(np.exp(np.mean(np.log(ratio)))),
            np.mean(coverage),
            np.mean(before),
            float(np.exp(np.mean(np.log(width)))),
            np.mean(score),
            sum(seconds),
            sum(first)
        ])
    header = [
        'protocol', 'method', 'MSE ratio', 'coverage', f'of {base}',
        'width ratio', 'score', 'CPU s', f'of {base}'
    ]
    digits = ('', '', '.3f', '.3f', '.3f', '.2f', '+.2f', '.0f', '.0f')
    return tabulate(rows, header, tablefmt='pipe', floatfmt=digits)


def _compared(ours: Summary, base: Summary) -> list[float]:
    return [
        float(np.exp(ours.log_mse - base.log_mse)), ours.coverage,
        base.coverage, ours.width / base.width, ours.score - base.score,
        ours.seconds, base.seconds
    ]


def table(found: dict[str, dict[str, Summary]]) -> str:
    """The figures of all methods, in Markdown; MSE are in 1e-3."""
    rows = []
    for name in next(iter(found.values())):
        for method, of_method in found.items():
            if name in of_method:
                log_mse, *others = of_method[name]
                rows.append([name, method, 1e3 * np.exp(log_mse), *others])
    header = [
        'protocol', 'method', 'MSE', 'MAE', 'score', 'coverage', 'width',
        'CPU s'
    ]
    digits = ('', '', '.3f', '.2f', '.2f', '.3f', '.1f', '.0f')
    return tabulate(rows, header, tablefmt='pipe', floatfmt=digits)


def judge(everything: Sequence[Protocol], methods: Sequence[str],
          out: Path) -> None:
    """Run methods on protocols, keep their figures and print the tables."""
    found = {
        method: summaries(run(method, everything, out))
        for method in methods
    }
    if len(found) > 1:
        print(comparison(found), end='\n\n')
    print(table(found))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--shared', type=Path, default='../shared/real')
    parser.add_argument('--public', type=Path, default='outputs')
    parser.add_argument(
        '--methods',
        nargs='+',
        default=[BEFORE, 'product', 'mean-loss'],
        choices=[BEFORE, *METHODS])
    parser.add_argument(
        '--only',
        nargs='+',
        default=[''],
        metavar='START',
        help='protocols whose names start so (default: all)')
    parser.add_argument('--out', type=Path, default='outputs/full')
    args = parser.parse_args()
    everything = [
        protocol for protocol in protocols(args.shared, args.public)
        if protocol.name.startswith(tuple(args.only))
    ]
    judge(everything, args.methods, args.out)


if __name__ == '__main__':
    main()
