"""Algorithm 2 on worlds in which some tokens matter to some benchmarks."""
from dataclasses import replace

import numpy as np
import pytest
import torch

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable
from csv_plugin.core.metrics import mse
from csv_plugin.core.salience import Ridge, Task, fold_masks
from csv_plugin.core.scaling_law import Curve, fit_curve
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import HeadObjective, train_heads
from csv_plugin.lm.head.scoring_head import ScoringHead
from csv_plugin.lm.head.state_columns import StateColumns

N_MODELS, N_TOKENS, WIDTH = 16, 90, 3
BENCHMARKS = ('code', 'law', 'math')
OFFSETS = np.array([0, 40, N_TOKENS])
MODELS = tuple(f'model {m}' for m in range(N_MODELS))
TRAIN, VALIDATION, TEST = MODELS[:10], MODELS[10:13], MODELS[13:]
ADAM = HeadSettings(optimiser='adam', learning_rate=0.02, n_steps=5)


class World:
    """Tokens of three kinds; each benchmark follows the losses of one."""

    def __init__(self, noise=0.0, seed=0):
        rng = np.random.default_rng(seed)
        kind = np.arange(N_TOKENS) % 3
        states = np.eye(3)[kind] + 0.3 * rng.normal(size=(N_TOKENS, WIDTH))
        self.states = torch.from_numpy(states)
        skill = rng.normal(size=(N_MODELS, 3))
        losses = 2 - 0.3 * skill[:, kind]
        losses += 0.2 * rng.normal(size=losses.shape)
        n_chars = 4 * np.diff(OFFSETS)
        self.table = LossTable(MODELS, ('a', 'b'), losses, OFFSETS, n_chars,
                               n_chars, 'abc')
        score = losses @ (0.1 + np.eye(3)[kind])
        score = (score - score.mean(axis=0)) / score.std(axis=0)
        values = Curve(-2.0, 0.3, 0.25).accuracies(score)
        values += noise * rng.normal(size=values.shape)
        self.accuracies = AccuracyTable(MODELS, BENCHMARKS, values.clip(0, 1),
                                        np.full(3, 0.25), np.zeros(3, int))

    def with_values(self, values):
        world = World()
        world.accuracies = replace(self.accuracies, values=values)
        return world

    def train(self, settings=ADAM, train=TRAIN, validation=VALIDATION,
              **options):  # yapf: disable
        return train_heads(self.states, self.table, self.accuracies, train,
                           validation, settings, **options)

    def objective(self, train=TRAIN, validation=VALIDATION):
        return HeadObjective.of(self.states, self.table, self.accuracies,
                                train, validation)


def random_head(activation='softplus', seed=1):
    generator = torch.Generator().manual_seed(seed)
    theta = torch.randn(WIDTH, 3, generator=generator, dtype=torch.float64)
    head = ScoringHead.uniform(WIDTH, 3, activation)
    return replace(head, theta=0.3 * theta)


def rows_of(models):
    return [MODELS.index(model) for model in models]


def token_weights(world, heads):
    return heads.head.weights(world.states).numpy().T


def test_gradient_is_that_of_the_eliminated_objective():
    objective = World(noise=0.03).objective()

    def squares(head):
        evaluation = objective.evaluate(head, None)
        return objective.errors(evaluation)[0] * len(TRAIN)

    head, step = random_head(), 1e-5
    gradient, _ = objective.gradient(objective.evaluate(head, None))
    for i in range(WIDTH):
        up, down = head.theta.clone(), head.theta.clone()
        up[i] += step
        down[i] -= step
        slope = (squares(replace(head, theta=up)) -
                 squares(replace(head, theta=down))) / (2 * step)
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-5, atol=1e-8)


def test_first_step_is_the_mean_loss():
    world = World(noise=0.03)
    heads = world.train()
    mean_loss = world.table.losses.sum(axis=1) / 360
    fit_on, judged = rows_of(TRAIN), rows_of(VALIDATION)
    for b, accuracy in enumerate(world.accuracies.values.T):
        curve, _ = fit_curve(mean_loss[fit_on], accuracy[fit_on], 0.25)
        for errors, rows, tolerance in ((heads.train_mse, fit_on, 1e-5),
                                        (heads.validation_mse, judged, 1e-4)):
            expected = mse(accuracy[rows], curve.accuracies(mean_loss[rows]))
            assert errors[0, b] == pytest.approx(expected, rel=tolerance)


@pytest.mark.slow
def test_relevant_tokens_gain_weight_and_unseen_models_are_predicted():
    world = World()
    heads = world.train(replace(ADAM, learning_rate=.06, n_steps=100))
    last = np.nanmin(heads.validation_mse, axis=0)
    assert np.all(last < 0.25 * heads.validation_mse[0])
    assert heads.benchmarks == BENCHMARKS
    for b, weights in enumerate(token_weights(world, heads)):
        assert weights.shape == (N_TOKENS, )
        assert weights.min() >= 0
        assert weights[b::3].mean() > 2 * weights[(b + 1) % 3::3].mean()
    rows = rows_of(TEST)
    uniform = world.train(HeadSettings(n_steps=1, learning_rate=1e-9)).predict(
        world.states, world.table)
    predicted = heads.predict(world.states, world.table)
    truth = world.accuracies.values[rows].ravel()
    assert mse(
        truth,
        predicted[rows].ravel()) < 0.2 * mse(truth, uniform[rows].ravel())


