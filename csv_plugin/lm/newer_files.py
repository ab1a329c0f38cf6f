"""Files that a newer transformers wrote, and what the installed one reads.

transformers 5 writes all about rotary positions as `rope_parameters`, which
transformers 4 keeps as an attribute that no model uses. Its models then use
the default positions of their class, and losses are wrong without any error.
Other settings that a class of the installed version does not have are unread,
too. All translations
were compared with transformers 5.24 on random models of 40 architectures.
"""
import inspect
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Optional

import transformers
from packaging.version import InvalidVersion, Version
from transformers import PretrainedConfig
from transformers.models.auto.tokenization_auto import (
    get_tokenizer_config, tokenizer_class_from_name)
from transformers.utils import cached_file

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath

#: Remedy where the installed version cannot compute what is meant.
_OTHER_VERSION = ('Use that version in an environment without OpenCompass, '
                  'which needs transformers 4.')
_ROPE = 'rope_parameters'
_FULL, _SLIDING = 'full_attention', 'sliding_attention'
#: Settings of each kind of scaling that both versions read the same way.
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
#: Settings that change no loss of a text, and `quantization_config`, which is
#: no attribute of any class, but is read by the code that loads all models.
_HARMLESS = {
    'original_max_position_embeddings', 'architectures', 'auto_map',
    'eod_token_id', 'num_local_experts', 'num_nextn_predict_layers',
    'output_router_logits', 'pretraining_tp', 'qk_head_dim',
    'quantization_config', 'use_associative_scan', 'use_cache',
    'use_mamba_kernels', 'use_mambapy'
}
#: Settings that a newer version writes out, with the value that transformers 4
#: has in its code.
_BUILT_IN = {
    'swiglu_alpha': 1.702,
    'swiglu_limit': 7.0,
    'time_step_limit': [0.0, float('inf')]
}


def check_read(config: PretrainedConfig) -> None:
    """Refuse a config of which the installed transformers leaves out a part.

    Raises:
        InputError: The config contains settings that its class does not read,
            and that change the losses of the model.
    """
    needed: dict[str, Any] = {}
    for name, part in _parts(config):
        settings = translated_settings(part, config)
        if settings and name:
            settings = {name: settings}
        needed |= settings
    if needed:
        raise _unread(
            config, _ROPE, 'Write these settings into its config.json, beside '
            'what is there: both versions then read the same.',
            f', as it lacks {json.dumps(needed)[1:-1]}')


def read_as_written(config: PretrainedConfig) -> None:
    """Set what the writer of a config means where its class would not read it.

    Raises:
        InputError: The installed transformers cannot compute what is meant.
    """
    written = getattr(config, 'transformers_version', None)
    if written and not _is_newer(written):
        # This version or an older one wrote the file, and does not read these
        # settings either: what is meant by them is not certain.
        check_read(config)
    for _, part in _parts(config):
        for key, value in translated_settings(part, config).items():
            setattr(part, key, value)


def newer_writer(path: FilePath, **where: Any) -> str:
    """Return the version of transformers that wrote a config.json, if newer.

    Empty if it is not newer than the installed one, or not known. `where` are
    arguments for finding the file, such as `local_files_only`.
    """
    # Of any kind: no such folder, no network, no JSON.
    with suppress(Exception):
        config, _ = PretrainedConfig.get_config_dict(path, **where)
        written = str(config.get('transformers_version'))
        return written if _is_newer(written) else ''
    return ''


