"""Models and tokenizers from folders or the hub; their code is refused.

Each of these ran, or was asked for, under transformers 4.57: classes that a
config or a tokenizer names (`auto_map`), which `trust_remote_code=False`
refuses; `custom_generate/generate.py` in a folder, which always runs; and an
attention kernel of the hub that a config names, which the package `kernels`
would download and run.
"""
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Optional

import torch
import transformers
from huggingface_hub import snapshot_download
from huggingface_hub.utils import HFValidationError
from transformers import (AutoConfig, AutoModelForCausalLM, AutoTokenizer,
                          PreTrainedModel, PreTrainedTokenizerBase)

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath
from csv_plugin.lm.engines.causal_lm import input_device
from csv_plugin.lm.tokens.tokenizer_checks import check_gguf

_RELEASE = tuple(map(int, transformers.__version__.split('.')[:2]))
_DTYPE = 'dtype' if _RELEASE >= (4, 56) else 'torch_dtype'
#: Microseconds of processors that a container has, and in which time.
_QUOTA = Path('/sys/fs/cgroup/cpu.max')
#: Names of models on the hub.
_HUB_NAME = re.compile(r'\w[\w.-]*(/[\w.-]+)?')
#: Weights in pickles, which are used if there are no others, and weights for
#: other programs.
_PICKLES = ['*.bin', '*.bin.index.json']
_UNUSED = ['*.pt', '*.pth', '*.h5', '*.msgpack', '*.onnx', '*.gguf',
           'original/*']  # yapf: disable
#: Start of the remedy where code was refused.
READ_IT = 'Read the code and, if you trust it,'
_TRUST = f'{READ_IT} give --trust-remote-code.'


@contextmanager
def _in_words(what: str, path: FilePath) -> Iterator[None]:
    """Turn errors of loading into one line."""
    # The hub's client logs each of its attempts to connect.
    log = logging.getLogger('huggingface_hub')
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    except InputError:
        raise
    # A wrong value in its files may end in any error of the libraries.
    except Exception as error:
        reason = ' '.join(str(error).split())[:200]
        reason = f'{type(error).__name__}: {reason}'
        if not os.path.exists(path):
            if not _HUB_NAME.fullmatch(os.fspath(path)):
                reason = 'no such folder'
            elif "couldn't connect" in reason or 'offline' in reason:
                reason = 'no such folder, and no connection to the hub'
        raise InputError(f'{what} {os.fspath(path)!r}',
                         'a causal LM and its tokenizer', reason,
                         _remedy(error)) from error
    finally:
        log.setLevel(level)


def _remedy(error: Exception) -> str:
    if isinstance(error, MemoryError) or 'memory' in str(error):
        return 'Free memory, or load it with a smaller dtype or on more GPUs.'
    if isinstance(error, ImportError):
        return 'Install this package.'
    if isinstance(error, (OSError, HFValidationError)):
        return 'Name its folder, or a model of the hub.'
    if 'tokenizer' in str(error):
        return 'Name a tokenizer by --tokenizer, or check the files.'
    return 'Check its files, and the settings that it is loaded with.'


def config_without_code(path: FilePath, remedy: str) -> Optional[Any]:
    """The config of a model that is loaded without code of its own.

    None if `transformers` cannot read it, which the error of loading explains.
    `remedy`, one sentence, is how the user can let the code run.

    Raises:
        InputError: The model comes with code that would run, or cannot be
            loaded without it.
    """
    folder, settings = _place(path)
    if os.path.exists(os.path.join(folder, 'custom_generate')):
        raise _refusal(path, 'code of its own in custom_generate', remedy)
    if settings:
        return None  # A GGUF file has no code.
    try:
        with _needed_code_refused(path, remedy):
            config = AutoConfig.from_pretrained(path, trust_remote_code=False)
    except InputError:
        raise
    except Exception:  # Of any kind.
        return None
    parts = [
        getattr(config, name, None)
        for name in getattr(config, 'sub_configs', ())
    ]
    for part in (config, *parts):
        attention = str(getattr(part, '_attn_implementation', ''))
        if '/' in attention:
            raise _refusal(path, f'the attention kernel {attention!r}', remedy)
    return config


@contextmanager
def own_code_refused(path: FilePath, remedy: str) -> Iterator[None]:
    """Refuse code of a model that the body of the `with` statement loads.

    The body has to pass `trust_remote_code=False`. Arguments and errors are
    as in `config_without_code`; a tokenizer that needs code is refused, too.
    """
    config_without_code(path, remedy)
    with _needed_code_refused(path, remedy):
        yield


@contextmanager
def _needed_code_refused(path: FilePath, remedy: str) -> Iterator[None]:
    """Refuse in one line what cannot be loaded without its code."""
    try:
        yield
    except ValueError as error:
        if 'trust_remote_code' not in str(error):
            raise
        raise _refusal(path, 'code of its own that it cannot be loaded '
                       'without', remedy) from error  # yapf: disable


def _refusal(path: FilePath, found: str, remedy: str) -> InputError:
    return InputError(f'model {os.fspath(path)!r}',
                      'files without code to run', found, remedy)


