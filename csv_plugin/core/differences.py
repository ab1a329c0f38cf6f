"""Compute the differences of two models or recipes, each with its noise.

All differences are B - A, where A is one run or several runs of one recipe,
and so is B. They are differences of mean losses, of predicted accuracies, of
accuracies on items that both answered, and of observed accuracies.
"""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.compared_losses import ComparedLosses
from csv_plugin.core.comparison import MEAN, check_no_mean
from csv_plugin.core.conventions import InputError
from csv_plugin.core.joint import Joint
from csv_plugin.core.noise import (ITEMS, LOSS, OBSERVED, PREDICTED, PREDICTOR,
                                   RUNS, TEXTS, Difference, Noise, combine,
                                   items_noise, noise_of_sum, run_noise,
                                   text_noise)
from csv_plugin.core.paired import PairedAnswers
from csv_plugin.core.predictor import Predictor

#: Grades of one model in 0..1: `{benchmark: {item: grade}}`.
Answers = Mapping[str, Mapping[str, float]]

#: Smallest difference of mean losses that matters, as a share of the mean
#: loss of A.
LOSS_MARGIN = 0.001


def difference_of_losses(measured: ComparedLosses, level: float) -> Difference:
    """Return the difference of the mean losses of A and B.

    Texts are from the same source if their names agree up to the last '/'.

    Raises:
        InputError: The noise is unknown, because there is a single text and no
            recipe has two or more runs.
    """
    means = measured.contributions.sum(axis=1)
    noises = {}
    # A single text does not show the noise of texts. If the noise of runs is
    # unknown, too, `text_noise` raises the error.
    if len(measured.texts) > 1 or not measured.recipes:
        # What each text adds to B - A, `(S,)`.
        gaps = measured.weights @ measured.contributions
        sources = []
        for name in measured.texts:
            source, _, _ = name.rpartition('/')
            sources.append(source)
        noises[TEXTS] = text_noise(gaps, measured.shares, sources)
    if measured.recipes:
        noises[RUNS] = _noise_of_recipes(means, measured)
    n_a, _ = measured.n_runs
    of_a = means[:n_a]
    margin = LOSS_MARGIN * float(of_a.mean())
    value = float(measured.weights @ means)
    return Difference(
        kind=LOSS,
        benchmark='',
        value=value,
        noises=noises,
        level=level,
        margin=margin)


def _noise_of_recipes(values: NDArray, measured: ComparedLosses) -> Noise:
    """Return the noise of runs of the difference B - A.

    `values`, `(M,)`, has the loss or the accuracy of each model.
    """
    by_recipe = [values[rows] for rows in measured.recipes]
    return run_noise(by_recipe, measured.n_runs)


def predictable(predictor: Predictor) -> list[str]:
    """Return the benchmarks on which some training models are above chance.

    Accuracies on all other benchmarks are not predictable yet.
    """
    found = []
    for fit in predictor.benchmarks:
        if not fit.at_chance:
            found.append(fit.benchmark)
    return found


def predictable_main(predictor: Predictor) -> list[str]:
    """Return the predictable benchmarks that count in means."""
    found = []
    for fit in predictor.benchmarks:
        if fit.main and not fit.at_chance:
            found.append(fit.benchmark)
    return found


def predicted_differences(predictor: Predictor, joint: Joint,
                          measured: ComparedLosses, level: float,
                          margin: float) -> list[Difference]:
    """Return the predicted difference on each benchmark, then of the mean.

    The mean is over the main benchmarks; it is left out if fewer than two of
    these are predictable. Benchmarks that are not predictable yet are left
    out. `joint` is the joint distribution of all models of `measured`.
    """
    names = predictor.names
    # For each difference, the weights of the benchmarks in it, `(B,)`.
    single = np.eye(len(names))
    of_single = dict(zip(names, single))
    weights_of = {name: of_single[name] for name in predictable(predictor)}
    main = predictable_main(predictor)
    if len(main) > 1:
        check_no_mean('predictor', weights_of)
        is_main = np.isin(names, main)
        weights_of[MEAN] = is_main / len(main)
    n_items = {}
    for fit in predictor.benchmarks:
        n_items[fit.benchmark] = fit.n_items
    found = []
    for name, weights in weights_of.items():
        difference = _predicted_difference(joint, measured, name, weights,
                                           level, margin)
        n_of_benchmark = n_items.get(name)
        if n_of_benchmark:
            values = joint.accuracies @ weights
            by_items = _detectable_by_items(difference, values, measured,
                                            n_of_benchmark)
            difference = replace(difference, by_items=by_items)
        found.append(difference)
    return found


