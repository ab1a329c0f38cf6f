"""The yard: some sixty quick trials by which the form of the model is chosen.

    OMP_NUM_THREADS=1 python -m tools.studies.yard --shared ../shared/real \\
        --public outputs --methods mean-loss product --seed 0 \\
        --out outputs/yard

Every trial draws models and loss columns from one collection, fits each method
to some of the models, and predicts others, mostly of families that it never
saw. The draws hang on the seed alone: one seed serves to choose, others to
judge. The table has a row for each method and group of trials:

    error     squared error over that of the first method: geometric mean over
              the benchmarks of a trial, then over the trials
    score     log score in nats a cell, less that of the first method: larger
              is better (`log_scores` says which density an interval means)
    coverage  share of the 90 % intervals that hold the observed accuracy
    width     mean width of the intervals in points

`--out` keeps the figures of every trial in CSV files, one for each method;
trials that are there are not run again. How each method differs from the first
one follows, with standard errors over the trials.

`product` is the default of the package. `one-model` calls its model of
accuracies directly, with the sources of texts where these are known. `before`
is the default of an earlier commit, whose figures are kept for the seeds 0 to
3.

Collections: those of ../shared/real, the three public ones of
tools/studies/public_tables.py, the demonstration that ships (by text), and
the kept losses of real models. Fits have at most 150 models and 400 columns.
"""
import csv
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit
from scipy.stats import norm
from scipy.stats import t as student
from tabulate import tabulate
from tqdm import tqdm

import csv_plugin as cp
from csv_plugin.core.accuracy_model import AccuracyModel, Observed
from csv_plugin.core.features import text_columns
from csv_plugin.core.kernels import UnitLosses
from csv_plugin.core.settings import Settings
from csv_plugin.demo import shipped
from csv_plugin.lm.methods import answers_by_source
from tools.studies.options import TABLES, parser_of, tables_in
from tools.studies.real_models.tables import LOSSES, RealModels

#: Kept figures of `before`, the default of commit fef2aa0d; those of the seeds
#: 2 and 3 were made at commit a99d670e, whose default has the same solver.
BEFORE, KEPT = 'before', Path(__file__).with_name('yard_before')
#: Trials of larger collections take a random part of these sizes.
MOST_FITTED, MOST_PREDICTED, MOST_COLUMNS = 150, 60, 400
#: A benchmark whose fitted models exceed chance by less than this is flat.
FLAT = 0.06
LEVEL = 0.9
#: Degrees of freedom of the density that an interval stands for.
DEGREES = 4
#: Least half width in the log score: a fifth of a point.
LEAST_HALF = 0.002
GROUPS = ('few models', 'few columns', 'larger models', 'families out',
          'few families', 'broken rows', 'flat so far', 'unlike texts')


@dataclass(frozen=True, eq=False)
class Models:
    """Losses and accuracies of M models on K columns and B benchmarks.

    `losses` are `(M, K)` in any unit, `accuracies` `(M, B)` in 0..1 or NaN;
    `families` has M names; `chance` and `n_items` are `(B,)`, 0 items if
    unknown. `sources` has K names, '' for columns that are no texts. `answers`
    has the losses of T tokens of a benchmark's own answers, `(M, T)` for each
    of B benchmarks, T = 0 for those without, or is empty.
    """
    losses: NDArray
    accuracies: NDArray
    families: NDArray
    chance: NDArray
    n_items: NDArray
    sources: NDArray
    answers: tuple[NDArray, ...] = ()

    @property
    def quality(self) -> NDArray:
        """Minus the mean logarithm of the losses: higher is better. `(M,)`"""
        return -np.log(np.maximum(self.losses, 1e-6)).mean(axis=1)

    def take(self, rows: NDArray) -> 'Models':
        """Some of the models."""
        return replace(
            self,
            losses=self.losses[rows],
            accuracies=self.accuracies[rows],
            families=self.families[rows],
            answers=tuple(part[rows] for part in self.answers))

    def columns(self, places: NDArray) -> 'Models':
        """Some of the loss columns."""
        return replace(
            self, losses=self.losses[:, places], sources=self.sources[places])

    def core_losses(self, benchmarks: NDArray) -> UnitLosses:
        """Losses as core.accuracy_model takes them, for some benchmarks."""
        answers = {
            place: self.answers[b]
            for place, b in enumerate(benchmarks)
            if self.answers and self.answers[b].shape[1]
        }
        columns = np.arange(self.losses.shape[1])
        return UnitLosses(self.losses, columns, self.sources, answers)


