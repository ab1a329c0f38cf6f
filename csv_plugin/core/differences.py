"""Differences of two models or recipes, each with its noise.

B minus A, where A and B are one run each or several runs of one recipe each:
of their mean losses, of predicted accuracies, of answers to the same items and
of observed accuracies.
"""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.compared_losses import ComparedLosses
from csv_plugin.core.comparison import MEAN
from csv_plugin.core.conventions import InputError
from csv_plugin.core.joint import Joint
from csv_plugin.core.noise import (ITEMS, LOSS, OBSERVED, PREDICTED, PREDICTOR,
                                   RUNS, TEXTS, Difference, Noise, combine,
                                   items_noise, run_noise, text_noise)
from csv_plugin.core.paired import PairedAnswers
from csv_plugin.core.predictor import Predictor

#: Grades of one model in 0..1, by benchmark and item.
Answers = Mapping[str, Mapping[str, float]]

#: Smallest difference of losses that matters, a share of the mean loss of A.
LOSS_MARGIN = 0.001


def difference_of_losses(measured: ComparedLosses, level: float) -> Difference:
    """Return the difference of the mean loss.

    Texts whose names have the same part before the last '/' are of one source.

    Raises:
        InputError: There is a single text and a single run of each recipe, so
            that no noise is known.
    """
    means = measured.losses.sum(axis=1)
    noises = {}
    # A single text has no noise of texts: `text_noise` raises the error if
    # there is no noise of runs either.
    if len(measured.texts) > 1 or not measured.recipes:
        gaps = measured.weights @ measured.losses
        sources = [name.rpartition('/')[0] for name in measured.texts]
        noises[TEXTS] = text_noise(gaps, measured.shares, sources)
    if measured.recipes:
        noises[RUNS] = _noise_of_recipes(means, measured)
    n_a = measured.n_runs[0]
    margin = LOSS_MARGIN * float(means[:n_a].mean())
    value = float(measured.weights @ means)
    return Difference(LOSS, '', value, noises, level, margin)


def _noise_of_recipes(values: NDArray, measured: ComparedLosses) -> Noise:
    """The noise of runs, by the values of all models, `(M,)`."""
    by_recipe = [values[rows] for rows in measured.recipes]
    return run_noise(by_recipe, measured.n_runs)


def predictable(predictor: Predictor) -> list[str]:
    """Return the benchmarks that are predictable already.

    On these, some training models are above chance.
    """
    return [p.benchmark for p in predictor.benchmarks if not p.at_chance]


def predictable_main(predictor: Predictor) -> list[str]:
    """Return the predictable benchmarks that means are over."""
    main = predictor.main
    return [name for name in predictable(predictor) if name in main]


def predicted_differences(predictor: Predictor, joint: Joint,
                          measured: ComparedLosses, level: float,
                          margin: float) -> list[Difference]:
    """Return predicted differences on each benchmark, and of the mean.

    The mean is that over the main benchmarks, if there are several. Benchmarks
    that are not predictable yet are left out. `joint` is of all models.
    """
    names = predictor.names
    # The share of each benchmark in what is compared.
    shares = {}
    for name in predictable(predictor):
        shares[name] = np.isin(names, name).astype(float)
    main = predictable_main(predictor)
    if len(main) > 1:
        shares[MEAN] = np.isin(names, main) / len(main)
    n_items = {part.benchmark: part.n_items for part in predictor.benchmarks}
    found = []
    for name, share in shares.items():
        part = _predicted_difference(joint, measured, name, share, level,
                                     margin)
        if n_items.get(name):
            values = joint.accuracies @ share
            by_items = _detectable_by_items(part, values, measured,
                                            n_items[name])
            part = replace(part, by_items=by_items)
        found.append(part)
    return found


def _predicted_difference(joint: Joint, measured: ComparedLosses, name: str,
                          share: NDArray, level: float,
                          margin: float) -> Difference:
    """The difference on one benchmark, or of a mean by shares `(B,)`."""
    n_compared = measured.n_compared
    compared = joint.take(np.arange(n_compared))
    weights = np.outer(measured.weights[:n_compared], share)
    shift = compared.sum(weights, level)
    degrees = joint.model.tails.degrees
    noises = {PREDICTOR: Noise.of_sum(shift, level, degrees)}
    if measured.recipes:
        values = joint.accuracies @ share
        noises[RUNS] = _noise_of_recipes(values, measured)
    return Difference(PREDICTED, name, shift.value, noises, level, margin)


def _detectable_by_items(part: Difference, accuracies: NDArray,
                         measured: ComparedLosses,
                         n_items: int) -> Optional[float]:
    """The difference that would be detectable if the benchmark was run.

    `accuracies`, `(M,)`, are those that are predicted for it.
    """
    n_a = measured.n_runs[0]
    of_a = float(accuracies[:n_a].mean())
    of_b = float(accuracies[n_a:measured.n_compared].mean())
    noises = {ITEMS: items_noise((of_a, of_b), n_items, measured.n_runs)}
    # Observed accuracies would have the same noise of runs.
    if RUNS in part.noises:
        noises[RUNS] = part.noises[RUNS]
    return replace(part, noises=noises).detectable


