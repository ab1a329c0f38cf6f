"""The yard: 75 quick trials by which the form of the model is chosen.

    OMP_NUM_THREADS=1 python -m tools.studies.yard --seed 0 --out outputs/yard

Every trial draws models and loss columns from one collection, fits each method
to some of the models, and predicts others, mostly of families that it never
saw. The draws hang on the seed alone: one seed serves to choose, others to
judge. The table compares the default with the mean loss by group of trials:

    error     ratio of the squared errors: geometric mean over the benchmarks
              of a trial, then over the trials, with its standard error, and
              the largest one of a trial
    score     log score in nats a cell, less that of the mean loss: larger is
              better (`trials.log_scores` says which density is meant)
    width     ratio of the mean widths of the 90 % intervals
    coverage  share of the intervals that hold the observed accuracy

`--out` keeps the figures of every trial in CSV files; trials that are there
are not run again. `--base` is such a folder of another commit, whose default
then takes the place of the mean loss. `--shared` has collections that are no
part of the project, `--public` those of tools/studies/public_tables.py. Fits
have at most 150 models and 400 columns.
"""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from tools.studies.common import parser_of
from tools.studies.real_models import RealModels
from tools.studies.trials import Figures, Models, Trial
from tools.studies.trials import collection as read_collection
from tools.studies.trials import column, run

#: Trials of larger collections take a random part of these sizes.
MOST_FITTED, MOST_PREDICTED, MOST_COLUMNS = 150, 60, 400
#: A benchmark whose fitted models exceed chance by less than this is flat.
FLAT = 0.06


@lru_cache(maxsize=None)
def collection(name: str, shared: Path, public: Path) -> Models:
    """Read a collection; few collections have own answers of benchmarks."""
    if name == 'real models':
        real = RealModels.read()
        return real.texts(real.families)
    models = read_collection(name, shared, public)
    return replace(models, answers=(), shares=None)


