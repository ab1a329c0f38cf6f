"""Notes for readers of predictions, one line each."""
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.escaping import same_look
from csv_plugin.core.formatting import interval
from csv_plugin.core.model_losses import MIXED, DumpInfo
from csv_plugin.core.overall import MEAN_ERROR, Overall
from csv_plugin.core.predictions import REAL, Missing, Predictions
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.scaling_law import LEAST_MODELS, PROBLEMS
from csv_plugin.core.study import outliers

#: Mark of the model whose tokens have the weights of a predictor.
SCORING_LM = 'scoring LM'
#: Most models or benchmarks that a line names.
_NAMED = 8
#: Most single predictions that a line names.
_OUTSIDE = 4
#: Predictions up to this much above chance count as guessing.
_NO_MORE = 0.005
#: Fewer families leave nothing to hold out.
_LEAST_FAMILIES = 2
#: Default level of `Predictor.predict`.
_LEVEL = 0.9
#: Fewest models for intervals that do not reach from 0 to 100 %: CV+ takes the
#: smallest of n errors that a share `level (n + 1) / n` of them does not
#: exceed. Less a rounding error: 0.9 / (1 - 0.9) is a little more than 9.
_ENOUGH = math.ceil(_LEVEL / (1 - _LEVEL) - 1e-9)

_Key = TypeVar('_Key', bound=Hashable)


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


