"""Losses against a full softmax in float64."""
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from csv_plugin.lm.engines import logit_losses
from csv_plugin.lm.engines.logit_losses import (FullLogits, HeadLogits,
                                                losses_of_targets)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(logit_losses, 'ROWS', 4)
    monkeypatch.setattr(logit_losses, 'COLUMNS', 8)


def truth(logits, targets):
    """Losses of `(n, V)` logits, float64."""
    log_p = logits.double().log_softmax(dim=1)
    return -log_p.gather(1, targets[:, None])[:, 0]


def of_all(logits, targets):
    rows = torch.arange(len(targets))
    return losses_of_targets(logits, rows, targets)


def check(losses, expected, tolerance):
    np.testing.assert_allclose(losses, expected, rtol=1e-6, atol=tolerance)


def linear(n_in, n_out, bias, dtype=torch.float32):
    head = nn.Linear(n_in, n_out, bias=bias)
    nn.init.normal_(head.weight)
    return head.to(dtype).requires_grad_(False)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 13), st.integers(1, 33), st.integers(0, 2**32),
    st.sampled_from([0., .1, 3., 100., 1e4]))
def test_any_logits(n, vocabulary, seed, scale):
    """Rows and columns around multiples of the block sizes 4 and 8."""
    draw = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(n, vocabulary, generator=draw)
    # Ties are drawn often.
    logits = logits.round() if seed % 2 else logits
    targets = torch.randint(vocabulary, (n, ), generator=draw)
    before = logits.clone()
    check(of_all(FullLogits(logits), targets), truth(logits, targets), 2e-6)
    assert torch.equal(logits, before)


def test_confident_predictions_at_large_logits_lose_no_digits():
    """A loss of 1e-3 beside logits of 1e4, whose float32 step is 1e-3."""
    logits = torch.zeros(1, 24)
    logits[0, 3], logits[0, 20] = 10000., 9993.
    targets = torch.tensor([3])
    np.testing.assert_allclose(
        of_all(FullLogits(logits), targets), truth(logits, targets), rtol=1e-4)


@pytest.mark.parametrize('vocabulary', [1, 8, 17])
@pytest.mark.parametrize('n', [4, 9])
@pytest.mark.parametrize('bias', [False, True])
def test_logits_of_a_head(n, vocabulary, bias):
    torch.manual_seed(n * vocabulary)
    head = linear(16, vocabulary, bias)
    hidden = torch.randn(n, 16)
    targets = torch.randint(vocabulary, (n, ))
    logits = nn.functional.linear(
        hidden.double(), head.weight.double(),
        None if head.bias is None else head.bias.double())
    check(
        of_all(HeadLogits(hidden, head), targets), truth(logits, targets),
        1e-5)


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
@pytest.mark.parametrize('bias, scale', [(False, 1), (True, 10)])
def test_half_precision_states_are_no_worse_than_naive_and_exact_to_fp32(
        dtype, bias, scale):
    torch.manual_seed(0)
    head = linear(64, 50, bias, dtype)
    hidden = (scale * torch.randn(200, 64)).to(dtype)
    targets = torch.randint(50, (200, ))
    logits = hidden.double() @ head.weight.double().T
    logits = logits + head.bias.double() if bias else logits
    exact = truth(logits, targets)
    naive = -head(hidden).log_softmax(dim=1).gather(1, targets[:, None])
    ours = torch.from_numpy(of_all(HeadLogits(hidden, head), targets))
    error = (ours - exact).abs()
    naive_error = (naive[:, 0] - exact).abs()
    assert (error <= naive_error + 1e-6 * scale).all()
    assert error.max() < 1e-5 * scale
    assert naive_error.max() > 100 * error.max()


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_logits_in_half_precision_are_summed_in_fp32(dtype):
    """Those of a model that computes them itself."""
    torch.manual_seed(0)
    logits = (3 * torch.randn(200, 50)).to(dtype)
    targets = torch.randint(50, (200, ))
    losses = of_all(FullLogits(logits), targets)
    assert losses.dtype == np.float32
    check(losses, truth(logits, targets), 2e-6)


def test_never_more_logits_than_a_block(monkeypatch):
    sizes, block = [], HeadLogits.block

    def watched(self, start, stop):
        logits = block(self, start, stop)
        sizes.append(logits.numel())
        return logits

    monkeypatch.setattr(HeadLogits, 'block', watched)
    head, hidden = linear(3, 100, False), torch.randn(50, 3)
    of_all(HeadLogits(hidden, head), torch.arange(50))
    assert max(sizes) == 4 * 8
