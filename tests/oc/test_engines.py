"""The host's own classes for other engines give losses."""
import sys

import numpy as np
import pytest
from opencompass.models import (VLLM, TurboMindModelwithChatTemplate,
                                VLLMwithChatTemplate, vllm,
                                vllm_with_tf_above_v4_33)
from transformers import AutoTokenizer

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.dumping import dump_losses
from csv_plugin.oc.models import TokenLossModel, get_token_loss
from tests.lm import models
from tests.lm.engines import stand_ins
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = TextSet(tuple(Text(f't{i}', text) for i, text in enumerate(CORPUS)))


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """The model of the stand-ins as the host loads it."""
    folder = tmp_path_factory.mktemp('models') / 'tiny'
    models.make('llama').save_pretrained(folder)
    models.tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def packages(monkeypatch, folder):

    class LLM(stand_ins.LLM):

        def __init__(self, path, **settings):
            assert path == str(folder)
            super().__init__()

        def get_tokenizer(self):
            return AutoTokenizer.from_pretrained(folder)

    for module in (stand_ins.package('vllm', SamplingParams=dict),
                   stand_ins.package('ray', is_initialized=lambda: False),
                   stand_ins.package('lmdeploy', version_info=(0, 10, 0))):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for module in (vllm, vllm_with_tf_above_v4_33):
        monkeypatch.setattr(module, 'LLM', LLM)


@pytest.fixture
def pipeline(monkeypatch):
    pipe = stand_ins.Pipeline()
    monkeypatch.setattr(TurboMindModelwithChatTemplate, '_build_pipe',
                        lambda *unused: pipe)
    yield
    pipe.close()


KINDS = {
    VLLM: 'vllm',
    VLLMwithChatTemplate: 'vllm',
    TurboMindModelwithChatTemplate: 'lmdeploy'
}


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize('wrap', [False, True], ids=['bare', 'wrapped'])
def test_losses_are_those_of_transformers(kind, wrap, folder, pipeline):
    settings = dict(path=str(folder), max_seq_len=models.CONTEXT)
    model = TokenLossModel(dict(type=kind), **settings) if wrap else kind(
        **settings)
    dump = get_token_loss(model, TEXTS)
    assert dump.info.engine == KINDS[kind]
    expected = dump_losses(
        models.make('llama'), AutoTokenizer.from_pretrained(folder), TEXTS)
    for ours, theirs in zip(dump.texts, expected.texts):
        np.testing.assert_allclose(ours.losses, theirs.losses, atol=2e-5)


def test_an_adapter_is_refused(folder):
    model = VLLM(path=str(folder), lora_path='lab/adapter')
    with pytest.raises(InputError, match="'lab/adapter'. Merge the adapter"):
        get_token_loss(model, TEXTS)
