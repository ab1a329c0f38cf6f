"""Comparisons as tables for the terminal."""
from dataclasses import replace

import numpy as np

from csv_plugin.core.comparing import compare
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.report.comparison_report import as_text
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


def test_benchmarks_are_grouped_by_what_a_run_would_show():
    """By the predicted difference, its verdict, and the numbers of items."""
    tables = small_tables(n_models=24, n_units=8).only('easy', 'hard')
    n_items = np.array([100_000, 20])
    accuracies = replace(tables.accuracies, n_items=n_items)
    predictor = fit_predictor(tables.features, accuracies, tables.groups)
    by_loss = np.argsort(tables.features.values.mean(axis=1))
    ordered = [tables.features.models[m] for m in by_loss]

    def shown(a, b):
        first, second = (tables.features.select((m, )) for m in (a, b))
        return as_text(compare(first, second, predictor=predictor), 1000)

    far = shown(ordered[-1], ordered[0])
    assert 'Losses decide on: easy, hard.' in far
    near = shown(ordered[11], ordered[12])
    assert 'a run would show the predicted difference, on: easy.' in near
    assert 'no difference as small as predicted, on: hard.' in near
    assert 'Losses decide' not in near


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
