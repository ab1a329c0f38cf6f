"""What vLLM refuses is said in a line."""
import sys

import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from tests.lm.engines import stand_ins
from tests.lm.models import tokenizer


@pytest.mark.parametrize('text, context, words',
                         [('a word99', None, 'out of vocabulary.*own token'),
                          (300 * 'a ', 500, 'too long.*max_model_len')])
def test_vllm_refuses_in_one_line(text, context, words, monkeypatch):
    package = stand_ins.package('vllm', SamplingParams=dict)
    monkeypatch.setitem(sys.modules, 'vllm', package)
    strange = tokenizer()
    strange.add_tokens([f'word{i}' for i in range(100)])
    with pytest.raises(InputError, match=words):
        token_losses(
            VLLMEngine(stand_ins.LLM()),
            strange, [Text('a', text)],
            context=context)