def _where(names: Sequence[str], mask: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(name for name, chosen in zip(names, mask) if chosen)


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
    missing = predictions.missing
    by_cell = [((missing[model, benchmark,
                         column].reason, column, model), benchmark)
               for column, model, benchmark in product((
                   REAL, *predictions.methods), models, benchmarks)
               if (model, benchmark, column) in missing]
    # Models with the same benchmarks, then columns with the same of both.
    by_model = [((reason, column, tuple(names)), model)
                for (reason, column, model), names in _alike(by_cell).items()]
    by_column = [((reason, where, tuple(names)), column)
                 for (reason, column,
                      where), names in _alike(by_model).items()]
    for (reason, where, who), columns in _alike(by_column).items():
        of_models = _named(who, models, 'models')
        on_benchmarks = _named(where, benchmarks, 'benchmarks')
        yield (f'{", ".join(columns)} of {of_models} on {on_benchmarks}: '
               f'{reason}')


def findings(predictions: Predictions) -> Iterator[str]:
    """Yield the agreement of predictions and real accuracies."""
    main = predictions.main
    if len(main) > 1:
        yield from _of_means(predictions.select(benchmarks=main))
    if len(main) < len(predictions.benchmarks):
        rest = [name for name in predictions.benchmarks if name not in main]
        yield ('Means leave out benchmarks that are not main ones: '
               f'{first(rest)}.')
    method = predictions.methods[0]
    far = outliers(predictions)
    if far:
        held_out = predictions.held_out(method)
        # No score lies outside of 0 to 1.
        narrow = ((predictions.low[:, :, 0] > 0) |
                  (predictions.high[:, :, 0] < 1))
        n_cells = int((held_out & narrow).sum())
        others = int(held_out.sum()) - n_cells
        more = f' ({others} more have the interval 0 to 100)' if others else ''
        by_chance = (1 - predictions.level) * n_cells
        named = [
            f'{outlier.model} on {outlier.benchmark} '
            f'({100 * outlier.observed:.1f}, interval '
            f'{interval(outlier.low, outlier.high)})' for outlier in far
        ]
        yield (f'{method}: {len(far)} of {n_cells} real scores lie outside of '
               f'their interval{more}, where about {by_chance:.0f} would by '
               'chance: ' + first(named, _OUTSIDE))


def _of_means(predictions: Predictions) -> Iterator[str]:
    overall = Overall.of(predictions)
    some = len(overall.benchmarks) < len(predictions.benchmarks)
    yield 'Rank 1 is the largest mean.' + (
        f' Means are over {first(overall.benchmarks)}; on other benchmarks, '
        'too many scores or predictions are missing.' if some else '')
    yield from _without_mean(overall, predictions)
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
    chance = [predictions.chance.get(b, 0.0) for b in predictions.benchmarks]
    low = predictions.values <= np.array(chance)[:, None] + _NO_MORE
    guesses = (low | ~predicted).all(axis=1)
    outside = (predictions.extrapolated & predicted).sum(axis=1)
    mostly = outside > predicted.sum(axis=1) / 2
    alike = _alike((_where(predictions.models, models), method)
                   for method, models in zip(predictions.methods, mostly.T)
                   if models.any())
    for models, methods in alike.items():
        yield (f'{", ".join(methods)}: far from the training models (>): '
               f'{_named(models, predictions.models, "models")}. Errors are '
               'expected to be more than half as large again as next to '
               'these: fit to models that are more like them.')
    if (guesses & mostly).any():
        yield ('Some of these models are at chance or below everywhere: check '
               'that their losses have the unit of the training models, such '
               'as nats, not bits or perplexities.')


def _without_mean(overall: Overall, predictions: Predictions) -> Iterator[str]:
    """Why some models have no mean, or a predicted one without a rank."""
    means = overall.values
    if predictions.has_real():
        means = np.column_stack([overall.real, means])
    if np.isnan(means).any():
        yield 'No mean where a number on one of the benchmarks is missing.'
    if (np.isfinite(means).any(axis=1) & ~overall.ranked).any():
        yield 'Ranks count only models that have a real and a predicted mean.'


def scoring_lm_notes(scoring_lms: Mapping[str, str]) -> list[str]:
    """Meaning of the mark of a scoring LM, by predictor and model."""
    alike = _alike((model, label) for label, model in scoring_lms.items())
    return [
        f'{model} is the {SCORING_LM} of {", ".join(labels)}: the weights are '
        'on its tokens, and its hidden states helped to find them.'
        for model, labels in alike.items()
    ]


def predictor_notes(
    predictors: Mapping[str, Union[Predictor, Missing]],
    paths: Mapping[str, str],
) -> list[str]:
    """The files of predictors, and notes on their training.

    `predictors` are by label, or why they are unusable; `paths` are their
    files. An unusable one has a line only if all are unusable; else the cells
    of the leaderboard have the reason.
    """
    unusable = [
        f'{label}: {predictor.reason}'
        for label, predictor in predictors.items()
        if isinstance(predictor, Missing)
    ]
    if len(unusable) == len(predictors):
        return unusable
    lines = []
    for label, predictor in predictors.items():
        if isinstance(predictor, Predictor):
            lines.append(f'{label}: {paths[label]}')
            lines += [f'{label}, {line}' for line in learning_notes(predictor)]
    return lines


def learning_notes(predictor: Predictor, verbose: bool = False) -> list[str]:
    """Notes on the training of a predictor, by benchmark.

    `verbose` adds all notes of the training, on solvers and errors.
    """
    remarks = {
        part.benchmark: [*_remarks(part, predictor)]
        for part in predictor.benchmarks
    }
    lines = _by_remark(((remark, benchmark)
                        for benchmark, found in remarks.items()
                        for remark in found), predictor.names)
    if verbose:
        lines += [
            f'{part.benchmark}: {note}' for part in predictor.benchmarks
            for note in part.notes
            if not any(note in remark for remark in remarks[part.benchmark])
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
    n_models = len(part.fit_models)
    if part.is_mean:
        why = [note.rpartition('accuracy: ')[2] for note in part.notes]
        yield ('all models get the same number, the mean accuracy of the '
               'training models' + (f' ({"; ".join(why)})' if why else ''))
        return
    yield from (note for note in part.notes if note.startswith(MIXED))
    if part.model.curve.alpha > 0:
        yield ('predicted accuracy rises with the loss, so look at the '
               'accuracies of the training models')
    if n_models < _ENOUGH:
        yield (f'fitted to {n_models} models, too few for an interval that '
               f'says anything: {_ENOUGH} would do, some dozens are better')
    if math.isnan(part.cv_mse):
        yield ('fitted to one family of models, so that nothing was held out '
               'to choose weights or to measure errors')
    # A baseline, asked to use the mean loss, has notes on its curve alone.
    elif {*part.notes} - {*PROBLEMS.values()} and np.allclose(
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
    table = accuracies.select(fitted)
    found = []
    for benchmark, column in zip(table.benchmarks, table.values.T):
        models = _where(fitted, ~np.isnan(column))
        n_families = len({families[model] for model in models})
        if few := _too_few(len(models), n_families):
            found.append((few, benchmark))
    return _by_remark(found, table.benchmarks)


def _too_few(n: int, n_families: int) -> str:
    """Consequence of n models of so many families; empty if enough."""
    if not n:
        return 'left out, as no model to fit to was run there.'
    if n < LEAST_MODELS:
        result = 'the mean accuracy is predicted'
    elif n_families < _LEAST_FAMILIES:
        result = ('nothing can be held out, so that settings are not chosen '
                  'and all intervals are 0 to 100 %')
    elif n < _ENOUGH:
        result = f'all {_LEVEL:.0%} intervals are 0 to 100 %'
    else:
        return ''
    if n >= _ENOUGH:
        return (f'all models to fit to are one family: {result}. Name two or '
                'more: models that share weights or data are one.')
    noun = 'family' if n_families == 1 else 'families'
    return (f'too few models to fit to, {n} of {n_families} {noun}: {result}. '
            f'{_ENOUGH} models of {_LEAST_FAMILIES} families would do, some '
            'dozens are better.')


def family_notes(families: Iterable[str]) -> list[str]:
    """A line on families whose names look alike, or none."""
    by_look: dict[str, list[str]] = {}
    for family in dict.fromkeys(families):
        by_look.setdefault(same_look(family), []).append(family)
    groups = [' and '.join(map(repr, names))
              for names in by_look.values() if len(names) > 1]  # yapf: disable
    if not groups:
        return []
    return [f'families that differ only in letter case or invisible '
            f'characters count as several: {"; ".join(groups)}. Give a family '
            'one name, so that its models are held out together.'
            ]  # yapf: disable


def engine_notes(infos: Mapping[str, DumpInfo]) -> list[str]:
    """Engines that computed the losses of models."""
    engines = []
    for model, info in infos.items():
        versions = ', '.join(f'{name} {version}'
                             for name, version in info.versions.items())
        cache = ('no cache' if info.cache_dtype == 'none' else
                 f'a cache in {info.cache_dtype}')
        engines.append(
            (f'{info.engine} ({versions}), {info.dtype}, {cache}', model))
    return [
        f'losses of {_named(models, list(infos), "models")}: {engine}'
        for engine, models in _alike(engines).items()
    ]
