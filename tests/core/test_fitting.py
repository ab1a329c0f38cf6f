"""What a watch is told of a fit."""
import numpy as np

from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import Ridge
from tests.tables import small_tables


def test_the_watch_is_told_of_every_fit():
    tables, seen = small_tables(), {}
    predictor = fit_predictor(
        tables.features,
        tables.accuracies,
        tables.groups,
        Ridge(),
        watch=lambda name, task, fit: seen.update({name: (task, fit)}))
    assert tuple(seen) == tables.accuracies.benchmarks
    for part in predictor.benchmarks:
        task, fit = seen[part.benchmark]
        np.testing.assert_array_equal(
            task.values,
            tables.features.select(part.fit_models).values)
        assert fit.model is part.model
        assert (fit.solver, fit.penalty) == (part.solver, part.penalty)
    # Benchmarks from which nothing can be learned have no path.
    assert {name for name, (_, fit) in seen.items() if fit.path} == {
        'easy', 'hard'}  # yapf: disable


def test_nobody_has_to_watch():
    tables = small_tables()
    alone, watched = (
        fit_predictor(tables.features, tables.accuracies, tables.groups,
                      Ridge(), watch=watch)
        for watch in (None, lambda *_: None))  # yapf: disable
    for a, b in zip(alone.benchmarks, watched.benchmarks):
        np.testing.assert_array_equal(a.model.coefficients,
                                      b.model.coefficients)
