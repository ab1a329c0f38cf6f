"""Write the notes that accompany predictions, one line each.

A note ends in a period, except for notes with the reason for a missing number
or the path of a predictor, which end as the reason or the path does.
"""
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import compress, product
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.arrays import Floats
from csv_plugin.core.copies import equal_models, hash_of, notes_on_copies
from csv_plugin.core.escaping import same_look
from csv_plugin.core.far_models import far_notes
from csv_plugin.core.formatting import (all_or_first_names, counted,
                                        first_names, grouped, labelled,
                                        percent)
from csv_plugin.core.measurement_units import measurement_notes
from csv_plugin.core.metrics import known_mean
from csv_plugin.core.model_losses import MIXED
from csv_plugin.core.observed import USUAL_ITEMS
from csv_plugin.core.overall import MEAN_ERROR, Overall, mean_misses
from csv_plugin.core.predictions import (NOT_YET, OBSERVED, Miss, Missing,
                                         Predictions, misses)
from csv_plugin.core.predictor import BenchmarkFit, Predictor

#: With fewer training models than the first number, or fewer families of them
#: than the second number, a note is written (docs/what_to_expect.md says why).
_ENOUGH, _ENOUGH_FAMILIES = 9, 3
#: Advice if there are too few models or families.
_WOULD_DO = (f'{_ENOUGH} models of {_ENOUGH_FAMILIES} families would do, two '
             'dozen of several are better')

#: Legends of the columns of differences, and of the row of errors.
DIFFERENCES = 'diff is predicted minus observed.'
ERRORS = f'{MEAN_ERROR} leaves out models marked *.'

#: Maps the label of each predictor to its file.
Files = Mapping[str, str]

#: The difference between two names that look alike.
_DIFFER = ('differ only in letter case, invisible characters or letters that '
           'look alike')


def prediction_notes(predictions: Predictions, overall: Overall) -> list[str]:
    """Return the notes on a table of predictions.

    The notes are the legend, the reasons for missing numbers, the agreement
    with observed accuracies, and the models that are far from the training
    models. `overall` has the means and ranks of the table.
    """
    return [
        *legend_notes(predictions),
        *reasons(predictions),
        *findings(predictions, overall),
        *far_notes(predictions),
        *predictions.contradictions(),
    ]


def legend_notes(predictions: Predictions,
                 has_differences: bool = True) -> list[str]:
    """Return the legend of a table of predictions.

    `has_differences` says whether the table has columns of differences where
    accuracies were observed. Without any prediction, there is no legend.
    """
    is_predicted = np.isfinite(predictions.values)
    if not is_predicted.any():
        return []
    lines = predictions.legend()
    if has_differences and predictions.has_observed():
        lines.append(DIFFERENCES)
    in_sample = predictions.in_sample & is_predicted
    if predictions.can_be_tested() and in_sample.any():
        lines.append(ERRORS)
    return lines


class _Gap(NamedTuple):
    """Key of missing numbers of one model in one column, for one reason."""
    column: str
    model: str
    reason: str


class _GapOfModels(NamedTuple):
    """Key of missing numbers in one column, for one reason and benchmarks.

    The numbers of one or more models are missing.
    """
    column: str
    reason: str
    benchmarks: tuple[str, ...]


class _GapOfColumns(NamedTuple):
    """Key of missing numbers in one or more columns, for one reason.

    In each column, the numbers of the same models and benchmarks are missing.
    """
    reason: str
    benchmarks: tuple[str, ...]
    models: tuple[str, ...]


