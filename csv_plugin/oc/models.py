"""Get token losses from models of OpenCompass, and check their config entries.

Code that comes with a model runs only if the entry of the model allows it.
"""
from collections.abc import Mapping, Sequence
from functools import cached_property
from inspect import signature
from typing import Any, Optional

from opencompass.models import (VLLM, BaseModel, HuggingFace,
                                HuggingFacewithChatTemplate,
                                VLLMwithChatTemplate)
from opencompass.registry import MODELS
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.dumping import dump_losses
from csv_plugin.lm.engines.row_engine import RowEngine
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from csv_plugin.lm.loading import (READ_THE_CODE, check_files,
                                   config_without_code, load_tokenizer,
                                   own_code_refused)
from csv_plugin.oc.classes import Entry, class_of

#: Classes of OpenCompass that load models in transformers.
_TRANSFORMERS = (HuggingFace, HuggingFacewithChatTemplate)
#: Classes of OpenCompass that load models in vLLM.
_VLLM = (VLLM, VLLMwithChatTemplate)
#: Keys of a model's entry. If the arguments under a key contain
#: `trust_remote_code=True`, code that comes with the model may run.
_MODEL = 'model_kwargs'
_TOKENIZER = 'tokenizer_kwargs'
_CODE_KEYS = (_MODEL, _TOKENIZER)


@MODELS.register_module()
class TokenLossModel(BaseModel):
    """Any OpenCompass model, with a method for token losses.

    This class wraps another model, which answers all benchmarks. To wrap the
    model with the config entry `m`, write
    `{**m, 'type': TokenLossModel, 'llm': dict(type=m['type'])}`. Code that
    comes with a model of transformers or vLLM runs only if the config allows
    it; OpenCompass itself runs such code by default.

    For a model that gives no losses itself, such as one behind an API, name an
    engine that runs the same weights:

        engine=dict(type=CompletionsEngine, url='http://localhost:8000',
                    model='qwen2', tokenizer='Qwen/Qwen2-7B')

    Args:
        llm (Mapping): Config entry of the inner model; its `type` suffices.
        engine (Optional[Mapping]): The class of the engine as `type`, a
            folder or a name on the hub as `tokenizer`, and the other
            arguments of the class. The engine is made when losses are first
            asked for.
        rest (Any): The arguments of the inner model that are not in `llm`.

    Raises:
        InputError: The model comes with code that may not run, or the entry
            of the engine is wrong, or `lm.loading.check_files` refuses the
            files of the model.
    """

    def __init__(self,
                 llm: Entry,
                 engine: Optional[Entry] = None,
                 **rest: Any) -> None:
        # The engine is checked before the inner model is loaded, because
        # loading may take long.
        if engine is not None:
            check_engine(f'engine of model {rest.get("path")!r}', engine)
        inner = _built({**llm, **rest})
        # The inner model's methods become methods of this object, and replace
        # the methods of BaseModel. If an engine computes the losses, this
        # object keeps its own method `get_token_loss`.
        kind = type(inner)
        for name in dir(kind):
            if name.startswith('_'):
                continue
            if name == 'get_token_loss' and engine is not None:
                continue
            # `is_api` is no method, but `BaseModel` has it, too, so that
            # `__getattr__` would not be asked for that of the inner model.
            if name == 'is_api' or callable(getattr(kind, name)):
                # `setattr` would set the attribute of the inner model.
                self.__dict__[name] = getattr(inner, name)
        self.__dict__.update(_inner=inner, _engine=engine)

    def __getattr__(self, name: str) -> Any:
        if '_inner' not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)

    def get_token_loss(self,
                       texts: TextSet,
                       part: Optional[Sequence[Text]] = None,
                       **settings: Any) -> TokenLossDump:
        """Return token losses; see the function `get_token_loss` below."""
        return dump_losses(*self.loss_engine, texts, part, **settings)

    @cached_property
    def loss_engine(self) -> tuple[Any, Any]:
        """What computes the losses, and its tokenizer; see `engine_of`."""
        if self._engine is None:
            return engine_of(self._inner)
        tokenizer = load_tokenizer(
            self._engine['tokenizer'],
            remedy='Name a tokenizer without code in the engine of the '
            'config, such as a folder with only a tokenizer.json.')
        kind = class_of(self._engine['type'])
        settings = _settings(self._engine)
        return kind(**settings), tokenizer


def _built(entry: dict[str, Any]) -> Any:
    """Load the model of an entry; its own code runs only if allowed."""
    kind = class_of(entry['type'])
    if not _is_loaded_from_files(kind):
        return MODELS.build(entry)
    keys = [_MODEL]
    if not issubclass(kind, _VLLM):
        keys.append(_TOKENIZER)
    entry = without_own_code(entry, keys)
    is_allowed = entry[_MODEL]['trust_remote_code']
    with own_code_refused(entry['path'], _remedy(keys), is_allowed):
        check_files(entry['path'], entry.get('tokenizer_path'))
        return MODELS.build(entry)


def _is_loaded_from_files(kind: Any) -> bool:
    """Return whether a class loads models in transformers or vLLM."""
    loaders = (*_TRANSFORMERS, *_VLLM)
    return isinstance(kind, type) and issubclass(kind, loaders)