def test_parameters_are_those_of_the_best_step_before_patience_is_over():
    world = World(noise=0.05)
    settings = replace(ADAM, learning_rate=.06, n_steps=70)
    full = world.train(replace(settings, patience=70))
    heads = world.train(replace(settings, patience=5))
    stops = np.sum(~np.isnan(heads.validation_mse), axis=0) - 1
    assert len(heads.validation_mse) == stops.max() + 1
    assert len(set(stops)) > 1
    for b, stop in enumerate(stops):
        assert stop == min(heads.best_step[b] + 5, 70)
        np.testing.assert_allclose(heads.validation_mse[:stop + 1, b],
                                   full.validation_mse[:stop + 1, b], 1e-6)
        assert np.isnan(heads.train_mse[stop + 1:, b]).all()
    np.testing.assert_array_equal(full.best_step,
                                  full.validation_mse.argmin(axis=0))
    assert 0 < full.best_step.min() < full.best_step.max() <= 70
    predicted = full.predict(world.states, world.table)
    for part, curve in ((TRAIN, full.train_mse), (VALIDATION,
                                                  full.validation_mse)):
        rows = rows_of(part)
        for b, step in enumerate(full.best_step):
            error = mse(world.accuracies.values[rows, b], predicted[rows, b])
            assert error == pytest.approx(curve[step, b], rel=1e-9)


@pytest.mark.slow
def test_benchmark_does_not_depend_on_the_others():
    world = World(noise=0.05)
    settings = replace(ADAM, n_steps=30, patience=5)
    together = world.train(settings)
    for b, benchmark in enumerate(BENCHMARKS):
        world.accuracies = AccuracyTable(
            MODELS, (benchmark, ),
            World(noise=0.05).accuracies.values[:, [b]], np.array([0.25]),
            np.array([0]))
        alone = world.train(settings)
        assert alone.best_step[0] == together.best_step[b]
        np.testing.assert_allclose(
            token_weights(world, alone)[0],
            token_weights(world, together)[b],
            rtol=1e-6)


def test_one_sgd_step_is_the_learning_rate_times_the_gradient():
    world = World()
    heads = world.train(
        HeadSettings(learning_rate=0.1, n_steps=1), validation=TRAIN)
    objective = world.objective()
    start = ScoringHead.uniform(WIDTH, 3)
    theta, bias = objective.gradient(objective.evaluate(start, None))
    assert heads.best_step.tolist() == [1, 1, 1]
    torch.testing.assert_close(heads.head.theta, start.theta - 0.1 * theta)
    torch.testing.assert_close(heads.head.bias, start.bias - 0.1 * bias)


def test_models_without_an_accuracy_are_left_out():
    world = World(noise=0.03)
    values = world.accuracies.values.copy()
    values[[3, 11], 1] = np.nan
    holes = world.with_values(values).train()
    keep = [m for m in MODELS if m not in (MODELS[3], MODELS[11])]
    fewer = world.train(
        train=[m for m in TRAIN if m in keep],
        validation=[m for m in VALIDATION if m in keep])
    np.testing.assert_allclose(holes.train_mse[:, 1], fewer.train_mse[:, 1],
                               1e-6)
    np.testing.assert_allclose(holes.validation_mse[:, 1],
                               fewer.validation_mse[:, 1], 1e-6)
    assert np.isfinite(holes.train_mse).all()


@pytest.mark.slow
def test_linear_head_at_convergence_is_the_exact_solution_on_phi():
    world = World(noise=0.03, seed=6)
    settings = HeadSettings('linear', 'adam', 0.1, 600, 600)
    heads = world.train(settings, train=MODELS, validation=MODELS)
    features = StateColumns.of(world.states, world.table).features(world.table)
    families = np.arange(N_MODELS) % 8
    for b, accuracy in enumerate(world.accuracies.values.T):
        task = Task.of(features.values, features.columns.uniform, accuracy,
                       0.25, families)
        ridge = Ridge((1e-8, ), learn_floor=False)
        fit = ridge.fit(task, fold_masks(families, seed=0))
        assert fit.penalty == 1e-8
        exact = mse(accuracy, fit.model.predict(features.values))
        assert exact < 0.5 * heads.train_mse[0, b]
        assert heads.train_mse[:, b].min() == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize('settings, message', [
    (dict(optimiser='lbfgs'), "found 'lbfgs'"),
    (dict(learning_rate=0.0), 'learning_rate: .* found 0.0'),
    (dict(n_steps=0), 'n_steps: .* found 0'),
    (dict(patience=-1), 'patience: .* found -1'),
])
def test_unusable_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        HeadSettings(**settings)
