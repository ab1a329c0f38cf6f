"""On a GPU: the losses of a CPU, and what a GPU without room does."""
import numpy as np
import pytest
import torch

from csv_plugin.core.texts import Text
from csv_plugin.lm.engines import transformers_engine as module
from csv_plugin.lm.engines.logit_losses import HeadLogits
from csv_plugin.lm.engines.token_losses import token_losses
from tests.lm.models import MODELS, make, tokenizer
from tests.lm.tokens.tokenizers import CORPUS

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason='there is no GPU')

TEXTS = [Text(str(i), text) for i, text in enumerate(CORPUS)]


@pytest.fixture
def share_of_memory():
    """Limit what this process may take of the memory of the GPU."""
    yield torch.cuda.set_per_process_memory_fraction
    torch.cuda.set_per_process_memory_fraction(1.)


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


def test_a_full_gpu_takes_smaller_batches(monkeypatch, share_of_memory):
    model = make('gemma2', vocab_size=60000).to('cuda')
    texts = [Text(str(i), 'a' * 100) for i in range(40)]
    rows = []
    plain = module.logits_of

    def logits_of(model, head, inputs):
        rows.append(len(inputs))
        return plain(model, head, inputs)

    monkeypatch.setattr(module, 'logits_of', logits_of)
    monkeypatch.setattr(module, 'default_max_tokens',
                        lambda *args, **settings: len(texts) * 128)
    expected = token_losses(model, tokenizer(), texts)
    assert rows == [len(texts)]
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    share_of_memory((torch.cuda.memory_reserved() + 600 * 2**20) / total)
    halved = token_losses(model, tokenizer(), texts)
    assert min(rows) < len(texts)
    for one, other in zip(halved, expected):
        np.testing.assert_allclose(one.losses, other.losses, atol=1e-4)