def pair_answers(a: Answers, b: Answers) -> list[PairedAnswers]:
    """Return the answers of A and B to the same items, by benchmark.

    Raises:
        InputError: There is no such item.
    """
    pairs = []
    for benchmark, answers in a.items():
        others = b.get(benchmark, {})
        items = sorted(answers.keys() & others.keys())
        if items:
            of_a = [answers[item] for item in items]
            of_b = [others[item] for item in items]
            pairs.append(PairedAnswers.of(benchmark, of_a, of_b))
    if not pairs:
        raise InputError(
            'answers of A and B', 'items that both answered',
            f'items of {", ".join(a)} and of {", ".join(b)}',
            'Run both models on the same benchmarks, with the '
            'same prompts, metric and few-shot examples.')
    return pairs


def differences_of_answers(pairs: Sequence[PairedAnswers],
                           found: Sequence[Difference], main: Sequence[str],
                           level: float, margin: float) -> list[Difference]:
    """Return observed differences, and those combined with predicted ones.

    `found` has the predicted differences, if any. A benchmark with both has a
    combined difference: the mean of both, weighted by their precision. The
    observed one gets the noise of runs of the predicted one, as seeds move
    both alike. The mean over benchmarks is combined only if the answers are on
    exactly the `main` benchmarks.
    """
    predicted = {}
    for part in found:
        if part.kind == PREDICTED:
            predicted[part.benchmark] = part
    benchmarks = {pair.benchmark for pair in pairs}
    if benchmarks != {*main}:
        predicted.pop(MEAN, None)
    observed = []
    for pair in pairs:
        observed.append(
            Difference(OBSERVED, pair.benchmark, pair.value,
                       {ITEMS: pair.noise}, level, margin))
    if len(pairs) > 1:
        value = np.mean([pair.value for pair in pairs])
        error = np.linalg.norm([pair.noise.error for pair in pairs])
        noise = Noise.even(float(error) / len(pairs))
        observed.append(
            Difference(OBSERVED, MEAN, float(value), {ITEMS: noise}, level,
                       margin))
    with_runs = []
    combined = []
    for part in observed:
        other = predicted.get(part.benchmark)
        if other is not None and RUNS in other.noises:
            noises = {**part.noises, RUNS: other.noises[RUNS]}
            part = replace(part, noises=noises)
        with_runs.append(part)
        if other is not None:
            combined.append(combine(other, part))
    return [*with_runs, *combined]


def differences_of_accuracies(a: AccuracyTable, b: AccuracyTable, level: float,
                              margin: float) -> list[Difference]:
    """Return differences of the runs' mean accuracies, by benchmark.

    The last one is of the mean over the main benchmarks of the table of A, if
    there are several. The noise is that of the runs or, with one run each,
    that of the items.

    Raises:
        InputError: There is no benchmark with accuracies of all runs and, with
            one run each, a known number of items; or the tables have two
            numbers of items for one benchmark.
    """
    n_runs = len(a.models), len(b.models)
    names = []
    items = _items_of_both(a, b)
    for name, n_items in items.items():
        has_noise = n_items > 0 or n_runs != (1, 1)
        if has_noise and _is_complete(a, name) and _is_complete(b, name):
            names.append(name)
    if not names:
        raise InputError(
            'accuracies of A and of B', 'a benchmark with accuracies of all '
            'runs and, with one run each, a known number of items', 'none',
            'Run all of them on it, or give several runs of each.')
    a, b = a.select(benchmarks=names), b.select(benchmarks=names)
    # The share of each benchmark in what is compared.
    shares = dict(zip(names, np.eye(len(names))))
    is_main = np.isin(names, a.main).astype(float)
    if is_main.sum() > 1:
        shares[MEAN] = is_main / is_main.sum()
    found = []
    for name, share in shares.items():
        of_a, of_b = a.values @ share, b.values @ share
        if n_runs == (1, 1):
            noises = {ITEMS: _noise_of_items(a, b, share, items)}
        else:
            noises = {RUNS: run_noise((of_a, of_b), n_runs)}
        value = float(of_b.mean() - of_a.mean())
        found.append(Difference(OBSERVED, name, value, noises, level, margin))
    return found


def _items_of_both(a: AccuracyTable, b: AccuracyTable) -> dict[str, int]:
    """Numbers of items of the benchmarks in both tables, 0 where unknown."""
    items_of_b = dict(zip(b.benchmarks, b.n_items.tolist()))
    found = {}
    for name, of_a in zip(a.benchmarks, a.n_items.tolist()):
        if name not in items_of_b:
            continue
        of_b = items_of_b[name]
        if of_a and of_b and of_a != of_b:
            raise InputError(f'items of {name!r}', 'as many of A as of B',
                             f'{of_a} and {of_b}',
                             'Give accuracies on the same items.')
        found[name] = of_a or of_b
    return found


def _is_complete(table: AccuracyTable, benchmark: str) -> bool:
    """True if all models were run on a benchmark."""
    return not np.isnan(table.column(benchmark)).any()


def _noise_of_items(a: AccuracyTable, b: AccuracyTable, share: NDArray,
                    items: Mapping[str, int]) -> Noise:
    """Noise of the difference of one run each, by shares of benchmarks."""
    errors = []
    for k, name in enumerate(a.benchmarks):
        pair = float(a.values[0, k]), float(b.values[0, k])
        errors.append(items_noise(pair, items[name], (1, 1)).error)
    return Noise.even(float(np.linalg.norm(share * errors)))
