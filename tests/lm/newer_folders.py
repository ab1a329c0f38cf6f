"""Folders of models as transformers 5 writes them, made with transformers 4.

The pairs of settings were compared with what transformers 5.24 writes and
computes.
"""
import json
from pathlib import Path
from typing import Any

import torch
import transformers

from tests.lm.models import CONTEXT, VOCABULARY, tokenizer

VERSION = '5.24.0'
_SIZES = dict(
    vocab_size=VOCABULARY,
    initializer_range=.4,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=CONTEXT,
    pad_token_id=0,
    bos_token_id=0,
    eos_token_id=0)
_LLAMA3 = dict(
    rope_type='llama3',
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=16)
_YARN = dict(rope_type='yarn', factor=8.0, original_max_position_embeddings=16)
_LONG = dict(short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[4., 5., 6., 7.])
_PLAIN = dict(rope_type='default', rope_theta=5e5)
#: Names of the model and its config, settings as transformers 4 writes them,
#: and as transformers 5 does.
PAIRS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    'theta': ('Llama', dict(rope_theta=5e5), _PLAIN),
    'llama3': ('Llama', dict(rope_theta=5e5, rope_scaling=_LLAMA3),
               dict(_LLAMA3, rope_theta=5e5)),
    'yarn': ('Qwen2', dict(rope_theta=5e5, rope_scaling=_YARN),
             dict(_YARN, rope_theta=5e5)),
    # transformers 5 writes the longest context where none was given.
    'yarn of the whole context':
    ('Llama', dict(rope_theta=5e5, rope_scaling=dict(type='yarn', factor=4.)),
     dict(_YARN, rope_theta=5e5, factor=4.,
          original_max_position_embeddings=CONTEXT)),
    'linear':
    ('Llama',
     dict(rope_theta=5e5, rope_scaling=dict(rope_type='linear', factor=3.)),
     dict(_PLAIN, rope_type='linear', factor=3.)),
    'dynamic':
    ('Llama',
     dict(rope_theta=5e5, rope_scaling=dict(rope_type='dynamic', factor=3.)),
     dict(_PLAIN, rope_type='dynamic', factor=3.)),
    'longrope': ('Phi3',
                 dict(
                     rope_theta=5e5,
                     original_max_position_embeddings=16,
                     rope_scaling=dict(_LONG, type='longrope')),
                 dict(
                     _LONG,
                     rope_type='longrope',
                     rope_theta=5e5,
                     partial_rotary_factor=1.0,
                     factor=8.0,
                     original_max_position_embeddings=16)),
    'partial': ('Phi', dict(rope_theta=5e5, partial_rotary_factor=.25),
                dict(_PLAIN, partial_rotary_factor=.25)),
    'partial under old names':
    ('GPTNeoX', dict(rotary_emb_base=5e5, rotary_pct=.75),
     dict(_PLAIN, partial_rotary_factor=.75)),
    'by the kind of layer':
    ('Gemma3',
     dict(
         rope_theta=5e5,
         rope_local_base_freq=3e3,
         rope_scaling=dict(rope_type='linear', factor=3.)),
     dict(
         full_attention=dict(_PLAIN, rope_type='linear', factor=3.),
         sliding_attention=dict(_PLAIN, rope_theta=3e3))),
}  # yapf: disable
#: Settings that transformers 4 has no words for, of a Llama.
UNREADABLE = {
    'share':
    dict(_PLAIN, partial_rotary_factor=.5),
    # transformers 4 would compute a factor of 8.
    'factor':
    dict(_YARN, rope_theta=5e5, factor=4.),
    'kind':
    dict(_PLAIN, rope_type='proportional'),
    'setting':
    dict(_PLAIN, new_setting=1),
    'layers':
    dict(full_attention=_PLAIN, sliding_attention=dict(_PLAIN, rope_theta=3.)),
    'no dict':
    'yarn',
}
_NAMES = ('rope_theta', 'rope_scaling', 'partial_rotary_factor', 'rotary_pct',
          'rotary_emb_base', 'rope_local_base_freq', 'rope_parameters')


def save_pair(root: Path, name: str) -> tuple[Path, Path]:
    """The same model and tokenizer as both versions write them."""
    kind, old, new = PAIRS[name]
    folders = root / 'old', root / 'new'
    config_name = f'{kind}TextConfig' if kind == 'Gemma3' else f'{kind}Config'
    sizes = dict(_SIZES)
    if kind == 'GPTNeoX':
        del sizes['num_key_value_heads']
    if kind == 'Gemma3':
        sizes |= dict(
            head_dim=8,
            sliding_window=16,
            layer_types=['sliding_attention', 'full_attention'])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = getattr(transformers, config_name)(**sizes, **old)
        model = getattr(transformers, f'{kind}ForCausalLM')(config)
    for folder in folders:
        model.save_pretrained(folder)
        tokenizer().save_pretrained(folder)
    rewrite(folders[1], rope_parameters=new)
    return folders


def rewrite(folder: Path, **settings: Any) -> None:
    """Rewrite a config.json as transformers 5 does, with other settings."""
    file = folder / 'config.json'
    written = json.loads(file.read_text())
    for name in _NAMES:
        written.pop(name, None)
    written |= dict(transformers_version=VERSION) | settings
    file.write_text(json.dumps(written))


def rewrite_tokenizer(folder: Path, **settings: Any) -> None:
    """Rewrite the settings of a tokenizer as transformers 5 does."""
    (folder / 'special_tokens_map.json').unlink(missing_ok=True)
    file = folder / 'tokenizer_config.json'
    written = json.loads(file.read_text())
    written.pop('added_tokens_decoder', None)
    file.write_text(
        json.dumps(
            dict(written, backend='tokenizers') | dict(
                tokenizer_class='TokenizersBackend', extra_special_tokens=[])
            | settings))
