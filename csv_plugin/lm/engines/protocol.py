"""Protocol of all engines: token ids in, losses of target tokens out.

Tokenization, spans, the prefix token and windows stay outside of engines, so
that losses of a model mean the same in every engine.
"""
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Optional, Protocol

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.progress import Progress
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.windows import Window


@dataclass(frozen=True)
class EngineFacts:
    """Properties of an engine and its model, recorded with the losses.

    Args:
        engine (str): Name of the engine, such as 'vllm'.
        model (str): Name or path of the model.
        dtype (str): Number format of the weights, such as 'bfloat16';
            'unknown' where the engine does not report it.
        cache_dtype (str): Number format of the key-value cache; 'none' if
            there is no cache.
        context (int): Most inputs of a window, which has one id more; 0 if
            unlimited.
        versions (Mapping[str, str]): Versions of the packages that compute,
            by name.
    """
    engine: str
    model: str
    dtype: str
    cache_dtype: str
    context: int
    versions: Mapping[str, str]


@dataclass(frozen=True)
class EngineOptions:
    """How `salience losses` asks for an engine.

    Args:
        dtype (Optional[str]): Number format of the weights; None for that of
            the engine.
        trust_remote_code (bool): Whether code of the model may run.
        url (Optional[str]): Address of a server, if one is given.
        settings (Mapping[str, Any]): Further arguments, by name.
    """
    dtype: Optional[str]
    trust_remote_code: bool
    url: Optional[str]
    settings: Mapping[str, Any]


#: Windows, and losses of their targets, one window after the other, nats.
Scored = tuple[Sequence[Window], NDArray[np.floating]]


class Engine(Protocol):
    """A causal language model in whatever runs it."""

    @property
    def facts(self) -> EngineFacts:
        """Properties of the engine and its model."""

    def score(self, windows: Sequence[Window],
              progress: Progress) -> Generator[Scored, None, None]:
        """Losses of the targets of windows, which come in any order.

        Yields some of the windows at a time, every window once, in any order.
        `progress` wraps the batches. An `InputError` if the answers of the
        engine are not those of a language model.
        """


def check_finite(what: str, model: str, text: Text,
                 values: NDArray[np.floating]) -> None:
    """Refuse losses or states of a text in which a number overflowed."""
    if not np.isfinite(values).all():
        raise InputError(
            f'{what} of {model!r} on text {text.text_id!r}', 'finite numbers',
            'NaN or infinity', 'If the model runs in float16, which '
            'overflows, load it in bfloat16 or float32.')


def optional_package(name: str, purpose: str) -> ModuleType:
    """Import a package that the plugin does not install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(purpose, f'the package {name}',
                         f'the error {str(error)!r}',
                         f'pip install {name}') from error
