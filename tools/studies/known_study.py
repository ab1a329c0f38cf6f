"""What known accuracies are worth: the table of docs/known_accuracies.md.

    T=../shared/real
    OMP_NUM_THREADS=1 python -m tools.studies.known_study $T $T/dclm \\
        $T/bigscience --zoo

The folders contain losses, scores, models and benchmarks as docs/formats.md
describes them; `--zoo` adds the demonstration. Families are dealt to groups,
and each group is predicted by a fit to the others. What is predicted:

* other benchmarks: every main benchmark is predicted in turn, from the losses
  alone, and from the losses and the model's accuracies on all other
  benchmarks, but for those that measure nearly the same (`DOUBLES`);
* other checkpoints: of each run with `LEAST` checkpoints or more, named
  run@step, the accuracies of every second one are known, and those of the
  others are predicted, on the main benchmarks;
* later checkpoints: of the same runs, the first half is known.
"""
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.runs import run_of
from csv_plugin.io.checkpoint_names import read_revision
from tools.studies.decisions_study import zoo_folds
from tools.studies.full_collections import dealt
from tools.studies.options import parser_of, tables_in
from tools.studies.resampling import error_ratio

#: Benchmarks that measure nearly the same: one is hidden with the other.
DOUBLES = (('piqa', 'core_piqa'), ('arc_easy', 'core_arc_easy'),
           ('lambada_openai_invppl', 'core_lambada'),
           ('mmlu_zeroshot', 'mmlu_fewshot'), ('hellaswag_zeroshot',
                                               'hellaswag'))
#: Fewest checkpoints of a run of which half are known.
LEAST = 4
OTHERS, BETWEEN, LATER = ('other benchmarks', 'other checkpoints',
                          'later checkpoints')
HEADER = ('models', 'predicted', 'cells', 'MSE without, 1e-3', 'with',
          'ratio (90 %)', 'coverage without', 'with', 'width without', 'with')


class Part(NamedTuple):
    """A predictor, and models of families that it was not fitted to."""
    predictor: Predictor
    features: FeatureTable
    accuracies: AccuracyTable
    families: Sequence[str]


class Cells(NamedTuple):
    """Predictions of M models on B benchmarks, without and with known ones.

    Observed accuracies are `(M, B)`, NaN where they do not count. Values and
    the ends of the 90 % intervals are `(2, M, B)`. Ratios draw `groups`.
    """
    observed: NDArray[np.float64]
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    groups: Sequence[str]


def parts_of(folder: Path) -> Iterator[Part]:
    """Fits to all groups of families of a collection but one."""
    tables = tables_in(folder)
    names = np.array(tables.features.models, object)
    families = np.array([tables.families[model] for model in names], object)
    accuracies = tables.accuracies.select(list(names))
    group = dealt(families)
    for k in tqdm(np.unique(group), desc=f'fits of {folder.name}'):
        sides = [list(names[rows]) for rows in (group != k, group == k)]
        predictor = fit_predictor(tables.features, accuracies.select(sides[0]),
                                  families[group != k])
        yield Part(predictor, tables.features.select(sides[1]),
                   accuracies.select(sides[1]), families[group == k])


def parts_of_zoo() -> Iterator[Part]:
    """Fits to all series of the demonstration but two."""
    for fold, accuracies, families in zoo_folds():
        models = fold.held_out.models
        yield Part(fold.predictor, fold.held_out, accuracies.select(models),
                   [families[model] for model in models])


def other_benchmarks(part: Part) -> Cells:
    """Predict each main benchmark from those that are no doubles of it."""
    predictor, features, accuracies, families = part
    names = predictor.names
    table = accuracies.reindexed(features.models, names)
    alone = predictor.predict(features)
    found = [
        np.stack([cube[:, :, 0]] * 2)
        for cube in (alone.values, alone.low, alone.high)
    ]
    observed = np.full(table.values.shape, np.nan)
    for b, name in enumerate(names):
        if name not in predictor.main:
            continue
        hidden = {name}.union(*(pair for pair in DOUBLES if name in pair))
        told = np.where(np.isin(names, list(hidden)), np.nan, table.values)
        # Models of a family, which may be runs, are predicted one by one.
        both = predictor.predict(
            features,
            families={model: model
                      for model in features.models},
            known=replace(table, values=told))
        for cubes, cube in zip(found, (both.values, both.low, both.high)):
            cubes[1][:, b] = cube[:, b, 0]
        observed[:, b] = table.values[:, b]
    return Cells(observed, *found, families)


