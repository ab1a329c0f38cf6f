"""Token losses of OpenCompass models, wrapped or bare."""
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Optional

import torch
from opencompass.models import (BaseModel, HuggingFace,
                                HuggingFacewithChatTemplate)
from opencompass.registry import MODELS

from csv_plugin.core.conventions import InputError
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.dumping import dump_losses
from csv_plugin.lm.own_code import own_code_refused
from csv_plugin.oc.model_entries import (REMEDY, allows_own_code,
                                         without_own_code)

#: Classes of OpenCompass that load models by transformers.
_TRANSFORMERS = (HuggingFace, HuggingFacewithChatTemplate)


@MODELS.register_module()
class TokenLossModel(BaseModel):
    """Any OpenCompass model, with a method for token losses.

    It behaves like the inner model, and all accuracies are the same. Wrap a
    model config `m` as `{**m, 'type': TokenLossModel, 'llm':
    dict(type=m['type'])}`: everything but the type stays where OpenCompass
    looks for it. Code that comes with a model runs only if the config says
    so, which is not the default of OpenCompass.

    Args:
        llm (Mapping): Config of the inner model; its type suffices.
        rest (Any): The inner model's other arguments.

    Raises:
        InputError: The model comes with code that may not run.
    """

    def __init__(self, llm: Mapping[str, Any], **rest: Any) -> None:
        inner = _built({**llm, **rest})
        # The inner model's methods hide those that BaseModel defines.
        self.__dict__.update({
            name: getattr(inner, name)
            for name in dir(type(inner))
            if name == 'is_api' or _is_public_method(type(inner), name)
        })
        self.__dict__['_inner'] = inner

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
        """Token losses of the inner model.

        Args, returned value, errors and scored tokens as for the function
        `get_token_loss`.
        """
        return get_token_loss(self._inner, texts, part, **settings)


def _built(entry: dict[str, Any]) -> Any:
    """The model of an entry, without code of its own unless it is allowed."""
    kind = entry['type']
    kind = MODELS.get(kind) if isinstance(kind, str) else kind
    if not (isinstance(kind, type) and issubclass(kind, _TRANSFORMERS)):
        return MODELS.build(entry)
    entry = without_own_code(entry)
    guard = nullcontext() if allows_own_code(entry) else own_code_refused(
        entry['path'], REMEDY)
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
            of a `transformers` causal LM as `model` and `tokenizer`, or a
            model with a method `get_token_loss(texts, part, **settings)`.
        texts (TextSet): The whole validation set.
        part (Optional[Sequence[Text]]): The texts to score; all texts of the
            validation set by default.
        settings (Any): `entropy`, `rank`, `context` and `progress`, as in
            `lm.dumping.dump_losses`.

    Returns:
        TokenLossDump: Losses in nats, with a record of how they were made.

    Raises:
        InputError: As in `weights_of` and `lm.engines.token_losses`.
    """
    own = getattr(model, 'get_token_loss', None)
    if own is not None:
        return own(texts, part, **settings)
    return dump_losses(*weights_of(model), texts, part, **settings)


def weights_of(model: Any) -> tuple[Any, Any]:
    """The causal LM and the tokenizer inside an OpenCompass model.

    Args:
        model (Any): An OpenCompass model.

    Raises:
        InputError: If the model runs on another machine or in an engine
            other than `transformers`.
    """
    inner = getattr(model, 'model', None)
    tokenizer = getattr(model, 'tokenizer', None)
    if not isinstance(inner, torch.nn.Module) or tokenizer is None:
        raise InputError(
            f'model {getattr(model, "path", model)!r}',
            'the weights and the tokenizer of a Hugging Face model',
            type(model).__name__, 'Evaluate it as HuggingFaceBaseModel or '
            'HuggingFacewithChatTemplate, or leave the losses out.')
    return inner, tokenizer