def unread_tokenizer_settings(path: FilePath, **where: Any) -> dict[str, Any]:
    """Settings that a tokenizer needs so that the installed version reads it.

    Empty if it is read as it is. `where` is as in `newer_writer`.

    Raises:
        InputError: The installed version does not have the class of the
            tokenizer, and there is no tokenizer.json.
    """
    written: dict[str, Any] = {}
    with suppress(Exception):
        written = get_tokenizer_config(path, **where)
    settings: dict[str, Any] = {}
    kind = written.get('tokenizer_class')
    if kind and 'auto_map' not in written and not _has_tokenizer_class(kind):
        file = cached_file(
            path,
            'tokenizer.json',
            _raise_exceptions_for_missing_entries=False,
            **where)
        if file is None:
            raise InputError(
                f'tokenizer {os.fspath(path)!r}', 'a tokenizer.json, or a '
                f'class that transformers {transformers.__version__} has',
                f'the class {kind!r} alone', 'Save it with a tokenizer.json, '
                'by the version of transformers that has this class.')
        # This file contains all that encodes a text.
        settings['tokenizer_class'] = 'PreTrainedTokenizerFast'
    special = written.get('extra_special_tokens')
    installed = Version(transformers.__version__)
    if isinstance(special, list) and installed.major < 5:
        settings['extra_special_tokens'] = {}
        settings['additional_special_tokens'] = special
    return settings


def _has_tokenizer_class(name: str) -> bool:
    """Return whether the installed version has a class, slow or fast."""
    return bool(
        tokenizer_class_from_name(name)
        or tokenizer_class_from_name(f'{name}Fast'))


def _is_newer(written: Any) -> bool:
    """Return whether a version of transformers is above the installed one."""
    try:
        return Version(written) > Version(transformers.__version__)
    except (InvalidVersion, TypeError):
        return False


def _parts(config: PretrainedConfig) -> Iterator[tuple[str, PretrainedConfig]]:
    """Yield names and configs: the whole as '', then its sub-configs."""
    yield '', config
    for name in config.sub_configs:
        part = getattr(config, name, None)
        if isinstance(part, PretrainedConfig):
            yield name, part


def translated_settings(part: PretrainedConfig,
                        whole: PretrainedConfig) -> dict[str, Any]:
    """Return settings of transformers 4 with the effect of `rope_parameters`.

    Empty if the class reads all that changes losses. `part` is the config or
    one inside it.

    Raises:
        InputError: A setting that changes losses has no translation.
    """
    unknown = [key for key in vars(part) if not _reads(part, key)]
    # What an older version wrote was unread when it was written, too.
    if _is_newer(getattr(whole, 'transformers_version', None)):
        for key in unknown:
            if key != _ROPE and _changes_losses(key, getattr(part, key)):
                raise _unread(
                    whole, f'{key} = {getattr(part, key)!r}',
                    f'{_OTHER_VERSION} If the setting changes nothing, '
                    'remove it from config.json.')
    if _ROPE not in unknown or not part.rope_parameters:
        return {}
    meant = None
    # A wrong value, of any type, is one without a translation.
    with suppress(AttributeError, TypeError, ZeroDivisionError):
        meant = _rope_settings(part)
    if meant is None:
        raise _unread(whole, f'{_ROPE} = {part.rope_parameters!r}',
                      _OTHER_VERSION)
    defaults = {'partial_rotary_factor': 1.0}
    settings = {}
    for key, value in meant.items():
        if getattr(part, key, defaults.get(key)) != value:
            settings[key] = value
    return settings


def _reads(config: PretrainedConfig, key: str) -> bool:
    """Return whether the class of a config knows a setting."""
    kind: Any = type(config)
    if key.startswith('_') or hasattr(kind, key) or key in kind.attribute_map:
        return True
    parameters = inspect.signature(kind.__init__).parameters
    return key in parameters or key in vars(_default(kind))


@cache
def _default(kind: Any) -> PretrainedConfig:
    """A config with the attributes that a class always has."""
    try:
        return kind()
    # Some classes have required arguments, and their own errors.
    except Exception:
        return PretrainedConfig()


def _changes_losses(key: str, value: Any) -> bool:
    """Return whether a setting that is unread may change losses."""
    if key in _HARMLESS:
        return False
    # Such as the version of a program that trained the model.
    if 'version' in key:
        return False
    # What is off, 0 or empty is taken to ask for nothing. A class that lacks a
    # setting and computes as if it was on would not be noticed.
    if not value:
        return False
    if key == 'layer_types':
        return set(value) != {_FULL}
    return _BUILT_IN.get(key) != value


