"""Feature columns side by side."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_array

from csv_plugin.core.features import group_columns, text_columns
from csv_plugin.core.losses import LossTable
from csv_plugin.core.salience import NonNegative, Ridge
from csv_plugin.core.training import Block, JoinedColumns

RNG = np.random.default_rng(0)
TABLE = LossTable(('m', 'n'), ('a', 'b'), RNG.uniform(1, 2, (2, 5)),
                  np.array([0, 2, 5]), np.array([4, 6]), np.array([4, 6]),
                  'f')  # yapf: disable
GROUPS = group_columns(TABLE, ['x', 'y', 'x', 'x', 'y'])
TEXTS = text_columns(TABLE)


def test_columns_stand_side_by_side():
    columns = JoinedColumns(
        [Block('groups', GROUPS, ()),
         Block('texts', TEXTS, ())])
    assert columns.columns.units == ('groups: x', 'groups: y', 'texts: a',
                                     'texts: b')
    features = columns.features(TABLE)
    assert features.columns.fingerprint == TABLE.fingerprint
    assert features.columns.scored.all()
    np.testing.assert_allclose(
        features.values,
        np.hstack([
            GROUPS.features(TABLE).values,
            TEXTS.features(TABLE).values,
        ]))
    np.testing.assert_allclose(features.mean_loss,
                               TABLE.losses.sum(axis=1) / 10)


@given(
    st.integers(0, 4).flatmap(lambda n: arrays(
        float, (4, n), elements=st.floats(-9, 9).map(np.float32),
        fill=st.just(0.))))  # yapf: disable
def test_sums_of_columns_are_sums_of_tokens(coefficients):
    columns = JoinedColumns(
        [Block('groups', GROUPS, ()),
         Block('texts', TEXTS, ())])
    combined = columns.combine(csc_array(coefficients))
    dense = np.hstack([GROUPS.matrix.toarray(), TEXTS.matrix.toarray()])
    assert combined.shape == (5, coefficients.shape[1])
    np.testing.assert_allclose(
        combined.toarray(), dense @ coefficients, atol=1e-12)
    # What a nat of a token adds: features and sums agree.
    np.testing.assert_allclose(
        TABLE.losses @ combined.toarray(),
        columns.features(TABLE).values @ coefficients,
        atol=1e-12)


def test_each_solver_gets_its_own_columns():
    solvers = JoinedColumns([
        Block('groups', GROUPS, (Ridge(), NonNegative())),
        Block('texts', TEXTS, (Ridge(), ))
    ]).solvers('sums')
    assert [solver.name for solver in solvers
            ] == ['groups ridge', 'groups nonnegative', 'texts ridge']
    assert [solver.columns.tolist() for solver in solvers] == [[0, 1], [0, 1],
                                                               [2, 3]]
    for solver, part in zip(solvers, (GROUPS, GROUPS, TEXTS)):
        np.testing.assert_array_equal(solver.uniform, part.columns.uniform)
    assert [type(solver.solver)
            for solver in solvers] == [Ridge, NonNegative, Ridge]


def test_answers_of_other_sources_are_not_offered():
    columns = JoinedColumns([
        Block('groups', GROUPS, (Ridge(), )),
        Block('answers of a', TEXTS, (Ridge(), ), 'a'),
        Block('answers of b', TEXTS, (Ridge(), ), 'b')
    ])
    offered = {
        name: [(solver.name, solver.columns.tolist())
               for solver in columns.solvers(name)]
        for name in 'abc'
    }
    groups, of_a, of_b = offered['c']
    assert offered['a'] == [groups, of_a]
    assert offered['b'] == [groups, of_b]
    assert (groups[1], of_a[1], of_b[1]) == ([0, 1], [2, 3], [4, 5])
    # Its own answers are the favourite of a benchmark.
    assert [columns.auto(name).favourite for name in 'abc'
            ] == ['answers of a ridge', 'answers of b ridge', None]
