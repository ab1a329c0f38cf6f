"""Language models and tokenizers from folders or from the hub."""
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Optional

import torch
import transformers
from transformers import (AutoConfig, AutoModelForCausalLM, AutoTokenizer,
                          PreTrainedModel, PreTrainedTokenizerBase)

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath
from csv_plugin.lm.engines.causal_lm import input_device
from csv_plugin.lm.own_code import (READ_IT, needed_code_refused,
                                    own_code_refused)

_RELEASE = tuple(map(int, transformers.__version__.split('.')[:2]))
_DTYPE = 'dtype' if _RELEASE >= (4, 56) else 'torch_dtype'
#: How a user of a command lets the code of a model run.
_TRUST = f'{READ_IT} give --trust-remote-code.'


@contextmanager
def loading(what: str, path: FilePath,
            trust_remote_code: bool) -> Iterator[None]:
    """Errors of loading in words for users; code of a model is refused.

    Args:
        what (str): What is loaded, for errors.
        path (FilePath): Folder, or name on the hub.
        trust_remote_code (bool): Whether the code may run; the body of the
            `with` statement has to pass it to `transformers`.

    Raises:
        InputError: There is no such model, it cannot be loaded, or it comes
            with code that may not run.
    """
    guard = nullcontext() if trust_remote_code else own_code_refused(
        path, _TRUST)
    with _in_words(what, path), guard:
        yield


@contextmanager
def _in_words(what: str, path: FilePath) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    # A wrong value in its files may end in any error of the libraries.
    except Exception as error:
        reason = ' '.join(str(error).split())[:200]
        raise InputError(f'{what} {os.fspath(path)!r}',
                         'a causal LM and its tokenizer',
                         f'{type(error).__name__}: {reason}',
                         _remedy(error)) from error


def _remedy(error: Exception) -> str:
    """What can be done about an error of loading."""
    if isinstance(error, MemoryError) or 'memory' in str(error):
        return 'Free memory, or load it with a smaller dtype or on more GPUs.'
    if 'unexpected keyword argument' in str(error):
        return 'Leave out the setting that it does not know.'
    if isinstance(error, OSError):
        return 'Name its folder, or a model of the hub.'
    return 'Check its files, and the settings that it is loaded with.'


def load_tokenizer(path: FilePath,
                   trust_remote_code: bool = False,
                   remedy: str = _TRUST) -> PreTrainedTokenizerBase:
    """The tokenizer of a model that another engine runs.

    Code that only the model needs is left alone, and does not matter.

    Args:
        path (FilePath): Folder, or name on the hub.
        trust_remote_code (bool): Run code that comes with the tokenizer.
        remedy (str): What to do about such code, one sentence.

    Raises:
        InputError: There is no such tokenizer, it cannot be loaded, or it
            needs code that may not run.
    """
    with _in_words('tokenizer', path), needed_code_refused(path, remedy):
        return AutoTokenizer.from_pretrained(
            path, trust_remote_code=trust_remote_code)


def whole_causal_lm(path: FilePath, trust_remote_code: bool,
                    **settings: Any) -> PreTrainedModel:
    """A causal LM whose files hold all of its weights, and which runs.

    For weights that are missing, `transformers` draws random ones, and warns.
    A cap of attention logits, which Gemma 2 has, is kept.

    Args:
        path (FilePath): Folder, or name on the hub.
        trust_remote_code (bool): Run code that comes with the model.
        settings (Any): Further arguments of `from_pretrained`.

    Raises:
        InputError: Weights are missing.
    """
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        path,
        output_loading_info=True,
        trust_remote_code=trust_remote_code,
        **(_attention(path, trust_remote_code) | settings))
    model, found = loaded
    missing = sorted(found['missing_keys'])
    if missing:
        raise InputError(f'model {os.fspath(path)!r}',
                         'all weights that its config.json tells of',
                         f'none for {len(missing)}, such as {missing[0]}',
                         'Fetch or save the model again.')
    # Some wrong values of a config show only when the model is used.
    with torch.no_grad():
        model(
            input_ids=torch.zeros(
                1, 1, dtype=torch.long, device=input_device(model)))
    return model


def _attention(path: FilePath, trust_remote_code: bool) -> dict[str, Any]:
    """Settings of an attention that keeps a cap of its logits.

    The default attention of `transformers` 4 leaves it out.
    """
    config = AutoConfig.from_pretrained(
        path, trust_remote_code=trust_remote_code)
    if getattr(config.get_text_config(), 'attn_logit_softcapping', None):
        return {'attn_implementation': 'eager'}
    return {}


def load_causal_lm(path: FilePath,
                   trust_remote_code: bool = False,
                   dtype: Optional[str] = None,
                   **settings: Any) -> PreTrainedModel:
    """A causal LM, spread over all GPUs if there are any.

    Args:
        path (FilePath): Folder, or name on the hub.
        trust_remote_code (bool): Run code that comes with the model.
        dtype (Optional[str]): Number format of the weights, such as
            'bfloat16', which is the default on a GPU; 'float32' is it on the
            CPU.
        settings (Any): Further arguments of `from_pretrained`.

    Raises:
        InputError: As in `loading`.
    """
    on_gpu = torch.cuda.is_available()
    name = dtype or ('bfloat16' if on_gpu else 'float32')
    given = {_DTYPE: getattr(torch, name), **settings}
    if on_gpu:
        given.setdefault('device_map', 'auto')
    with loading('model', path, trust_remote_code):
        return whole_causal_lm(
            path, trust_remote_code=trust_remote_code, **given)
