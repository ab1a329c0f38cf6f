"""Translate rotary positions from transformers 5 to transformers 4.

transformers 5 writes everything about the rotary positions of a model into one
setting, for instance

    rope_parameters = {'rope_type': 'linear', 'rope_theta': 1e4, 'factor': 2.0}

or, if two kinds of layers differ, into one such dict per kind:

    rope_parameters = {'full_attention': {...}, 'sliding_attention': {...}}

transformers 4 has several settings; which of them exist depends on the
architecture of the model:

    rope_theta = 1e4
    rope_scaling = {'rope_type': 'linear', 'factor': 2.0}

All translations were compared with transformers 5.24 on random models of 40
architectures.
"""
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from transformers import PretrainedConfig

#: The settings of each kind of scaling that both versions read the same way.
_SCALING: dict[str, set[str]] = {
    'default': set(),
    'linear': {'factor'},
    'dynamic': {'factor'},
    'yarn': {
        'factor', 'attention_factor', 'beta_fast', 'beta_slow', 'mscale',
        'mscale_all_dim', 'truncate', 'original_max_position_embeddings'
    },
    'llama3': {
        'factor', 'low_freq_factor', 'high_freq_factor',
        'original_max_position_embeddings'
    },
    'longrope': {
        'factor', 'attention_factor', 'short_factor', 'long_factor',
        'original_max_position_embeddings'
    },
}
#: The context of the model before it was extended, in tokens.
_ORIGINAL = 'original_max_position_embeddings'


class Untranslatable(Exception):
    """No settings of transformers 4 have the meaning of `rope_parameters`."""


def is_read(config: PretrainedConfig, key: str) -> bool:
    """Return whether the class of a config has or accepts a setting.

    The result is True for all private settings.
    """
    kind: Any = type(config)
    if key.startswith('_') or hasattr(kind, key) or key in kind.attribute_map:
        return True
    if key in vars(_default(kind)):
        return True
    # This check comes last, because it takes longest and few settings need it.
    return key in inspect.signature(kind.__init__).parameters


@cache
def _default(kind: Any) -> PretrainedConfig:
    """Return a config with the attributes that a class always has."""
    try:
        return kind()
    # Some classes have required arguments, or raise errors of their own.
    except Exception:
        return PretrainedConfig()


def rotary_settings(config: PretrainedConfig) -> dict[str, Any]:
    """Return settings of transformers 4 that mean what `rope_parameters` does.

    Raises:
        Untranslatable: No such settings exist, or a value has a wrong type.
    """
    rope = config.rope_parameters
    try:
        by_kind = {}
        for name, value in rope.items():
            if isinstance(value, Mapping):
                by_kind[name] = value
        if by_kind:
            return _of_two_kinds_of_layers(config, by_kind)
        return _of_all_layers(config, rope)
    except (AttributeError, TypeError, ZeroDivisionError) as error:
        raise Untranslatable from error


def _of_two_kinds_of_layers(
        config: PretrainedConfig,
        by_kind: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return settings of transformers 4 for positions by kind of layer.

    A layer has full attention or attention in a sliding window. `by_kind` has
    the settings of transformers 5 for each kind.
    """
    if set(by_kind) != {'full_attention', 'sliding_attention'}:
        raise Untranslatable
    full = by_kind['full_attention']
    sliding = by_kind['sliding_attention']
    settings = _of_all_layers(config, full)
    # Gemma 3, which reads `rope_local_base_freq`, and OLMo 3 never scale the
    # positions of layers with a window; other architectures scale all layers.
    theta = sliding.get('rope_theta')
    is_unscaled = sliding == {'rope_type': 'default', 'rope_theta': theta}
    if is_read(config, 'rope_local_base_freq'):
        settings['rope_local_base_freq'] = theta
        has_same_meaning = is_unscaled
    elif config.model_type == 'olmo3':
        has_same_meaning = is_unscaled and theta == settings['rope_theta']
    else:
        has_same_meaning = sliding == full
    if not has_same_meaning:
        raise Untranslatable
    return settings


def _of_all_layers(config: PretrainedConfig,
                   rope: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of transformers 4 for positions shared by all layers."""
    scaling = dict(rope)
    # 'type' is the older name of 'rope_type'.
    older = scaling.pop('type', 'default')
    kind = str(scaling.pop('rope_type', older))
    theta = scaling.pop('rope_theta', None)
    # The share of the dimensions of a head that are rotated.
    share = scaling.pop('partial_rotary_factor', None)
    if theta is None or not is_read(config, 'rope_theta'):
        raise Untranslatable
    if kind not in _SCALING or not set(scaling) <= _SCALING[kind]:
        raise Untranslatable
    settings = {'rope_theta': theta, 'rope_scaling': None}
    if kind != 'default':
        settings |= _scaling_settings(config, kind, scaling)
    if share is not None:
        settings['partial_rotary_factor'] = share
        if share != 1 and not is_read(config, 'partial_rotary_factor'):
            raise Untranslatable
    if is_read(config, 'rotary_emb_base'):
        # GPT-NeoX has other names for these two settings.
        settings['rotary_emb_base'] = theta
        settings['rotary_pct'] = 1.0 if share is None else share
    return settings


def _scaling_settings(config: PretrainedConfig, kind: str,
                      scaling: dict[str, Any]) -> dict[str, Any]:
    """Return `rope_scaling` of transformers 4 for any kind but 'default'.

    If transformers 4 needs it, the original context is returned, too.
    """
    if not is_read(config, 'rope_scaling'):
        raise Untranslatable
    longest = config.max_position_embeddings
    original = scaling.get(_ORIGINAL)
    if kind == 'yarn' and original == longest:
        # transformers 5 added this setting. From it, transformers 4 would
        # compute that the context was stretched by a factor of 1, not at all.
        del scaling[_ORIGINAL]
    elif kind in ('yarn', 'longrope') and original:
        # transformers 4 computes the factor from both lengths.
        computed = longest / original
        if scaling.get('factor', computed) != computed:
            raise Untranslatable
    if kind != 'longrope':
        return {'rope_scaling': {'rope_type': kind, **scaling}}
    if original is None:
        raise Untranslatable
    del scaling[_ORIGINAL]
    scaling.pop('factor', None)
    # Phi-3 only knows the older name.
    key = 'type' if config.model_type == 'phi3' else 'rope_type'
    return {_ORIGINAL: original, 'rope_scaling': {key: kind, **scaling}}