def reasons(predictions: Predictions) -> Iterator[str]:
    """Yield lines with the reasons why cells have no number.

    A line names columns (the observed accuracies, or the predictions by a
    method), models and benchmarks, and the reason that all their cells have.
    An example, with the column of a method called 'ours', is 'observed, ours
    of m1, m2 on all 4 benchmarks: no dump'.
    """
    models = predictions.models
    benchmarks = predictions.benchmarks
    columns = OBSERVED, *predictions.methods
    # Join the benchmarks of a model first, then models with equal benchmarks,
    # then columns with equal models and benchmarks.
    cells = []
    for column, model, name in product(columns, models, benchmarks):
        gap = predictions.missing.get((model, name, column))
        if gap:
            same = _Gap(column, model, gap.reason)
            cells.append((same, name))
    of_models = []
    for key, names in grouped(cells).items():
        joined = _GapOfModels(key.column, key.reason, tuple(names))
        of_models.append((joined, key.model))
    of_columns = []
    for gaps, same_models in grouped(of_models).items():
        models_of_gap = tuple(same_models)
        whole = _GapOfColumns(gaps.reason, gaps.benchmarks, models_of_gap)
        of_columns.append((whole, gaps.column))
    for line, same_columns in grouped(of_columns).items():
        named_models = all_or_first_names(line.models, models, 'models')
        named_benchmarks = all_or_first_names(line.benchmarks, benchmarks,
                                              'benchmarks')
        yield (f'{", ".join(same_columns)} of {named_models} on '
               f'{named_benchmarks}: {line.reason}')


def findings(predictions: Predictions, overall: Overall) -> Iterator[str]:
    """Yield notes on means, and on how predictions agree with observations.

    The notes say which benchmarks means are over, how ranks by predicted and
    by observed means agree, and which means and accuracies lie outside their
    intervals.
    """
    main = predictions.main
    if overall.has_means:
        yield from _of_means(predictions, overall)
    if len(main) < len(predictions.benchmarks):
        rest = [name for name in predictions.benchmarks if name not in main]
        yield ('Means leave out benchmarks that are not main benchmarks: '
               f'{first_names(rest)}.')
    missed_means = mean_misses(overall, predictions, predictions.methods[0])
    if missed_means:
        named = []
        for miss in missed_means:
            named.append(f'{miss.model} ({_outside(miss)})')
        note = ('observed means outside of their interval: '
                f'{first_names(named, 4)}.')
        yield labelled(predictions.methods[:1], predictions.methods, note)
    if misses(predictions):
        yield _on_misses(predictions)


def _on_misses(predictions: Predictions) -> str:
    """Return a note that counts accuracies outside their intervals.

    The note also names the accuracies that lie farthest outside.
    """
    missed = misses(predictions)
    method = predictions.methods[0]
    low = predictions.low[:, :, 0]
    high = predictions.high[:, :, 0]
    # No accuracy can lie outside an interval from 0 to 1.
    can_miss = (low > 0) | (high < 1)
    judged = predictions.held_out(method) & can_miss
    n_cells = judged.sum()
    n_expected = (1 - predictions.level) * n_cells
    # Maximum number of accuracies that are named.
    most = 4
    named = []
    for miss in missed:
        named.append(f'{miss.model} on {miss.benchmark} ({_outside(miss)})')
    note = (f'{len(missed)} of {n_cells} observed accuracies lie outside of '
            f'their intervals; about {n_expected:.0f} are expected to lie '
            f'outside: {first_names(named, most)}.')
    return labelled([method], predictions.methods, note)


def _outside(miss: Miss) -> str:
    """Return an observed accuracy and its interval to a tenth of a point.

    Tables round the limits of intervals outwards to whole points.
    """
    limits = f'{percent(miss.low):.1f}-{percent(miss.high):.1f}'
    return f'{percent(miss.observed):.1f}, interval {limits}'


def outcome(predictions: Predictions) -> Iterator[str]:
    """Yield a line with the errors of all predictors on held-out models.

    Yield nothing if no held-out model has an observed accuracy.
    """
    errors = []
    for method in predictions.methods:
        held_out = predictions.held_out(method)
        if held_out.any():
            differences = predictions.difference(method)
            error = np.abs(differences[held_out]).mean()
            errors.append(f'{method} {percent(error):.1f}')
    if not errors:
        return
    line = f'Mean absolute error in points: {", ".join(errors)}.'
    main_method = predictions.methods[0]
    n_inside = predictions.covered(main_method).sum()
    n_cells = predictions.held_out(main_method).sum()
    if n_cells:
        line += (f' {n_inside} of {n_cells} accuracies lie in their '
                 f'{predictions.level:.0%} intervals.')
    yield line


