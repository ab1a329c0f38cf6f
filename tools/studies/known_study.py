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

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.run_names import run_of
from csv_plugin.io.checkpoint_names import read_revision
from tools.studies.common import error_ratio, parser_of, tables_in
from tools.studies.decisions_study import folds, zoo_folds

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

    Observed accuracies are `(M, B)`, NaN where they do not count. Forecasts
    are values and the ends of the 90 % intervals, `(3, 2, M, B)`. Ratios draw
    `groups`.
    """
    observed: NDArray[np.float64]
    forecasts: NDArray[np.float64]
    groups: Sequence[str]


def parts_of(folder: Path) -> Iterator[Part]:
    """Fits to all groups of families of a collection but one."""
    tables = tables_in(folder)
    for predictor, held_out in folds(tables):
        models = held_out.models
        yield Part(predictor, held_out, tables.accuracies.select(models),
                   [tables.families[model] for model in models])


def parts_of_zoo() -> Iterator[Part]:
    """Fits to all series of the demonstration but two."""
    for (predictor, held_out), accuracies, families in zoo_folds():
        models = held_out.models
        yield Part(predictor, held_out, accuracies.select(models),
                   [families[model] for model in models])


def _cubes(found: Predictions) -> NDArray[np.float64]:
    """Values and ends of intervals, `(3, M, B)`."""
    return np.stack([found.values, found.low, found.high])[..., 0]


def other_benchmarks(part: Part) -> Cells:
    """Predict each main benchmark from those that are no doubles of it."""
    predictor, features, accuracies, families = part
    names = predictor.names
    table = accuracies.reindexed(features.models, names)
    alone = _cubes(predictor.predict(features))
    with_known = alone.copy()
    observed = np.full(table.values.shape, np.nan)
    # Models of a family, which may be runs, are predicted one by one.
    each = {model: model for model in features.models}
    for name in predictor.main:
        hidden = {name}
        for pair in DOUBLES:
            if name in pair:
                hidden.update(pair)
        told = np.where(np.isin(names, list(hidden)), np.nan, table.values)
        both = predictor.predict(
            features, families=each, known=replace(table, values=told))
        b = names.index(name)
        with_known[:, :, b] = _cubes(both)[:, :, b]
        observed[:, b] = table.values[:, b]
    return Cells(observed, np.stack([alone, with_known], axis=1), families)


def checkpoints(part: Part, asked_of: str) -> Optional[Cells]:
    """Predict the `BETWEEN` or `LATER` ones of runs; None without runs."""
    predictor, features, accuracies, _ = part
    models = features.models
    table = accuracies.reindexed(models, predictor.names)
    known, asked = np.zeros((2, len(models)), bool)
    runs = np.array([run_of(model) for model in models], object)
    for run in np.unique(runs):
        rows = [row for row in np.flatnonzero(runs == run)
                if '@' in models[row]]  # yapf: disable
        if len(rows) >= LEAST:
            rows.sort(key=lambda row: _step(models[row]))
            told = rows[:len(rows) // 2] if asked_of == LATER else rows[::2]
            asked[rows] = True
            asked[told] = False
            known[told] = True
    if not asked.any():
        return None
    of_known = replace(
        table, values=np.where(known[:, None], table.values, np.nan))
    ways = [
        _cubes(predictor.predict(features, known=each))
        for each in (None, of_known)
    ]
    is_main = np.isin(predictor.names, predictor.main)
    observed = np.where(asked[:, None] & is_main, table.values, np.nan)
    return Cells(observed, np.stack(ways, axis=1), list(runs))


def _step(model: str) -> int:
    revision = read_revision(model.rpartition('@')[2])
    assert revision is not None, model
    return revision.step


def joined(cells: Sequence[Cells]) -> Cells:
    """Cells of all parts of a collection, whose benchmarks are the same."""
    groups: list[str] = []
    for part in cells:
        groups += part.groups
    return Cells(
        np.concatenate([part.observed for part in cells]),
        np.concatenate([part.forecasts for part in cells], axis=2), groups)


def row_of(name: str, asked: str, cells: Cells) -> list[str]:
    """Return the row of a collection and a question."""
    counts = ~np.isnan(cells.observed).all(axis=0)
    observed = cells.observed[:, counts]
    values, low, high = cells.forecasts[..., counts]
    squares = (values - observed)**2
    means = 1e3 * np.exp(np.log(np.nanmean(squares, axis=1)).mean(axis=1))
    ratio, least, most = error_ratio(squares[1], squares[0], cells.groups)
    seen = ~np.isnan(observed)
    inside = (low <= observed) & (observed <= high)
    covered = inside.sum(axis=(1, 2)) / seen.sum()
    widths = 100 * (high - low)[:, seen].mean(axis=1)
    return [
        name, asked, f'{seen.sum()}', f'{means[0]:.3f}', f'{means[1]:.3f}',
        f'{ratio:.2f} ({least:.2f} - {most:.2f})', f'{covered[0]:.2f}',
        f'{covered[1]:.2f}', f'{widths[0]:.1f}', f'{widths[1]:.1f}'
    ]


def rows_of(name: str, parts: Sequence[Part]) -> Iterator[list[str]]:
    """Rows of a collection."""
    for asked in (OTHERS, BETWEEN, LATER):
        cells = []
        for part in parts:
            found = (
                other_benchmarks(part) if asked == OTHERS else checkpoints(
                    part, asked))
            if found is not None:
                cells.append(found)
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
