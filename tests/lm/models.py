"""Tiny causal LMs with random weights, one per kind of architecture.

Weights are large, so that predictions differ from token to token.
"""
from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from tests.lm.tokens.tokenizers import SPECIAL, byte_level, wrap

#: Entries of the models' vocabulary, a few more than the tokenizer's.
VOCABULARY = 512
CONTEXT = 128
_SIZES = dict(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=CONTEXT)
_GROUPED = {**_SIZES, 'num_key_value_heads': 2}

#: Class of the model, class of its config, and settings. Body and head alone
#: give the logits.
PLAIN: dict[str, tuple[str, str, dict[str, Any]]] = {
    'llama': ('LlamaForCausalLM', 'LlamaConfig', _GROUPED),
    'gpt-neox': ('GPTNeoXForCausalLM', 'GPTNeoXConfig', _SIZES),
    'qwen2': ('Qwen2ForCausalLM', 'Qwen2Config',
              dict(_GROUPED, tie_word_embeddings=True)),
    'mamba': ('MambaForCausalLM', 'MambaConfig',
              dict(
                  hidden_size=32,
                  num_hidden_layers=2,
                  state_size=8,
                  time_step_rank=4,
                  residual_in_fp32=False)),
    # Learned positions; dropout while it trains.
    'gpt2': ('GPT2LMHeadModel', 'GPT2Config',
             dict(n_embd=32, n_layer=2, n_head=4, n_positions=CONTEXT)),
    # Projects its final states to the smaller embeddings.
    'opt': ('OPTForCausalLM', 'OPTConfig',
            dict(
                hidden_size=32,
                ffn_dim=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                max_position_embeddings=CONTEXT,
                word_embed_proj_dim=16,
                init_std=.4)),
    # ALiBi: no limit of positions.
    'bloom': ('BloomForCausalLM', 'BloomConfig',
              dict(hidden_size=32, n_layer=2, n_head=4)),
}
#: The model caps or scales the logits of the head.
WITH_TAIL: dict[str, tuple[str, str, dict[str, Any]]] = {
    # Layers with and without a sliding window.
    'gemma2': ('Gemma2ForCausalLM', 'Gemma2Config',
               dict(
                   _GROUPED,
                   head_dim=8,
                   query_pre_attn_scalar=8,
                   sliding_window=16,
                   final_logit_softcapping=5.)),
    'cohere':
    ('CohereForCausalLM', 'CohereConfig', dict(_GROUPED, logit_scale=.25)),
}
MODELS = {**PLAIN, **WITH_TAIL}


def make(name: str, seed: int = 0, **settings: Any) -> PreTrainedModel:
    model_name, config_name, sizes = MODELS[name]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        common = dict(vocab_size=VOCABULARY, initializer_range=.4)
        made = common | sizes | settings
        config = getattr(transformers, config_name)(**made)
        return getattr(transformers, model_name)(config).eval()


@cache
def _trained() -> str:
    """A tokenizer's file, which is read sooner than made anew."""
    return byte_level().backend_tokenizer.to_str()


def tokenizer(**names: Any) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer; BOS, EOS and pad are the same token by default.

    Encoding adds special tokens on both sides unless that is turned off.

    Args:
        names (Any): `bos`, `eos` and `pad`; None for no such token.
    """
    made = wrap(Tokenizer.from_str(_trained()))
    for name in ('bos', 'eos', 'pad'):
        setattr(made, f'{name}_token', names.get(name, SPECIAL))
    return made


def reference_losses(model: PreTrainedModel, row: list[int]) -> Tensor:
    """Losses of `row[1:]` from one pass and all logits, float64, nats."""
    ids = torch.tensor([row])
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, :-1]
    return -logits.double().log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
