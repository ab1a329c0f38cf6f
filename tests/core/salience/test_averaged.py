"""Ridges and means of the units that tell most, averaged."""
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import rankdata

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.held_out_errors import mean_unseen
from csv_plugin.core.salience import (Averaged, Constant, Task, averaged,
                                      fold_masks, predicts_better)
from csv_plugin.core.salience.averaged import (LITTLE_GAIN, EqualWeights,
                                               Ridges, _best_floor, _shared)
from csv_plugin.core.salience.ridge import (Problems, RidgeRegressions,
                                            _PenaltyPath)
from csv_plugin.core.salience_model import scores_of
from csv_plugin.core.scaling_law import accuracy_at, fit_curve

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
AVERAGED = Averaged(PENALTIES)


def masks_of(task: Task):
    return fold_masks(task.families, 0, n_repeats=1)


def world(seed: int = 0, n: int = 40, chance: float = 0.25) -> Task:
    """Accuracies that fall with the logarithms of two of eight losses."""
    rng = np.random.default_rng(seed)
    families = np.repeat([f'family {i}' for i in range(n // 4)], 4)
    skill = rng.uniform(-1, 1, n)
    values = np.exp(rng.normal(size=(n, 8)) / 5 - skill[:, None])
    exponents = -2 * np.log(values[:, :2]).sum(axis=1)
    accuracy = accuracy_at(exponents, chance) + rng.normal(size=n) / 100
    return Task.of(values, np.full(8, 1 / 8), np.clip(accuracy, 0, 1), chance,
                   families)


def test_settings_and_members_are_judged_by_all_benchmarks():
    """Two benchmarks, a member with 2 settings; logarithms."""
    errors = np.array([[.1, .4], [.3, .3]])
    weights = np.array([.25, .75])
    shared = _shared([[SimpleNamespace(errors=part)] for part in errors],
                     weights)
    excess = np.log([[1, 4], [1, 1]])
    assert shared.excess[0] == pytest.approx(weights @ excess)
    assert shared.members == pytest.approx([weights @ np.log([.1, .3])])


def noise_of(task: Task, seed: int) -> Task:
    """The task with accuracies about the chance level."""
    noise = np.random.default_rng(seed).normal(size=len(task.accuracy)) / 30
    return replace(task, accuracy=task.chance + noise)


def test_benchmarks_in_noise_hardly_matter():
    task = world()
    tasks = [task, replace(task, accuracy=task.accuracy**2)]
    noise = [noise_of(task, seed) for seed in range(30)]

    def predicted(of):
        fits = AVERAGED.fit_together(of, [masks_of(task)] * len(of))
        return np.array([fit.model.predict(task.values) for fit in fits[:2]])

    alone, beside = predicted(tasks), predicted([*tasks, *noise])
    errors = [
        np.mean((part - [each.accuracy for each in tasks])**2, axis=1)
        for part in (alone, beside)
    ]
    assert errors[1] == pytest.approx(errors[0], rel=.1)
    minor = [replace(part, main=False) for part in (*noise, world(4))]
    np.testing.assert_allclose(predicted([*tasks, *minor]), alone, rtol=1e-9)


def test_a_fold_model_has_not_seen_its_held_out_models():
    """But for what all folds share: a floor, and weights of averages."""
    task = world(chance=0)  # one floor
    masks = masks_of(task)[:2]
    solver, exponents = Averaged(PENALTIES[1:2]), []
    for seed in range(12):
        noise = np.random.default_rng(seed).uniform(size=40)
        changed = replace(
            task, accuracy=np.where(masks[0], task.accuracy, noise))
        fold = solver.fit(changed, masks).folds[0]
        exponents.append(fold.exponents(task.values))
    # Averages of the same eight fits: two penalties on two scales, and equal
    # weights of eight units, four, two and one.
    sizes = np.linalg.svd(np.diff(exponents, axis=0), compute_uv=False)
    assert sizes[0] > 1e-3
    np.testing.assert_allclose(sizes[7:], 0, atol=1e-9 * sizes[0])


def test_fits_without_fold_models_have_their_predictions():
    tasks = [world(), world(4)]
    masks = [masks_of(task) for task in tasks]
    whole, bare = (
        AVERAGED.fit_together(tasks, masks, with_folds=with_folds)
        for with_folds in (True, False))
    for task, fit, other in zip(tasks, whole, bare):
        folds = fit.folds.predict(task.values)
        assert fit.held_out is None and not len(other.folds.coefficients)
        np.testing.assert_allclose(
            other.held_out, mean_unseen(folds, fit.masks), rtol=1e-6)
        for part in (fit, other):
            assert part.cv_mse == fit.cv_mse
            np.testing.assert_allclose(
                part.model.predict(task.values),
                fit.model.predict(task.values),
                rtol=1e-12)
        assert predicts_better(task, other, Constant().fit(task, fit.masks))


def test_scores_with_other_typical_losses_are_as_of_one_model():
    parts = [world(), world(1), world(1).select(np.arange(20))]
    models = [AVERAGED.fit(part, masks_of(part)).model for part in parts]
    models.insert(2, models[1])
    values = parts[0].values
    np.testing.assert_allclose(
        scores_of(models, values), [model.scores(values) for model in models],
        rtol=1e-12)


def test_little_gain_is_noted():
    """Losses of which only the mean tells something."""
    task = world()
    noise = np.random.default_rng(0).normal(size=40) / 10
    exponents = -2 * np.log(task.values.mean(axis=1)) + noise
    fit = Averaged((1e-4, 1e-8, 1e-12)).fit(
        replace(task, accuracy=accuracy_at(exponents, 0.25)), masks_of(task))
    assert fit.notes == (LITTLE_GAIN, ) and fit.penalty == np.inf


@pytest.mark.parametrize('gain, floor', [(0, 0), (.1, 0), (.3, 5)])
def test_the_lowest_floor_must_gain_a_fifth(gain, floor):
    """On the chance level, which is the first; errors are logarithms."""
    errors = np.zeros((3, 6))
    errors[1, 5] = -gain
    assert _best_floor(np.exp(errors)) == floor


def test_averages_are_those_of_paths_with_the_best_floor():
    """The best one for losses is not the first, and given for logarithms."""
    task = replace(world(chance=0), chance=.25)
    masks, penalties = masks_of(task), (*PENALTIES, 1e-6, 1e-7)
    on_losses, on_logs = averaged._both_scales(task.features)
    first = Ridges(on_losses, task, masks, penalties)
    assert first.floor == 0
    second = Ridges(on_logs, task, masks, penalties, first.floor)
    problems = Problems.of_folds(task, masks, np.zeros(1))
    for fitted, ridge in ((first, on_losses), (second, on_logs)):
        weights = fitted.errors < 1.2 * fitted.errors.min()
        exponents, terms = fitted.average(weights, np.s_[:])
        expected = sum(
            weight * part.exponents
            for weight, part in zip(weights, ridge.path(problems, penalties)))
        assert weights.sum() > 1
        np.testing.assert_allclose(exponents, expected, rtol=.02, atol=.02)
        np.testing.assert_allclose(
            exponents_of(task, terms), exponents, rtol=1e-5, atol=1e-6)


def count_moved(monkeypatch) -> list:
    """Numbers of regressions that are followed, by penalty."""
    moved, follow = [], _PenaltyPath.follow

    def count(path, penalties, tolerance):
        if tolerance == averaged.PATH_TOLERANCE:
            moved.append(len(path.rows))
        follow(path, penalties, tolerance)

    monkeypatch.setattr(_PenaltyPath, 'follow', count)
    return moved


def test_floors_and_penalties_without_hope_are_given_up(monkeypatch):
    task = world(n=80)
    masks, moved = masks_of(task), count_moved(monkeypatch)
    ridge = RidgeRegressions.of(task.features)
    some = Ridges(ridge, task, masks, PENALTIES)
    # Of three strong penalties, none is followed.
    n_some, all_rows = sum(moved), moved[0] * 2
    monkeypatch.setattr(averaged, 'RISE', np.inf)
    monkeypatch.setattr(averaged, 'FAR', np.inf)
    every = Ridges(ridge, task, masks, PENALTIES)
    assert sum(moved) - n_some == all_rows > n_some
    assert some.floor == every.floor
    hope = every.errors < averaged.NEAR * every.errors.min()
    np.testing.assert_allclose(some.errors[hope], every.errors[hope])


def test_fits_that_leave_no_errors_are_followed_no_further(monkeypatch):
    """Of more units than models; the last solution counts for the others."""
    task, moved = steady_world(), count_moved(monkeypatch)
    ridge = RidgeRegressions.of(task.features)
    penalties = tuple(10.**-np.arange(4, 10))
    found = Ridges(ridge, task, MASKS, penalties, FLOOR)
    assert moved == [6, 0, 0, 0, 0, 0]
    assert all(part is found.path[1] for part in found.path[2:])
    monkeypatch.setattr(averaged, 'SPENT', 0)
    every = Ridges(ridge, task, MASKS, penalties, FLOOR)
    assert moved[6:] == [6] * 6
    np.testing.assert_allclose(found.errors, every.errors, rtol=1e-2)


def test_what_is_not_followed_is_interpolated(monkeypatch):
    monkeypatch.setattr(averaged, 'NEAR', 0)
    task = world()
    ridge = RidgeRegressions.of(task.features)
    path = Ridges(ridge, task, masks_of(task), PENALTIES).path
    first, second, fourth = (path[s].exponents for s in (0, 2, 4))
    np.testing.assert_allclose(second, (first + fourth) / 2)
    assert not np.allclose(first, fourth)


def test_a_floor_may_be_the_best_at_weak_penalties_alone():
    """Of four losses, three of which fall with accuracy as a floor of 0 says.

    These are noisy. The other one follows the curve above chance.
    """
    rng = np.random.default_rng(0)
    skill = rng.uniform(-1, 1, 40)
    accuracy = accuracy_at(3 * skill - 1, 0.25)
    noisy = -(logit(accuracy) + rng.normal(size=40) / 10) / 2
    task = Task.of(
        np.stack([-skill, noisy, noisy, noisy], axis=1), np.full(4, 1 / 4),
        accuracy, 0.25, np.repeat(np.arange(10), 4))
    ridge = RidgeRegressions.of(task.features)
    low, own = (
        Ridges(ridge, task, masks_of(task), PENALTIES, floor)
        for floor in (0, None))
    assert low.errors[0] < own.errors[0] and own.floor == .25


def test_losses_cannot_be_negative():
    task = world()
    task = task.on(task.values - 1, task.uniform)
    with pytest.raises(InputError, match='losses of 0 or more'):
        AVERAGED.fit(task, masks_of(task))
    task = world()
    model = AVERAGED.fit(task, masks_of(task)).model
    with pytest.raises(InputError, match='losses: expected 0 or more.*sign'):
        model.predict(-task.values)


def test_columns_of_zeros_and_zeros_in_columns():
    task = world()
    task.values[:, 3] = 0
    task.values[5, :2] = 0
    fit = AVERAGED.fit(task, masks_of(task))
    predicted = fit.model.predict(task.values)
    assert np.isfinite(predicted).all()
    assert np.isfinite(fit.model.predict(task.values * 0)).all()


@pytest.mark.parametrize('unit', [1e-120, 1e3])
def test_the_unit_of_losses_does_not_matter(unit):
    task = world()
    scaled = task.on(task.values * unit, task.uniform)
    first, other = (
        AVERAGED.fit(of, masks_of(of)).model.predict(of.values)
        for of in (task, scaled))
    np.testing.assert_allclose(first, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize('slope, n_families, solver', [(.05, 8, 'averaged'),
                                                       (0, 8, 'constant'),
                                                       (.05, 2, 'constant')])
def test_accuracies_below_chance(slope, n_families, solver):
    """With a curve where losses tell of other families, else their mean."""
    rng = np.random.default_rng(1)
    families = np.repeat([f'family {i}' for i in range(n_families)], 4)
    skill = rng.uniform(-1, 1, len(families))
    values = np.exp(rng.normal(size=(len(families), 3)) / 9 - skill[:, None])
    accuracy = 0.45 + slope * skill + rng.normal(size=len(families)) / 100
    models = tuple(f'model {i}' for i in range(len(families)))
    table = AccuracyTable(models, ('guessed', ), accuracy[:, None],
                          np.array([0.5]), np.array([1000]))
    columns = Columns(('a', 'b', 'c'), np.full(3, 1 / 3), '')
    features = FeatureTable(models, columns, values)
    part = fit_predictor(features, table, families,
                         AVERAGED).benchmark('guessed')
    noted = str(part.notes).startswith("('predicted by the mean accuracy: no")
    assert (part.solver, noted) == (solver, solver == 'constant')
    assert noted or part.cv_mse < .013**2


N, K, FLOOR = 24, 320, 0.25
MASKS = fold_masks(np.repeat(np.arange(6), 4), 0, n_repeats=1)
ROWS = [*MASKS, np.ones(N, dtype=bool)]
SIZES = [320, 160, 80, 40, 20, 10, 5, 2, 1]


def steady_world(seed: int = 0) -> Task:
    """Losses that fall with a skill, the first the most steadily."""
    rng = np.random.default_rng(seed)
    skill = rng.uniform(-1, 1, N)
    noise = rng.normal(size=(N, K)) * np.linspace(0.05, 3, K)
    accuracy = accuracy_at(2 * skill, FLOOR) + rng.normal(size=N) / 100
    return Task.of(
        np.exp((noise - skill[:, None]) / 5), np.full(K, 1 / K), accuracy,
        FLOOR, np.repeat(np.arange(6), 4))


def relative(task: Task) -> np.ndarray:
    """Losses over typical ones."""
    return task.values / task.values.mean(axis=0)


def exponents_of(task: Task, terms) -> np.ndarray:
    """Of all models, by their terms."""
    return (terms.offset[:, None] + terms.losses @ task.values.T +
            terms.logs @ np.log(relative(task)).T)


def test_units_are_ordered_by_their_correlation_with_ranks():
    task = steady_world()
    found = EqualWeights(task, MASKS, FLOOR)
    logs = np.log(task.values)
    for row, n_sizes in zip(ROWS, found.n_sizes):
        correlations = [
            np.corrcoef(logs[row, k], rankdata(task.accuracy[row]))[0, 1]
            for k in range(K)
        ]
        for n, size in enumerate(SIZES):
            first = np.argsort(correlations)[:size]
            assert {*first} == {*np.flatnonzero(n_sizes > n)}


@pytest.mark.parametrize('size', range(9))
def test_curves_are_on_the_mean_of_the_first_units(size):
    """Of their logarithms, or of fewer than eight losses."""
    task = steady_world()
    found = EqualWeights(task, MASKS, FLOOR)
    assert found.sizes.tolist() == SIZES
    exponents, terms = found.average(np.eye(9)[size], np.s_[:])
    values = relative(task) if SIZES[size] < 8 else np.log(relative(task))
    for row, n_sizes, by_fit in zip(ROWS, found.n_sizes, exponents):
        score = values[:, n_sizes > size].mean(axis=1)
        curve, _ = fit_curve(score[row], task.accuracy[row], FLOOR)
        np.testing.assert_allclose(
            accuracy_at(by_fit, FLOOR), curve.accuracies(score), atol=1e-4)
    np.testing.assert_allclose(
        exponents_of(task, terms), exponents, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize('columns', [1, 5])
def test_all_units_count_by_their_logarithms(columns):
    task = steady_world()
    task = task.on(task.values[:, :columns], np.full(columns, 1 / columns))
    found = EqualWeights(task, MASKS, FLOOR)
    _, terms = found.average(np.eye(len(found.sizes))[0], np.s_[:])
    assert terms.logs.all() and not terms.losses.any()


def test_units_and_accuracies_that_do_not_differ():
    task = steady_world()
    # As a table that is rounded might have it.
    task.values[:, 0] = 1.5 - 1e-5 * task.accuracy
    task.values[:, 1] = 1.5
    found = EqualWeights(task, MASKS, FLOOR)
    assert np.isfinite(found.errors).all()
    assert (found.n_sizes[:, :2] < 3).all()
    level = EqualWeights(replace(task, accuracy=np.full(N, 0.5)), MASKS, FLOOR)
    np.testing.assert_allclose(level.errors, 0, atol=1e-6)


@pytest.mark.parametrize('level', [0, .1])
def test_constant_scores_have_the_slope_0(level):
    accuracy, masks = np.linspace(.1, .9, 12), np.ones((2, 12), dtype=bool)
    scores = np.stack([np.full(12, level), -accuracy])
    masks[0, 3], scores[0, 3] = False, 9
    slopes, offsets = averaged.fit_curves(scores, accuracy, masks, .05)
    assert slopes[0] == 0 > slopes[1]
    assert accuracy_at(offsets[0], .05) == pytest.approx(
        accuracy[masks[0]].mean(), abs=1e-3)
