"""Scores and accuracies of models beside the curves of a predictor."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.salience import SOLVERS
from csv_plugin.core.split_studies import split_study
from csv_plugin.core.study import Study
from csv_plugin.extras.pictures import capability_points
from tests.tables import Tables


@pytest.fixture(scope='module')
def study(tables) -> Study:
    return split_study(tables.features, tables.accuracies, tables.families,
                       tables.models[:10], SOLVERS['ridge'])


def points_of(study: Study, tables: Tables, **changes):
    arguments = dict(
        predictor=study.predictor,
        losses=tables.features,
        observed=tables.accuracies,
        families=tables.families)
    return capability_points(**arguments | changes)


def test_points_of_all_benchmarks(tables, study):
    shuffled = tables.accuracies.select(tables.models[::-1])
    points = points_of(study, tables, observed=shuffled)
    assert [p.benchmark for p in points] == list(tables.accuracies.benchmarks)
    table = study.predictions.select(methods=['ridge'])
    for b, part in enumerate(points):
        assert part.models == tables.models
        assert part.families == tuple(tables.families[m] for m in part.models)
        np.testing.assert_array_equal(part.accuracies,
                                      tables.accuracies.values[:, b])
        np.testing.assert_array_equal(part.fitted, table.in_sample[:, b, 0])
        inside = part.scores[part.fitted]
        assert part.fitted_range == pytest.approx(
            (inside.min(initial=np.inf), inside.max(initial=-np.inf)))
        np.testing.assert_allclose(
            part.curve.accuracies(part.scores), table.values[:, b, 0])
        assert part.chance == 0.25 and part.unit == 'unit of the losses'
        np.testing.assert_array_equal(part.drawn, ~np.isnan(part.accuracies))


def test_bad_input(tables, study):
    with pytest.raises(InputError, match="none of 'org/model-0'"):
        points_of(study, tables, families={})
    other = replace(tables.accuracies, benchmarks=tuple('abcdef'))
    with pytest.raises(InputError, match='benchmark of the predictor'):
        points_of(study, tables, observed=other)