def _rope_settings(config: PretrainedConfig) -> Optional[dict[str, Any]]:
    """Rotary positions in the settings of transformers 4; None if it has none.
    """
    rope = config.rope_parameters
    nested = {k: v for k, v in rope.items() if isinstance(v, Mapping)}
    if not nested:
        return _flat_settings(config, rope)
    full = nested.get(_FULL)
    sliding = nested.get(_SLIDING)
    if full is None or sliding is None or len(nested) > 2:
        return None
    settings = _flat_settings(config, full)
    if settings is None:
        return None
    theta = sliding.get('rope_theta')
    is_plain = sliding == {'rope_type': 'default', 'rope_theta': theta}
    # Gemma 3, which reads `rope_local_base_freq`, and OLMo 3 never scale the
    # positions of layers with a window; other architectures scale all layers.
    if _reads(config, 'rope_local_base_freq'):
        settings['rope_local_base_freq'] = theta
        return settings if is_plain else None
    if config.model_type == 'olmo3':
        is_same = is_plain and theta == settings['rope_theta']
    else:
        is_same = sliding == full
    return settings if is_same else None


def _flat_settings(config: PretrainedConfig,
                   rope: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    """As `_rope_settings`, of parameters that are those of all layers."""
    scaling = dict(rope)
    old = scaling.pop('type', 'default')
    kind = str(scaling.pop('rope_type', old))
    theta = scaling.pop('rope_theta', None)
    share = scaling.pop('partial_rotary_factor', None)
    if theta is None or not _reads(config, 'rope_theta'):
        return None
    if kind not in _SCALING or not set(scaling) <= _SCALING[kind]:
        return None
    settings = {'rope_theta': theta, 'rope_scaling': None}
    if kind != 'default':
        more = _scaling_settings(config, kind, scaling)
        if more is None:
            return None
        settings |= more
    if share is not None:
        settings['partial_rotary_factor'] = share
        if share != 1 and not _reads(config, 'partial_rotary_factor'):
            return None
    if _reads(config, 'rotary_emb_base'):
        settings['rotary_emb_base'] = theta
        settings['rotary_pct'] = 1.0 if share is None else share
    return settings


def _scaling_settings(config: PretrainedConfig, kind: str,
                      scaling: dict[str, Any]) -> Optional[dict[str, Any]]:
    """As `_rope_settings`, of a scaling that is not 'default'."""
    if not _reads(config, 'rope_scaling'):
        return None
    name = 'original_max_position_embeddings'
    longest = config.max_position_embeddings
    original = scaling.get(name)
    if kind == 'yarn' and original == longest:
        # transformers 5 has added it; 4 would compute a factor of 1 of it.
        del scaling[name]
    elif kind in ('yarn', 'longrope') and original:
        # transformers 4 computes the factor from both lengths.
        if scaling.get('factor', longest / original) != longest / original:
            return None
    if kind != 'longrope':
        return {'rope_scaling': {'rope_type': kind, **scaling}}
    if original is None:
        return None
    del scaling[name]
    scaling.pop('factor', None)
    # Phi-3 knows the older name alone.
    key = 'type' if config.model_type == 'phi3' else 'rope_type'
    return {name: original, 'rope_scaling': {key: kind, **scaling}}


def _unread(config: PretrainedConfig,
            found: str,
            remedy: str,
            what_it_lacks: str = '') -> InputError:
    written = getattr(config, 'transformers_version', None)
    writer = f' of transformers {written}' if written else ''
    return InputError(
        f'model {config.name_or_path!r}', 'a config.json that transformers '
        f'{transformers.__version__} reads in full',
        f'{found}{writer}, which it does not read{what_it_lacks}', remedy)
