"""Engines of packages that are not installed here, with stand-ins."""
import sys

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.ctranslate2_engine import CTranslate2Engine
from csv_plugin.lm.engines.llama_cpp_engine import LlamaCppEngine
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from tests.lm.engines import stand_ins
from tests.lm.models import CONTEXT, make, tokenizer
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = [
    *(Text(f't{i}', text) for i, text in enumerate(CORPUS)),
    Text('long', ' '.join(2 * CORPUS))
]


@pytest.fixture(autouse=True)
def packages(monkeypatch):
    for module in (stand_ins.package('vllm', SamplingParams=dict),
                   stand_ins.package('llama_cpp', Llama=stand_ins.Llama)):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def check_losses(engine, context=CONTEXT):
    losses = token_losses(engine, tokenizer(), TEXTS)
    expected = token_losses(make('llama'), tokenizer(), TEXTS, context=context)
    for first, second in zip(losses, expected):
        np.testing.assert_allclose(first.losses, second.losses, atol=2e-5)
    facts = engine.facts
    assert facts.context == context
    return (facts.engine, facts.model, facts.dtype, facts.cache_dtype,
            facts.versions)


def test_vllm():
    assert check_losses(VLLMEngine(stand_ins.LLM())) == ('vllm', 'lab/tiny',
                                                         'float32', 'float32',
                                                         {
                                                             'vllm': '1.2'
                                                         })
    assert VLLMEngine(
        stand_ins.LLM('fp8_e4m3')).facts.cache_dtype == ('fp8_e4m3')


def test_vllm_refuses_in_one_line():
    strange = tokenizer()
    strange.add_tokens([f'word{i}' for i in range(100)])
    with pytest.raises(InputError, match='out of vocabulary.*own tokenizer'):
        token_losses(
            VLLMEngine(stand_ins.LLM()), strange, [Text('a', 'a word99')])
    with pytest.raises(InputError, match='too long.*max_model_len'):
        token_losses(
            VLLMEngine(stand_ins.LLM()), tokenizer(), TEXTS, context=500)


def test_llama_cpp():
    assert check_losses(LlamaCppEngine('tiny.gguf',
                                       CONTEXT)) == ('llama.cpp', 'tiny.gguf',
                                                     'file type 0',
                                                     'keys 0, values 0', {
                                                         'llama-cpp-python':
                                                         '1.2'
                                                     })
    with pytest.raises(InputError, match="nothing: expected a file that "):
        LlamaCppEngine('nothing', CONTEXT)


@pytest.mark.parametrize('make_engine, name', [
    (lambda: VLLMEngine(stand_ins.LLM()), 'vllm'),
    (lambda: CTranslate2Engine('folder', 8), 'ctranslate2'),
    (lambda: LlamaCppEngine('a.gguf', 8), 'llama_cpp'),
])
def test_a_missing_package(make_engine, name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError) as error:
        make_engine()
    assert f'the package {name}, found' in str(error.value)
    assert 'docs/engines.md' in str(error.value)