def checkpoints(part: Part, asked_of: str) -> Optional[Cells]:
    """Predict the `BETWEEN` or `LATER` ones of runs; None without runs."""
    predictor, features, accuracies, _ = part
    table = accuracies.reindexed(features.models, predictor.names)
    known, asked = np.zeros((2, len(features.models)), bool)
    runs = np.array([run_of(model) for model in features.models], object)
    for run in np.unique(runs):
        rows = [row for row in np.flatnonzero(runs == run)
                if '@' in features.models[row]]  # yapf: disable
        if len(rows) >= LEAST:
            rows.sort(key=lambda row: _step(features.models[row]))
            if asked_of == LATER:
                told = rows[:len(rows) // 2]
            else:
                told = rows[::2]
            known[told] = True
            asked[[row for row in rows if row not in told]] = True
    if not asked.any():
        return None
    of_known = replace(
        table, values=np.where(known[:, None], table.values, np.nan))
    ways = [
        predictor.predict(features, known=each) for each in (None, of_known)
    ]
    is_main = np.isin(predictor.names, predictor.main)
    observed = np.where(asked[:, None] & is_main, table.values, np.nan)
    cubes = [
        np.stack([getattr(way, part)[:, :, 0] for way in ways])
        for part in ('values', 'low', 'high')
    ]
    return Cells(observed, *cubes, list(runs))


def _step(model: str) -> int:
    revision = read_revision(model.rpartition('@')[2])
    assert revision is not None, model
    return revision.step


def joined(cells: Sequence[Cells]) -> Cells:
    """Cells of all parts of a collection, whose benchmarks are the same."""
    groups = [group for part in cells for group in part.groups]
    return Cells(
        np.concatenate([part.observed for part in cells]),
        *(np.concatenate([part[i] for part in cells], axis=1)
          for i in (1, 2, 3)), groups)


def row_of(name: str, asked: str, cells: Cells) -> list[str]:
    """Return the row of a collection and a question."""
    counts = ~np.isnan(cells.observed).all(axis=0)
    observed, values, low, high = (
        cube[..., counts] for cube in cells[:4])  # yapf: disable
    squares = (values - observed)**2
    means = 1e3 * np.exp(np.log(np.nanmean(squares, axis=1)).mean(axis=1))
    ratio, least, most = error_ratio(squares[1], squares[0], cells.groups)
    seen = ~np.isnan(observed)
    inside = (low <= observed) & (observed <= high)
    covered = inside.sum(axis=(1, 2)) / seen.sum()
    widths = 100 * np.where(seen, high - low, 0).sum(axis=(1, 2)) / seen.sum()
    return [
        name, asked,
        str(seen.sum()), *(f'{mean:.3f}' for mean in means),
        f'{ratio:.2f} ({least:.2f} - {most:.2f})',
        *(f'{share:.2f}' for share in covered), *(f'{width:.1f}'
                                                  for width in widths)
    ]


def rows_of(name: str, parts: Sequence[Part]) -> Iterator[list[str]]:
    """Rows of a collection."""
    for asked in (OTHERS, BETWEEN, LATER):
        found = [
            other_benchmarks(part) if asked == OTHERS else checkpoints(
                part, asked) for part in parts
        ]
        cells = [each for each in found if each is not None]
        if cells:
            yield row_of(name, asked, joined(cells))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('folders', nargs='*', type=Path, metavar='FOLDER')
    parser.add_argument('--zoo', action='store_true', help='the demonstration')
    args = parser.parse_args()
    rows = []
    for folder in args.folders:
        rows += rows_of(folder.name, [*parts_of(folder)])
    if args.zoo:
        rows += rows_of('demonstration', [*parts_of_zoo()])
    print(tabulate(rows, HEADER, 'pipe', disable_numparse=True))


if __name__ == '__main__':
    main()