def revision_folder(model: str, revision: str) -> Path:
    """Return the folder of a revision, such as a branch, a tag or a commit.

    The model is a name on the hub, whose files are fetched or lie in the
    cache; a folder with one of the revision's name; or its folder in a cache
    of the hub. An `InputError` if there is no such revision.
    """
    folder = Path(model)
    if not folder.is_dir():
        with _in_words(f'revision {revision!r} of', model):
            found = Path(
                snapshot_download(
                    model,
                    revision=revision,
                    ignore_patterns=_PICKLES + _UNUSED))
            if not any(found.glob('*.safetensors')):
                snapshot_download(
                    model, revision=revision, allow_patterns=_PICKLES)
            return found
    reference = folder / 'refs' / revision
    commit = reference.read_text() if reference.is_file() else revision
    for place in (folder / revision, folder / 'snapshots' / commit.strip()):
        if place.is_dir():
            return place
    raise InputError(
        f'model {model!r}', f'a folder {revision!r} in it', 'none',
        'Give each revision a folder; git worktree add makes one of a clone.')


def _place(path: FilePath) -> tuple[FilePath, dict[str, str]]:
    """The folder of a model, and how to call its file if it is a GGUF."""
    file = Path(path)
    if file.suffix == '.gguf' and file.is_file():
        return file.parent, {'gguf_file': file.name}
    return path, {}


def load_tokenizer(path: FilePath,
                   trust_remote_code: bool = False,
                   remedy: str = _TRUST) -> PreTrainedTokenizerBase:
    """The tokenizer in a folder or GGUF file, or of a model on the hub.

    `trust_remote_code` lets code run that comes with it; code that only the
    model needs never runs. `remedy`, one sentence, says what to do about it.
    """
    folder, settings = _place(path)
    with _in_words('tokenizer', path), _needed_code_refused(path, remedy):
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=trust_remote_code, **settings)
    if settings:
        tokenizer.name_or_path = os.fspath(path)
        check_gguf(tokenizer)
    return tokenizer


def load_causal_lm(path: FilePath,
                   trust_remote_code: bool = False,
                   dtype: Optional[str] = None,
                   **settings: Any) -> PreTrainedModel:
    """A causal LM, spread over all GPUs if there are any.

    The path is a folder, a GGUF file, or a name on the hub. Weights are by
    default 'bfloat16' on a GPU and 'float32' on the CPU; further settings are
    arguments of `from_pretrained`.

    Raises:
        InputError: There is no such model, it cannot be loaded, it comes with
            code that may not run, or weights are missing.
    """
    _keep_to_quota()
    on_gpu = torch.cuda.is_available()
    name = dtype or ('bfloat16' if on_gpu else 'float32')
    given = {_DTYPE: getattr(torch, name), **settings}
    if on_gpu:
        given.setdefault('device_map', 'auto')
    guard = nullcontext() if trust_remote_code else own_code_refused(
        path, _TRUST)
    with _in_words('model', path), guard:
        model, missing = _model_and_gaps(path, trust_remote_code, **given)
        # For these, transformers has drawn random numbers.
        if missing:
            raise InputError(f'model {os.fspath(path)!r}',
                             'all weights that its config.json describes',
                             f'none for {len(missing)}, such as {missing[0]}',
                             'Fetch or save the model again.')
        model.name_or_path = os.fspath(path)
        # Some wrong values of a config show only when the model is used.
        with torch.no_grad():
            model(
                input_ids=torch.zeros(
                    1, 1, dtype=torch.long, device=input_device(model)))
        return model


def _keep_to_quota() -> None:
    """Let torch use no more threads than its container has processors.

    It counts those of the machine, and once a quota is used up all threads
    wait. OMP_NUM_THREADS goes first.
    """
    if 'OMP_NUM_THREADS' not in os.environ:
        # There is no file, or it says 'max'.
        with suppress(OSError, ValueError):
            quota, period = map(int, _QUOTA.read_text().split())
            processors = -(-quota // period)
            torch.set_num_threads(min(torch.get_num_threads(), processors))


def load_scoring_lm(
    path: FilePath,
    tokenizer: Optional[FilePath] = None,
    trust_remote_code: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A causal LM and its tokenizer: bf16 on a GPU, else fp32 on the CPU.

    Arguments and errors are as in `load_causal_lm`; the tokenizer may lie in
    another folder.
    """
    model = load_causal_lm(path, trust_remote_code)
    return model, load_tokenizer(tokenizer or path, trust_remote_code)


def _model_and_gaps(path: FilePath, trust_remote_code: bool,
                    **settings: Any) -> tuple[Any, list[str]]:
    """A causal LM and the names of weights that are missing.

    A cap of attention logits, which the default attention of transformers may
    leave out, is kept.
    """
    folder, gguf = _place(path)
    settings |= {'trust_remote_code': trust_remote_code, **gguf}
    config = AutoConfig.from_pretrained(
        folder, trust_remote_code=trust_remote_code, **gguf)
    if getattr(config.get_text_config(), 'attn_logit_softcapping', None):
        settings.setdefault('attn_implementation', 'eager')
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        folder, output_loading_info=True, **settings)
    model, found = loaded
    return model, sorted(found['missing_keys'])
