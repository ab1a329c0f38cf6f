"""Protocol of all engines: token ids in, losses of target tokens out.

Tokenization, spans, the prefix token and windows stay outside of engines, so
that losses of a model mean the same in every engine.
"""
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Optional, Protocol

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.input_error import InputError
from csv_plugin.core.progress import Progress
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


@dataclass(frozen=True, eq=False)
class TargetStatistics:
    """Losses of the N targets of some windows, one window after the other.

    Args:
        losses (NDArray): `-log p`, nats. Shape `(N,)`.
        entropy (Optional[NDArray]): Entropy of each predictive distribution,
            nats; None unless asked for. Shape `(N,)`.
        rank (Optional[NDArray]): Number of vocabulary entries that were more
            likely than the target; None unless asked for. Shape `(N,)`.
    """
    losses: NDArray[np.float64]
    entropy: Optional[NDArray[np.float64]] = None
    rank: Optional[NDArray[np.int64]] = None


#: Windows, and the statistics of their targets.
Scored = tuple[Sequence[Window], TargetStatistics]


class Engine(Protocol):
    """A causal language model in whatever runs it."""

    @property
    def facts(self) -> EngineFacts:
        """Properties of the engine and its model."""

    def score(self, windows: Sequence[Window], entropy: bool, rank: bool,
              progress: Progress) -> Generator[Scored, None, None]:
        """Statistics of the targets of windows.

        Args:
            windows (Sequence[Window]): In any order.
            entropy (bool): Compute entropies.
            rank (bool): Compute ranks.
            progress (Progress): Wraps the batches.

        Yields:
            Scored: Some of the windows; every window once, in any order.

        Raises:
            InputError: The engine cannot do what is asked, or its answers
                are not those of a language model.
        """


def optional_package(name: str, purpose: str) -> ModuleType:
    """Import a package that the plugin does not install.

    Raises:
        InputError: It is not installed; `purpose` needs it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(purpose, f'the package {name}',
                         f'the error {str(error)!r}',
                         f'Install {name} (docs/engines.md).') from error