def item_notes(predictions: Predictions, items: Mapping[tuple[str, str],
                                                        int]) -> Iterator[str]:
    """Yield a note for each benchmark of which only some items were run.

    `items` maps (model, benchmark) to the number of items that were run.
    """
    has_fewer = predictions.more_noise > 0
    by_any_method = has_fewer.any(axis=2)  # (models, benchmarks)
    for b, name in enumerate(predictions.benchmarks):
        numbers = []
        for model, few in zip(predictions.models, by_any_method[:, b]):
            if few:
                numbers.append(items[model, name])
        if not numbers:
            continue
        least = min(numbers)
        most = max(numbers)
        shown = f'{least}'
        if most > least:
            shown += f' to {most}'
        yield (
            f'observed on {name}: on {shown} items only. Intervals are '
            'widened by the noise of so few items before accuracies outside '
            'of them are counted.')


def _of_means(predictions: Predictions, overall: Overall) -> Iterator[str]:
    """Yield notes on the benchmarks of means and on the agreement of ranks."""
    is_partial = len(overall.benchmarks) < len(predictions.main)
    sentences = []
    if overall.has_ranks:
        sentences.append('Rank 1 is the largest mean.')
    if is_partial:
        sentences.append(f'Means are over {first_names(overall.benchmarks)}; '
                         f'{why_outside_means(predictions, overall)}.')
    if sentences:
        yield ' '.join(sentences)
    means = overall.values
    if not np.isnan(overall.observed).all():
        means = np.column_stack([overall.observed, means])
    if np.isnan(means).any():
        yield ('No mean, and no rank by it, where a number on one of the '
               'benchmarks is missing.')
    agreements = []
    for method in overall.methods:
        spearman, n_models = overall.agreement(method)
        if not math.isnan(spearman):
            agreements.append(
                f'{method} {spearman:.2f} ({n_models} held-out models)')
    if agreements:
        yield (
            'Rank agreement of predicted and observed means (Spearman, 1 is '
            f'the same order, 0 is no relation): {", ".join(agreements)}.')


def why_outside_means(predictions: Predictions, overall: Overall) -> str:
    """Return why means leave out main benchmarks, '' if they do not."""
    outside = {*predictions.main} - {*overall.benchmarks}
    not_yet = outside.intersection(predictions.not_yet)
    found = []
    if outside != not_yet:
        found.append('too many accuracies or predictions are missing')
    if not_yet:
        found.append('nothing is predictable yet')
    if not found:
        return ''
    return f'on other benchmarks, {", or ".join(found)}'


def mean_notes(overall: Overall, level: float) -> Iterator[str]:
    """Yield notes on which models may be best, and on ranges of ranks.

    The former are by the first method, the latter by any. `level` is the
    probability of a range of ranks. A model that is certain to be the best is
    not named. Without means, there are no notes.
    """
    if not overall.has_means:
        return
    # Maximum number of models that are named as perhaps the best, and the
    # least probability of a model that is named.
    n_likely = 3
    least_likely = .01
    uncertain = False
    for method, view in overall.views.items():
        is_range = view.ranks.first < view.ranks.last
        uncertain |= bool(is_range.any())
        is_surely_best = view.ranks.last == 1
        n_ranked = np.isfinite(view.ranks.best).sum()
        is_main = method == overall.methods[0]
        if not is_main or is_surely_best.any() or n_ranked < 2:
            continue
        likely_first = np.argsort(-view.ranks.best, kind='stable')
        named = []
        for m in likely_first[:n_likely]:
            probability = view.ranks.best[m]
            if probability >= least_likely:
                named.append(f'{overall.models[m]} ({probability:.0%})')
        note = ('the probability to have the largest mean is largest for '
                f'{", ".join(named)}.')
        yield labelled([method], overall.methods, note)
    if uncertain:
        yield range_note(level)


def range_note(level: float) -> str:
    """Return the note on ranges of ranks that hold with this probability."""
    return ('Ranks such as 2-4: the losses cannot order these models; the '
            f'rank lies there with a probability of {level:.0%}.')


