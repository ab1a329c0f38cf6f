"""Define what an engine is: a program that scores tokens of given texts.

Tokenization, spans, the prefix token and windows are handled outside of
engines, so that the losses of a model mean the same in every engine.
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
        context (int): The largest number of input tokens of a window, 0 if
            there is no limit. The last target of a window comes after its
            inputs and does not count.
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
    """The options with which `salience losses` opens an engine.

    Args:
        dtype (Optional[str]): Number format of the weights; None for the
            default of the engine.
        trust_remote_code (bool): Whether code that comes with the model may
            run.
        url (Optional[str]): Address of a server; None if none is given.
        settings (Mapping[str, Any]): Further arguments of the engine, by name.
    """
    dtype: Optional[str]
    trust_remote_code: bool
    url: Optional[str]
    settings: Mapping[str, Any]


#: Windows, and one array with the losses of all targets of these windows in
#: nats, in the order of the windows.
Scored = tuple[Sequence[Window], NDArray[np.floating]]


class Engine(Protocol):
    """A causal language model, together with the program that runs it."""

    @property
    def facts(self) -> EngineFacts:
        """Properties of the engine and its model."""

    def score(self, windows: Sequence[Window],
              progress: Progress) -> Generator[Scored, None, None]:
        """Yield batches of windows with the losses of their targets.

        Every window is yielded once, in any order. `progress` wraps the
        batches. An `InputError` if the answers of the engine cannot come from
        a language model.
        """


def check_finite(what: str, model: str, text: Text,
                 values: NDArray[np.floating]) -> None:
    """Refuse losses or states of a text if one is NaN or infinite."""
    if not np.isfinite(values).all():
        raise InputError(
            f'{what} of {model!r} on text {text.text_id!r}', 'finite numbers',
            'NaN or infinity', 'If the model runs in float16, which '
            'overflows, load it in bfloat16 or float32.')


def optional_package(name: str, purpose: str) -> ModuleType:
    """Import a package that is not installed together with this one.

    `purpose` says in the `InputError` what needs the package.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(purpose, f'the package {name}',
                         f'the error {str(error)!r}',
                         f'Install it: pip install {name}') from error
