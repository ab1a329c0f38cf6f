"""On a GPU: the losses of a CPU, and what a GPU without room does."""
import numpy as np
import pytest
import torch

from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.logit_losses import HeadLogits
from csv_plugin.lm.engines.token_losses import token_losses
from tests.lm.models import MODELS, make, tokenizer
from tests.lm.tokens.tokenizers import CORPUS

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason='there is no GPU')

TEXTS = [Text(str(i), text) for i, text in enumerate(CORPUS)]


@pytest.mark.parametrize('name', MODELS)
def test_losses_in_fp32_are_those_of_the_cpu(name):
    model = make(name)
    expected = token_losses(model, tokenizer(), TEXTS)
    found = token_losses(model.to('cuda'), tokenizer(), TEXTS)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one.losses, other.losses, atol=1e-4)


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
@pytest.mark.parametrize('bias', [False, True])
def test_logits_of_16_bits_are_fp32(dtype, bias):
    """Their products are added up in fp32, blocks of many columns."""
    draw = torch.Generator('cuda').manual_seed(0)
    head = torch.nn.Linear(2048, 20000, bias=bias, device='cuda', dtype=dtype)
    hidden = torch.randn(300, 2048, device='cuda', generator=draw).to(dtype)
    made = HeadLogits(hidden, head)
    with torch.no_grad():
        logits = made.block(5000, 13192)
        exact = hidden.double() @ head.weight[5000:13192].double().T
        if bias:
            exact += head.bias[5000:13192].double()
    assert logits.dtype == torch.float32
    error = (logits.double() - exact).abs().max()
    rounded = (exact.to(dtype).double() - exact).abs().max()
    assert error < 1e-4 and error < rounded / 20
