"""Notes for readers of predictions, one line each."""
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.escaping import same_look
from csv_plugin.core.formatting import number, percent
from csv_plugin.core.model_losses import MIXED
from csv_plugin.core.overall import MEAN_ERROR, Overall
from csv_plugin.core.predictions import (NOT_YET, REAL, Missing, Predictions,
                                         outliers)
from csv_plugin.core.predictor import BenchmarkFit, Predictor

#: With fewer models a note says that there are few.
_ENOUGH = 9
#: Advice where models or families are too few; one family leaves nothing to
#: leave out.
_WOULD_DO = (f'{_ENOUGH} models of 3 families would do, some dozens are '
             'better')

#: Meaning of the differences in tables with real accuracies.
DIFFERENCES = ('diff is predicted minus real; '
               f'{MEAN_ERROR} leaves out models marked *.')

_Key = TypeVar('_Key', bound=Hashable)

_DIFFER = ('differ only in letter case, invisible characters or letters that '
           'look alike')


def _alike(pairs: Iterable[tuple[_Key, str]]) -> dict[_Key, list[str]]:
    """Names by key, in the order of the first."""
    names: dict[_Key, list[str]] = {}
    for key, name in pairs:
        names.setdefault(key, []).append(name)
    return names


def _named(names: Sequence[str], everything: Sequence[str], kind: str) -> str:
    if len(names) == len(everything) > 1:
        return f'all {len(everything)} {kind}'
    return first(names)


def first(names: Sequence[str], most: int = 8) -> str:
    """Names in a line, and how many more there are."""
    more = len(names) - most
    return ', '.join(names[:most]) + (f' and {more} more' if more > 0 else '')


def prediction_notes(predictions: Predictions, overall: Overall) -> list[str]:
    """Return all notes on predictions beside the real accuracies.

    `overall` has their means.
    """
    legend = []
    if np.isfinite(predictions.values).any():
        legend = predictions.legend()
        if predictions.has_real():
            legend.append(DIFFERENCES)
    return [
        *legend, *reasons(predictions), *findings(predictions, overall),
        *outside_notes(predictions)
    ]


def reasons(predictions: Predictions) -> Iterator[str]:
    """Why cells have no number, cells with the same reason in one line."""
    models, benchmarks = predictions.models, predictions.benchmarks
    columns = REAL, *predictions.methods
    groups: list[tuple[Any, ...]] = [
        ((column, ), (model, ), (name, ), predictions.missing[model, name,
                                                              column].reason)
        for column, model, name in product(columns, models, benchmarks)
        if (model, name, column) in predictions.missing
    ]
    # Join benchmarks of a model, models with the same ones, then columns.
    for axis in (2, 1, 0):
        alike = _alike(((*group[:axis], *group[axis + 1:]), group[axis][0])
                       for group in groups)
        groups = [(*rest[:axis], tuple(names), *rest[axis:])
                  for rest, names in alike.items()]
    for named, who, where, reason in groups:
        of_models = _named(who, models, 'models')
        on_benchmarks = _named(where, benchmarks, 'benchmarks')
        yield f'{", ".join(named)} of {of_models} on {on_benchmarks}: {reason}'


def findings(predictions: Predictions, overall: Overall) -> Iterator[str]:
    """Yield the agreement of predictions and real accuracies."""
    main = predictions.main
    if len(main) > 1:
        yield from _of_means(predictions, overall)
    if len(main) < len(predictions.benchmarks):
        rest = [name for name in predictions.benchmarks if name not in main]
        yield ('Means leave out benchmarks that are not main ones: '
               f'{first(rest)}.')
    far = outliers(predictions)
    if far:
        method = predictions.methods[0]
        # No score lies outside of 0 to 1.
        narrow = ((predictions.low[:, :, 0] > 0) |
                  (predictions.high[:, :, 0] < 1))
        n_cells = (predictions.held_out(method) & narrow).sum()
        # Most single predictions that a line names.
        most = 4
        expected = (1 - predictions.level) * n_cells
        named = [
            f'{cell.model} on {cell.benchmark} ({percent(cell.observed):.1f}, '
            f'interval {percent(cell.low):.1f}-{percent(cell.high):.1f})'
            for cell in far
        ]
        yield (
            f'{method}: {len(far)} of {n_cells} real scores lie outside of '
            f'their interval, where about {expected:.0f} are expected to: ' +
            first(named, most))


