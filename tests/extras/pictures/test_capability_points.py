"""Exponents and accuracies of models beside the curves of a predictor."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.curve import accuracy_of
from csv_plugin.core.study import Study, split_study
from csv_plugin.extras.pictures import capability_points
from tests.tables import Tables


@pytest.fixture(scope='module')
def study(tables) -> Study:
    return split_study(tables.features, tables.accuracies, tables.families,
                       tables.models[:10])


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
    names = study.predictor.names
    assert [p.benchmark for p in points] == list(names)
    table = study.predictions.select(benchmarks=names, methods=['salience'])
    for b, part in enumerate(points):
        assert part.models == tables.models
        assert part.families == tuple(tables.families[m] for m in part.models)
        np.testing.assert_array_equal(part.accuracies,
                                      tables.accuracies.column(part.benchmark))
        np.testing.assert_array_equal(part.fitted, table.in_sample[:, b, 0])
        inside = part.exponents[part.fitted]
        assert part.fitted_range == pytest.approx((inside.min(), inside.max()))
        on_curve = accuracy_of(part.exponents, np.array(part.floor))
        assert (table.low[:, b, 0] <= on_curve).all()
        assert (on_curve <= table.high[:, b, 0]).all()
        assert part.chance == 0.25 and part.floor <= .25
        np.testing.assert_array_equal(part.drawn, ~np.isnan(part.accuracies))


def test_bad_input(tables, study):
    with pytest.raises(InputError, match="None of 'org/model-0'"):
        points_of(study, tables, families={})
    other = replace(tables.accuracies, benchmarks=tuple('abcdef'))
    with pytest.raises(InputError, match='benchmark of the predictor'):
        points_of(study, tables, observed=other)