@dataclass(frozen=True)
class Draw:
    """Draws the trials of one seed from the collections."""
    shared: Path
    public: Path
    seed: int

    def trials(self) -> list[Trial]:
        """All trials, group by group; trials of one name are numbered."""
        seen: dict[tuple[str, str], int] = {}
        numbered = []
        for trial in self._all():
            key = trial.group, trial.name
            seen[key] = seen.get(key, 0) + 1
            suffix = f' ({seen[key]})' if seen[key] > 1 else ''
            numbered.append(replace(trial, name=trial.name + suffix))
        return numbered

    def _all(self) -> Iterator[Trial]:
        yield from self._few_models()
        yield from self._few_columns()
        # The best fifth to half from the others, by mean loss.
        for name in ('public models', 'dclm', 'mixtures', 'overtrained',
                     'ladder', 'gemstones', 'bits per character',
                     'demonstration', 'bigscience'):
            yield self._better('larger models', name)
        # A third of the families from the others.
        for name, times in (('public models', 2), ('dclm', 2), ('mixtures', 1),
                            ('ladder', 1), ('gemstones', 1),
                            ('bits per character', 1), ('demonstration', 1)):
            for again in range(times):
                yield self._families('families out', name, 0.67, again=again)
        # Two to four families, with all of their checkpoints.
        for name, count in (('bigscience', 3), ('ladder', 3), ('ladder', 4),
                            ('gemstones', 2), ('gemstones', 4),
                            ('demonstration', 2), ('demonstration', 4),
                            ('overtrained', 2), ('mixtures', 3)):
            yield self._families('few families', name, count)
        yield from self._broken_rows()
        yield from self._flat_so_far()
        # Texts of several kinds, without answers of a benchmark's own.
        yield self._better('unlike texts', 'demonstration')
        for name, part in (('demonstration', 0.7), ('demonstration', 0.5),
                           ('real models', 2)):
            yield self._families('unlike texts', name, part)

    def _few_models(self) -> Iterator[Trial]:
        """9 to 40 models of two families or more, all columns or a few."""
        draws = [('public models', (9, 14, 24, 40)), ('dclm', (9, 14, 24, 40)),
                 ('mixtures', (14, 24)), ('overtrained', (14, 24)),
                 ('bits per character', (9, 14)), ('ladder', (14, 24))]
        for name, sizes in draws:
            for n in sizes:
                yield self._random(name, n)
        for name, n, k in (('public models', 14, 3), ('dclm', 24, 5),
                           ('mixtures', 24, 3), ('overtrained', 30, 1)):
            yield self._random(name, n, k)

    def _few_columns(self) -> Iterator[Trial]:
        """1 to 11 columns, and half of the families."""
        draws = [('public models', (1, 3, 5, 11)), ('dclm', (1, 3, 11)),
                 ('mixtures', (1, 5)), ('gemstones', (3, 11)),
                 ('ladder', (1, 5)), ('bigscience', (1, ))]
        for name, sizes in draws:
            for k in sizes:
                yield self._families('few columns', name, 0.5, k)

    def _broken_rows(self) -> Iterator[Trial]:
        """One or two fitted models with broken losses or accuracies."""
        for kind, name, again in (('losses', 'public models',
                                   0), ('losses', 'dclm',
                                        0), ('losses', 'mixtures',
                                             0), ('accuracies', 'dclm', 1),
                                  ('accuracies', 'public models',
                                   1), ('losses', 'gemstones', 0)):
            trial = self._families('broken rows', name, 0.5, again=again)
            [(fitted, _)] = trial.fits
            yield replace(
                trial,
                name=f'{trial.name}, {kind}',
                models=self._broken(trial.models, fitted, kind))

    def _broken(self, models: Models, fitted: NDArray, kind: str) -> Models:
        rng = np.random.default_rng([self.seed, len(fitted)])
        rows = fitted[rng.permutation(len(fitted))[:rng.integers(1, 3)]]
        losses, accuracies = models.losses.copy(), models.accuracies.copy()
        if kind == 'losses':
            losses[rows] *= rng.choice([2.8, 6])
        else:
            accuracies[rows] = models.chance * rng.uniform(0, 0.5)
        return replace(models, losses=losses, accuracies=accuracies)

    def _flat_so_far(self) -> Iterator[Trial]:
        """Benchmarks where no fitted model is clearly above chance."""
        for name in ('dclm', 'overtrained', 'ladder', 'demonstration',
                     'public models'):
            trial = self._better('flat so far', name, share=0.5)
            [(fitted, _)] = trial.fits
            best = np.nanmax(trial.models.accuracies[fitted], axis=0)
            flat = best < trial.models.chance + FLAT
            if flat.any():
                yield replace(trial, judged=np.flatnonzero(flat))

    # ---- how models are drawn

    def _start(self, group: str, name: str, *what:
               object) -> tuple[Models, np.random.Generator]:
        """A collection, and random numbers of this trial alone."""
        key = f'{self.seed} {group} {name} {what}'
        rng = np.random.default_rng(np.frombuffer(key.encode(), np.uint8))
        models = collection(name, self.shared, self.public)
        if models.losses.shape[1] > MOST_COLUMNS:
            drawn = rng.permutation(models.losses.shape[1])[:MOST_COLUMNS]
            models = models.columns(drawn)
        return models, rng

    def _random(self, name: str, n: int, k: int = 0) -> Trial:
        """n random models; predicted are models of the other families."""
        models, rng = self._start('few models', name, n, k)
        models = _some_columns(models, k, rng)
        families = rng.permutation(np.unique(models.families))
        half = families[:max(2, len(families) * 2 // 3)]
        inside = np.isin(models.families, half)
        for _ in range(100):
            fitted = rng.permutation(np.flatnonzero(inside))[:n]
            if len(np.unique(models.families[fitted])) > 1:
                break
        return _trial('few models', f'{name}, {n} models' + _of(k), models,
                      fitted, np.flatnonzero(~inside), rng)

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
        worse = models.quality <= np.quantile(models.quality, share)
        return _trial(group, f'{name}, best {1 - share:.0%}', models,
                      np.flatnonzero(worse), np.flatnonzero(~worse), rng)


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
    return Trial(group, name, models, [(fitted, predicted)],
                 np.flatnonzero(known & asked))


def table(ours: Sequence[Figures], theirs: Sequence[Figures]) -> str:
    """How two methods differ on the same trials, by group, in Markdown."""
    groups = column(ours, 'group')
    errors = column(ours, 'log_error') - column(theirs, 'log_error')
    scores = column(ours, 'score') - column(theirs, 'score')
    widths = np.log(column(ours, 'width') / column(theirs, 'width'))
    rows = []
    for group in (*dict.fromkeys(groups), 'all'):
        inside = (groups == group) | (group == 'all')
        root = np.sqrt(inside.sum())
        rows.append([
            group,
            inside.sum(),
            np.exp(errors[inside].mean()), errors[inside].std() / root,
            np.exp(errors[inside].max()), scores[inside].mean(),
            scores[inside].std() / root,
            np.exp(widths[inside].mean()),
            column(ours, 'coverage')[inside].mean(),
            column(theirs, 'coverage')[inside].mean()
        ])
    header = [
        'trials', 'n', 'error ratio', '+-', 'worst', 'score', '+-',
        'width ratio', 'coverage', 'of the other'
    ]
    return tabulate(rows, header, tablefmt='pipe', floatfmt='.3f')


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--shared', type=Path, default='../shared/real')
    parser.add_argument('--public', type=Path, default='outputs')
    parser.add_argument('--seed', nargs='+', type=int, default=[0])
    parser.add_argument('--out', type=Path, default='outputs/yard')
    parser.add_argument('--base', type=Path)
    args = parser.parse_args()
    ours: list[Figures] = []
    theirs: list[Figures] = []
    for seed in args.seed:
        trials = Draw(args.shared, args.public, seed).trials()
        name = f'salience_{seed}.csv'
        ours += run(trials, 'salience', args.out / name)
        if args.base:
            theirs += run(trials, 'salience', args.base / name)
        else:
            theirs += run(trials, 'mean-loss',
                          args.out / f'mean-loss_{seed}.csv')
    print(table(ours, theirs))


if __name__ == '__main__':
    main()