def outcome(predictions: Predictions) -> Iterator[str]:
    """Yield one line on the errors of all predictors on held-out models."""
    main = predictions.methods[0]
    parts = []
    for method in predictions.methods:
        held_out = predictions.held_out(method)
        if held_out.any():
            sizes = np.abs(predictions.difference(method))[held_out]
            parts.append(f'{method} {percent(sizes.mean()):.1f}')
    if parts:
        n_inside = predictions.covered(main).sum()
        yield (f'Mean absolute error in points: {", ".join(parts)}. '
               f'{n_inside} of {predictions.held_out(main).sum()} accuracies '
               f'lie in their {predictions.level:.0%} intervals.')


def item_notes(predictions: Predictions, items: Mapping[tuple[str, str],
                                                        int]) -> Iterator[str]:
    """Yield on which benchmarks only a part of the items was run.

    `items` are the numbers of items by model and benchmark.
    """
    fewer = (predictions.more_noise > 0).any(axis=2)
    for b, name in enumerate(predictions.benchmarks):
        numbers = sorted({
            items[model, name]
            for model, few in zip(predictions.models, fewer[:, b]) if few
        })
        if numbers:
            most = f' to {numbers[-1]}' if numbers[-1] > numbers[0] else ''
            yield (f'real on {name}: of {numbers[0]}{most} items, a part of '
                   'the benchmark. What the noise of so few items explains '
                   'does not count as outside.')


def _of_means(predictions: Predictions, overall: Overall) -> Iterator[str]:
    some = len(overall.benchmarks) < len(predictions.main)
    sentences = []
    if overall.ranked.any():
        sentences.append('Rank 1 is the largest mean.')
    if some:
        sentences.append(
            f'Means are over {first(overall.benchmarks)}; on other '
            'benchmarks, too many scores or predictions are missing, or '
            'nothing is predictable yet.')
    if sentences:
        yield ' '.join(sentences)
    means = overall.values
    if not np.isnan(overall.real).all():
        means = np.column_stack([overall.real, means])
    if np.isnan(means).any():
        yield ('No mean where a number on one of the benchmarks is missing; '
               'ranks count only models that have a real and a predicted one.')
    agreements = []
    for method in overall.methods:
        spearman, n_models = overall.agreement(method)
        if not math.isnan(spearman):
            agreements.append(
                f'{method} {spearman:.2f} ({n_models} held-out models)')
    if agreements:
        yield ('Rank agreement of predicted and real means (Spearman, 1 is '
               f'the same order, 0 is no relation): {", ".join(agreements)}.')


def mean_notes(overall: Overall, level: float) -> Iterator[str]:
    """Yield what ranges of ranks mean, and which models may be the best.

    Where the best one is certain, it is not named. There are no notes on means
    of a single benchmark.
    """
    if len(overall.benchmarks) < 2:
        return
    # Most models that are named as perhaps the best, and their least
    # probability.
    n_likely, least_likely = 3, .01
    uncertain = False
    for method, view in overall.views.items():
        uncertain |= bool((view.first < view.last).any())
        if (view.last == 1).any() or (~np.isnan(view.best)).sum() < 2:
            continue
        likely = np.argsort(-view.best, kind='stable')[:n_likely]
        named = [
            f'{overall.models[m]} ({view.best[m]:.0%})' for m in likely
            if view.best[m] >= least_likely
        ]
        yield (f'{method}: the largest mean is probably that of '
               f'{", ".join(named)}')
    if uncertain:
        yield (f'ranks such as 2-4: with a probability of {level:.0%} the '
               'rank lies there, as the losses cannot order these models.')


def outside_notes(predictions: Predictions) -> Iterator[str]:
    """Models of which most predictions are extrapolated.

    Training models are left out.
    """
    predicted = np.isfinite(predictions.values) & ~predictions.in_sample
    outside = (predictions.extrapolated & predicted).sum(axis=1)
    mostly = outside > predicted.sum(axis=1) / 2
    alike = _alike((tuple(np.array(predictions.models, object)[far]), method)
                   for method, far in zip(predictions.methods, mostly.T)
                   if far.any())
    for models, methods in alike.items():
        yield (f'{", ".join(methods)}: far from the training models (>): '
               f'{_named(models, predictions.models, "models")}. Expect '
               'errors of 1.5 times those near the training models, or more: '
               'fit to models that are more like them, and check that losses '
               'have one unit.')


def predictor_notes(predictors: Mapping[str, Union[Predictor, Missing]],
                    paths: Mapping[str, str]) -> list[str]:
    """The files of predictors, and notes on their training, by label.

    Why predictors are unusable is said only if all are; else the cells of the
    leaderboard have the reason.
    """
    lines = []
    unusable = []
    for label, predictor in predictors.items():
        if isinstance(predictor, Missing):
            unusable.append(f'{label}: {predictor.reason}')
        else:
            lines.append(f'{label}: {paths[label]}')
            lines += [f'{label}, {line}' for line in learning_notes(predictor)]
    return lines or unusable


