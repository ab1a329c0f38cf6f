"""Token losses of OpenCompass models, wrapped or bare."""
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
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
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from csv_plugin.lm.own_code import own_code_refused
from csv_plugin.oc.engine_entries import check_engine, engine_in
from csv_plugin.oc.model_entries import (MODEL, TOKENIZER, allows_own_code,
                                         remedy, without_own_code)

#: Classes of OpenCompass that load models by transformers, and by vLLM.
_TRANSFORMERS = (HuggingFace, HuggingFacewithChatTemplate)
_VLLM = (VLLM, VLLMwithChatTemplate)


@MODELS.register_module()
class TokenLossModel(BaseModel):
    """Any OpenCompass model, with a method for token losses.

    It behaves like the inner model, and all accuracies are the same. Wrap a
    model config `m` as `{**m, 'type': TokenLossModel, 'llm':
    dict(type=m['type'])}`: everything but the type stays where OpenCompass
    looks for it. Code that comes with a model of transformers or vLLM runs
    only if the config says so, which is not the default of OpenCompass.

    A model that gives no losses itself, such as one behind an API, gets them
    from an engine that runs the same weights:

        engine=dict(type=CompletionsEngine, url='http://localhost:8000',
                    model='qwen2', tokenizer='Qwen/Qwen2-7B')

    The engine is made when losses are first asked for, so that accuracies
    cost no second copy of the model.

    Args:
        llm (Mapping): Config of the inner model; its type suffices.
        engine (Optional[Mapping]): What gives the losses in the place of the
            inner model: the class as `type`, its arguments, and as
            `tokenizer` the folder of the tokenizer or its name on the hub.
        rest (Any): The inner model's other arguments.

    Raises:
        InputError: The model comes with code that may not run, or no engine
            can be made of the entry.
    """

    def __init__(self,
                 llm: Mapping[str, Any],
                 engine: Optional[Mapping[str, Any]] = None,
                 **rest: Any) -> None:
        # Before the inner model is loaded, which may take long.
        if engine is not None:
            check_engine(f'engine of model {rest.get("path")!r}', engine)
        inner = _built({**llm, **rest})
        # The inner model's methods hide those that BaseModel defines; and
        # those of this class, unless an engine gives the losses.
        own = set() if engine is None else {'get_token_loss'}
        self.__dict__.update({
            name: getattr(inner, name)
            for name in set(dir(type(inner))) - own
            if name == 'is_api' or _is_public_method(type(inner), name)
        })
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
        """Token losses of the inner model, or from the engine.

        Args, returned value, errors and scored tokens as for the function
        `get_token_loss`.
        """
        return dump_losses(*self.loss_engine, texts, part, **settings)

    @cached_property
    def loss_engine(self) -> tuple[Any, Any]:
        """What computes the losses, and its tokenizer; see `engine_of`."""
        if self._engine is None:
            return engine_of(self._inner)
        return engine_in(self._engine)


def _built(entry: dict[str, Any]) -> Any:
    """The model of an entry, without code of its own unless it is allowed."""
    kind = entry['type']
    kind = MODELS.get(kind) if isinstance(kind, str) else kind
    if not (isinstance(kind, type) and issubclass(kind,
                                                  (*_TRANSFORMERS, *_VLLM))):
        return MODELS.build(entry)
    keys = (MODEL, ) if issubclass(kind, _VLLM) else (MODEL, TOKENIZER)
    entry = without_own_code(entry, keys)
    guard = nullcontext() if allows_own_code(entry) else own_code_refused(
        entry['path'], remedy(keys))
    with guard:
        return MODELS.build(entry)


def _is_public_method(owner: type, name: str) -> bool:
    return not name.startswith('_') and callable(getattr(owner, name))


def get_token_loss(model: Any,
                   texts: TextSet,
                   part: Optional[Sequence[Text]] = None,
                   **settings: Any) -> TokenLossDump:
    """Token losses of an OpenCompass model, by its own method if it has one.

    Scored: every token of every text, the first one only if the tokenizer has
    a BOS or EOS token to put before it; see `lm.engines.token_losses`.

    Args:
        model (Any): An OpenCompass model with the weights and the tokenizer
            of a `transformers` causal LM as `model` and `tokenizer`, one of
            its classes for vLLM, or a model with a method
            `get_token_loss(texts, part, **settings)`.
        texts (TextSet): The whole validation set.
        part (Optional[Sequence[Text]]): The texts to score; all texts of the
            validation set by default.
        settings (Any): `entropy`, `rank`, `context` and `progress`, as in
            `lm.dumping.dump_losses`.

    Returns:
        TokenLossDump: Losses in nats, with a record of how they were made.

    Raises:
        InputError: As in `engine_of` and `lm.engines.token_losses`.
    """
    own = getattr(model, 'get_token_loss', None)
    if own is not None:
        return own(texts, part, **settings)
    return dump_losses(*engine_of(model), texts, part, **settings)


def engine_of(model: Any) -> tuple[Any, Any]:
    """What computes the losses of an OpenCompass model, and its tokenizer.

    Args:
        model (Any): An OpenCompass model.

    Returns:
        tuple[Any, Any]: A causal LM of `transformers` or an `Engine`, and
        the tokenizer.

    Raises:
        InputError: If the model runs on another machine or in an engine that
            is not supported, with no engine named for it, or has an adapter.
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
        return VLLMEngine(inner), tokenizer
    if not (isinstance(inner, PreTrainedModel)
            and isinstance(tokenizer, PreTrainedTokenizerBase)):
        raise InputError(
            where, 'a model of transformers without adapters, or one in vLLM',
            type(model).__name__, 'Name an engine for its losses: '
            'TokenLossModel(..., engine=...) (docs/opencompass.md); or '
            'evaluate it as HuggingFaceBaseModel or VLLM, or leave the '
            'losses out.')
    return inner, tokenizer
