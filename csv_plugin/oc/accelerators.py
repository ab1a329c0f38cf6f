"""Rewrite models of a run for `opencompass -a vllm` or `-a lmdeploy`.

A config has an entry for each model: its class as `type`, and the arguments of
this class. With `-a vllm`, OpenCompass replaces the entries of models that run
in transformers by entries of models that run in vLLM. This module does four
things that OpenCompass does not do:

* It removes the arguments in `model_kwargs` that vLLM refuses.
* It rewrites the entry of a `TokenLossModel` and of the model in its `llm`.
* It rewrites the entry of a `BatchedBaseModel`, a class of this package.
* It refuses a model with an adapter, which OpenCompass would silently run
  without the adapter.

LMDeploy returns no losses, so with `-a lmdeploy` a `TokenLossModel` is
refused.
"""
import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from opencompass.utils import model_abbr_from_cfg

from csv_plugin.core.conventions import InputError
from csv_plugin.oc.classes import Entry, class_name, class_of

#: OpenCompass replaces this class only if the entry gives it as a string.
_BY_NAME = 'HuggingFaceBaseModel'
#: A class of this package. Its parent class is replaced in its stead.
_BATCHED = 'BatchedBaseModel'
#: Classes of transformers that have an equivalent in vLLM.
_OF_TRANSFORMERS = (_BY_NAME, _BATCHED, 'HuggingFace', 'HuggingFaceCausalLM',
                    'HuggingFaceChatGLM3', 'HuggingFacewithChatTemplate')
#: Classes that already run in vLLM.
_OF_VLLM = ('VLLM', 'VLLMwithChatTemplate')
#: OpenCompass reads these keys of every entry that it replaces. An entry that
#: lacks a key gets the value given here.
_DEFAULTS = dict(max_out_len=None, batch_size=8, run_cfg=dict(num_gpus=0))
#: Settings of transformers that vLLM decides by itself; they are removed.
_WITHOUT_EFFECT = ('device_map', 'attn_implementation', 'low_cpu_mem_usage',
                   'use_safetensors')
#: Settings of transformers that change the weights, and so the model.
_OTHER_WEIGHTS = ('load_in_8bit', 'load_in_4bit', 'quantization_config')


def apply_accelerator(config: Any) -> None:
    """Rewrite, in place, the entries of models that should run in vLLM.

    With `-a vllm`, entries of `TokenLossModel` and of classes of transformers
    become entries of vLLM, with settings that vLLM accepts. Other models, and
    runs without `-a`, stay as they are.

    Raises:
        InputError: A `TokenLossModel` is asked to run in LMDeploy, or a model
            has an adapter or settings that vLLM cannot follow.
    """
    accelerator = _accelerator_of_command(sys.argv[1:])
    for part in (config, *config.get('model_dataset_combinations', ())):
        if accelerator == 'vllm':
            part['models'] = [_for_vllm(entry) for entry in part['models']]
        elif accelerator == 'lmdeploy':
            _check_for_lmdeploy(part['models'])


def _accelerator_of_command(arguments: Sequence[str]) -> Optional[str]:
    """Return the accelerator that the command of OpenCompass was given."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument('-a', '--accelerator', choices=['vllm', 'lmdeploy'])
    try:
        known, _ = parser.parse_known_args(arguments)
    except argparse.ArgumentError:
        return None
    return known.accelerator


def _check_for_lmdeploy(entries: Sequence[Entry]) -> None:
    """Refuse a `TokenLossModel`, as LMDeploy returns no losses."""
    for entry in entries:
        if class_name(entry) == 'TokenLossModel':
            raise InputError(
                f'model {model_abbr_from_cfg(entry)!r}', '-a vllm, or no -a',
                '-a lmdeploy, in which a TokenLossModel cannot run',
                'Call without -a, or with -a vllm (docs/opencompass.md).')


def _for_vllm(entry: Entry) -> dict[str, Any]:
    """Return the entry that runs a model in vLLM.

    A model that cannot run in vLLM, such as one behind an API, keeps its
    entry.
    """
    name = class_name(entry)
    if name == 'TokenLossModel':
        return _token_loss_model_for_vllm(entry)
    if name in _OF_TRANSFORMERS:
        found = _vllm_entry_of(entry)
    elif name in _OF_VLLM:
        found = dict(entry)
    else:
        return dict(entry)
    settings = found.get('model_kwargs') or {}
    model = model_abbr_from_cfg(entry)
    found['model_kwargs'] = _settings_for_vllm(settings, model)
    return found


def _token_loss_model_for_vllm(entry: Entry) -> dict[str, Any]:
    """Return the entry of a `TokenLossModel` around a model in vLLM.

    In the returned entry, `llm` contains only the class of the inner model.
    The arguments of the inner model are keys of the outer entry.
    """
    # An argument in `llm` overrides the same argument of the outer entry.
    inner = {**entry, **entry['llm']}
    inner.pop('llm')
    inner.pop('engine', None)
    found = _for_vllm(inner)
    found['llm'] = dict(type=found['type'])
    found['type'] = entry['type']
    if 'engine' in entry:
        found['engine'] = entry['engine']
    return found


def _vllm_entry_of(entry: Entry) -> dict[str, Any]:
    """Return the vLLM entry that OpenCompass makes from a model's entry."""
    if entry.get('peft_path'):
        raise InputError(f'model {model_abbr_from_cfg(entry)!r}',
                         'a model without peft_path under -a vllm',
                         repr(entry['peft_path']),
                         'Merge the adapter into the model.')
    # This import is not at the top, because it imports all of OpenCompass.
    from opencompass.utils.run import change_accelerator
    kind = class_of(entry['type'])
    if kind.__name__ == _BATCHED:
        kind = kind.__base__
    complete = {**_DEFAULTS, **entry, 'type': kind}
    if kind.__name__ == _BY_NAME:
        complete['type'] = f'{kind.__module__}.{kind.__name__}'
    [found] = change_accelerator([complete], 'vllm')
    if entry.get('tokenizer_path'):
        found['model_kwargs']['tokenizer'] = entry['tokenizer_path']
    return found


def _settings_for_vllm(settings: Mapping[str, Any],
                       model: str) -> dict[str, Any]:
    """Return `model_kwargs` translated from transformers to vLLM."""
    for name in _OTHER_WEIGHTS:
        if settings.get(name):
            raise InputError(
                f'model_kwargs of {model!r}', 'settings that vLLM can follow',
                name, f'Remove {name} and name a model whose weights are '
                'quantised, or run this model without -a.')
    found = dict(settings)
    for name in (*_WITHOUT_EFFECT, *_OTHER_WEIGHTS):
        found.pop(name, None)
    dtype = found.pop('torch_dtype', None)
    if dtype is not None:
        # A `dtype` that is already given overrides `torch_dtype`.
        found.setdefault('dtype', str(dtype).removeprefix('torch.'))
    # OpenCompass sets this to the number of GPUs, which is 0 on a CPU.
    n_gpus = found.get('tensor_parallel_size', 1)
    found['tensor_parallel_size'] = max(1, n_gpus)
    return found