def learning_notes(predictor: Predictor, verbose: bool = False) -> list[str]:
    """Notes on the training of a predictor, by benchmark.

    `verbose` adds all notes of the training.
    """
    remarks = [(remark, part.benchmark) for part in predictor.benchmarks
               for remark in _remarks(part)]
    lines = _by_remark(remarks, predictor.names)
    for part in predictor.benchmarks if verbose else ():
        lines += [
            f'{part.benchmark}: {note}' for note in part.notes
            if (note, part.benchmark) not in remarks
        ]
    return lines


def outlier_notes(predictor: Predictor) -> list[str]:
    """Training models that lie far off, and what they do to the error."""
    if not predictor.outliers:
        return []
    squares = (predictor.observed - predictor.left_out)**2
    sound = ~np.isin(predictor.fit_models, list(predictor.outliers))
    with_all, without = (
        percent(np.sqrt(np.nanmean(part)))
        if np.isfinite(part).any() else math.nan
        for part in (squares, squares[sound]))
    worst = sorted(predictor.outliers.items(), key=lambda item: -item[1])
    named = [
        f'{model} ({size:.1f} times the expected error)'
        for model, size in worst
    ]
    return [
        f'Outliers among the training models, which count less: {first(named)}'
        f'. Without them, the error of families left out is '
        f'{number(without)} points, with them {number(with_all)}. Check their '
        'losses and scores.'
    ]


def _by_remark(remarks: Iterable[tuple[str, str]],
               benchmarks: Sequence[str]) -> list[str]:
    """Pairs of a remark and a benchmark; equal remarks are one line."""
    return [
        f'{_named(names, benchmarks, "benchmarks")}: {remark}'
        for remark, names in _alike(remarks).items()
    ]


def _remarks(part: BenchmarkFit) -> Iterator[str]:
    yield from (note for note in part.notes if note.startswith(MIXED))
    if part.at_chance:
        yield NOT_YET
    if len(part.fit_models) < _ENOUGH:
        yield (f'fitted to {len(part.fit_models)} models, so that '
               f'intervals are wide: {_WOULD_DO}')


def shortage_notes(accuracies: AccuracyTable, families: Mapping[str, str],
                   fitted: Sequence[str]) -> list[str]:
    """Lines on benchmarks with too few training models, before the fit.

    `accuracies` are of the `fitted` models and perhaps more, `families` by
    model. Returns what is too few and what follows.
    """
    found = []
    for name in accuracies.benchmarks:
        column = accuracies.select(fitted).column(name)
        models = [m for m, score in zip(fitted, column) if score == score]
        few = _too_few(len(models), len({families[m] for m in models}))
        if few:
            found.append((few, name))
    return _by_remark(found, accuracies.benchmarks)


def _too_few(n: int, n_families: int) -> str:
    """Consequence of n models of so many families; empty if enough."""
    if not n:
        return 'left out, as no model to fit to was run there.'
    if n_families < 2:
        result = ('no family can be left out, so that nothing shows how far '
                  'errors go')
    elif n < _ENOUGH:
        result = 'intervals are wide'
    else:
        return ''
    noun = 'family' if n_families == 1 else 'families'
    return (f'too few models to fit to, {n} of {n_families} {noun}: {result}. '
            f'{_WOULD_DO}.')


def family_notes(families: Mapping[str, str],
                 losses: Mapping[str, NDArray]) -> list[str]:
    """Lines on names that look alike, and on models in several families.

    Both arguments are by model; losses are all of a model's, in any shape.
    """
    # Escapes tell letters of other scripts from those that look the same.
    alike = _alike((same_look(name), ascii(name))
                   for name in dict.fromkeys(families[m] for m in losses))
    models = _alike((same_look(str(name)), ascii(name)) for name in losses)
    twins = _alike((part.tobytes(), model) for model, part in losses.items())
    return [
        *(f'families {" and ".join(sorted(names))} {_DIFFER}. Give a family '
          'one name, so that its models are held out together.'
          for names in alike.values() if len(names) > 1),
        *(f'models {" and ".join(sorted(names))} {_DIFFER}. If they are one '
          'model, remove all but one.'
          for names in models.values() if len(names) > 1),
        *(f'{first(models)} have the same losses but several families. If '
          'they are one model, remove all but one; else give them one family, '
          'so that they are held out together.' for models in twins.values()
          if len({families[model]
                  for model in models}) > 1),
    ]
