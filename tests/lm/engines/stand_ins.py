"""Stand-ins for packages that need another environment, or a GPU.

Each has the interface of the real package as far as its engine calls it,
refuses what the real one refuses, and computes with the tests' models.
"""
from types import ModuleType, SimpleNamespace

import torch

from tests.lm.models import CONTEXT, VOCABULARY, make, reference_losses


def package(name, **contents):
    module = ModuleType(name)
    module.__version__ = '1.2'
    vars(module).update(contents)
    return module


class LLM:
    """`vllm.LLM`."""

    def __init__(self, cache_dtype='auto', **sizes):
        self.model = make('llama', **sizes)
        self.max_model_len = CONTEXT + 2
        self.llm_engine = SimpleNamespace(
            vllm_config=SimpleNamespace(
                model_config=SimpleNamespace(
                    model='lab/tiny',
                    dtype=torch.float32,
                    max_model_len=self.max_model_len),
                cache_config=SimpleNamespace(cache_dtype=cache_dtype)))

    def generate(self, prompts, sampling_params, *, use_tqdm):
        assert sampling_params == dict(
            max_tokens=1, temperature=0, prompt_logprobs=0, detokenize=False)
        assert use_tqdm is False
        return [self._answer(**prompt) for prompt in prompts]

    def _answer(self, prompt_token_ids):
        if len(prompt_token_ids) >= self.max_model_len:
            raise ValueError('The decoder prompt is too long.')
        if max(prompt_token_ids) >= VOCABULARY:
            raise ValueError('Token id is out of vocabulary')
        losses = reference_losses(self.model, prompt_token_ids)
        entries = [{
            index:
            SimpleNamespace(logprob=-loss, rank=1, decoded_token=None)
        } for index, loss in zip(prompt_token_ids[1:], losses.tolist())]
        return SimpleNamespace(
            prompt_token_ids=prompt_token_ids,
            prompt_logprobs=[None, *entries])
