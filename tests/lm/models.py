"""Tiny causal LMs with random weights, one per kind of architecture.

Weights are large, so that predictions differ from token to token.
"""
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.bloom import BloomConfig, BloomForCausalLM
from transformers.models.cohere import CohereConfig, CohereForCausalLM
from transformers.models.gemma2 import Gemma2Config, Gemma2ForCausalLM
from transformers.models.gpt2 import GPT2Config, GPT2LMHeadModel
from transformers.models.gpt_neox import GPTNeoXConfig, GPTNeoXForCausalLM
from transformers.models.llama import LlamaConfig, LlamaForCausalLM
from transformers.models.mamba import MambaConfig, MambaForCausalLM
from transformers.models.opt import OPTConfig, OPTForCausalLM
from transformers.models.qwen2 import Qwen2Config, Qwen2ForCausalLM

from tests.lm.tokens.tokenizers import SPECIAL, byte_level

#: Entries of the models' vocabulary, a few more than the tokenizer's.
VOCABULARY = 512
CONTEXT = 128
_SIZES = dict(
    vocab_size=VOCABULARY,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=CONTEXT,
    initializer_range=.4)


def llama(**settings: Any) -> PreTrainedModel:
    return LlamaForCausalLM(
        LlamaConfig(**{
            **_SIZES, 'num_key_value_heads': 2,
            **settings
        }))


def gpt_neox(**settings: Any) -> PreTrainedModel:
    return GPTNeoXForCausalLM(GPTNeoXConfig(**{**_SIZES, **settings}))


def qwen2(**settings: Any) -> PreTrainedModel:
    return Qwen2ForCausalLM(
        Qwen2Config(
            **{
                **_SIZES, 'num_key_value_heads': 2,
                'tie_word_embeddings': True,
                **settings
            }))


def gemma2(**settings: Any) -> PreTrainedModel:
    """Caps its final logits; layers with and without a sliding window."""
    return Gemma2ForCausalLM(
        Gemma2Config(
            **{
                **_SIZES, 'num_key_value_heads': 2,
                'head_dim': 8,
                'query_pre_attn_scalar': 8,
                'sliding_window': 16,
                'final_logit_softcapping': 5.,
                **settings
            }))


def mamba(**settings: Any) -> PreTrainedModel:
    return MambaForCausalLM(
        MambaConfig(
            **{
                'vocab_size': VOCABULARY,
                'hidden_size': 32,
                'num_hidden_layers': 2,
                'state_size': 8,
                'time_step_rank': 4,
                'initializer_range': .4,
                'residual_in_fp32': False,
                **settings
            }))


def gpt2(**settings: Any) -> PreTrainedModel:
    """Learned positions; dropout while it trains."""
    return GPT2LMHeadModel(
        GPT2Config(
            **{
                'vocab_size': VOCABULARY,
                'n_embd': 32,
                'n_layer': 2,
                'n_head': 4,
                'n_positions': CONTEXT,
                'initializer_range': .4,
                **settings
            }))


def opt(**settings: Any) -> PreTrainedModel:
    """Projects its final states to the smaller embeddings."""
    return OPTForCausalLM(
        OPTConfig(
            **{
                'vocab_size': VOCABULARY,
                'hidden_size': 32,
                'ffn_dim': 48,
                'num_hidden_layers': 2,
                'num_attention_heads': 4,
                'max_position_embeddings': CONTEXT,
                'word_embed_proj_dim': 16,
                'init_std': .4,
                **settings
            }))


def bloom(**settings: Any) -> PreTrainedModel:
    """ALiBi: no limit of positions."""
    return BloomForCausalLM(
        BloomConfig(
            **{
                'vocab_size': VOCABULARY,
                'hidden_size': 32,
                'n_layer': 2,
                'n_head': 4,
                'initializer_range': .4,
                **settings
            }))


def cohere(**settings: Any) -> PreTrainedModel:
    """Scales its logits."""
    return CohereForCausalLM(
        CohereConfig(**{
            **_SIZES, 'num_key_value_heads': 2,
            'logit_scale': .25,
            **settings
        }))


#: Body and head alone give the logits.
PLAIN: dict[str, Callable[..., PreTrainedModel]] = {
    'llama': llama,
    'gpt-neox': gpt_neox,
    'qwen2': qwen2,
    'mamba': mamba,
    'gpt2': gpt2,
    'opt': opt,
    'bloom': bloom
}
#: The model changes the logits of the head.
WITH_TAIL: dict[str, Callable[..., PreTrainedModel]] = {
    'gemma2': gemma2,
    'cohere': cohere
}
MODELS = {**PLAIN, **WITH_TAIL}


def make(name: str, seed: int = 0, **settings: Any) -> PreTrainedModel:
    """A model in evaluation mode, the same for the same seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return MODELS[name](**settings).eval()


def tokenizer(**names: Any) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer; BOS, EOS and pad are the same token by default.

    Encoding adds special tokens on both sides unless that is turned off.

    Args:
        names (Any): `bos`, `eos` and `pad`; None for no such token.
    """
    made = byte_level()
    for name in ('bos', 'eos', 'pad'):
        setattr(made, f'{name}_token', names.get(name, SPECIAL))
    return made


def reference_losses(model: PreTrainedModel, row: list[int]) -> Tensor:
    """Losses of `row[1:]` from one pass and all logits, float64, nats."""
    ids = torch.tensor([row])
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, :-1]
    return -logits.double().log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
