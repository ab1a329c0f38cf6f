"""Errors of chosen units are those of families that had no part in it."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.choosing_units import choose_units
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.held_out import HeldOut
from csv_plugin.core.nested_choice import (nested_predictions,
                                           with_nested_errors)
from csv_plugin.core.salience import Uniform
from tests.tables import small_tables


def nested(tables, n=2, benchmarks=None):
    by = benchmarks or tables.accuracies.benchmarks
    return nested_predictions(tables.features, tables.accuracies,
                              tables.groups, n, by, Uniform())


def test_families_are_predicted_without_a_part_in_the_choice():
    """What they scored does not matter."""
    tables = small_tables()
    out = np.array(tables.groups) == tables.groups[0]
    values = tables.accuracies.values.copy()
    values[out] = 1 - values[out]
    others = replace(
        tables, accuracies=replace(tables.accuracies, values=values))
    before, after = nested(tables), nested(others)
    assert np.isfinite(before.predicted).all()
    np.testing.assert_array_equal(after.predicted[out], before.predicted[out])
    np.testing.assert_array_equal(after.beyond[out], before.beyond[out])
    assert before.beyond.any() and not before.beyond.all()


def test_one_family_has_nobody_to_choose_for_it():
    tables = small_tables()
    alone = nested_predictions(tables.features, tables.accuracies,
                               ['one'] * len(tables.groups), 2,
                               tables.accuracies.benchmarks, Uniform())
    assert np.isnan(alone.predicted).all()


def test_nothing_to_choose_by():
    """Benchmarks on which nothing can be learned."""
    alone = nested(small_tables(), benchmarks=['same'])
    assert np.isnan(alone.predicted).all()


def test_intervals_grow_as_the_error_does():
    tables = small_tables()
    chosen = choose_units(tables.features, tables.accuracies, tables.groups, 4)
    assert chosen == tables.features.columns.units
    before = fit_predictor(tables.features, tables.accuracies, tables.groups,
                           Uniform())
    real = tables.accuracies.values
    known = ~np.isnan(real)
    for factor in (0.5, 2.0):
        root = np.array([part.cv_mse for part in before.benchmarks])**0.5
        wrong = np.where(known, real + factor * root, np.nan)
        beyond = np.arange(len(real)) % 2 == 1
        after = with_nested_errors(
            before, tables.accuracies, tables.groups,
            HeldOut(wrong, np.broadcast_to(beyond[:, None], real.shape)))
        grown = max(factor, 1)
        for old, new in zip(before.benchmarks, after.benchmarks):
            if not old.cv_mse > 0:
                continue
            assert new.cv_mse == pytest.approx(grown**2 * old.cv_mse)
            np.testing.assert_allclose(new.intervals.variance,
                                       grown**2 * old.intervals.variance)
            larger_errors = replace(
                old.intervals,
                errors=grown * old.intervals.errors,
                backtest=grown * old.intervals.backtest)
            values = tables.features.values
            np.testing.assert_allclose(
                new.intervals.bounds(new.model, values, .8),
                larger_errors.bounds(old.model, values, .8))
            assert (len(new.notes) > len(old.notes)) == (factor > 1)
            if factor < 1:
                assert new.errors_by_reach == old.errors_by_reach
                assert new.families == old.families
                continue
            # All nested predictions are off alike.
            assert [family.error for family in new.families
                    ] == pytest.approx([new.cv_mse**.5] * len(old.families))
            rows = known[:, before.names.index(old.benchmark)]
            assert new.errors_by_reach.reach == old.errors_by_reach.reach
            for stated, kind in ((new.errors_by_reach.within, ~beyond),
                                 (new.errors_by_reach.beyond, beyond)):
                assert stated.n_models == (rows & kind).sum()
                assert stated.mse == pytest.approx(new.cv_mse)
