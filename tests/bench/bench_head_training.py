"""CPU time and memory of the paper's training, at the paper's size.

    OMP_NUM_THREADS=1 python -m tests.bench.bench_head_training [--help]

Algorithm 2 with float32 and with bfloat16 states, and one step of it by hand
and by autograd, all on the same simulated losses. CPU time of one thread, so
that other processes hardly change it. Memory is what a part adds to the
process at its peak, the states not included.
"""
import torch
from torch.nn import functional

from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import HeadObjective, train_heads
from csv_plugin.lm.head.scoring_head import ScoringHead
from tests.bench.bench_salience_training import simulate
from tests.bench.common import make_parser, measure

PAPER_STEPS = 300


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
    evaluation = objective.evaluate(head, None)
    ours, by_hand, memory = measure(
        lambda: objective.gradient(objective.evaluate(head, None)))
    report('one step by hand', by_hand, memory)
    theirs, by_autograd, memory = measure(one_step_by_autograd, objective,
                                          evaluation)
    error = (ours[0] - theirs[0]).norm() / ours[0].norm()
    report(
        'one step by autograd', by_autograd, memory,
        f'{by_autograd / by_hand:.1f} x by hand; gradients differ by '
        f'{error:.0e}')


def main():
    options = make_parser(
        __doc__,
        tokens=180_000,
        width=2048,
        models=40,
        benchmarks=6,
        steps=PAPER_STEPS).parse_args()
    torch.set_num_threads(1)
    losses, accuracies, _ = simulate(options.tokens,
                                     max(options.tokens // 300, 1),
                                     options.models, options.benchmarks)
    targets = losses.tokens_of(accuracies.models[0])
    table = targets.table({model: losses[model].texts for model in losses})
    states = torch.randn(
        targets.n_tokens,
        options.width,
        generator=torch.Generator().manual_seed(0))
    print(f'T={options.tokens} H={options.width} M={options.models} '
          f'B={options.benchmarks}, one thread')
    bench_step(states, table, accuracies)
    bench_training(
        states, table, accuracies,
        HeadSettings(n_steps=options.steps, patience=options.steps + 1))


if __name__ == '__main__':
    main()
