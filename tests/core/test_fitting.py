"""Held-out predictions, and what cannot be fitted to."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.fitting import Fitted, fit_predictor
from csv_plugin.core.held_out_errors import mean_unseen
from csv_plugin.core.salience import (Auto, MeanLoss, Ridge, Task, Uniform,
                                      fold_masks)
from tests.tables import small_tables


def test_the_cross_validated_error_is_one_that_no_choice_saw():
    """Also in what is known of families and of how scores go together."""
    tables, auto = small_tables(), Auto((Ridge((1e-1, 1e-3)), ))
    predictor = fit_predictor(tables.features, tables.accuracies,
                              tables.groups, auto)
    part = predictor.benchmark('easy')
    accuracy = tables.accuracies.column('easy')
    rows = ~np.isnan(accuracy)
    task = Task.of(
        tables.features.select(tables.accuracies.models).values[rows],
        tables.features.columns.uniform, accuracy[rows], part.chance,
        np.array(tables.groups)[rows])
    masks = fold_masks(task.families, 0)
    held_out = auto.held_out(task, masks)
    errors = held_out - task.accuracy
    assert part.cv_mse == np.mean(errors**2) > auto.fit(task, masks).cv_mse
    assert part.notes[-1].startswith(f'MSE {part.cv_mse:.2e} on families')
    assert part.typical_error == pytest.approx(
        np.median([
            np.sqrt(np.mean(errors[task.families == family]**2))
            for family in set(tables.groups)
        ]))


def test_folds_predict_the_models_that_they_have_not_seen():
    tables = small_tables().only('easy')
    task = Task.of(tables.features.values, tables.features.columns.uniform,
                   tables.accuracies.column('easy'), .25,
                   np.array(tables.groups))
    fit = Ridge().fit(task, fold_masks(task.families, 0))
    part = Fitted(task, fit)
    unseen = [*zip(*part.folds.unseen)]
    assert unseen == [*map(tuple, np.argwhere(~fit.masks))]
    for (f, m), error in zip(unseen, part.folds.errors):
        alone = fit.folds[f].predict(task.values[[m]])[0]
        assert error == pytest.approx(alone - task.accuracy[m])
    by_model = [
        np.mean(part.folds.exponents[~fit.masks[:, m], m])
        for m in range(len(task.accuracy))
    ]
    np.testing.assert_allclose(
        mean_unseen(part.folds.exponents, fit.masks), by_model)
    mask = fit.masks[:1].copy()
    mask[:, 0] = True
    never = replace(fit, folds=fit.folds[:1], masks=mask)
    assert np.isnan(Fitted(task, never).held_out[0])
    assert part.folds.n_families == len(set(tables.groups))


def test_back_tests_fit_to_the_worse_models_with_folds_of_one_repeat():
    seen = []

    class Spy(Uniform):

        def fit(self, task, masks):
            seen.append((task, masks))
            return super().fit(task, masks)

    tables = small_tables(n_models=24, n_families=12).only('easy')
    fit_predictor(tables.features, tables.accuracies, tables.groups, Spy())
    (every, folds), *backtests = seen
    np.testing.assert_array_equal((~folds).sum(axis=0), 3)
    assert [len(task.accuracy) for task, _ in backtests] == [12, 16, 20]
    worst_first = np.sort(every.features.mean_loss)[::-1]
    for task, masks in backtests:
        np.testing.assert_array_equal((~masks).sum(axis=0), 1)
        np.testing.assert_allclose(
            np.sort(task.features.mean_loss)[::-1],
            worst_first[:len(task.accuracy)])


def test_the_baseline_is_a_curve_at_chance_too(tables):
    """Other solvers give way to the mean accuracy there."""
    models = tables.models[:10]
    accuracy = .24 + .01 * np.random.default_rng(0).normal(size=10)
    accuracies = AccuracyTable(models, ('exam', ), accuracy[:, None],
                               np.array([.25]), np.array([500]))
    families = [tables.families[model] for model in models]
    parts = [
        fit_predictor(tables.features, accuracies, families, solver)
        for solver in (MeanLoss(), Ridge())
    ]
    assert [p.benchmarks[0].solver for p in parts] == ['mean-loss', 'constant']
    predicted = parts[0].predict(tables.features.select(models)).values
    np.testing.assert_allclose(predicted[:, 0, 0], .24, atol=.02)
