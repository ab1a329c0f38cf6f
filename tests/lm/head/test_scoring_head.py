"""Eq. 3: weights from hidden states, and gradients through them."""
import numpy as np
import pytest
import torch
from torch.nn import functional

from csv_plugin.core.losses import LossTable
from csv_plugin.lm.head.scoring_head import (BLOCK_ROWS, ScoringHead,
                                             losses_per_character,
                                             weighted_losses)
from tests.core.loss_dumps import short_tokens

#: More than two blocks, the last one not full.
N_TOKENS, WIDTH, N_BENCHMARKS, N_MODELS = 2 * BLOCK_ROWS + 3, 4, 3, 5


def random(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype)


def random_head():
    return ScoringHead(
        random(WIDTH, N_BENCHMARKS, seed=1), random(N_BENCHMARKS, seed=2))


def make_table(losses, n_chars):
    n = losses.shape[1]
    return LossTable(
        tuple(f'm{i}' for i in range(len(losses))), ('a', 'b'), losses,
        short_tokens([2, n - 2], [5, n_chars]), np.array([4, n_chars - 4]), '')


def test_heads_start_with_uniform_weights():
    head = ScoringHead.uniform(WIDTH, N_BENCHMARKS)
    weights = head.weights(100 * random(N_TOKENS, WIDTH))
    torch.testing.assert_close(weights, torch.ones_like(weights))


@pytest.mark.parametrize('dtype, tolerance', [
    (torch.float64, 1e-12),
    (torch.float32, 1e-5),
    (torch.bfloat16, 1e-5),
])
def test_weights_of_every_token(dtype, tolerance):
    states, head = random(N_TOKENS, WIDTH).to(dtype), random_head()
    weights = head.weights(states)
    expected = functional.softplus(states.double() @ head.theta + head.bias)
    torch.testing.assert_close(
        weights.double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize('dtype', [torch.float64, torch.float32])
def test_gradient_is_that_of_autograd(dtype):
    states, head = random(N_TOKENS, WIDTH).to(dtype), random_head()
    by_weight = random(N_TOKENS, N_BENCHMARKS, seed=3)
    theta = head.theta.clone().requires_grad_()
    bias = head.bias.clone().requires_grad_()
    weights = functional.softplus(states.double() @ theta + bias)
    (weights * by_weight).sum().backward()
    ours = head.gradient(states, head.preactivations(states), by_weight)
    for gradient, expected in zip(ours, (theta.grad, bias.grad)):
        assert gradient.shape == expected.shape
        error = (gradient - expected).norm() / expected.norm()
        assert error < {torch.float64: 1e-12, torch.float32: 1e-6}[dtype]


def capability_scores(head, states, table):
    return weighted_losses(
        losses_per_character(table, table.scored, states),
        head.weights(states))


def test_capability_scores_are_weighted_losses_per_character():
    states, head = random(N_TOKENS, WIDTH), random_head()
    losses = random(N_MODELS, N_TOKENS, seed=4).exp().numpy()
    scores = capability_scores(head, states, make_table(losses, 9000))
    assert scores.shape == (N_MODELS, N_BENCHMARKS)
    for b, weights in enumerate(head.weights(states).T.numpy()):
        expected = (losses * weights).sum(axis=1) / 9000
        np.testing.assert_allclose(scores[:, b], expected)


def test_tokens_that_a_model_did_not_score_do_not_count():
    states, head = random(N_TOKENS, WIDTH), random_head()
    losses = random(N_MODELS, N_TOKENS, seed=4).exp().numpy()
    missing = losses.copy()
    missing[0, 0] = missing[2, 700] = np.nan
    losses[:, [0, 700]] = 0
    np.testing.assert_allclose(
        capability_scores(head, states, make_table(missing, 9000)),
        capability_scores(head, states, make_table(losses, 9000)))
