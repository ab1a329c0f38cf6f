"""Every engine gives the losses of transformers, and says what it is."""
import sys
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest

from csv_plugin.core.texts import Text
from csv_plugin.extras.completions import CompletionsEngine
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.engines.transformers_engine import TransformersEngine
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from tests.extras.servers import Server, running
from tests.lm.engines import stand_ins
from tests.lm.models import CONTEXT, make, tokenizer
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = [
    *(Text(f't{i}', text) for i, text in enumerate(CORPUS)),
    Text('long', ' '.join(2 * CORPUS))
]
SIZES = dict(vocab_size=len(tokenizer()))


@contextmanager
def _server():
    with running(Server(make('llama', **SIZES))) as server:
        yield CompletionsEngine(server.url, 'tiny', dtype='bfloat16')


#: How each is made, and what its dumps are to say of it: engine, number
#: formats of weights and cache, and whose versions.
ENGINES = {
    'transformers':
    (lambda: nullcontext(TransformersEngine(make('llama', **SIZES))),
     ('transformers', 'float32', 'none'), {'torch', 'transformers'}),
    'vllm':
    (lambda: nullcontext(VLLMEngine(stand_ins.LLM(**SIZES))),
     ('vllm', 'float32', 'float32'), {'vllm'}),
    'vllm, cache in 8 bits':
    (lambda: nullcontext(VLLMEngine(stand_ins.LLM('fp8', **SIZES))),
     ('vllm', 'float32', 'fp8'), {'vllm'}),
    'vllm server':
    (_server, ('vllm server', 'bfloat16', 'unknown'), {'vllm'}),
}  # yapf: disable


@pytest.fixture(autouse=True)
def packages(monkeypatch):
    module = stand_ins.package('vllm', SamplingParams=dict)
    monkeypatch.setitem(sys.modules, 'vllm', module)


@pytest.fixture(params=ENGINES)
def named(request):
    start, recorded, versions = ENGINES[request.param]
    with start() as engine:
        yield engine, recorded, versions


def test_losses_are_those_of_transformers(named):
    engine, recorded, versions = named
    losses = token_losses(engine, tokenizer(), TEXTS)
    expected = token_losses(make('llama', **SIZES), tokenizer(), TEXTS)
    for ours, theirs in zip(losses, expected):
        np.testing.assert_allclose(ours.losses, theirs.losses, atol=2e-4)
    facts = engine.facts
    assert (facts.engine, facts.dtype, facts.cache_dtype) == recorded
    assert facts.context == CONTEXT and set(facts.versions) == versions
