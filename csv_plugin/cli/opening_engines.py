"""Engines by the names that the option `--engine` has for them."""
import json
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.io.weight_files import weights_mark


class EngineOptions(NamedTuple):
    """What the command line says of an engine.

    Args:
        engine (str): One of `ENGINES`.
        url (Optional[str]): Address of a server.
        context (Optional[int]): Most inputs of a window.
        dtype (Optional[str]): Number format, such as 'bfloat16'.
        settings (Mapping[str, Any]): Of the engine's own program.
        trust_remote_code (bool): Run code that comes with the model.
    """
    engine: str
    url: Optional[str]
    context: Optional[int]
    dtype: Optional[str]
    settings: Mapping[str, Any]
    trust_remote_code: bool


class _Kind(NamedTuple):
    """How an engine is opened.

    Args:
        recorded (str): What dumps call it.
        start (Callable): From the model's path or name, and the options.
        reads_folder (bool): Whether the path has the model's tokenizer.
        needs (tuple[str, ...]): Options that it cannot do without.
        refuses (tuple[str, ...]): Options that it cannot use.
        fills_gpu (bool): Whether a model takes the memory of the GPUs until
            the process ends.
    """
    recorded: str
    start: Callable[[str, EngineOptions], Any]
    reads_folder: bool
    needs: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
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
    from csv_plugin.lm.engines.packages import optional_package
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
    assert options.url is not None  # one of the needs
    return CompletionsEngine(
        options.url,
        model,
        options.engine.removesuffix('-server'),
        options.context,
        dtype=options.dtype or 'unknown',
        **options.settings)


def _ctranslate2(model: str, options: EngineOptions) -> Any:
    from csv_plugin.extras.engines.ctranslate2 import CTranslate2Engine
    assert options.context is not None  # one of the needs
    return CTranslate2Engine(model, options.context, options.dtype
                             or 'float32', **options.settings)


def _llama_cpp(model: str, options: EngineOptions) -> Any:
    from csv_plugin.extras.engines.llama_cpp import LlamaCppEngine
    assert options.context is not None  # one of the needs
    return LlamaCppEngine(model, options.context, **options.settings)


ENGINES = {
    'transformers':
    _Kind('transformers', _transformers, True, refuses=('url', )),
    'vllm':
    _Kind('vllm', _vllm, True, refuses=('url', ), fills_gpu=True),
    'vllm-server':
    _Kind('vllm server', _server, False, needs=('url', )),
    'sglang-server':
    _Kind('sglang server', _server, False, needs=('url', )),
    'ctranslate2':
    _Kind(
        'ctranslate2',
        _ctranslate2,
        False,
        needs=('context', ),
        refuses=('url', )),
    'llama-cpp':
    _Kind(
        'llama.cpp',
        _llama_cpp,
        False,
        needs=('context', ),
        refuses=('url', 'dtype')),
}

#: Settings that lead to other files of a model than those that are checked
#: for code.
_ELSEWHERE = ('revision', 'code_revision', 'subfolder', 'config',
              'hf_config_path')
#: Settings that say what an option says, or its contrary.
_OPTIONS = {
    'dtype': '--dtype',
    'torch_dtype': '--dtype',
    'compute_type': '--dtype',
    'context': '--context',
    'n_ctx': '--context',
    'trust_remote_code': '--trust-remote-code'
}


def check_engine(options: EngineOptions, tokenizer: Optional[str],
                 n_models: int) -> None:
    """Refuse options that an engine lacks or cannot use.

    Args:
        options (EngineOptions): The options.
        tokenizer (Optional[str]): The option `--tokenizer`.
        n_models (int): Number of models in the call.

    Raises:
        InputError: An option is missing, or would be ignored; a setting
            leads to other files of the model, or says what an option says;
            or there are several models, which the engine cannot run one
            after the other.
    """
    kind, where = ENGINES[options.engine], f'--engine {options.engine}'
    given = {**options._asdict(), 'tokenizer': tokenizer}
    needs = kind.needs if kind.reads_folder else (*kind.needs, 'tokenizer')
    for name in needs:
        if given[name] is None:
            raise InputError(where, f'--{name} beside it', 'none',
                             'See docs/engines.md.')
    for name in kind.refuses:
        if given[name] is not None:
            raise InputError(where, f'no --{name} beside it',
                             repr(given[name]), 'Leave it out.')
    for name in options.settings:
        if name in _ELSEWHERE:
            raise InputError('--setting', f'none that is called {name}',
                             f'{name}={options.settings[name]}',
                             'Give the folder with these files as the model.')
        if name in _OPTIONS:
            raise InputError('--setting', 'none that an option is there for',
                             f'{name}={options.settings[name]}',
                             f'Use {_OPTIONS[name]}.')
    if kind.fills_gpu and n_models > 1:
        raise InputError(where, 'one model, which takes the memory of the GPU',
                         str(n_models), 'Make a call for each model.')


def what_counts(model: str, options: EngineOptions) -> dict[str, Any]:
    """What tells losses of one call from those of another.

    Left out is what changes no loss: whether code may run, and which server
    is asked, with how many requests at a time.

    Args:
        model (str): Folder, file, or name on the hub or on the server.
        options (EngineOptions): As `check_engine` accepts them.

    Returns:
        dict[str, Any]: Values of JSON by name.

    Raises:
        InputError: A pipe or a device is among the files of the model.
        OSError: The weights cannot be read.
    """
    counts = {'model': model, **options._asdict()}
    del counts['trust_remote_code'], counts['url']
    if options.url is None:
        counts['weights'] = weights_mark(model)
    else:
        del counts['settings']
    return counts


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
    # The packages of engines raise errors of any kind.
    except Exception as error:
        if isinstance(error, TypeError) and options.settings:
            raise InputError(where, 'settings that it knows',
                             f'the error {str(error)!r}',
                             'Correct --setting.') from error
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
