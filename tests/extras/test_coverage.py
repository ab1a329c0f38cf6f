"""How many intervals of held-out models hold the real accuracy."""
import numpy as np
import pytest

from csv_plugin.core.salience import SOLVERS
from csv_plugin.core.split_studies import split_study
from csv_plugin.extras.coverage import coverage_by_level
from tests.tables import Tables, small_tables


@pytest.fixture(scope='module')
def tables() -> Tables:
    return small_tables(n_models=18)


def test_counts(tables):
    study = split_study(tables.features, tables.accuracies, tables.families,
                        tables.models[:10], SOLVERS['ridge'])
    coverage = coverage_by_level(study.predictor, tables.features,
                                 tables.accuracies.select(tables.models[::-1]),
                                 (0.5, 0.9))
    assert coverage.benchmarks == tables.accuracies.benchmarks
    assert list(coverage.levels) == [0.5, 0.9]
    hits = 0
    for b in range(len(coverage.benchmarks)):
        held_out = [
            m for m in range(10, 18)
            if not np.isnan(tables.accuracies.values[m, b])
        ]
        assert coverage.n_models[b] == len(held_out)
        for i, level in enumerate(coverage.levels):
            table = study.predictor.predict(tables.features, level)
            inside = [
                table.low[m, b, 0] <= tables.accuracies.values[m, b] <=
                table.high[m, b, 0] for m in held_out
            ]
            share = np.mean(inside) if inside else np.nan
            np.testing.assert_equal(coverage.covered[i, b], share)
        hits += sum(inside)
    assert coverage.pooled[1] == hits / coverage.n_models.sum()
