"""Every engine gives the losses of transformers, and says what it is."""
import sys
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from ctranslate2.converters import TransformersConverter

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.extras.engines.completions import CompletionsEngine
from csv_plugin.extras.engines.ctranslate2 import CTranslate2Engine
from csv_plugin.extras.engines.llama_cpp import LlamaCppEngine
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.engines.transformers_engine import TransformersEngine
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from tests.extras.engines.servers import Server, SGLang, running
from tests.lm.engines import stand_ins
from tests.lm.models import CONTEXT, make, tokenizer
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = [
    *(Text(f't{i}', text) for i, text in enumerate(CORPUS)),
    Text('long', ' '.join(2 * CORPUS))
]
#: CTranslate2 wants a vocabulary that its tokenizer fills.
SIZES = dict(vocab_size=len(tokenizer()))


@contextmanager
def _server(kind, name):
    with running(kind(make('llama', **SIZES))) as server:
        yield CompletionsEngine(server.url, 'tiny', name, dtype='bfloat16')


def _ctranslate2(folder):
    make('llama', **SIZES).save_pretrained(folder / 'tiny')
    tokenizer().save_pretrained(folder / 'tiny')
    path = TransformersConverter(str(folder / 'tiny')).convert(
        str(folder / 'converted'))
    return nullcontext(CTranslate2Engine(path, CONTEXT))


#: How each is made, and what its dumps are to say of it: engine, number
#: formats of weights and cache, and whose versions.
ENGINES = {
    'transformers':
    (lambda _: nullcontext(TransformersEngine(make('llama', **SIZES))),
     ('transformers', 'float32', 'none'), {'torch', 'transformers'}),
    'vllm':
    (lambda _: nullcontext(VLLMEngine(stand_ins.LLM(**SIZES))),
     ('vllm', 'float32', 'float32'), {'vllm'}),
    'vllm, cache in 8 bits':
    (lambda _: nullcontext(VLLMEngine(stand_ins.LLM('fp8', **SIZES))),
     ('vllm', 'float32', 'fp8'), {'vllm'}),
    'vllm server':
    (lambda _: _server(Server, 'vllm'),
     ('vllm server', 'bfloat16', 'unknown'), {'vllm'}),
    'sglang server':
    (lambda _: _server(SGLang, 'sglang'),
     ('sglang server', 'bfloat16', 'unknown'), {'sglang'}),
    'ctranslate2':
    (_ctranslate2, ('ctranslate2', 'float32', 'none'), {'ctranslate2'}),
    'llama.cpp':
    (lambda _: nullcontext(LlamaCppEngine('m.gguf', CONTEXT)),
     ('llama.cpp', 'file type 0', 'keys 0, values 0'), {'llama-cpp-python'})
}  # yapf: disable


@pytest.fixture(autouse=True)
def packages(monkeypatch):

    def llama(path, **settings):
        return stand_ins.Llama(path, **settings, sizes=SIZES)

    for module in (stand_ins.package('vllm', SamplingParams=dict),
                   stand_ins.package('llama_cpp', Llama=llama)):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture(params=ENGINES)
def named(request, tmp_path):
    start, recorded, versions = ENGINES[request.param]
    with start(tmp_path) as engine:
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


@pytest.mark.parametrize('start, name', [
    (lambda: VLLMEngine(stand_ins.LLM()), 'vllm'),
    (lambda: CTranslate2Engine('folder', 8), 'ctranslate2'),
    (lambda: LlamaCppEngine('a.gguf', 8), 'llama_cpp'),
])
def test_a_missing_package(start, name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
            InputError, match=f'the package {name}, found.*docs/engines.md'):
        start()
