"""The host's model classes give losses, or are refused in a line."""
import sys

import numpy as np
import pytest
import torch
from opencompass.models import (VLLM, HuggingFaceBaseModel, OpenAISDK,
                                VLLMwithChatTemplate, vllm,
                                vllm_with_tf_above_v4_33)
from transformers import AutoTokenizer

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.dumping import dump_losses
from csv_plugin.oc.models import TokenLossModel, engine_of, get_token_loss
from tests.lm import models
from tests.lm.engines import stand_ins
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = TextSet(tuple(Text(f't{i}', text) for i, text in enumerate(CORPUS)))


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
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
            self.settings = settings

        def get_tokenizer(self):
            return AutoTokenizer.from_pretrained(folder)

    for module in (stand_ins.package('vllm', SamplingParams=dict),
                   stand_ins.package('ray', is_initialized=lambda: False)):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for module in (vllm, vllm_with_tf_above_v4_33):
        monkeypatch.setattr(module, 'LLM', LLM)


KINDS = {VLLM: 'vllm', VLLMwithChatTemplate: 'vllm'}


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize('wrap', [False, True], ids=['bare', 'wrapped'])
def test_losses_are_those_of_transformers(kind, wrap, folder):
    settings = dict(path=str(folder), max_seq_len=models.CONTEXT)
    model = TokenLossModel(dict(type=kind), **settings) if wrap else kind(
        **settings)
    dump = get_token_loss(model, TEXTS)
    assert dump.info.engine == KINDS[kind]
    assert engine_of(model)[0].facts.engine == KINDS[kind]
    expected = dump_losses(
        models.make('llama'), AutoTokenizer.from_pretrained(folder), TEXTS)
    for ours, theirs in zip(dump.texts, expected.texts):
        np.testing.assert_allclose(ours.losses, theirs.losses, atol=2e-5)


@pytest.mark.parametrize('kind', [HuggingFaceBaseModel, OpenAISDK])
def test_models_of_transformers_alone_need_no_engine(kind):
    """Whatever else a class holds as model and tokenizer is refused."""
    model = kind.__new__(kind)
    model.path = 'lab/model'
    held = [(None, None), (torch.nn.Linear(2, 2), str)]
    if kind is HuggingFaceBaseModel:
        model.model, model.tokenizer = models.make('gpt2'), models.tokenizer()
        assert engine_of(model) == (model.model, model.tokenizer)
        held += [(torch.nn.Linear(2, 2), model.tokenizer)]
    for model.model, model.tokenizer in held:
        with pytest.raises(InputError) as error:
            get_token_loss(model, TEXTS)
        line = str(error.value)
        assert "'lab/model': expected a model of transformers" in line
        assert f'found {kind.__name__}. Name an engine' in line
        assert 'TokenLossModel(..., engine=...)' in line and '\n' not in line


@pytest.mark.parametrize('kind', [VLLM, VLLMwithChatTemplate])
def test_code_of_a_model_in_vllm_runs_where_the_config_says_so(
        kind, folder, tmp_path):
    entry = dict(path=str(folder), max_seq_len=9)
    for trust in (False, True):
        kwargs = dict(trust_remote_code=trust) if trust else {}
        model = TokenLossModel(dict(type=kind), model_kwargs=kwargs, **entry)
        assert model.model.settings == dict(trust_remote_code=trust)
    (tmp_path / 'custom_generate').mkdir()
    with pytest.raises(InputError, match='trust_remote_code=True in model_k'):
        TokenLossModel(dict(type=kind), path=str(tmp_path))


def test_an_adapter_is_refused(folder):
    model = VLLM(path=str(folder), lora_path='lab/adapter')
    with pytest.raises(InputError, match="'lab/adapter'. Merge the adapter"):
        get_token_loss(model, TEXTS)
