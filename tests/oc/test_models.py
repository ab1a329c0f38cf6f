"""A wrapped model is the model: predictions agree byte for byte."""
import copy
import json

import pytest
from opencompass.models import (HuggingFaceBaseModel, HuggingFaceCausalLM,
                                HuggingFacewithChatTemplate)
from opencompass.openicl.icl_inferencer import (ChatInferencer, CLPInferencer,
                                                GenInferencer, LLInferencer,
                                                PPLInferencer)
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever, ZeroRetriever
from opencompass.registry import MODELS

from csv_plugin.oc.models import TokenLossModel
from tests.oc import tiny

META = dict(round=[
    dict(role='HUMAN', begin='Q: ', end='\n'),
    dict(role='BOT', begin='A: ', end='\n', generate=True)
])
BY_LABEL = {'A': '{question} {A}', 'B': '{question} {B}'}
ASK = dict(round=[dict(role='HUMAN', prompt='{question}')])


def setup(kind, template, few_shot=False, **inferencer):
    infer_cfg = dict(
        prompt_template=dict(type=PromptTemplate, template=template),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(type=kind, **inferencer))
    if few_shot:
        infer_cfg |= dict(
            ice_template=infer_cfg['prompt_template'],
            prompt_template=dict(
                type=PromptTemplate,
                template={
                    k: f'</E>{v}'
                    for k, v in template.items()
                },
                ice_token='</E>'),
            retriever=dict(type=FixKRetriever, fix_id_list=[0, 1, 2]))
    return infer_cfg


SETUPS = {
    'ppl': (HuggingFaceBaseModel, setup(PPLInferencer, BY_LABEL)),
    'few-shot ppl':
    (HuggingFaceBaseModel, setup(PPLInferencer, BY_LABEL, few_shot=True)),
    'gen': (HuggingFaceBaseModel,
            setup(GenInferencer, '{question}', stopping_criteria=['x'])),
    'll': (HuggingFaceBaseModel, setup(LLInferencer, BY_LABEL)),
    'clp': (HuggingFaceCausalLM, setup(CLPInferencer, ASK)),
    'gen with meta template':
    (HuggingFaceCausalLM, setup(GenInferencer, ASK, max_out_len=6)),
    'gen by chat': (HuggingFacewithChatTemplate, setup(GenInferencer, ASK)),
    'chat': (HuggingFacewithChatTemplate,
             setup(ChatInferencer, ASK, max_out_len=6)),
}


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name', SETUPS)
def test_wrapped_predictions_are_those_of_the_bare_model(
        name, model_folder, tmp_path):
    kind, infer_cfg = SETUPS[name]
    # Examples that do not fit are dropped: the limit must get through.
    config = tiny.model_config(model_folder, kind, max_seq_len=100)
    if kind is HuggingFaceCausalLM:
        config |= dict(
            meta_template=META, model_kwargs=dict(torch_dtype='torch.float'))
    files = []
    for run, model in (('bare', config), ('wrapped', tiny.wrapped(config))):
        folder = tiny.infer(tmp_path / run, model,
                            tiny.exam('exam', **infer_cfg))
        files.append((folder / 'exam.json').read_bytes())
    assert files[0] == files[1] and len(json.loads(files[0])) == 7


class Oracle:
    """An inner model with a state, properties and a method of its own."""
    is_api = True
    instances: list['Oracle'] = []

    def __init__(self, path, max_seq_len=None):
        self.path, self.max_seq_len = path, max_seq_len
        self.template_parser = 'old'
        self.instances.append(self)

    @property
    def parsed(self):
        return f'by {self.template_parser}'

    def generate(self, inputs, max_out_len, stopping_criteria=()):
        return [f'{text} {self.parsed}' for text in inputs]


def test_the_wrapper_reads_and_writes_the_inner_model():
    wrapper = MODELS.build(
        dict(
            type=TokenLossModel,
            llm=dict(type=Oracle),
            path='p',
            max_seq_len=7))
    inner = Oracle.instances[-1]
    assert wrapper.is_api and wrapper.max_seq_len == 7
    assert wrapper.generate == inner.generate
    wrapper.template_parser = 'new'
    assert inner.template_parser == 'new'
    assert wrapper.parsed == 'by new'
    with pytest.raises(AttributeError, match='no_such'):
        wrapper.no_such
    # Without a model inside, as copying makes it, it has no attributes.
    assert copy.copy(wrapper).path == 'p'
