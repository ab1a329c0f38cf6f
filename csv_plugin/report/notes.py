"""Notes for readers of predictions, one line each."""
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.escaping import same_look
from csv_plugin.core.formatting import percent
from csv_plugin.core.model_losses import MIXED
from csv_plugin.core.overall import MEAN_ERROR, Overall
from csv_plugin.core.predictions import REAL, Missing, Predictions
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.scaling_law import LEAST_MODELS, PROBLEMS
from csv_plugin.core.study import outliers

#: Most models or benchmarks that a line names.
_NAMED = 8
#: Most single predictions that a line names.
_OUTSIDE = 4
#: Fewest models for 90 % intervals other than 0 to 100 %: CV+ takes the least
#: of n errors that a share `0.9 (n + 1) / n` of them does not exceed.
_ENOUGH = 9
#: Advice where models or families are too few; one family leaves nothing to
#: hold out.
_WOULD_DO = (f'{_ENOUGH} models of 2 families would do, some dozens are '
             'better')

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


def first(names: Sequence[str], most: int = _NAMED) -> str:
    """Names in a line, and how many more there are."""
    more = len(names) - most
    return ', '.join(names[:most]) + (f' and {more} more' if more > 0 else '')


def prediction_notes(predictions: Predictions) -> list[str]:
    """Return all notes on predictions beside the real accuracies."""
    legend = []
    if np.isfinite(predictions.values).any():
        legend = predictions.legend()
        if predictions.has_real():
            legend.append('diff is predicted minus real; '
                          f'{MEAN_ERROR} leaves out models marked *.')
    return [
        *legend, *reasons(predictions), *findings(predictions),
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


def findings(predictions: Predictions) -> Iterator[str]:
    """Yield the agreement of predictions and real accuracies."""
    main = predictions.main
    if len(main) > 1:
        yield from _of_means(predictions.select(benchmarks=main))
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
        by_chance = (1 - predictions.level) * n_cells
        named = [
            f'{cell.model} on {cell.benchmark} ({percent(cell.observed):.1f}, '
            f'interval {percent(cell.low):.1f}-{percent(cell.high):.1f})'
            for cell in far
        ]
        yield (
            f'{method}: {len(far)} of {n_cells} real scores lie outside of '
            f'their interval, where about {by_chance:.0f} would by chance: ' +
            first(named, _OUTSIDE))


def _of_means(predictions: Predictions) -> Iterator[str]:
    overall = Overall.of(predictions)
    some = len(overall.benchmarks) < len(predictions.benchmarks)
    yield 'Rank 1 is the largest mean.' + (
        f' Means are over {first(overall.benchmarks)}; on other benchmarks, '
        'too many scores or predictions are missing.' if some else '')
    means = overall.values
    if predictions.has_real():
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
               f'the same order, 0 is chance): {", ".join(agreements)}.')


def outside_notes(predictions: Predictions) -> Iterator[str]:
    """Models of which most predictions are extrapolated."""
    predicted = np.isfinite(predictions.values)
    outside = (predictions.extrapolated & predicted).sum(axis=1)
    mostly = outside > predicted.sum(axis=1) / 2
    alike = _alike((tuple(np.array(predictions.models, object)[far]), method)
                   for method, far in zip(predictions.methods, mostly.T)
                   if far.any())
    for models, methods in alike.items():
        yield (f'{", ".join(methods)}: far from the training models (>): '
               f'{_named(models, predictions.models, "models")}. Errors are '
               'expected to be more than half as large again as next to '
               'these: fit to models that are more like them, and check that '
               'losses have one unit.')


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

    `verbose` adds all notes of the training, on solvers and errors.
    """
    remarks = [(remark, part.benchmark) for part in predictor.benchmarks
               for remark in _remarks(part, predictor)]
    lines = _by_remark(remarks, predictor.names)
    for part in predictor.benchmarks if verbose else ():
        own = [remark for remark, name in remarks if name == part.benchmark]
        lines += [
            f'{part.benchmark}: {note}' for note in part.notes
            if not any(note in remark for remark in own)
        ]
    return lines


def _by_remark(remarks: Iterable[tuple[str, str]],
               benchmarks: Sequence[str]) -> list[str]:
    """Pairs of a remark and a benchmark; equal remarks are one line."""
    return [
        f'{_named(names, benchmarks, "benchmarks")}: {remark}'
        for remark, names in _alike(remarks).items()
    ]


def _remarks(part: BenchmarkPredictor, predictor: Predictor) -> Iterator[str]:
    if part.is_mean:
        why = [note.rpartition('accuracy: ')[2] for note in part.notes]
        yield ('all models get the same number, the mean accuracy of the '
               'training models' + (f' ({"; ".join(why)})' if why else ''))
        return
    yield from (note for note in part.notes if note.startswith(MIXED))
    if part.model.curve.alpha > 0:
        yield ('predicted accuracy rises with the loss, so look at the '
               'accuracies of the training models')
    n_models, held_out = len(part.fit_models), not math.isnan(part.cv_mse)
    if n_models < _ENOUGH or not held_out:
        yield (f'fitted to {n_models} models' + ' of one family' *
               (not held_out) + ', too few for an interval that says '
               f'anything: {_WOULD_DO}')
    # A baseline, asked to use the mean loss, has notes on its curve alone.
    if held_out and {*part.notes} - {*PROBLEMS.values()} and np.allclose(
            part.model.typical_coefficients, predictor.columns.uniform,
            atol=0):
        scored = 'units' if predictor.targets is None else 'tokens'
        yield (f'the mean loss of all {scored} predicts, as nothing that was '
               'learned did better on held-out families of models')


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
    if n < LEAST_MODELS:
        result = 'the mean accuracy is predicted'
    elif n_families < 2:
        result = ('nothing can be held out, so that settings are not chosen '
                  'and all intervals are 0 to 100 %')
    elif n < _ENOUGH:
        result = 'all 90% intervals are 0 to 100 %'
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
