"""Load models and tokenizers from folders or the hub, without their code.

Unless the user allows it, code that comes with a model is refused. Under
transformers 4.57, such code can run in three ways:

* classes that a config or a tokenizer names (`auto_map`), which
  `trust_remote_code=False` refuses;
* `custom_generate/generate.py` in a folder, which always runs;
* an attention kernel of the hub that a config names, which the package
  `kernels` would download and run.
"""
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Optional

import torch
import transformers
from huggingface_hub import snapshot_download
from transformers import (AutoConfig, AutoModelForCausalLM, AutoTokenizer,
                          PreTrainedModel, PreTrainedTokenizerBase,
                          PreTrainedTokenizerFast)

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath
from csv_plugin.lm.engines.causal_lm import input_device
from csv_plugin.lm.newer_files import (check_read, newer_writer,
                                       read_as_written, tokenizer_overrides)

#: Files with weights as pickles. They are used only if there are no
#: safetensors files.
_PICKLES = ['*.bin', '*.bin.index.json']
#: Files with weights for other programs, which are not downloaded.
_UNUSED = [
    '*.pt', '*.pth', '*.h5', '*.msgpack', '*.onnx', '*.gguf', 'original/*'
]
#: File with the CPU limit of a container: the microseconds of CPU time that it
#: may use in each period, and the length of a period in microseconds.
_QUOTA = Path('/sys/fs/cgroup/cpu.max')
#: Start of the remedy in errors that refuse code.
READ_THE_CODE = 'Read the code and, if you trust it,'
_TRUST = f'{READ_THE_CODE} give --trust-remote-code.'


@contextmanager
def _as_input_error(what: str, path: FilePath) -> Iterator[None]:
    """Turn any error in the `with` body into an `InputError` of one line.

    In the error, `what` stands before the path: 'model', 'tokenizer' or a
    description of a revision.
    """
    if os.path.isfile(path):
        raise InputError(
            f'{what} {os.fspath(path)!r}', 'a folder or a name on the hub',
            'a file', 'Name the folder of the file. For a GGUF file, name the '
            'folder of the model that it was made from.')
    try:
        yield
    except InputError:
        raise
    # A wrong value in the files may raise any error in the libraries.
    except Exception as error:
        reason = ' '.join(f'{type(error).__name__}: {error}'.split())[:200]
        remedy = 'Check its files, the installed packages and the settings.'
        written = newer_writer(path)
        if written:
            remedy = _newer(written)
        elif 'memory' in reason.lower():
            remedy = 'Load it with a smaller dtype or on more GPUs.'
        elif not os.path.exists(path):
            reason = f'no such folder, and from the hub {reason}'
            remedy = 'Name an existing folder, or a model on the hub.'
        raise InputError(f'{what} {os.fspath(path)!r}',
                         'a causal LM and its tokenizer', reason,
                         remedy) from error


def _newer(written: str) -> str:
    """Return the remedy for files of a newer version that cannot be loaded."""
    return (f'If its files are complete, use transformers {written}, which '
            'wrote them, in an environment without OpenCompass; '
            f'{transformers.__version__} is installed.')


def config_without_code(path: FilePath, remedy: str) -> Optional[Any]:
    """Return the config of a model, if the model needs no code of its own.

    The result is None if `transformers` cannot read the config; the error is
    then explained when the model is loaded. `remedy`, one sentence, says how
    the user can allow the code.

    Raises:
        InputError: The model comes with code that would run, or cannot be
            loaded without it.
    """
    if os.path.exists(os.path.join(path, 'custom_generate')):
        raise _refusal(path, 'code of its own in custom_generate', remedy)
    try:
        with _needed_code_refused(path, remedy):
            config = AutoConfig.from_pretrained(path, trust_remote_code=False)
    except InputError:
        raise
    except Exception:  # Reading the config can raise errors of any kind.
        return None
    parts = [getattr(config, name, None) for name in config.sub_configs]
    for part in (config, *parts):
        attention = str(getattr(part, '_attn_implementation', ''))
        if '/' in attention:
            raise _refusal(path, f'the attention kernel {attention!r}', remedy)
    return config


@contextmanager
def own_code_refused(path: FilePath, remedy: str,
                     allowed: bool) -> Iterator[None]:
    """Refuse a model whose code would run when the `with` body loads it.

    The body has to pass `trust_remote_code=allowed` to transformers; if
    `allowed` is True, nothing is refused. A tokenizer that needs code is
    refused, too. `path`, `remedy` and the errors are as in
    `config_without_code`.
    """
    if not allowed:
        config_without_code(path, remedy)
    with _needed_code_refused(path, remedy):
        yield


@contextmanager
def _needed_code_refused(path: FilePath, remedy: str) -> Iterator[None]:
    """Refuse a model that the `with` body cannot load without its own code."""
    try:
        yield
    except ValueError as error:
        if 'trust_remote_code' not in str(error):
            raise
        raise _refusal(path, 'code of its own that it cannot be loaded '
                       'without', remedy) from error  # yapf: disable


def _refusal(path: FilePath, found: str, remedy: str) -> InputError:
    """Return the error for a model that comes with code."""
    return InputError(f'model {os.fspath(path)!r}',
                      'files without code to run', found, remedy)


def revision_folder(model: str, revision: str) -> Path:
    """Return the folder with the files of one revision of a model.

    If the model is a folder, return its subfolder with the name of the
    revision. If the model is a name on the hub, the revision is a branch, a
    tag or a commit, whose files are downloaded unless they are in the cache.
    An `InputError` if there is no such revision.
    """
    folder = Path(model, revision)
    if folder.is_dir():
        return folder
    if Path(model).is_dir():
        raise InputError(
            f'model {model!r}', f'a folder {revision!r} in it', 'none',
            'Give each revision a folder of its own in the folder of the '
            'model; git worktree add makes one from a clone.')
    with _as_input_error(f'revision {revision!r} of', model):
        found = Path(
            snapshot_download(
                model,
                revision=revision,
                ignore_patterns=[*_PICKLES, *_UNUSED]))
        if not any(found.glob('*.safetensors')):
            snapshot_download(
                model, revision=revision, allow_patterns=_PICKLES)
        return found