def predictor_notes(predictors: Mapping[str, Predictor | Missing],
                    files: Files) -> list[str]:
    """Return lines with the files of predictors, and notes on training.

    Each line begins with the label of its predictor, if there are several. The
    reason why a predictor is unusable is returned only if all predictors are
    unusable; otherwise the notes on missing numbers state this reason.
    """
    lines = []
    unusable = []
    for label, predictor in predictors.items():
        if isinstance(predictor, Missing):
            unusable.append(f'{label}: {predictor.reason}')
        else:
            is_alone = len(predictors) == 1
            name = 'Predictor' if is_alone else label
            lines.append(f'{name}: {files[label]}')
            for note in learning_notes(predictor):
                lines.append(note if is_alone else f'{label}, {note}')
    return lines or unusable


def learning_notes(predictor: Predictor, verbose: bool = False) -> list[str]:
    """Return notes that users should read on the training of a predictor.

    Benchmarks with the same note share a line. `verbose` adds all other notes
    of the training, one line for each benchmark and note.
    """
    shared = []
    others = []
    for fit in predictor.benchmarks:
        found = _notes_on_fit(fit)
        for note in found:
            shared.append((note, fit.benchmark))
        for note in fit.notes:
            if note not in found:
                others.append(f'{fit.benchmark}: {note}')
    lines = _by_note(shared, predictor.names)
    return lines + others if verbose else lines


def left_out_errors(predictor: Predictor,
                    models: Optional[NDArray] = None) -> Floats:
    """Return the mean absolute error on each benchmark, `(B,)`, a fraction.

    The errors are of the predictions `Predictor.left_out` of all fitted models
    or, if `models` is given, of the models in this mask, `(M,)`. An error is
    NaN if it is unknown; errors are only known with models of two or more
    families.
    """
    sizes = np.abs(predictor.left_out - predictor.observed)
    if models is not None:
        sizes = sizes[models]
    errors = []
    for fit, column in zip(predictor.benchmarks, sizes.T):
        error = math.nan
        if not math.isnan(fit.error) and np.isfinite(column).any():
            error = float(np.nanmean(column))
        errors.append(error)
    return np.array(errors)


def judged_errors(predictor: Predictor,
                  models: Optional[NDArray] = None) -> Floats:
    """Return the errors of `left_out_errors` that means are over.

    These are the known errors on main benchmarks, or on all benchmarks if none
    is a main one. Benchmarks at chance are left out.
    """
    counting = predictor.main or predictor.names
    errors = left_out_errors(predictor, models)
    judged = []
    for fit, error in zip(predictor.benchmarks, errors):
        is_counting = fit.benchmark in counting and not fit.at_chance
        if is_counting and not math.isnan(error):
            judged.append(error)
    return np.array(judged)


def outlier_notes(predictor: Predictor, with_error: bool = False) -> list[str]:
    """Return lines on training models that differ from the others, if any.

    A first line names models that seem to be measured in another unit. The
    next line names the outliers. The last one, `left_out_line`, is returned if
    there are outliers or if `with_error` is True, unless it is empty.
    """
    lines = measurement_notes(predictor.fit_models,
                              predictor.training_measurement_factors,
                              'other training models')
    outliers = predictor.outliers
    if outliers:
        farthest_first = sorted(
            outliers, key=outliers.__getitem__, reverse=True)
        named = []
        for model in farthest_first:
            size = outliers[model]
            named.append(f'{model} ({size:.1f} times the expected error)')
        lines.append('Outliers, which count less than other training models: '
                     f'{first_names(named)}. Check their losses and '
                     'accuracies.')
    error = left_out_line(predictor)
    if error and (outliers or with_error):
        lines.append(error)
    return lines


def left_out_line(predictor: Predictor) -> str:
    """Return a line with the mean absolute error of families left out.

    It is the mean over the benchmarks of `judged_errors`, in points. If some
    training models are outliers, the line also has the error without them, if
    there is one. The line is '' if there is no error. The error of a predictor
    by the method `paper` is that of its validation models.
    """
    errors = judged_errors(predictor)
    if not len(errors):
        return ''
    of_models = 'validation models'
    if predictor.leaves_families_out:
        of_models = 'families left out'
    without_outliers = ''
    is_inlier = ~np.isin(predictor.fit_models, list(predictor.outliers))
    without = known_mean(judged_errors(predictor, is_inlier))
    if not (is_inlier.all() or math.isnan(without)):
        without_outliers = f' ({percent(without):.1f} without the outliers)'
    return (
        f'Mean absolute error of {of_models}: '
        f'{percent(known_mean(errors)):.1f} points{without_outliers}, over '
        f'{counted(len(errors), "benchmark")}.')


