"""Files that a newer transformers wrote, and what the installed one reads.

A config or a tokenizer of transformers 5 may have settings that transformers 4
keeps as attributes that no model uses. Its models then compute with the
defaults of their class, and losses are wrong without any error. Such settings
are translated here where transformers 4 can compute what is meant, and else
refused. What is translated are rotary positions (lm.rotary_positions) and the
special tokens of tokenizers.
"""
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import transformers
from packaging.version import InvalidVersion, Version
from transformers import PretrainedConfig
from transformers.models.auto.tokenization_auto import (
    get_tokenizer_config, tokenizer_class_from_name)
from transformers.utils import cached_file

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath
from csv_plugin.lm.rotary_positions import (Untranslatable, reads,
                                            rotary_settings)

#: Remedy where the installed version cannot compute what is meant.
_OTHER_VERSION = ('Use that version in an environment without OpenCompass, '
                  'which needs transformers 4.')
_ROPE = 'rope_parameters'
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

# ---- configs


def check_read(config: PretrainedConfig) -> None:
    """Refuse a config of which the installed transformers leaves out a part.

    Raises:
        InputError: The config contains settings that its class does not read,
            and that change the losses of the model.
    """
    needed: dict[str, Any] = {}
    for name, part in _parts(config):
        settings = _settings_to_add(part, config)
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
        for key, value in _settings_to_add(part, config).items():
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


def _settings_to_add(part: PretrainedConfig,
                     whole: PretrainedConfig) -> dict[str, Any]:
    """Return settings that `part` needs for the effect of `rope_parameters`.

    Empty if the class reads all that changes losses. `part` is the config or
    one inside it.

    Raises:
        InputError: A setting that changes losses has no translation.
    """
    unread = []
    for key in vars(part):
        if not reads(part, key):
            unread.append(key)
    # What an older version wrote was unread when it was written, too.
    if _is_newer(getattr(whole, 'transformers_version', None)):
        _check_harmless(part, unread, whole)
    if _ROPE not in unread or not part.rope_parameters:
        return {}
    try:
        meant = rotary_settings(part)
    except Untranslatable:
        raise _unread(whole, f'{_ROPE} = {part.rope_parameters!r}',
                      _OTHER_VERSION) from None
    defaults = {'partial_rotary_factor': 1.0}
    settings = {}
    for key, value in meant.items():
        if getattr(part, key, defaults.get(key)) != value:
            settings[key] = value
    return settings


def _check_harmless(part: PretrainedConfig, unread: list[str],
                    whole: PretrainedConfig) -> None:
    """Refuse unread settings that may change losses, except for positions."""
    for key in unread:
        value = getattr(part, key)
        if key != _ROPE and _changes_losses(key, value):
            raise _unread(
                whole, f'{key} = {value!r}',
                f'{_OTHER_VERSION} If the setting changes nothing, remove it '
                'from config.json.')


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
        return set(value) != {'full_attention'}
    return _BUILT_IN.get(key) != value


def _unread(config: PretrainedConfig,
            found: str,
            remedy: str,
            what_it_lacks: str = '') -> InputError:
    """Return the error of a config with settings that are not read."""
    written = getattr(config, 'transformers_version', None)
    writer = f' of transformers {written}' if written else ''
    return InputError(
        f'model {config.name_or_path!r}', 'a config.json that transformers '
        f'{transformers.__version__} reads in full',
        f'{found}{writer}, which it does not read{what_it_lacks}', remedy)


# ---- tokenizers


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
    # transformers 5 writes a list, where 4 has a dict of names.
    special = written.get('extra_special_tokens')
    installed = Version(transformers.__version__)
    if isinstance(special, list) and installed.major < 5:
        settings['extra_special_tokens'] = {}
        settings['additional_special_tokens'] = special
    return settings


def _has_tokenizer_class(name: str) -> bool:
    """Return whether the installed version has a class, slow or fast."""
    for each in (name, f'{name}Fast'):
        if tokenizer_class_from_name(each):
            return True
    return False