def load_tokenizer(path: FilePath,
                   trust_remote_code: bool = False,
                   remedy: str = _TRUST) -> PreTrainedTokenizerBase:
    """Return the tokenizer in a folder, or of a model on the hub.

    `trust_remote_code` lets the code of the tokenizer run; code that only the
    model needs never runs. `remedy`, one sentence, says in the error what to
    do if the tokenizer needs code. If the installed transformers does not have
    the class of the tokenizer, the tokenizer is read from `tokenizer.json`
    alone.

    Raises:
        InputError: There is no such tokenizer, it cannot be loaded, or it
            needs code that may not run.
    """
    errors_named = _as_input_error('tokenizer', path)
    with errors_named, _needed_code_refused(path, remedy):
        settings = tokenizer_overrides(path)
        kind: Any = AutoTokenizer
        # This setting is present if transformers lacks the class that the
        # files name.
        if settings.pop('tokenizer_class', None):
            kind = PreTrainedTokenizerFast
        return kind.from_pretrained(
            path, trust_remote_code=trust_remote_code, **settings)


def check_files(path: FilePath, tokenizer: Optional[FilePath] = None) -> None:
    """Refuse files that the installed transformers would read only partly.

    `path` is a folder or the name of a model on the hub. Of a model on the
    hub, only files that are already on this machine are checked. `tokenizer`
    is the path of the tokenizer, by default `path`.

    Raises:
        InputError: A newer transformers wrote files that the installed one
            does not read in full.
    """
    here = dict(local_files_only=True)
    try:
        config = AutoConfig.from_pretrained(
            path, trust_remote_code=False, **here)
    # The error may be of any kind, for example because there are no files. It
    # is ignored here, and explained when the model is loaded.
    except Exception as error:
        written = newer_writer(path, **here)
        if written:
            raise InputError(
                f'model {os.fspath(path)!r}',
                f'files that transformers {transformers.__version__} reads',
                ' '.join(f'{type(error).__name__}: {error}'.split())[:200],
                _newer(written)) from error
    else:
        check_read(config)
    if tokenizer is None:
        tokenizer = path
    settings = tokenizer_overrides(tokenizer, **here)
    if settings:
        raise InputError(
            f'tokenizer {os.fspath(tokenizer)!r}',
            'a tokenizer_config.json that transformers '
            f'{transformers.__version__} reads', 'settings of transformers 5',
            f'Write {json.dumps(settings)[1:-1]} into that file.')


def load_causal_lm(path: FilePath,
                   trust_remote_code: bool = False,
                   dtype: Optional[str] = None,
                   **settings: Any) -> PreTrainedModel:
    """Load a causal LM, onto all GPUs if there are any.

    The path is a folder or a name on the hub. `dtype` is by default 'bfloat16'
    on a GPU and 'float32' on the CPU. Further settings are arguments of
    `from_pretrained`.

    Raises:
        InputError: There is no such model; it cannot be loaded; it comes with
            code that may not run; weights are missing; or a newer transformers
            wrote settings that change its losses and that the installed
            version does not have.
    """
    _limit_threads()
    on_gpu = torch.cuda.is_available()
    name = dtype or ('bfloat16' if on_gpu else 'float32')
    given = {'dtype': getattr(torch, name), **settings}
    if on_gpu:
        given.setdefault('device_map', 'auto')
    errors_named = _as_input_error('model', path)
    code_refused = own_code_refused(path, _TRUST, trust_remote_code)
    with errors_named, code_refused:
        code = {'trust_remote_code': trust_remote_code}
        config = AutoConfig.from_pretrained(path, **code)
        read_as_written(config)
        # The default attention of transformers 4 ignores this cap of logits.
        if getattr(config.get_text_config(), 'attn_logit_softcapping', None):
            given.setdefault('attn_implementation', 'eager')
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            path, config=config, output_loading_info=True, **code, **given)
        model, found = loaded
        # transformers initialises missing weights at random.
        missing = sorted(found['missing_keys'])
        if missing:
            raise InputError(f'model {os.fspath(path)!r}',
                             'all weights that its config.json describes',
                             f'{len(missing)} missing, such as {missing[0]}',
                             'Download or save the model again.')
        model.name_or_path = os.fspath(path)
        # The model is run once, because some wrong values in a config raise
        # errors only then.
        with torch.no_grad():
            model(input_ids=torch.tensor([[0]], device=input_device(model)))
        return model


def _limit_threads() -> None:
    """Limit torch's threads to the processors that the container may use.

    By default torch uses all processors of the machine. With more threads than
    the quota allows, the system would pause all of them again and again.
    """
    # Without a quota, the file is missing or contains 'max'.
    with suppress(OSError, ValueError):
        quota, period = map(int, _QUOTA.read_text().split())
        if 'OMP_NUM_THREADS' not in os.environ:
            n_allowed = math.ceil(quota / period)
            torch.set_num_threads(min(torch.get_num_threads(), n_allowed))


def load_scoring_lm(
    path: FilePath,
    tokenizer: Optional[FilePath] = None,
    trust_remote_code: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a causal LM, and its tokenizer from `path` or another folder."""
    model = load_causal_lm(path, trust_remote_code)
    return model, load_tokenizer(tokenizer or path, trust_remote_code)
