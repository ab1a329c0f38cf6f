"""Models of a run under `opencompass -a vllm` or `-a lmdeploy`.

OpenCompass rewrites the entries of transformers models for vLLM or LMDeploy,
but leaves settings that only transformers knows, and does not touch a
TokenLossModel. This module completes the rewriting for vLLM.
"""
import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from opencompass.utils import model_abbr_from_cfg

from csv_plugin.core.conventions import InputError
from csv_plugin.oc.classes import class_name, class_of

#: Classes whose entries OpenCompass exchanges. It knows the first one by its
#: name alone, where a config has the class.
_BY_NAME = 'HuggingFaceBaseModel'
#: A class of this package that computes what its parent class does.
_BATCHED = 'BatchedBaseModel'
_EXCHANGED = (_BY_NAME, _BATCHED, 'HuggingFace', 'HuggingFaceCausalLM',
              'HuggingFaceChatGLM3', 'HuggingFacewithChatTemplate')
_IN_VLLM = ('VLLM', 'VLLMwithChatTemplate')
#: What OpenCompass looks up in an entry to exchange it.
_NEEDED = dict(max_out_len=None, batch_size=8, run_cfg=dict(num_gpus=0))
#: Settings of transformers that say where and how to compute: vLLM decides.
_WITHOUT_EFFECT = ('device_map', 'attn_implementation', 'low_cpu_mem_usage',
                   'use_safetensors')
#: Settings of transformers that make another model of the weights.
_OTHER_WEIGHTS = ('load_in_8bit', 'load_in_4bit', 'quantization_config')


def apply_accelerator(config: Any) -> None:
    """Rewrite the entries of models that `-a vllm` left, in place.

    Entries of `TokenLossModel` and of classes of transformers become those of
    vLLM, with settings that it takes. Models that are in vLLM already are left
    alone, and so is a run without `-a vllm`.

    Raises:
        InputError: A `TokenLossModel` is asked to run in LMDeploy, or a model
            has settings that vLLM cannot follow.
    """
    accelerator = _accelerator_of_command(sys.argv[1:])
    if accelerator is None:
        return
    change = _in_vllm if accelerator == 'vllm' else _not_in_lmdeploy
    for part in (config, *config.get('model_dataset_combinations', ())):
        part['models'] = list(map(change, part['models']))


def _accelerator_of_command(arguments: Sequence[str]) -> Optional[str]:
    """The accelerator that the command of OpenCompass was given."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument('-a', '--accelerator', choices=['vllm', 'lmdeploy'])
    try:
        return parser.parse_known_args(arguments)[0].accelerator
    except argparse.ArgumentError:
        return None


def _not_in_lmdeploy(model: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same entry; a `TokenLossModel` is refused."""
    if class_name(model['type']) == 'TokenLossModel':
        raise InputError(
            f'model {model_abbr_from_cfg(model)!r}', '-a vllm, or no -a',
            '-a lmdeploy, in which a TokenLossModel cannot run',
            'Call without -a, or with -a vllm (docs/opencompass.md).')
    return model


def _in_vllm(model: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry for vLLM of an entry; API models and the like stay."""
    if class_name(model['type']) != 'TokenLossModel':
        return _exchanged(model)
    # In the entry of the inner model, keys of `llm` win over those beside it.
    inner = {**model, **model['llm']}
    inner.pop('llm')
    inner.pop('engine', None)
    found = _exchanged(inner)
    # The outer class and its engine win over what vLLM made of the inner one.
    found['llm'] = dict(type=found['type'])
    found['type'] = model['type']
    if 'engine' in model:
        found['engine'] = model['engine']
    return found


def _exchanged(model: Mapping[str, Any]) -> dict[str, Any]:
    """The entry for vLLM of an entry that is no `TokenLossModel`."""
    found = dict(model)
    name = class_name(model['type'])
    if name in _EXCHANGED:
        _check_adapter(model)
        # Not at the top: it imports all of OpenCompass.
        from opencompass.utils.run import change_accelerator
        kind = class_of(model['type'])
        if name == _BATCHED:
            kind = kind.__base__
        # Settings of the model win over those that are only needed.
        given = {**_NEEDED, **model, 'type': kind}
        if kind.__name__ == _BY_NAME:
            given['type'] = f'{kind.__module__}.{kind.__name__}'
        [found] = change_accelerator([given], 'vllm')
        if model.get('tokenizer_path'):
            found['model_kwargs']['tokenizer'] = model['tokenizer_path']
    elif name not in _IN_VLLM:
        return found
    settings = found.get('model_kwargs') or {}
    return {**found, 'model_kwargs': _of_vllm(model, settings)}


def _of_vllm(model: Mapping[str, Any],
             settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model of transformers as those of vLLM."""
    for name in _OTHER_WEIGHTS:
        if settings.get(name):
            raise InputError(
                f'model_kwargs of {model_abbr_from_cfg(model)!r}',
                'settings that vLLM can follow', name,
                'Run this model without -a, or name quantised weights.')
    found = dict(settings)
    for name in (*_WITHOUT_EFFECT, *_OTHER_WEIGHTS):
        found.pop(name, None)
    dtype = found.pop('torch_dtype', None)
    if dtype is not None:
        # A `dtype` that is there already wins.
        found.setdefault('dtype', str(dtype).removeprefix('torch.'))
    # OpenCompass gives the number of GPUs, which is 0 on a CPU.
    n_gpus = found.get('tensor_parallel_size', 1)
    found['tensor_parallel_size'] = max(1, n_gpus)
    return found


def _check_adapter(model: Mapping[str, Any]) -> None:
    """Refuse an adapter, which OpenCompass would leave out."""
    if model.get('peft_path'):
        raise InputError(f'model {model_abbr_from_cfg(model)!r}',
                         'a model without peft_path under -a vllm',
                         repr(model['peft_path']),
                         'Merge the adapter into the model.')
