"""What `opencompass -a` leaves behind is exchanged, or refused in a line."""
import sys

import pytest
from mmengine.config import Config
from opencompass.models import (VLLM, HuggingFaceBaseModel, OpenAISDK,
                                TurboMindModelwithChatTemplate,
                                VLLMwithChatTemplate)
from opencompass.utils.run import change_accelerator

from csv_plugin.configs.models.paper_models import base_model, chat_model
from csv_plugin.configs.models.tidewell_zoo import held_out_models
from csv_plugin.oc.accelerators import apply_accelerator
from csv_plugin.oc.classes import class_of
from csv_plugin.oc.models import TokenLossModel
from csv_plugin.oc.summarizers import PredictedSummarizer
from tests.oc import tiny
from tests.oc.test_partitioners import EXAM, config_of, tasks_of, texts

__all__ = ['texts']


def converted(monkeypatch, models, accelerator='vllm', **rest):
    """The models of a run as the command of OpenCompass makes them."""
    monkeypatch.setattr(sys, 'argv',
                        ['opencompass', 'a.py', '-a', accelerator])
    config = Config(
        dict(models=change_accelerator(models, accelerator), **rest))
    apply_accelerator(config)
    # Once more, as the stages of one call do.
    apply_accelerator(config)
    return config


def test_shipped_entries_run_in_vllm(monkeypatch):
    """With settings that vLLM takes, under names as OpenCompass gives them."""
    entries = [
        base_model('google/gemma-2-9b', 2),
        chat_model('Qwen/Qwen2-7B-Instruct'), held_out_models[0]
    ]
    base, chat, zoo = converted(monkeypatch, entries).models
    assert class_of(base['type']) is VLLM
    assert class_of(chat['type']) is VLLMwithChatTemplate
    assert base['abbr'] == 'gemma-2-9b-vllm'
    assert base['model_kwargs'] == dict(
        dtype='bfloat16',
        max_model_len=8192,
        tensor_parallel_size=2,
        trust_remote_code=False)
    assert chat['model_kwargs'] == dict(
        dtype='bfloat16',
        max_model_len=32768,
        tensor_parallel_size=1,
        trust_remote_code=False)
    # On a CPU there is one part, and the tokenizer may lie elsewhere.
    assert zoo['model_kwargs'] == dict(
        dtype='float',
        max_model_len=512,
        tensor_parallel_size=1,
        tokenizer=held_out_models[0]['tokenizer_path'],
        trust_remote_code=False)


def test_the_accelerator_may_stand_before_the_config(monkeypatch):
    monkeypatch.setattr(sys, 'argv', ['opencompass', '-a', 'vllm', 'a.py'])
    config = Config(dict(models=[base_model('Qwen/Qwen2-7B')]))
    apply_accelerator(config)
    assert class_of(config.models[0]['type']) is VLLM


def test_a_wrapped_model_is_wrapped_again(monkeypatch):
    entry = tiny.wrapped(base_model('Qwen/Qwen2-7B'))
    [found] = converted(monkeypatch, [entry]).models
    assert class_of(found['type']) is TokenLossModel
    assert class_of(found['llm']['type']) is VLLM
    assert found['abbr'] == 'Qwen2-7B-vllm'
    assert found['model_kwargs']['dtype'] == 'bfloat16'
    assert 'device_map' not in found['model_kwargs']


def test_combinations_are_exchanged_too(monkeypatch):
    """OpenCompass leaves these alone, and would run transformers."""
    base, chat = base_model('Qwen/Qwen2-7B'), chat_model('01-ai/Yi-6B-Chat')
    config = converted(
        monkeypatch, [base, chat],
        model_dataset_combinations=[
            dict(models=[base], datasets=[]),
            dict(models=[chat], datasets=[])
        ])
    parts = [part['models'][0] for part in config.model_dataset_combinations]
    assert parts == list(config.models)


def test_other_models_and_runs_stay_as_they_are(monkeypatch):
    api = dict(type=OpenAISDK, abbr='api', path='gpt')
    assert converted(monkeypatch, [api]).models == [api]
    for argv in (['opencompass',
                  'a.py'], ['pytest',
                            '-a'], ['opencompass', 'a.py', '-a',
                                    'other'], ['opencompass', 'a.py', '-h']):
        monkeypatch.setattr(sys, 'argv', argv)
        config = Config(dict(models=[base_model('Qwen/Qwen2-7B')]))
        apply_accelerator(config)
        assert class_of(config.models[0]['type']) is HuggingFaceBaseModel


def refusal(monkeypatch, tmp_path, models, datasets, accelerator):
    """The line that stops a run before its models."""
    monkeypatch.setattr(sys, 'argv',
                        ['opencompass', 'a.py', '-a', accelerator])
    models = change_accelerator(models, accelerator)
    with pytest.raises(SystemExit) as caught:
        tasks_of(config_of(tmp_path / 'run', models, datasets))
    line, = str(caught.value).splitlines()
    return line


CHAT = tiny.wrapped(dict(chat_model('01-ai/Yi-6B-Chat')))


@pytest.mark.parametrize('entry, accelerator, message', [
    (chat_model('01-ai/Yi-6B-Chat'), 'lmdeploy',
     'found TurboMindModelwithChatTemplate, as LMDeploy returns no '
     'log-probabilities of given tokens. Use vLLM (-a vllm)'),
    (CHAT, 'lmdeploy', 'found -a lmdeploy, in which a TokenLossModel cannot'),
    (dict(base_model('a/b'), peft_path='lab/lora'), 'vllm',
     "found 'lab/lora'. Merge the adapter"),
    (dict(base_model('a/b'), model_kwargs=dict(load_in_8bit=True)), 'vllm',
     "model_kwargs of 'b': expected settings that vLLM can follow, found "
     'load_in_8bit'),
])  # yapf: disable
def test_what_cannot_work_stops_before_any_model(monkeypatch, tmp_path, texts,
                                                 entry, accelerator, message):
    entry = dict(entry, max_seq_len=512)
    line = refusal(monkeypatch, tmp_path, [entry], [EXAM, texts], accelerator)
    assert line.startswith('error: ') and message in line


def test_lmdeploy_runs_benchmarks_without_the_texts(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, 'argv', 'opencompass a.py -a lmdeploy'.split())
    models = change_accelerator([chat_model('01-ai/Yi-6B-Chat')], 'lmdeploy')
    [task] = tasks_of(config_of(tmp_path / 'run', models, [EXAM]))
    [model] = task['models']
    assert class_of(model['type']) is TurboMindModelwithChatTemplate


def test_all_stages_of_a_call_have_the_same_models(monkeypatch, tmp_path,
                                                   texts):
    monkeypatch.setattr(sys, 'argv', 'opencompass a.py -a vllm'.split())
    entry = base_model('Qwen/Qwen2-7B')
    for stage in ('predictions', 'results'):
        config = config_of(tmp_path / 'run', [entry], [EXAM])
        [task] = tasks_of(config, stage)
        assert [model['abbr'] for model in task['models']] == ['Qwen2-7B-vllm']
    # A summary alone is not preceded by a partitioner.
    config = config_of(tmp_path / 'run', [entry], [EXAM])
    summarizer = PredictedSummarizer(config, [('later', 'later.safetensors')])
    assert [model['abbr']
            for model in summarizer.model_cfgs] == ['Qwen2-7B-vllm']
