"""Comparisons as tables for the terminal."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.comparing import compare
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.report.comparison_report import as_text, conclusion
from tests.tables import small_tables


def test_accuracies_of_answers_are_in_percent():
    first = {str(item): float(item < 8) for item in range(10)}
    second = {str(item): float(item > 4) for item in range(10)}
    text = as_text(compare(answers=({'exam': first}, {'exam': second})))
    parts = text.split('\n\n')
    table = parts[parts.index('Items') + 1]
    # Five items were solved by A alone, two by B alone.
    assert ' '.join(table.splitlines()[-1].split()).startswith(
        'exam 10 80.0 % 50.0 % 5 2 ')


@pytest.mark.slow
def test_benchmarks_are_grouped_by_what_a_run_would_show():
    """By the predicted difference, its verdict, and the numbers of items."""
    tables = small_tables(n_models=24, n_units=8).only('easy', 'hard')
    n_items = np.array([100_000, 20])
    accuracies = replace(tables.accuracies, n_items=n_items)
    predictor = fit_predictor(tables.features, accuracies, tables.groups)
    from_best = np.argsort(tables.features.values.mean(axis=1))
    ordered = [tables.features.models[m] for m in from_best]

    def shown(a, b, **options):
        first, second = (tables.features.select((m, )) for m in (a, b))
        found = compare(first, second, predictor=predictor, **options)
        return ' '.join(as_text(found, 1000).split())

    first = tables.features.select((ordered[11], ))
    second = tables.features.select((ordered[12], ))
    n_right = {'easy': (90, 40), 'hard': (50, 50)}
    answers = ({}, {})
    for name, numbers in n_right.items():
        for grades, n in zip(answers, numbers):
            grades[name] = {str(i): float(i < n) for i in range(100)}
    observed = as_text(
        compare(first, second, predictor=predictor, answers=answers), 1000)
    assert 'By items: the smallest' in observed
    assert 'a run would' not in observed and 'can tell on' not in observed

    far = shown(ordered[-1], ordered[0], level=.8)
    assert far.count('(80% interval ') == 2
    assert far.count(' B - A 80% interval ') == 2
    assert 'Predicted accuracies can tell on: easy, hard.' in far
    near = shown(ordered[11], ordered[12])
    # Each line names predicted accuracies as what can or cannot tell.
    assert ('Predicted accuracies cannot tell, but a run would show the '
            'predicted difference, on: easy.') in near
    assert ('Predicted accuracies cannot tell, and a run would show no '
            'difference as small as predicted, on: hard.') in near
    assert 'can tell on' not in near
    # Where losses decide, the benchmarks are named, but not their mean.
    by_loss = shown(ordered[-1], ordered[0], decided_by='loss')
    _, _, named = by_loss.partition('Losses decide; predicted accuracies ')
    assert named.startswith('can tell on easy (better), hard (better).')


def test_observed_accuracies_that_contradict_are_named_first():
    """Losses decide for B, though B solves fewer items of an exam."""
    units = [f'text/{i}' for i in range(8)]
    of_a, of_b = (FeatureTable.of_losses([name], units,
                                         [np.arange(2, 10) - gain])
                  for name, gain in (('a', 0), ('b', .5)))
    answers = [{
        'exam': {str(i): float(i < n) for i in range(100)},
        'other': {str(i): float(i < 50) for i in range(100)}
    } for n in (90, 40)]  # yapf: disable
    by_loss = compare(of_a, of_b, answers=answers, decided_by='loss')
    assert conclusion(by_loss).startswith(
        'B is better than A, although its observed accuracy is worse on exam: '
        'mean loss -0.5')
    by_exam = compare(of_a, of_b, answers=answers, decided_by='exam')
    assert conclusion(by_exam).startswith('B is worse than A: accuracy on')


def test_standard_errors_and_what_the_verdict_is_about_are_explained():
    tables = small_tables().only('easy', 'hard')
    models = tables.features.models
    one = [tables.features.select((m, )) for m in models[:6]]
    scores = [tables.accuracies.select(models[i:i + 3]) for i in (0, 3)]
    several = compare(one[:3], one[3:], accuracies=tuple(scores))
    text = ' '.join(as_text(several).split())
    assert 'SE runs: scatter of runs of one recipe, from seed to seed' in text
    assert 'SE texts: choice of texts' in text and 'SE items' not in text
    assert 'the choice of items is not in their intervals' in text
    assert 'The verdict is about the recipes of A and B' in text
    single = ' '.join(as_text(compare(one[0], one[1])).split())
    assert 'SE texts: ' in single and 'SE runs' not in single
    assert 'choice of items' not in single
    assert 'the verdict is about these two runs, not' in single