class Forecast(NamedTuple):
    """Predicted accuracies and ends of 90 % intervals, `(M, B)` each."""
    values: NDArray
    low: NDArray
    high: NDArray


@dataclass(frozen=True, eq=False)
class Trial:
    """Models to fit to, and models to predict.

    `judged` are places of the benchmarks that count, `(B',)`.
    """
    group: str
    name: str
    fitted: Models
    predicted: Models
    judged: NDArray


# ---- collections


@lru_cache(maxsize=None)
def collection(name: str, shared: Path, public: Path) -> Models:
    """Read a collection by name, with its main benchmarks alone."""
    if name == 'demonstration':
        # By text alone: few collections have own answers of benchmarks.
        whole = cp.read_collection(shipped.COLLECTION)
        return replace(demonstration(whole), answers=())
    if name == 'real models':
        real = RealModels.read()
        losses = real.part(LOSSES)
        sources = [unit.rsplit('/', 1)[0] for unit in losses.columns.units]
        return _models(losses, real.accuracies, real.families, sources)
    if name == 'bits per character':
        stem = str(resources.files('csv_plugin') / 'data/bits_per_character_')
        tables = cp.read_model_tables(*(f'{stem}{part}.csv'
                                        for part in TABLES))
    else:
        folder = {
            'public models': shared
        }.get(name) or next(
            path for path in (shared / name, public / name) if path.exists())
        tables = tables_in(folder)
    families = [tables.families[model] for model in tables.accuracies.models]
    return _models(tables.features, tables.accuracies, families)


def _models(losses: cp.FeatureTable,
            accuracies: cp.AccuracyTable,
            families: Sequence[str],
            sources: Sequence[str] | None = None) -> Models:
    if sources is None:
        sources = [''] * len(losses.columns.units)
    main = [accuracies.benchmarks.index(name) for name in accuracies.main]
    return Models(losses.values, accuracies.values[:,
                                                   main], np.array(families),
                  accuracies.chance[main], accuracies.n_items[main],
                  np.array(sources))


def demonstration(whole: cp.Collection) -> Models:
    """Texts and own answers of the demonstration, in the order of its dumps.
    """
    targets = whole.losses.tokens_of(next(iter(whole.losses)))
    table = targets.table({
        name: dump.texts
        for name, dump in whole.losses.items()
    })
    source = np.array([text.source for text in whole.texts])
    answers = answers_by_source(table, whole.texts, targets)
    none = np.zeros(targets.n_tokens, bool)
    accuracies = whole.accuracies.select(table.models)
    families = [whole.families[name] for name in table.models]
    return Models(
        text_columns(table).features(table).values, accuracies.values,
        np.array(families), accuracies.chance, accuracies.n_items, source,
        tuple(table.losses[:, answers.get(name, none)]
              for name in accuracies.benchmarks))


# ---- trials