def _predicted_difference(joint: Joint, measured: ComparedLosses, name: str,
                          weights: NDArray, level: float,
                          margin: float) -> Difference:
    """Return the predicted difference of one benchmark or of a mean.

    `weights`, `(B,)`, are the weights of the benchmarks, which add up to 1,
    and `name` is the name of the benchmark or `MEAN`.
    """
    n_compared = measured.n_compared
    compared = joint.take(np.arange(n_compared))
    of_models = measured.weights[:n_compared]
    of_accuracies = np.outer(of_models, weights)
    predicted_sum = compared.sum(of_accuracies, level)
    tails = joint.model.tails
    noise = Noise.of_sum(predicted_sum, level, tails.degrees)
    noises = {PREDICTOR: noise}
    if measured.recipes:
        values = joint.accuracies @ weights
        noises[RUNS] = _noise_of_recipes(values, measured)
    return Difference(
        kind=PREDICTED,
        benchmark=name,
        value=predicted_sum.value,
        noises=noises,
        level=level,
        margin=margin)


def _detectable_by_items(predicted: Difference, accuracies: NDArray,
                         measured: ComparedLosses,
                         n_items: int) -> Optional[float]:
    """Return the difference that running the benchmark could detect.

    `predicted` is the predicted difference on this benchmark. `accuracies`,
    `(M,)`, are the accuracies that are predicted for it. The result is None in
    the same case as `Difference.detectable`.
    """
    n_a, _ = measured.n_runs
    runs_of_a = accuracies[:n_a]
    runs_of_b = accuracies[n_a:measured.n_compared]
    of_a = float(runs_of_a.mean())
    of_b = float(runs_of_b.mean())
    noise = items_noise((of_a, of_b), n_items, measured.n_runs)
    noises = {ITEMS: noise}
    # Observed accuracies would have the same noise of runs.
    if RUNS in predicted.noises:
        noises[RUNS] = predicted.noises[RUNS]
    observed = replace(predicted, noises=noises)
    return observed.detectable


def pair_answers(a: Answers, b: Answers) -> list[PairedAnswers]:
    """Return the answers to the items that both A and B answered.

    There is one `PairedAnswers` for each benchmark with such items.

    Raises:
        InputError: No item was answered by both.
    """
    pairs = []
    for benchmark, answers in a.items():
        others = b.get(benchmark, {})
        of_both = answers.keys() & others.keys()
        items = sorted(of_both)
        if items:
            of_a = [answers[item] for item in items]
            of_b = [others[item] for item in items]
            pair = PairedAnswers.of(benchmark, of_a, of_b)
            pairs.append(pair)
    if not pairs:
        names_of_a = ', '.join(a) or 'no benchmark'
        names_of_b = ', '.join(b) or 'no benchmark'
        raise InputError(
            'answers of A and B', 'items that both answered',
            f'none; A answered items of {names_of_a}, and '
            f'B answered items of {names_of_b}',
            'Run both models on the same benchmarks, with the '
            'same prompts, metric and few-shot examples.')
    return pairs


def differences_of_answers(pairs: Sequence[PairedAnswers], level: float,
                           margin: float) -> list[Difference]:
    """Return the observed difference on each benchmark, then of the mean.

    The mean is over all benchmarks of `pairs`, and is left out with a single
    one.
    """
    found = []
    for pair in pairs:
        noises = {ITEMS: pair.noise}
        difference = Difference(OBSERVED, pair.benchmark, pair.value, noises,
                                level, margin)
        found.append(difference)
    n_pairs = len(pairs)
    if n_pairs > 1:
        benchmarks = [pair.benchmark for pair in pairs]
        check_no_mean('answers', benchmarks)
        values = [pair.value for pair in pairs]
        value = float(np.mean(values))
        of_items = [pair.noise for pair in pairs]
        equal_weights = np.full(n_pairs, 1 / n_pairs)
        noises = {ITEMS: noise_of_sum(of_items, equal_weights)}
        difference = Difference(OBSERVED, MEAN, value, noises, level, margin)
        found.append(difference)
    return found


def with_combined(observed: Sequence[Difference],
                  predicted: Mapping[str, Difference]) -> list[Difference]:
    """Return the observed differences, then the combined ones.

    `observed` are as `differences_of_answers` returns them. A benchmark, or
    the mean, that also has a predicted difference gets a combined one: the
    mean of both, weighted by their precision. The noise of runs of the
    predicted difference is added to the observed difference, too, because
    another seed would change both in the same way.
    """
    with_runs = []
    combined = []
    for difference in observed:
        other = predicted.get(difference.benchmark)
        if other is None:
            with_runs.append(difference)
            continue
        if RUNS in other.noises:
            noises = {**difference.noises, RUNS: other.noises[RUNS]}
            difference = replace(difference, noises=noises)
        with_runs.append(difference)
        combined.append(combine(other, difference))
    return [*with_runs, *combined]


