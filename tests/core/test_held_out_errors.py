"""Errors by family, near where most families are, and beyond."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.fitting import Fitted
from csv_plugin.core.held_out_errors import (held_out_families, is_beyond,
                                             reach, typical_error)
from csv_plugin.core.salience import Ridge, Task, fold_masks
from tests.tables import small_tables


def test_errors_are_those_on_the_models_of_a_family():
    low, high = held_out_families(['b', 'a', 'b'], np.array([.1, .9, .3]),
                                  np.array([.2, .8, .1]))
    assert (low.family, low.n_models, low.lowest, low.highest) == ('a', 1, .9,
                                                                   .9)
    assert (high.n_models, high.lowest, high.highest) == (2, .1, .3)
    assert low.bias == pytest.approx(-.1) and low.error == pytest.approx(.1)
    assert high.bias == pytest.approx(-.05)
    assert high.error == pytest.approx(np.sqrt((.01 + .04) / 2))


def test_half_of_three_families_err_less_than_the_typical_one():
    three = held_out_families(
        list('abc'), np.full(3, .5), np.array([.6, .9, .52]))
    assert typical_error(three) == pytest.approx(.1)
    assert np.isnan(typical_error(three[:2]))


@pytest.mark.parametrize('bests, expected', [
    ([.9], .9),
    ([.9, .2, .5], .2),
    ([.9, .2, .5, .4], .4),
    ([.9, .2, .5, .4, .3], .3),
    ([.9, .2, .5, .4, .3, .8, .7, .6], .4),
])
def test_three_in_four_families_reach_it(bests, expected):
    """Each with its best model, however many it has."""
    families = np.repeat(np.arange(len(bests)), 3)
    predicted = np.repeat(bests, 3) * np.tile([.1, 1, .5], len(bests))
    assert reach(predicted, families) == expected


def test_rounding_puts_nothing_beyond():
    np.testing.assert_array_equal(
        is_beyond(np.array([.2, .3, .3 + 1e-12, .31]), .3),
        [False, False, False, True])
    assert reach(np.zeros(0), np.zeros(0)) == np.inf


def task_of(tables, benchmark='easy'):
    return Task.of(tables.features.values, tables.features.columns.uniform,
                   tables.accuracies.column(benchmark), .25,
                   np.array(tables.groups))


def test_both_kinds_together_are_the_error_of_cross_validation():
    """Each fold's own families say what is within their reach."""
    task = task_of(small_tables())
    fit = Ridge().fit(task, fold_masks(task.families, 0))
    by_reach = Fitted.of(task, fit).errors_by_reach
    squares = {False: [], True: []}
    models = {False: set(), True: set()}
    for fold, mask in enumerate(fit.masks):
        predicted = fit.folds[fold].predict(task.values)
        limit = reach(predicted[mask], task.families[mask])
        for m in np.flatnonzero(~mask):
            kind = bool(predicted[m] > limit + 1e-9)
            squares[kind].append((predicted[m] - task.accuracy[m])**2)
            models[kind].add(m)
    for kind, error in ((False, by_reach.within), (True, by_reach.beyond)):
        assert error.mse == pytest.approx(np.mean(squares[kind]))
        assert error.n_models == len(models[kind])
        assert error.n_families == len(set(task.families[[*models[kind]]]))
    every = squares[False] + squares[True]
    assert np.mean(every) == pytest.approx(fit.cv_mse)
    assert by_reach.reach == reach(
        fit.model.predict(task.values), task.families)


def test_better_models_err_more_where_few_families_have_them():
    """A third of the families alone emerge, each at another loss."""
    rng = np.random.default_rng(0)
    families = np.repeat(np.arange(9), 8)
    loss = 3 - np.tile(np.linspace(0, 1, 8), 9) * np.where(
        families % 3 == 0, 2, 1)
    shift = np.where(families % 3 == 0, rng.normal(0, .5, 9)[families], 0)
    task = Task.of(loss[:, None], np.ones(1),
                   1 / (1 + np.exp(6 * (loss + shift - 1.5))), 0., families)
    fit = Ridge().fit(task, fold_masks(families, 0))
    by_reach = Fitted.of(task, fit).errors_by_reach
    assert by_reach.within.mse < fit.cv_mse < by_reach.beyond.mse
    assert by_reach.within.n_families == 9 and by_reach.beyond.n_families == 3
    best = fit.model.predict(task.values)[families % 3 == 1]
    assert best.max() <= by_reach.reach + .05
    assert by_reach.is_beyond(np.array([by_reach.reach, .99])).tolist() == [
        False, True]  # yapf: disable


def test_no_error_of_too_few_families():
    """Nor where no family could be held out."""
    tables = small_tables(n_families=2)
    task = task_of(tables)
    masks = fold_masks(task.families, 0)
    by_reach = Fitted.of(task, Ridge().fit(task, masks)).errors_by_reach
    assert np.isnan(by_reach.within.mse) and np.isnan(by_reach.beyond.mse)
    assert by_reach.within.n_families == 2
    alone = replace(task, families=np.full(len(task.families), 'only'))
    none = Ridge().fit(alone, fold_masks(alone.families, 0))
    assert Fitted.of(alone, none).errors_by_reach is None
