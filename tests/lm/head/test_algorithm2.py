"""Algorithm 2 on worlds in which some tokens matter to some benchmarks."""
from dataclasses import replace

import numpy as np
import pytest
import torch

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable
from csv_plugin.core.metrics import mse
from csv_plugin.core.scaling_law import Curve, fit_curve
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import HeadObjective, train_heads
from csv_plugin.lm.head.scoring_head import ScoringHead
from tests.core.loss_dumps import short_tokens

N_MODELS, N_TOKENS, WIDTH = 16, 90, 3
BENCHMARKS = ('code', 'law', 'math')
OFFSETS = np.array([0, 40, N_TOKENS])
MODELS = tuple(f'model {m}' for m in range(N_MODELS))
TRAIN, VALIDATION, TEST = MODELS[:10], MODELS[10:13], MODELS[13:]
#: Far above the paper's: few steps show what happens.
RATE = 3.
SETTINGS = HeadSettings(learning_rate=RATE, n_steps=5)


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
        spans = short_tokens(np.diff(OFFSETS), n_chars)
        self.table = LossTable(MODELS, ('a', 'b'), losses, spans, n_chars,
                               'abc')
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

    def train(self, settings=SETTINGS, train=TRAIN, validation=VALIDATION,
              **options):  # yapf: disable
        return train_heads(self.states, self.table, self.accuracies, train,
                           validation, settings, **options)

    def objective(self, train=TRAIN, validation=VALIDATION):
        return HeadObjective.of(self.states, self.table, self.accuracies,
                                train, validation)


def random_head():
    generator = torch.Generator().manual_seed(1)
    theta = torch.randn(WIDTH, 3, generator=generator, dtype=torch.float64)
    return replace(ScoringHead.uniform(WIDTH, 3), theta=0.3 * theta)


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


def test_uniform_weights_predict_by_the_mean_loss():
    world = World(noise=0.03)
    found = world.objective().evaluate(ScoringHead.uniform(WIDTH, 3), None)
    mean_loss = world.table.losses.sum(axis=1) / 360
    rows, seen = rows_of(TRAIN), rows_of(TRAIN + VALIDATION)
    for b, accuracy in enumerate(world.accuracies.values.T):
        curve, _ = fit_curve(mean_loss[rows], accuracy[rows], 0.25)
        np.testing.assert_allclose(found.predicted[:, b],
                                   curve.accuracies(mean_loss[seen]), 1e-4)


@pytest.mark.slow
def test_relevant_tokens_gain_weight_and_unseen_models_are_predicted():
    world = World()
    heads = world.train(HeadSettings(learning_rate=RATE, n_steps=100))
    assert heads.benchmarks == BENCHMARKS
    for b, weights in enumerate(token_weights(world, heads)):
        assert weights.shape == (N_TOKENS, )
        assert weights.min() >= 0
        assert weights[b::3].mean() > 2 * weights[(b + 1) % 3::3].mean()
    rows = rows_of(TEST)
    truth = world.accuracies.values[rows].ravel()
    errors = [
        mse(truth,
            made.predict(world.states, world.table)[rows].ravel())
        for made in (heads,
                     world.train(HeadSettings(n_steps=1, learning_rate=1e-9)))
    ]
    assert errors[0] < 0.2 * errors[1]


def descent(world, settings):
    """Heads after each step, and their evaluations, step by step."""
    objective, head = world.objective(), ScoringHead.uniform(WIDTH, 3)
    for _ in range(settings.n_steps + 1):
        evaluation = objective.evaluate(head, None)
        yield head, evaluation, objective.errors(evaluation)[1]
        theta, bias = objective.gradient(evaluation)
        head = ScoringHead(head.theta - settings.learning_rate * theta,
                           head.bias - settings.learning_rate * bias)


def best_before(patience, errors):
    """The step with the least error, `patience` steps before the end."""
    best = 0
    for step, error in enumerate(errors):
        if error < errors[best]:
            best = step
        elif step - best == patience:
            break
    return best


def test_parameters_are_those_of_the_best_step_before_patience_is_over():
    world = World()
    settings = HeadSettings(learning_rate=RATE, n_steps=30)
    steps, evaluations, errors = zip(*descent(world, settings))
    best_steps = []
    for patience in (7, 70):
        heads = world.train(replace(settings, patience=patience))
        predicted = heads.predict(world.states, world.table)
        for b, best in enumerate(heads.best_step):
            assert best == best_before(patience, [e[b] for e in errors])
            np.testing.assert_allclose(heads.head.theta[:, b],
                                       steps[best].theta[:, b], 1e-4)
            np.testing.assert_allclose(predicted[:13, b],
                                       evaluations[best].predicted[:, b], 1e-4)
        best_steps.append(heads.best_step.tolist())
    assert best_steps == [[8, 30, 30], [26, 30, 30]]


@pytest.mark.slow
def test_benchmark_does_not_depend_on_the_others():
    world = World(noise=0.05)
    settings = replace(SETTINGS, n_steps=30, patience=5)
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


def test_models_without_an_accuracy_are_left_out():
    world = World(noise=0.03)
    values = world.accuracies.values.copy()
    values[[3, 11], 1] = np.nan
    holes = world.with_values(values).train()
    keep = [m for m in MODELS if m not in (MODELS[3], MODELS[11])]
    fewer = world.train(
        train=[m for m in TRAIN if m in keep],
        validation=[m for m in VALIDATION if m in keep])
    assert holes.best_step[1] == fewer.best_step[1] > 0
    np.testing.assert_allclose(
        token_weights(world, holes)[1],
        token_weights(world, fewer)[1], 1e-6)


@pytest.mark.parametrize('settings, message', [
    (dict(learning_rate=0.0), 'learning_rate: .* found 0.0'),
    (dict(n_steps=0), 'n_steps: .* found 0'),
    (dict(patience=-1), 'patience: .* found -1'),
])
def test_unusable_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        HeadSettings(**settings)
