"""Define the engine that runs a model in vLLM, inside this process."""
from typing import Any

import numpy as np

from csv_plugin.core.conventions import InputError, PublicNames
from csv_plugin.lm.engines.protocol import EngineFacts, optional_package
from csv_plugin.lm.engines.row_engine import RowEngine, RowScores, TokenRows


class VLLMEngine(PublicNames, RowEngine):
    """A model that vLLM runs in this process.

    vLLM computes log-probabilities over the whole vocabulary for all tokens of
    a batch at once. Its setting `max_num_batched_tokens` limits this memory.

    Args:
        llm (Any): The loaded model, a `vllm.LLM`.

    Raises:
        InputError: vLLM is not installed.
    """

    def __init__(self, llm: Any) -> None:
        self._llm = llm
        self._package = optional_package('vllm', 'VLLMEngine')

    @property
    def facts(self) -> EngineFacts:
        """See `RowEngine`."""
        config = self._llm.llm_engine.vllm_config
        dtype = str(config.model_config.dtype).removeprefix('torch.')
        cache = str(config.cache_config.cache_dtype)
        return EngineFacts(
            engine='vllm',
            model=config.model_config.model,
            dtype=dtype,
            cache_dtype=dtype if cache == 'auto' else cache,
            # vLLM refuses prompts of `max_model_len` tokens, and the prompt
            # of a window has one id more than the window has inputs.
            context=config.model_config.max_model_len - 2,
            versions={'vllm': self._package.__version__})

    def row_scores(self, rows: TokenRows) -> list[RowScores]:
        """See `RowEngine`."""
        # With 0, vLLM returns only the log-probabilities of the ids in the
        # prompt. Each further id would cost a pass over the whole vocabulary.
        settings = self._package.SamplingParams(
            max_tokens=1, temperature=0, prompt_logprobs=0, detokenize=False)
        prompts = [{'prompt_token_ids': row.tolist()} for row in rows]
        try:
            answers = self._llm.generate(prompts, settings, use_tqdm=False)
        except ValueError as error:
            raise InputError(
                f'engine {self.facts.engine!r} with model '
                f'{self.facts.model!r}',
                'sequences of token ids that it accepts',
                f'the error {str(error)!r}',
                "Use the model's own tokenizer, and a context that fits "
                'its max_model_len.') from error
        scores = []
        for row, answer in zip(rows, answers):
            # The first id has no log-probability.
            _, *scored_ids = row.tolist()
            _, *entries = answer.prompt_logprobs
            log_probs = []
            for index, entry in zip(scored_ids, entries):
                log_probs.append(entry[index].logprob)
            ids = np.array(answer.prompt_token_ids)
            scores.append(RowScores(ids, np.array(log_probs)))
        return scores