def _by_note(notes: Iterable[tuple[str, str]],
             benchmarks: Sequence[str]) -> list[str]:
    """Return a line for each note that names the benchmarks it is about.

    `notes` are pairs of a note and a benchmark.
    """
    lines = []
    for note, names in grouped(notes).items():
        lines.append(
            f'{all_or_first_names(names, benchmarks, "benchmarks")}: {note}')
    return lines


def _notes_on_fit(fit: BenchmarkFit) -> list[str]:
    """Return notes that users should read on the fit of one benchmark."""
    notes = [note for note in fit.notes if note.startswith(MIXED)]
    if fit.at_chance:
        notes.append(NOT_YET)
    if len(fit.fit_models) < _ENOUGH:
        notes.append(f'fitted to {len(fit.fit_models)} models, so that '
                     f'intervals are wide: {_WOULD_DO}.')
    return notes


def shortage_notes(accuracies: AccuracyTable, families: Mapping[str, str],
                   fitted: Sequence[str]) -> list[str]:
    """Return lines on benchmarks with too few training models.

    The lines tell users who are about to fit a predictor what follows from
    having too few models. `fitted` are the names of the training models.
    `accuracies` has at least these models, and `families` maps models to
    families.
    """
    found = []
    for name in accuracies.benchmarks:
        column = accuracies.select(fitted).column(name)
        was_run = ~np.isnan(column)
        models = list(compress(fitted, was_run))
        own_families = {families[model] for model in models}
        few = _too_few(len(models), len(own_families))
        if few:
            found.append((few, name))
    return _by_note(found, accuracies.benchmarks)


def _too_few(n: int, n_families: int) -> str:
    """Say what follows from having n models of `n_families` families.

    The text is empty if there are enough models and families.
    """
    if not n:
        return 'left out, as none of the models to fit to was run on it.'
    if n_families < 2:
        result = ('no family can be left out, so that nothing shows how far '
                  'errors go')
    elif n_families < _ENOUGH_FAMILIES:
        result = ('with one family left out, only one remains to predict it '
                  'from, so that little shows how far errors go')
    elif n < _ENOUGH:
        result = 'intervals are wide, and may still be too narrow'
    else:
        return ''
    noun = 'family' if n_families == 1 else 'families'
    too_few = 'models' if n < _ENOUGH else 'families'
    return (f'too few {too_few} to fit to, {n} in {n_families} {noun}: '
            f'{result}. {_WOULD_DO}.')


def chance_notes(accuracies: AccuracyTable,
                 fitted: Sequence[str]) -> list[str]:
    """Return lines on benchmarks that may be at chance or below.

    Either all training models have accuracies below the chance level, by more
    than the noise of items, so that the chance level is probably wrong. Or
    they are near chance, but the number of items is unknown, so that nothing
    tells whether they are above it. Arguments are as in `shortage_notes`.
    """
    # A benchmark is named if at least `least_models` models ran it, and if the
    # best accuracy is
    # * more than `n_errors` standard errors below the chance level (of
    #   `USUAL_ITEMS` items, if their number is unknown), or
    # * less than `n_errors` standard errors above it, where the number of
    #   items is unknown and taken to be `few_items`.
    few_items = 200
    least_models = 3
    n_errors = 3
    table = accuracies.select(fitted)
    lines = []
    for b, name in enumerate(table.benchmarks):
        on_benchmark = table.values[:, b]
        known = on_benchmark[~np.isnan(on_benchmark)]
        if len(known) < least_models:
            continue
        chance = float(table.chance[b])
        best = known.max()
        n_items = int(table.n_items[b])
        deviation = math.sqrt(chance * (1 - chance))
        noise = deviation / math.sqrt(n_items or USUAL_ITEMS)
        largest_noise = deviation / math.sqrt(few_items)
        if best < chance - n_errors * noise:
            lines.append(
                f'{name}: all {len(known)} models to fit to are below its '
                f'chance level of {percent(chance):.3g} %, the best with '
                f'{percent(best):.1f} %. Check the chance level: 0 '
                'with free answers, 1/k with k options.')
        elif not n_items and best < chance + n_errors * largest_noise:
            lines.append(
                f'{name}: all {len(known)} models to fit to are near its '
                f'chance level of {percent(chance):.3g} %. Give the number of '
                'items (n_items): without it, nothing tells whether the '
                'models are above chance.')
    return lines


