"""Read files that a newer transformers wrote, or refuse them.

transformers 4 does not use some settings that transformers 5 writes into a
config or a tokenizer: it keeps them as attributes that no model reads. The
model then computes with the defaults of its class, and its losses are wrong
without any error. This module translates such a setting where transformers 4
can compute what it means, and refuses any other setting. It translates rotary
positions (lm.rotary_positions) and the special tokens of tokenizers.
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
from csv_plugin.lm.rotary_positions import (Untranslatable, is_read,
                                            rotary_settings)

#: Remedy if the installed version cannot compute what a setting means.
_OTHER_VERSION = ('Use the version that wrote config.json in an environment '
                  'without OpenCompass, which needs transformers 4.')
_ROPE = 'rope_parameters'
#: Settings that no class reads and that do not change the losses of a text.
#: `quantization_config` is among them because the code that loads models reads
#: it.
_HARMLESS = {
    'original_max_position_embeddings', 'architectures', 'auto_map',
    'eod_token_id', 'num_local_experts', 'num_nextn_predict_layers',
    'output_router_logits', 'pretraining_tp', 'qk_head_dim',
    'quantization_config', 'use_associative_scan', 'use_cache',
    'use_mamba_kernels', 'use_mambapy'
}
#: Settings that a newer version writes into the config. In transformers 4,
#: they are constants in the code, with these values.
_BUILT_IN = {
    'swiglu_alpha': 1.702,
    'swiglu_limit': 7.0,
    'time_step_limit': [0.0, float('inf')]
}

# ---- configs


def check_read(config: PretrainedConfig) -> None:
    """Refuse a config that the installed transformers reads only in part.

    Raises:
        InputError: The config contains settings that its class does not read,
            and that change the losses of the model.
    """
    needed: dict[str, Any] = {}
    for name, part in _parts(config):
        settings = _translated_settings(part, config)
        if settings and name:
            settings = {name: settings}
        needed |= settings
    if needed:
        raise _unread(
            config, _ROPE, 'Add these settings to its config.json, and remove '
            'none: both versions then compute the same.',
            f'; the file needs {json.dumps(needed)[1:-1]}')


def read_as_written(config: PretrainedConfig) -> None:
    """Translate, in place, the settings that the class of a config ignores.

    Raises:
        InputError: The installed transformers cannot compute what such a
            setting means.
    """
    written = getattr(config, 'transformers_version', None)
    if written and not _is_newer(written):
        # The version that wrote the file does not read these settings either,
        # so it is not certain what they mean.
        check_read(config)
    for _, part in _parts(config):
        for key, value in _translated_settings(part, config).items():
            setattr(part, key, value)


def newer_writer(path: FilePath, **where: Any) -> str:
    """Return the version of transformers that wrote a config.json, if newer.

    The string is empty if the version is not newer than the installed one, or
    not known. `where` contains arguments that say where to look for the file,
    such as `local_files_only`.
    """
    # Errors may be of any kind: no such folder, no network, no JSON.
    with suppress(Exception):
        config, _ = PretrainedConfig.get_config_dict(path, **where)
        written = str(config.get('transformers_version'))
        return written if _is_newer(written) else ''
    return ''


def _is_newer(written: Any) -> bool:
    """Return whether a version is newer than the installed transformers."""
    try:
        return Version(written) > Version(transformers.__version__)
    except (InvalidVersion, TypeError):
        return False


def _parts(config: PretrainedConfig) -> Iterator[tuple[str, PretrainedConfig]]:
    """Yield pairs of name and config: ('', config), then each sub-config."""
    yield '', config
    for name in config.sub_configs:
        part = getattr(config, name, None)
        if isinstance(part, PretrainedConfig):
            yield name, part


def _translated_settings(part: PretrainedConfig,
                         whole: PretrainedConfig) -> dict[str, Any]:
    """Return the settings that replace `rope_parameters` in `part`.

    Only `rope_parameters` are ever translated. The dict is empty if the class
    of `part` reads all settings that change losses. `part` is the config
    `whole` or a sub-config of it.

    Raises:
        InputError: The class of `part` does not read a setting that changes
            losses, and there is no translation: `rope_parameters` without an
            equivalent or, in files of a newer version, any other setting.
    """
    unread = []
    for key in vars(part):
        if not is_read(part, key):
            unread.append(key)
    # If the version that wrote the file is not newer, it ignored these
    # settings, too.
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
    """Refuse unread settings that may change losses, except rotary positions.
    """
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
    # For example, the version of a program that trained the model.
    if 'version' in key:
        return False
    # A setting that is off, 0 or empty is taken to ask for nothing. This is
    # wrong for a class that lacks the setting but computes as if it were on.
    if not value:
        return False
    if key == 'layer_types':
        return set(value) != {'full_attention'}
    return _BUILT_IN.get(key) != value


def _unread(config: PretrainedConfig,
            found: str,
            remedy: str,
            what_it_lacks: str = '') -> InputError:
    """Return the error for a config with settings that its class ignores.

    `found` names such settings, and `what_it_lacks` says what is missing.
    """
    written = getattr(config, 'transformers_version', None)
    writer = f' of transformers {written}' if written else ''
    return InputError(
        f'model {config.name_or_path!r}', 'a config.json that transformers '
        f'{transformers.__version__} reads in full',
        f'{found}{writer}, which {transformers.__version__} does not read'
        f'{what_it_lacks}', remedy)


# ---- tokenizers


def tokenizer_overrides(path: FilePath, **where: Any) -> dict[str, Any]:
    """Return settings to pass so that a tokenizer is read as it was written.

    They take the place of settings in the tokenizer's files that the installed
    version of transformers does not read. The dict is empty if the tokenizer
    can be read as it is. `where` contains arguments that say where to look for
    files, such as `local_files_only`.

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
                f'only the class {kind!r}, which it lacks', 'Save the '
                'tokenizer with a tokenizer.json, in a version of '
                'transformers that has this class.')
        # tokenizer.json alone determines how a text is encoded.
        settings['tokenizer_class'] = 'PreTrainedTokenizerFast'
    # transformers 5 writes a list; transformers 4 expects a dict by name.
    special = written.get('extra_special_tokens')
    installed = Version(transformers.__version__)
    if isinstance(special, list) and installed.major < 5:
        settings['extra_special_tokens'] = {}
        settings['additional_special_tokens'] = special
    return settings


def _has_tokenizer_class(name: str) -> bool:
    """Return whether transformers has a tokenizer class, slow or fast."""
    for each in (name, f'{name}Fast'):
        if tokenizer_class_from_name(each):
            return True
    return False
