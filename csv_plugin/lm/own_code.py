"""Code among the files of a model, which runs only where the user says so.

Each of these was seen to run, or to be asked for, under transformers 4.57:
classes that a config or a tokenizer names (`auto_map`), which
`trust_remote_code=False` refuses; `custom_generate/generate.py` in a folder,
which runs whatever `trust_remote_code` is; and an attention kernel of the hub
that a config names, which the package `kernels` would download and run.
"""
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

from transformers import AutoConfig

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath

#: What a user can do about code that was refused, in a tool or a config.
READ_IT = 'Read the code and, if you trust it,'


def config_without_code(path: FilePath, remedy: str) -> Optional[Any]:
    """The config of a model that is loaded without code of its own.

    Args:
        path (FilePath): Folder, or name on the hub.
        remedy (str): How the user can let the code run, one sentence.

    Returns:
        Optional[Any]: As `transformers` reads it; None if it cannot.

    Raises:
        InputError: The model comes with code that would run, or that it
            cannot be loaded without.
    """
    if os.path.exists(os.path.join(path, 'custom_generate')):
        raise _refusal(path, 'code of its own in custom_generate', remedy)
    try:
        with needed_code_refused(path, remedy):
            config = AutoConfig.from_pretrained(path, trust_remote_code=False)
    except InputError:
        raise
    except Exception:  # Of any kind; the error of loading says the same.
        return None
    for part in (config, *_parts(config)):
        attention = str(getattr(part, '_attn_implementation', ''))
        if '/' in attention:
            raise _refusal(path, f'the attention kernel {attention!r}', remedy)
    return config


@contextmanager
def own_code_refused(path: FilePath, remedy: str) -> Iterator[None]:
    """Refuse code of a model that the body of the `with` statement loads.

    The body has to pass `trust_remote_code=False`.

    Args:
        path (FilePath): As in `config_without_code`.
        remedy (str): As there.

    Raises:
        InputError: As there, or the tokenizer needs code of its own.
    """
    config_without_code(path, remedy)
    with needed_code_refused(path, remedy):
        yield


@contextmanager
def needed_code_refused(path: FilePath, remedy: str) -> Iterator[None]:
    """Say in words what cannot be loaded without code that may not run.

    The body has to pass `trust_remote_code=False`; code beside what it loads
    is not looked for.

    Args:
        path (FilePath): As in `config_without_code`.
        remedy (str): As there.

    Raises:
        InputError: What the body loads needs code of its own.
    """
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


def _parts(config: Any) -> list[Any]:
    """Configs inside a config, as models of several parts have them."""
    names = getattr(config, 'sub_configs', ())
    return [getattr(config, name, None) for name in names]