def differences_of_accuracies(a: AccuracyTable, b: AccuracyTable, level: float,
                              margin: float) -> list[Difference]:
    """Return the observed difference on each benchmark, then of the mean.

    A table has a row for each run; accuracies are averaged over the runs. The
    mean is over the main benchmarks of the table of A, and is left out if it
    has fewer than two main benchmarks. With one run each, the noise comes from
    the number of items. With several runs, it comes from the scatter of the
    runs, which contains the noise of items.

    Raises:
        InputError: No benchmark has accuracies of all runs (and, with one run
            each, a known number of items); or the tables of A and B differ in
            the number of items of a benchmark.
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
            'Run all of them on the same benchmark, and give several runs of '
            'A or B, or the number of items in a table (--benchmarks).')
    a = a.select(benchmarks=names)
    b = b.select(benchmarks=names)
    # For each difference, the weights of the benchmarks in it, `(B,)`.
    single = np.eye(len(names))
    weights_of = dict(zip(names, single))
    is_main = np.isin(names, a.main)
    n_main = is_main.sum()
    if n_main > 1:
        check_no_mean('accuracies', weights_of)
        weights_of[MEAN] = is_main / n_main
    found = []
    for name, weights in weights_of.items():
        of_a = a.values @ weights
        of_b = b.values @ weights
        noises = {}
        if n_runs == (1, 1):
            noises[ITEMS] = _noise_of_items(a, b, weights, items)
        else:
            noises[RUNS] = run_noise((of_a, of_b), n_runs)
        value = of_b.mean() - of_a.mean()
        difference = Difference(OBSERVED, name, float(value), noises, level,
                                margin)
        found.append(difference)
    return found


def without_items(a: AccuracyTable, b: AccuracyTable) -> list[str]:
    """Return the benchmarks that `differences_of_accuracies` leaves out.

    These are benchmarks with accuracies of all runs whose noise is unknown: A
    and B have one run each, and the number of items is unknown.
    """
    if (len(a.models), len(b.models)) != (1, 1):
        return []
    found = []
    for name, n_items in _items_of_both(a, b).items():
        if not n_items and _is_complete(a, name) and _is_complete(b, name):
            found.append(name)
    return found


def _items_of_both(a: AccuracyTable, b: AccuracyTable) -> dict[str, int]:
    """Return the number of items of each benchmark that is in both tables.

    It is 0 where both tables do not know it. Raises an `InputError` if the
    tables state different numbers.
    """
    items_of_a = _items_of(a)
    items_of_b = _items_of(b)
    found = {}
    for name, of_a in items_of_a.items():
        if name not in items_of_b:
            continue
        of_b = items_of_b[name]
        if of_a and of_b and of_a != of_b:
            raise InputError(f'number of items of {name!r}',
                             'the same for A and for B',
                             f'{of_a} for A and {of_b} for B',
                             'Give accuracies on the same items.')
        found[name] = of_a or of_b
    return found


def _items_of(table: AccuracyTable) -> dict[str, int]:
    """Return the number of items of each benchmark, 0 if unknown."""
    n_items = table.n_items.tolist()
    return dict(zip(table.benchmarks, n_items))


def _is_complete(table: AccuracyTable, benchmark: str) -> bool:
    """Return True if all models of the table were run on the benchmark."""
    accuracies = table.column(benchmark)
    return not np.isnan(accuracies).any()


def _noise_of_items(a: AccuracyTable, b: AccuracyTable, weights: NDArray,
                    items: Mapping[str, int]) -> Noise:
    """Return the noise of items of the difference of two single runs.

    `weights`, `(B,)`, are the weights of the benchmarks of `a` and `b` in the
    difference, and `items` has the number of items of each benchmark by name.
    """
    (all_of_a, ) = a.values.tolist()
    (all_of_b, ) = b.values.tolist()
    noises = []
    for name, of_a, of_b in zip(a.benchmarks, all_of_a, all_of_b):
        n_items = items[name]
        normal = items_noise((of_a, of_b), n_items, (1, 1))
        # Student's t, as for answers, so that a few items decide nothing.
        freedom = max(n_items - 1, 1)
        noises.append(Noise.even(normal.error, freedom))
    return noise_of_sum(noises, weights)