def family_notes(
    families: Mapping[str, str],
    losses: Mapping[str, NDArray],
    fitted: Collection[str] = ()
) -> list[str]:  # yapf: disable
    """Return lines on names that look alike, and on models with equal losses.

    Equal losses are reported if the models have different families, and more
    than one loss each. `families` and `losses` map models to values; `losses`
    has all losses of each model as an array of any shape. New models that
    copy training models, `fitted`, are left to `copy_notes`, and models of one
    family to `twin_notes`.
    """
    lines = []
    in_use = [families[model] for model in losses]
    for names in _look_alikes(dict.fromkeys(in_use)):
        lines.append(f'families {names} {_DIFFER}. Give a family one name, so '
                     'that its models are held out together.')
    for names in _look_alikes(map(str, losses)):
        lines.append(f'models {names} {_DIFFER}. If they are one model, '
                     'remove all but one.')
    for models in _twins(losses, fitted):
        own_families = {families[model] for model in models}
        if len(own_families) > 1:
            lines.append(
                f'{first_names(models)} have the same losses but several '
                'families. If they are one model, remove all but one; else '
                'give them one family, so that they are held out together.')
    return lines


def twin_notes(
    families: Mapping[str, str],
    losses: Mapping[str, NDArray],
    fitted: Collection[str] = ()
) -> Iterator[str]:  # yapf: disable
    """Yield a line on models of one family with exactly the same losses.

    Arguments are as in `family_notes`, which names models of several families.
    """
    groups = []
    for models in _twins(losses, fitted):
        own_families = {families[model] for model in models}
        if len(own_families) == 1:
            groups.append(models)
    yield from notes_on_copies('models', groups)


def _twins(losses: Mapping[str, NDArray],
           fitted: Collection[str]) -> Iterator[list[str]]:
    """Yield groups of models with exactly the same losses.

    Arguments are as in `family_notes`. Of a group that contains training
    models, only these are kept.
    """
    for equal in equal_models(losses):
        models = [model for model in equal if model in fitted] or equal
        if len(models) > 1:
            yield models


def copy_notes(fitted: Mapping[str, NDArray],
               predicted: Mapping[str, NDArray]) -> list[str]:
    """Return lines on predicted models that are copies of training models.

    A copy has exactly the losses of a training model with another name. A
    further line names predicted models with the name of a training model and
    other losses. Both arguments map models to arrays with their losses, in the
    same columns: `fitted` the training models, and `predicted` the models to
    predict, which may be training models. A single loss for each model may be
    the same by chance, if it is rounded, so then there is no line on copies.
    """
    hashes = {model: hash_of(part) for model, part in fitted.items()}
    model_of: dict[bytes, str] = {}
    for model, own_hash in hashes.items():
        model_of.setdefault(own_hash, model)
    copies = []
    renamed = []
    for model, part in predicted.items():
        own_hash = hash_of(part)
        if hashes.get(model) == own_hash:
            continue
        if model in hashes:
            renamed.append(model)
        if own_hash in model_of and part.size > 1:
            original = model_of[own_hash]
            copies.append(f'{model} (same losses as {original})')
    lines = []
    if copies:
        lines.append(f'copies of training models: {first_names(copies)}. '
                     'Errors of a copy say nothing about new models.')
    if renamed:
        lines.append('named like training models, with other losses: '
                     f'{first_names(renamed)}. If they are other models, '
                     'rename them: models with these names count as training '
                     'models.')
    return lines


def _look_alikes(names: Iterable[str]) -> Iterator[str]:
    """Yield names that look alike, joined by 'and'.

    Letters outside ASCII are shown as escapes, so that readers see the
    difference.
    """
    by_look = []
    for name in names:
        look = same_look(name)
        by_look.append((look, ascii(name)))
    for found in grouped(by_look).values():
        if len(found) > 1:
            yield ' and '.join(sorted(found))