def get_token_loss(model: Any,
                   texts: TextSet,
                   part: Optional[Sequence[Text]] = None,
                   **settings: Any) -> TokenLossDump:
    """Return token losses in nats, by the model's own method if it has one.

    Every token of every text is scored, except for the first token of a text
    if the tokenizer has no BOS or EOS token to put before it; see
    `lm.engines.token_losses`. `part` are the texts to score, by default all
    `texts`. A model without the method `get_token_loss` must be one that
    `engine_of` accepts. `settings` are arguments of `lm.dumping.dump_losses`.
    """
    own = getattr(model, 'get_token_loss', None)
    if own is not None:
        return own(texts, part, **settings)
    return dump_losses(*engine_of(model), texts, part, **settings)


def engine_of(model: Any) -> tuple[Any, Any]:
    """Return the engine that computes a model's losses, and the tokenizer.

    The engine is a causal LM of `transformers` or an `Engine`. `model`
    is a `TokenLossModel`, a model of OpenCompass in vLLM, or a model of
    OpenCompass whose attributes `model` and `tokenizer` are objects of
    `transformers`.

    Raises:
        InputError: The model is none of these, or it has an adapter.
    """
    if isinstance(model, TokenLossModel):
        return model.loss_engine
    inner = getattr(model, 'model', None)
    tokenizer = getattr(model, 'tokenizer', None)
    where = f'model {getattr(model, "path", model)!r}'
    if isinstance(model, _VLLM):
        if model.lora_path:
            raise InputError(where, 'a model without lora_path',
                             repr(model.lora_path),
                             'Merge the adapter into the model.')
        check_files(model.path)
        return VLLMEngine(inner), tokenizer
    if not (isinstance(inner, PreTrainedModel)
            and isinstance(tokenizer, PreTrainedTokenizerBase)):
        raise InputError(
            where, 'a model of transformers without adapters, or one in vLLM',
            type(model).__name__, 'Name an engine that computes the losses: '
            'TokenLossModel(..., engine=...) (docs/opencompass.md).')
    return inner, tokenizer


def _remedy(keys: Sequence[str]) -> str:
    """Return what a user has to do so that code of a model may run."""
    named = ' and '.join(keys)
    return f'{READ_THE_CODE} give trust_remote_code=True in {named}.'


def without_own_code(entry: Entry,
                     keys: Sequence[str] = _CODE_KEYS) -> dict[str, Any]:
    """Return the entry with `trust_remote_code=False` where it is not set.

    OpenCompass runs the code of a model by default. `keys` are the arguments
    of the entry's class that take `trust_remote_code`. An `InputError` if the
    model comes with code that would run nevertheless, or if it cannot be
    loaded without its code.
    """
    safe = dict(entry)
    for key in keys:
        safe[key] = {'trust_remote_code': False, **entry.get(key, {})}
    if not safe[_MODEL]['trust_remote_code']:
        config = config_without_code(entry['path'], _remedy(keys))
        named = getattr(config, 'auto_map', None)
        if named and entry.get('max_seq_len') is None:
            raise InputError(
                f'model {entry["path"]!r}', 'a max_seq_len in its entry',
                'none, so that OpenCompass would run code of the model to '
                'look it up', 'Set max_seq_len to the longest context of the '
                'model in tokens.')
    return safe


def with_own_code(entry: Entry, allowed: bool) -> dict[str, Any]:
    """Return an entry that lets a model run the code that comes with it.

    The model cannot be loaded without this code. An `InputError` if the user
    has not `allowed` it.
    """
    if not allowed:
        raise InputError(
            f'model {entry["abbr"]!r}',
            'permission to run the code that it needs', 'none',
            'Read that code, and set own_code = True in the config.')
    trusting = dict(entry)
    for key in _CODE_KEYS:
        trusting[key] = dict(entry[key], trust_remote_code=True)
    return trusting


def check_files_of(entry: Entry) -> None:
    """Refuse a model whose files transformers would read only in part.

    OpenCompass would load such files without any warning, and the model would
    compute something else than its author meant. See `lm.loading.check_files`.
    """
    kind = class_of(entry['type'])
    if kind is TokenLossModel:
        kind = class_of(entry['llm']['type'])
    if _is_loaded_from_files(kind):
        check_files(entry['path'], entry.get('tokenizer_path'))


def check_engine(where: str, entry: Any) -> None:
    """Check the `engine` of a `TokenLossModel` without making the engine.

    `where` names the entry in the `InputError`.
    """
    parts = entry if isinstance(entry, Mapping) else {}
    kind = class_of(parts.get('type'))
    is_engine = isinstance(kind, type) and issubclass(kind, RowEngine)
    # A VLLMEngine needs a loaded `vllm.LLM`, which no config can contain.
    is_possible = is_engine and not issubclass(kind, VLLMEngine)
    if not is_possible or not isinstance(parts.get('tokenizer'), str):
        raise InputError(
            where, 'dict(type=..., tokenizer=FOLDER, ...) with a RowEngine '
            'such as CompletionsEngine',
            repr(entry)[:80], 'Describe the engine (docs/opencompass.md). A '
            'model in vLLM needs none: llm=dict(type=VLLM).')
    try:
        signature(kind).bind(**_settings(entry))
    except TypeError as error:
        raise InputError(where, f'arguments of {kind.__name__}', str(error),
                         'Correct them (docs/engines.md).') from error


def _settings(entry: Entry) -> dict[str, Any]:
    """Return the arguments of an engine's class from the engine's entry."""
    settings = dict(entry)
    settings.pop('type')
    settings.pop('tokenizer')
    return settings
