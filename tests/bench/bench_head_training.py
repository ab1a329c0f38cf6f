"""CPU time and memory of learning scoring heads, at the paper's size.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_head_training [--help]

Algorithm 2 with float32 and with bfloat16 states, one step of it by autograd,
and the exact solution on Phi, all on the same simulated losses. CPU time of
one thread, so that other processes hardly change it. Memory is what a part
adds to the process at its peak, the states not included.
"""
import numpy as np
import torch
from torch.nn import functional

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.salience import Ridge, Task, fold_masks
from csv_plugin.core.scaling_law import Curve
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import HeadObjective, train_heads
from csv_plugin.lm.head.scoring_head import ScoringHead
from csv_plugin.lm.head.state_columns import StateColumns
from tests.bench.common import make_parser, measure

PAPER_STEPS = 300


def simulate(n_tokens, width, n_models, n_benchmarks, seed=0):
    """States, losses and accuracies; some tokens matter to some benchmarks."""
    generator = torch.Generator().manual_seed(seed)
    rng = np.random.default_rng(seed)
    states = torch.randn(n_tokens, width, generator=generator)
    directions = torch.randn(width, n_benchmarks, generator=generator)
    relevance = torch.tanh(states @ directions / width**0.5).numpy()
    skill = np.linspace(-1, 1, n_models)
    special = 0.5 * rng.normal(size=(n_models, n_benchmarks))
    losses = np.empty((n_models, n_tokens))
    base = rng.exponential(2, n_tokens)
    for m in range(n_models):
        noise = 0.1 * rng.normal(size=n_tokens)
        gain = 0.3 * skill[m] + 0.2 * relevance @ special[m]
        losses[m] = base * np.exp(noise - gain)
    score = losses @ np.maximum(1 + relevance, 0)
    score = (score - score.mean(axis=0)) / score.std(axis=0)
    values = Curve(-1.5, 0.2, 0.25).accuracies(score)
    values += 0.01 * rng.normal(size=values.shape)
    models = tuple(f'model {m}' for m in range(n_models))
    n_texts = max(n_tokens // 300, 1)
    offsets = np.linspace(0, n_tokens, n_texts + 1).astype(int)
    n_chars = 4 * np.diff(offsets)
    table = LossTable(models, tuple(f'text {s}' for s in range(n_texts)),
                      losses, offsets, n_chars, n_chars, '')
    accuracies = AccuracyTable(
        models, tuple(f'benchmark {b}' for b in range(n_benchmarks)),
        np.clip(values, 0, 1), np.full(n_benchmarks, 0.25),
        np.zeros(n_benchmarks, int))
    return states, table, accuracies


def report(name, seconds, memory, note=''):
    print(
        f'{name:34} {seconds:8.2f} CPU s {memory:7.0f} MB  {note}', flush=True)


def one_step_by_autograd(objective, evaluation):
    """The gradient as it is usually written."""
    curve = evaluation.curve
    theta = evaluation.head.theta.float().requires_grad_()
    bias = evaluation.head.bias.float().requires_grad_()
    weights = functional.softplus(objective.states @ theta + bias)
    scores = objective.losses.float() @ weights
    alpha, beta, floor, accuracy = (
        torch.from_numpy(array).float()
        for array in (curve.alpha, curve.beta, curve.floor,
                      objective.accuracy))
    fitted = floor + (1 - floor) * torch.sigmoid(alpha * (scores - beta))
    squares = (fitted - accuracy)**2
    squares[torch.from_numpy(objective.train)].sum().backward()
    return theta.grad, bias.grad


def one_step(objective, head):
    """All of a step, but for the optimiser's update."""
    evaluation = objective.evaluate(head, None)
    return evaluation, objective.gradient(evaluation)


def exact(values, uniform, accuracies, families):
    return [
        Ridge().fit(
            Task.of(values, uniform, accuracy, chance, families),
            fold_masks(families, seed=0))
        for accuracy, chance in zip(accuracies.values.T, accuracies.chance)
    ]


def bench_training(states, table, accuracies, settings):
    """Algorithm 2 for each type of states."""
    validation = table.models[::4]
    train = [model for model in table.models if model not in validation]
    for dtype in (torch.float32, torch.bfloat16):
        typed = states.to(dtype)
        heads, used, memory = measure(train_heads, typed, table, accuracies,
                                      train, validation, settings)
        n_steps = settings.n_steps
        report(
            f'{n_steps} steps, {dtype}', used, memory,
            f'{1e3 * used / (n_steps + 1):.0f} ms a step; best at '
            f'{heads.best_step.tolist()}')


def bench_step(states, table, accuracies):
    """One step by hand and by autograd, on the same float32 states."""
    objective = HeadObjective.of(states, table, accuracies, table.models,
                                 table.models)
    head = ScoringHead.uniform(states.shape[1], len(accuracies.benchmarks))
    (evaluation, ours), by_hand, memory = measure(one_step, objective, head)
    report('one step by hand', by_hand, memory)
    theirs, by_autograd, memory = measure(one_step_by_autograd, objective,
                                          evaluation)
    error = (ours[0] - theirs[0]).norm() / ours[0].norm()
    report(
        'one step by autograd', by_autograd, memory,
        f'{by_autograd / by_hand:.1f} x by hand; gradients differ by '
        f'{error:.0e}')


def bench_exact(states, table, accuracies):
    """Phi, and the exact solution after it."""
    families = np.arange(len(table.models)) % 8
    cached = states.bfloat16()
    features, seconds, memory = measure(
        lambda: StateColumns.of(cached, table).features(table))
    report('Phi', seconds, memory)
    fits, seconds, memory = measure(exact, features.values,
                                    features.columns.uniform, accuracies,
                                    families)
    mse = ' '.join(f'{fit.cv_mse:.1e}' for fit in fits)
    report('exact solution after Phi', seconds, memory, f'held-out MSE {mse}')


def main():
    options = make_parser(
        __doc__,
        tokens=180_000,
        width=2048,
        models=40,
        benchmarks=6,
        steps=PAPER_STEPS).parse_args()
    torch.set_num_threads(1)
    states, table, accuracies = simulate(options.tokens, options.width,
                                         options.models, options.benchmarks)
    print(f'T={options.tokens} H={options.width} M={options.models} '
          f'B={options.benchmarks}, one thread')
    bench_step(states, table, accuracies)
    bench_exact(states, table, accuracies)
    bench_training(
        states, table, accuracies,
        HeadSettings(n_steps=options.steps, patience=options.steps + 1))


if __name__ == '__main__':
    main()
