"""Engines in a config, for models whose own class gives no losses."""
import inspect
from collections.abc import Mapping
from typing import Any

from opencompass.registry import MODELS
from transformers import PreTrainedTokenizerBase

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.engines.row_engine import RowEngine
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from csv_plugin.lm.loading import load_tokenizer

#: What to do about a tokenizer that comes with code.
_WITHOUT_CODE = ('Give the folder of a tokenizer without code, such as '
                 'tokenizer.json alone.')


def check_engine(where: str, entry: Any) -> None:
    """Refuse an entry that no engine can be made of, without making it.

    Args:
        where (str): Name of the entry in errors.
        entry (Any): What a config has as `engine`: the class or its path as
            `type`, `tokenizer`, and the arguments of the class.

    Raises:
        InputError: It is no such entry.
    """
    if not isinstance(entry, Mapping):
        raise InputError(where, 'dict(type=..., tokenizer=..., ...)',
                         repr(entry)[:80],
                         'Describe the engine (docs/opencompass.md).')
    kind = _kind(entry)
    # No config can load the model that a VLLMEngine is around.
    if not (isinstance(kind, type)
            and issubclass(kind, RowEngine)) or issubclass(kind, VLLMEngine):
        raise InputError(
            where, 'as its type CompletionsEngine, CTranslate2Engine, '
            'LlamaCppEngine or a RowEngine of your own',
            repr(entry.get('type')), 'Give one of these. A model in vLLM '
            'needs none: llm=dict(type=VLLM).')
    tokenizer = entry.get('tokenizer')
    if not (tokenizer and isinstance(tokenizer, str)):
        raise InputError(where, "the folder of the model's tokenizer",
                         repr(tokenizer)[:80], 'Give it as tokenizer.')
    try:
        inspect.signature(kind).bind(**_settings(entry))
    except TypeError as error:
        raise InputError(where, f'arguments of {kind.__name__}', str(error),
                         'Correct them (docs/engines.md).') from error


def engine_in(
        entry: Mapping[str, Any]) -> tuple[RowEngine, PreTrainedTokenizerBase]:
    """The engine of an entry, and its tokenizer.

    Code that comes with the tokenizer does not run.

    Args:
        entry (Mapping[str, Any]): One that `check_engine` takes.

    Raises:
        InputError: The tokenizer cannot be loaded, or as in the engine.
    """
    tokenizer = load_tokenizer(entry['tokenizer'], remedy=_WITHOUT_CODE)
    return _kind(entry)(**_settings(entry)), tokenizer


def _kind(entry: Mapping[str, Any]) -> Any:
    """The class, which the copies of a config have as a text."""
    kind = entry.get('type')
    return MODELS.get(kind) if isinstance(kind, str) else kind


def _settings(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the class."""
    return {
        name: entry[name]
        for name in entry if name not in ('type', 'tokenizer')
    }
