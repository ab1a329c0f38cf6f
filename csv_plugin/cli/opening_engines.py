"""Engines by the names that the option `--engine` has for them."""
import json
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.io.model_paths import weights_mark


class EngineOptions(NamedTuple):
    """What the command line says of an engine.

    Args:
        engine (str): One of `ENGINES`.
        url (Optional[str]): Address of a server.
        dtype (Optional[str]): Number format, such as 'bfloat16'.
        settings (Mapping[str, Any]): Further arguments of the engine.
        trust_remote_code (bool): Run code that comes with the model.
    """
    engine: str
    url: Optional[str]
    dtype: Optional[str]
    settings: Mapping[str, Any]
    trust_remote_code: bool


class _Kind(NamedTuple):
    """How an engine is opened.

    Args:
        recorded (str): What dumps call it.
        start (Callable): From the model's path or name, and the options.
        reads_folder (bool): Whether the path has the model's tokenizer.
        is_server (bool): Whether it has an address.
        fills_gpu (bool): Whether a model takes the memory of the GPUs until
            the process ends.
    """
    recorded: str
    start: Callable[[str, EngineOptions], Any]
    reads_folder: bool = False
    is_server: bool = False
    fills_gpu: bool = False


def _transformers(model: str, options: EngineOptions) -> Any:
    from csv_plugin.lm.engines.transformers_engine import TransformersEngine
    from csv_plugin.lm.loading import load_causal_lm
    return TransformersEngine(
        load_causal_lm(model, options.trust_remote_code, options.dtype,
                       **options.settings))


def _checked_for_code(model: str,
                      options: EngineOptions) -> AbstractContextManager[None]:
    """Refuse code of a model that another program is to load."""
    from csv_plugin.lm.own_code import READ_IT, own_code_refused
    if options.trust_remote_code:
        return nullcontext()
    return own_code_refused(model, f'{READ_IT} give --trust-remote-code.')


def _vllm(model: str, options: EngineOptions) -> Any:
    from csv_plugin.lm.engines.protocol import optional_package
    from csv_plugin.lm.engines.vllm_engine import VLLMEngine
    llm = optional_package('vllm', '--engine vllm').LLM
    with _checked_for_code(model, options):
        return VLLMEngine(
            llm(model,
                dtype=options.dtype or 'auto',
                trust_remote_code=options.trust_remote_code,
                **options.settings))


def _server(model: str, options: EngineOptions) -> Any:
    from csv_plugin.extras.engines.completions import CompletionsEngine
    assert options.url is not None  # as `check_engine` makes sure
    return CompletionsEngine(
        options.url,
        model,
        options.engine.removesuffix('-server'),
        dtype=options.dtype or 'unknown',
        **options.settings)


def _ctranslate2(model: str, options: EngineOptions) -> Any:
    from csv_plugin.extras.engines.ctranslate2 import CTranslate2Engine
    return CTranslate2Engine(
        model, compute_type=options.dtype or 'float32', **options.settings)


def _llama_cpp(model: str, options: EngineOptions) -> Any:
    from csv_plugin.extras.engines.llama_cpp import LlamaCppEngine
    return LlamaCppEngine(model, **options.settings)


ENGINES = {
    'transformers': _Kind('transformers', _transformers, reads_folder=True),
    'vllm': _Kind('vllm', _vllm, reads_folder=True, fills_gpu=True),
    'vllm-server': _Kind('vllm server', _server, is_server=True),
    'sglang-server': _Kind('sglang server', _server, is_server=True),
    'ctranslate2': _Kind('ctranslate2', _ctranslate2),
    'llama-cpp': _Kind('llama.cpp', _llama_cpp)
}

#: Settings that lead to other files of a model than those that are checked
#: for code.
_ELSEWHERE = ('revision', 'code_revision', 'subfolder', 'config',
              'hf_config_path')


def check_engine(options: EngineOptions, tokenizer: Optional[str],
                 n_models: int) -> None:
    """Refuse options that an engine lacks or cannot use.

    Args:
        options (EngineOptions): The options.
        tokenizer (Optional[str]): The option `--tokenizer`.
        n_models (int): Number of models in the call.

    Raises:
        InputError: An option is missing, or would be ignored; a setting
            leads to other files of the model; or there are several models,
            which the engine cannot run one after the other.
    """
    kind, where = ENGINES[options.engine], f'--engine {options.engine}'
    needs = {'url': kind.is_server, 'tokenizer': not kind.reads_folder}
    given = {'url': options.url, 'tokenizer': tokenizer}
    for name in needs:
        if needs[name] and given[name] is None:
            raise InputError(where, f'--{name} beside it', 'none',
                             'See docs/engines.md.')
    ignored = {
        'url': not kind.is_server and options.url,
        'dtype': options.engine == 'llama-cpp' and options.dtype
    }
    for name, value in ignored.items():
        if value:
            raise InputError(where, f'no --{name} beside it', repr(value),
                             'Leave it out.')
    for name in _ELSEWHERE:
        if name in options.settings:
            raise InputError('--setting', f'none that is called {name}',
                             f'{name}={options.settings[name]}',
                             'Give the folder with these files as the model.')
    if kind.fills_gpu and n_models > 1:
        raise InputError(where, 'one model, which takes the memory of the GPU',
                         str(n_models), 'Make a call for each model.')


def what_counts(model: str, options: EngineOptions) -> list[Any]:
    """What tells losses of one call from those of another.

    Left out is what dumps record, and what changes no loss: whether code may
    run, and which server is asked, with how many requests at a time.

    Args:
        model (str): Folder, file, or name on the hub or on the server.
        options (EngineOptions): As `check_engine` accepts them.

    Returns:
        list[Any]: Values of JSON.

    Raises:
        InputError: A pipe or a device is among the files of the model.
        OSError: The weights cannot be read.
    """
    if options.url is not None:
        return [model]
    return [model, dict(options.settings), weights_mark(model)]


def open_engine(model: str, options: EngineOptions,
                tokenizer: Optional[str]) -> tuple[Any, Any]:
    """An engine that runs a model, and the tokenizer of the model.

    Args:
        model (str): Folder, file, or name on the hub or on the server.
        options (EngineOptions): As `check_engine` accepts them.
        tokenizer (Optional[str]): Folder or name of the tokenizer, by
            default the model's.

    Raises:
        InputError: The model or the tokenizer cannot be loaded, or the
            engine is not installed, cannot be reached or does not start.
    """
    from csv_plugin.lm.loading import load_tokenizer
    loaded = load_tokenizer(tokenizer or model, options.trust_remote_code)
    where = f'--engine {options.engine}'
    try:
        return ENGINES[options.engine].start(model, options), loaded
    except InputError:
        raise
    except TypeError as error:
        raise InputError(where, 'the settings that it needs and knows',
                         f'the error {str(error)!r}',
                         'Correct --setting (docs/engines.md).') from error
    # The packages of engines raise errors of any kind.
    except Exception as error:
        raise InputError(
            where, f'an engine that starts with the model {model!r}',
            f'{type(error).__name__}: {error}',
            'See what it printed above; check the model and --setting.'
        ) from error


def setting(text: str) -> tuple[str, Any]:
    """Type of the option `--setting NAME=VALUE`.

    Raises:
        argparse.ArgumentTypeError: The name or the value is missing.

    >>> setting('tensor_parallel_size=2'), setting('device=cuda')
    (('tensor_parallel_size', 2), ('device', 'cuda'))
    """
    name, _, value = text.partition('=')
    if not name or not value:
        raise ArgumentTypeError(f'expected NAME=VALUE, found {text!r}')
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