@dataclass(frozen=True)
class Draw:
    """Draws the trials of one seed from the collections."""
    shared: Path
    public: Path
    seed: int

    def trials(self) -> Iterator[Trial]:
        """All trials, group by group."""
        yield from self._few_models()
        yield from self._few_columns()
        yield from self._larger_models()
        yield from self._families_out()
        yield from self._few_families()
        yield from self._broken_rows()
        yield from self._flat_so_far()
        yield from self._unlike_texts()

    def _few_models(self) -> Iterator[Trial]:
        """9 to 40 models of two families or more, all columns or a few."""
        draws = [('public models', (9, 14, 24, 40)), ('dclm', (9, 14, 24, 40)),
                 ('mixtures', (14, 24)), ('overtrained', (14, 24)),
                 ('bits per character', (9, 14)), ('ladder', (14, 24))]
        for name, sizes in draws:
            for n in sizes:
                yield self._random('few models', name, n)
        for name, n, k in (('public models', 14, 3), ('dclm', 24, 5),
                           ('mixtures', 24, 3), ('overtrained', 30, 1)):
            yield self._random('few models', name, n, k)

    def _few_columns(self) -> Iterator[Trial]:
        """1 to 11 columns, and half of the families."""
        draws = [('public models', (1, 3, 5, 11)), ('dclm', (1, 3, 11)),
                 ('mixtures', (1, 5)), ('gemstones', (3, 11)),
                 ('ladder', (1, 5)), ('bigscience', (1, ))]
        for name, sizes in draws:
            for k in sizes:
                yield self._families('few columns', name, 0.5, k)

    def _larger_models(self) -> Iterator[Trial]:
        """The best fifth to half from the others, by mean loss."""
        for name in ('public models', 'dclm', 'mixtures', 'overtrained',
                     'ladder', 'gemstones', 'bits per character',
                     'demonstration', 'bigscience'):
            yield self._better('larger models', name)

    def _families_out(self) -> Iterator[Trial]:
        """A third of the families from the others."""
        draws = [('public models', 2), ('dclm', 2), ('mixtures', 1),
                 ('ladder', 1), ('gemstones', 1), ('bits per character', 1),
                 ('demonstration', 1)]
        for name, times in draws:
            for again in range(times):
                yield self._families('families out', name, 0.67, again=again)

    def _few_families(self) -> Iterator[Trial]:
        """Two to four families, with all of their checkpoints."""
        draws = [('bigscience', 3), ('ladder', 3), ('ladder', 4),
                 ('gemstones', 2), ('gemstones', 4), ('demonstration', 2),
                 ('demonstration', 4), ('overtrained', 2), ('mixtures', 3)]
        for name, count in draws:
            yield self._families('few families', name, count)

    def _broken_rows(self) -> Iterator[Trial]:
        """One or two fitted models with broken losses or accuracies."""
        draws = [('losses', 'public models', 0), ('losses', 'dclm', 0),
                 ('losses', 'mixtures', 0), ('accuracies', 'dclm', 1),
                 ('accuracies', 'public models', 1),
                 ('losses', 'gemstones', 0)]
        for kind, name, again in draws:
            trial = self._families('broken rows', name, 0.5, again=again)
            yield replace(
                trial,
                name=f'{trial.name}, {kind}',
                fitted=self._broken(trial.fitted, kind))

    def _flat_so_far(self) -> Iterator[Trial]:
        """Benchmarks where no fitted model is clearly above chance."""
        for name in ('dclm', 'overtrained', 'ladder', 'demonstration',
                     'public models'):
            trial = self._better('flat so far', name, share=0.5)
            best = np.nanmax(trial.fitted.accuracies, axis=0)
            flat = best < trial.fitted.chance + FLAT
            if flat.any():
                yield replace(trial, judged=np.flatnonzero(flat))

    def _unlike_texts(self) -> Iterator[Trial]:
        """Texts of several kinds, without answers of a benchmark's own."""
        yield self._better('unlike texts', 'demonstration')
        yield self._families('unlike texts', 'demonstration', 0.7)
        yield self._families('unlike texts', 'demonstration', 0.5)
        yield self._families('unlike texts', 'real models', 2)

    # ---- how models are drawn

    def _start(self, group: str, name: str, *what:
               object) -> tuple[Models, np.random.Generator]:
        """A collection, and random numbers of this trial alone."""
        key = f'{self.seed} {group} {name} {what}'
        words = np.frombuffer(key.encode(), np.uint8)
        models = collection(name, self.shared, self.public)
        rng = np.random.default_rng(words)
        if models.losses.shape[1] > MOST_COLUMNS:
            drawn = rng.permutation(models.losses.shape[1])[:MOST_COLUMNS]
            models = models.columns(drawn)
        return models, rng

    def _random(self, group: str, name: str, n: int, k: int = 0) -> Trial:
        """n random models; predicted are models of the other families."""
        models, rng = self._start(group, name, n, k)
        models = _some_columns(models, k, rng)
        families = rng.permutation(np.unique(models.families))
        half = families[:max(2, len(families) * 2 // 3)]
        inside = np.isin(models.families, half)
        for _ in range(100):
            fitted = rng.permutation(np.flatnonzero(inside))[:n]
            if len(np.unique(models.families[fitted])) > 1:
                break
        return _trial(group, f'{name}, {n} models' + _of(k), models, fitted,
                      np.flatnonzero(~inside), rng)

    def _families(self,
                  group: str,
                  name: str,
                  part: float,
                  k: int = 0,
                  again: int = 0) -> Trial:
        """Some families, a share or a number; predicted are the others."""
        models, rng = self._start(group, name, part, k, again)
        models = _some_columns(models, k, rng)
        families = rng.permutation(np.unique(models.families))
        n = part if part >= 1 else round(len(families) * part)
        inside = np.isin(models.families, families[:max(int(n), 2)])
        return _trial(group, f'{name}, {part:g} of families' + _of(k), models,
                      np.flatnonzero(inside), np.flatnonzero(~inside), rng)

    def _better(self, group: str, name: str, share: float = 0) -> Trial:
        """The better models from the worse ones, of the same families or not.

        A tenth of the models is left out at random.
        """
        models, rng = self._start(group, name, share)
        share = share or rng.choice([1 / 2, 2 / 3, 4 / 5])
        models = models.take(rng.random(len(models.families)) < 0.9)
        quality = models.quality
        border = np.quantile(quality, share)
        worse = np.flatnonzero(quality <= border)
        better = np.flatnonzero(quality > border)
        return _trial(group, f'{name}, best {1 - share:.0%}', models, worse,
                      better, rng)

    def _broken(self, models: Models, kind: str) -> Models:
        rng = np.random.default_rng([self.seed, len(models.families)])
        rows = rng.permutation(len(models.families))[:rng.integers(1, 3)]
        losses, accuracies = models.losses.copy(), models.accuracies.copy()
        if kind == 'losses':
            losses[rows] *= rng.choice([2.8, 6])
        else:
            accuracies[rows] = models.chance * rng.uniform(0, 0.5)
        return replace(models, losses=losses, accuracies=accuracies)


def _some_columns(models: Models, k: int, rng: np.random.Generator) -> Models:
    if not k:
        return models
    width = models.losses.shape[1]
    return models.columns(np.sort(rng.permutation(width)[:k]))


def _of(k: int) -> str:
    return f', {k} columns' if k else ''


def _trial(group: str, name: str, models: Models, fitted: NDArray,
           predicted: NDArray, rng: np.random.Generator) -> Trial:
    fitted = np.sort(rng.permutation(fitted)[:MOST_FITTED])
    predicted = np.sort(rng.permutation(predicted)[:MOST_PREDICTED])
    known = (~np.isnan(models.accuracies[fitted])).sum(axis=0) >= 5
    asked = (~np.isnan(models.accuracies[predicted])).any(axis=0)
    return Trial(group, name, models.take(fitted), models.take(predicted),
                 np.flatnonzero(known & asked))


# ---- methods

Method = Callable[[Models, Models], Forecast]


def _features(models: Models, prefix: str) -> cp.FeatureTable:
    n, k = models.losses.shape
    return cp.FeatureTable.of_losses([f'{prefix}{i}' for i in range(n)],
                                     [f'u{i}' for i in range(k)],
                                     models.losses)


def _package(method: str, fitted: Models, predicted: Models) -> Forecast:
    """Fit and predict by the package, as for tables."""
    features = _features(fitted, 'fitted ')
    names = [f'b{i}' for i in range(len(fitted.chance))]
    accuracies = cp.AccuracyTable(features.models, tuple(names),
                                  fitted.accuracies, fitted.chance,
                                  fitted.n_items)
    families = dict(zip(features.models, map(str, fitted.families)))
    predictor = cp.fit(features, accuracies, families, method=method)
    found = predictor.predict(_features(predicted, 'new '), LEVEL)
    places = [found.benchmarks.index(name) for name in names]
    return Forecast(*(cube[:, places, 0]
                      for cube in (found.values, found.low, found.high)))


def product(fitted: Models, predicted: Models) -> Forecast:
    """The default of the package."""
    return _package('salience', fitted, predicted)


def mean_loss(fitted: Models, predicted: Models) -> Forecast:
    """The baseline of the package: the mean loss with a learned floor."""
    return _package('mean-loss', fitted, predicted)


def one_model(fitted: Models,
              predicted: Models,
              settings: Settings = Settings()) -> Forecast:
    """The model of core.accuracy_model itself, with sources and answers.

    Benchmarks without an accuracy of a fitted model are NaN.
    """
    known = ~np.isnan(fitted.accuracies)
    models = np.flatnonzero(known.any(axis=1))
    benchmarks = np.flatnonzero(known.any(axis=0))
    part = fitted.take(models)
    observed = Observed(part.accuracies[:, benchmarks],
                        list(map(str, part.families)),
                        fitted.chance[benchmarks], fitted.n_items[benchmarks])
    model = AccuracyModel(part.core_losses(benchmarks), observed, settings)
    joint = model.joint(predicted.core_losses(benchmarks))
    found = np.full((3, *predicted.accuracies.shape), np.nan)
    found[:, :, benchmarks] = joint.accuracies, *joint.intervals(LEVEL)
    return Forecast(*found)


def logit_ridge(fitted: Models, predicted: Models) -> Forecast:
    """Ridge on logits of accuracies, from standardised logarithms of losses.

    The penalty of each benchmark has the least error on families left out;
    intervals are normal, with the standard deviation of these errors.
    """
    logs = np.log(np.maximum(fitted.losses, 1e-6))
    middle, width = logs.mean(axis=0), logs.std(axis=0) + 1e-9
    new = (np.log(np.maximum(predicted.losses, 1e-6)) - middle) / width
    rows = [
        _ridge((logs - middle) / width, column, fitted.families, new)
        for column in fitted.accuracies.T
    ]
    return Forecast(*np.transpose(rows, (1, 2, 0)))


def _ridge(known: NDArray, accuracy: NDArray, families: NDArray,
           new: NDArray) -> NDArray[np.float64]:
    """Predictions and ends of intervals on one benchmark, `(3, M)`."""
    seen = ~np.isnan(accuracy)
    known, families = known[seen], families[seen]
    target = logit(np.clip(accuracy[seen], 0.01, 0.99))
    best = np.inf, 0.0, 0.0
    for penalty in np.logspace(-3, 4, 15) * known.shape[1]:
        errors = np.zeros(len(target))
        for family in np.unique(families):
            out = families == family
            if (~out).sum() > 1:
                found = _solved(known[~out], target[~out], known[out], penalty)
                errors[out] = found - target[out]
        error = np.sqrt(np.mean(errors**2))
        best = min(best, (error, penalty, error))
    values = _solved(known, target, new, best[1])
    half = norm.ppf((1 + LEVEL) / 2) * best[2]
    return expit([values, values - half, values + half])


def _solved(known: NDArray, target: NDArray, new: NDArray,
            penalty: float) -> NDArray[np.float64]:
    middle, offset = known.mean(axis=0), target.mean()
    centred = known - middle
    gram = centred @ centred.T + penalty * np.eye(len(known))
    dual = np.linalg.solve(gram, target - offset)
    return offset + (new - middle) @ (centred.T @ dual)


METHODS: dict[str, Method] = {
    'mean-loss': mean_loss,
    'logit-ridge': logit_ridge,
    'product': product,
    'one-model': one_model,
}

# ---- figures


def log_scores(observed: NDArray, forecast: Forecast) -> NDArray:
    """Log density in nats of observed accuracies, `(M, B)`.

    A prediction and its 90 % interval stand for a Student distribution with
    two halves of unlike widths, whose quantiles are the ends. A fifth of a
    point is the least half width.
    """
    above = observed > forecast.values
    up = np.maximum(forecast.high - forecast.values, LEAST_HALF)
    down = np.maximum(forecast.values - forecast.low, LEAST_HALF)
    quantile = stdtrit(DEGREES, (1 + LEVEL) / 2)
    scale = np.where(above, up, down) / quantile
    density = student.logpdf((observed - forecast.values) / scale, DEGREES)
    return density + np.log(2 * quantile / (up + down))


class Figures(NamedTuple):
    """Figures of a method in one trial; `errors` are MSE by benchmark."""
    group: str
    trial: str
    method: str
    cells: int
    log_error: float
    score: float
    coverage: float
    width: float
    seconds: float


def figures(trial: Trial, method: str) -> Figures:
    """Run a method on a trial."""
    start = time.process_time()
    forecast = METHODS[method](trial.fitted, trial.predicted)
    seconds = time.process_time() - start
    forecast = Forecast(*(part[:, trial.judged] for part in forecast))
    observed = trial.predicted.accuracies[:, trial.judged]
    known = ~np.isnan(observed)
    squares = (forecast.values - observed)**2
    by_benchmark = np.log(np.nanmean(squares, axis=0))
    inside = (forecast.low <= observed) & (observed <= forecast.high)
    scores = log_scores(observed, forecast)[known]
    return Figures(trial.group, trial.name, method, int(known.sum()),
                   float(by_benchmark.mean()), float(scores.mean()),
                   float(inside[known].mean()),
                   float(100 * (forecast.high - forecast.low)[known].mean()),
                   round(seconds, 2))


def table(found: Sequence[Figures], base: str) -> str:
    """A row for each method and group in Markdown, and one for all."""
    reference = {
        (row.group, row.trial): row
        for row in found if row.method == base
    }
    rows = []
    for group in (*GROUPS, 'all'):
        for method in dict.fromkeys(row.method for row in found):
            part = [
                row for row in found if row.method == method and group in (
                    'all', row.group) and (row.group, row.trial) in reference
            ]
            if part:
                rows.append([group, method, *_means(part, reference)])
    header = [
        'trials', 'method', 'n', 'error', 'score', 'coverage', 'least',
        'width', 'CPU s'
    ]
    return tabulate(
        rows,
        header,
        tablefmt='pipe',
        floatfmt=('', '', '.0f', '.3f', '+.2f', '.3f', '.2f', '.1f', '.1f'))


def _means(part: Sequence[Figures], reference: dict) -> list[float]:
    others = [reference[row.group, row.trial] for row in part]
    errors = np.array(
        [row.log_error - other.log_error for row, other in zip(part, others)])
    scores = [row.score - other.score for row, other in zip(part, others)]
    coverage = [row.coverage for row in part]
    return [
        len(part),
        float(np.exp(errors.mean())),
        float(np.mean(scores)),
        float(np.mean(coverage)),
        min(coverage),
        float(np.mean([row.width for row in part])),
        float(np.mean([row.seconds for row in part]))
    ]


def comparison(found: Sequence[Figures], ours: str, theirs: str) -> str:
    """How two methods differ, by group, with standard errors over trials."""
    by_trial = {(row.method, row.group, row.trial): row for row in found}
    rows = []
    for group in (*GROUPS, 'all'):
        pairs = [(row, by_trial[theirs, row.group, row.trial]) for row in found
                 if row.method == ours and group in ('all', row.group) and (
                     theirs, row.group, row.trial) in by_trial]
        if not pairs:
            continue
        errors = np.array([a.log_error - b.log_error for a, b in pairs])
        scores = np.array([a.score - b.score for a, b in pairs])
        widths = np.log([a.width / b.width for a, b in pairs])
        n = np.sqrt(len(pairs))
        rows.append([
            group,
            len(pairs),
            np.exp(errors.mean()),
            errors.std() / n,
            np.exp(errors.max()),
            scores.mean(),
            scores.std() / n,
            np.exp(np.mean(widths)),
            np.mean([a.coverage for a, _ in pairs]),
            np.mean([b.coverage for _, b in pairs])
        ])
    header = [
        'trials', 'n', 'error ratio', '+-', 'worst', 'score', '+-',
        'width ratio', f'coverage {ours}', theirs
    ]
    return tabulate(rows, header, tablefmt='pipe', floatfmt='.3f')


def read(path: Path) -> list[Figures]:
    """Read kept figures."""
    if not path.exists():
        return []
    with path.open(newline='') as file:
        return [
            Figures(row['group'], row['trial'], row['method'],
                    int(row['cells']),
                    *(float(row[name]) for name in Figures._fields[4:]))
            for row in csv.DictReader(file)
        ]


def write(path: Path, rows: Sequence[Figures]) -> None:
    """Keep figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(Figures._fields)
        for row in rows:
            writer.writerow([*row[:4], *(f'{value:.6g}' for value in row[4:])])


def run(methods: Sequence[str],
        draw: Draw,
        out: Path,
        groups: Sequence[str] = GROUPS,
        seconds: float = np.inf) -> list[Figures]:
    """Run methods on the trials of one seed; those that are kept are read.

    Trials on which the first method took more CPU seconds than `seconds` are
    left out.
    """
    trials = _unique(
        [trial for trial in draw.trials() if trial.group in groups])
    found = []
    for method in methods:
        folder = KEPT if method == BEFORE else out
        path = folder / f'{method}_{draw.seed}.csv'
        kept = read(path)
        if method == BEFORE:
            found += [row for row in kept if row.group in groups]
            continue
        done = {(row.group, row.trial) for row in kept}
        for trial in tqdm(trials, desc=f'{method}, {draw.seed}'):
            if (trial.group, trial.name) not in done:
                kept.append(figures(trial, method))
                write(path, kept)
        found += [row for row in kept if row.group in groups]
        if method == methods[0]:
            found = [row for row in found if row.seconds <= seconds]
            quick = {(row.group, row.trial) for row in found}
            trials = [
                trial for trial in trials if (trial.group, trial.name) in quick
            ]
    return found


def _unique(trials: Sequence[Trial]) -> list[Trial]:
    """Number trials of one name."""
    seen: dict[tuple[str, str], int] = {}
    numbered = []
    for trial in trials:
        key = trial.group, trial.name
        seen[key] = seen.get(key, 0) + 1
        suffix = f' ({seen[key]})' if seen[key] > 1 else ''
        numbered.append(replace(trial, name=trial.name + suffix))
    return numbered


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--shared', type=Path, default='../shared/real')
    parser.add_argument('--public', type=Path, default='outputs')
    parser.add_argument(
        '--methods', nargs='+', default=[*METHODS], choices=[BEFORE, *METHODS])
    parser.add_argument('--seed', nargs='+', type=int, default=[0])
    parser.add_argument('--groups', nargs='+', default=GROUPS, choices=GROUPS)
    parser.add_argument('--out', type=Path, default='outputs/yard')
    args = parser.parse_args()
    found = []
    for seed in args.seed:
        draw = Draw(args.shared, args.public, seed)
        for row in run(args.methods, draw, args.out, args.groups):
            found.append(row._replace(trial=f'{row.trial}, seed {seed}'))
    print(table(found, args.methods[0]))
    for ours in args.methods[1:]:
        print(f'\n{ours} against {args.methods[0]}:\n')
        print(comparison(found, ours, args.methods[0]))


if __name__ == '__main__':
    main()
