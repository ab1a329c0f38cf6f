"""What every engine does: ids of tokens in, their log-probabilities out.

Tokenization, byte spans, the prefix token and the windows of long texts stay
in this package, so that losses of one model mean the same whatever engine
runs it. An engine sees finished windows.
"""
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional, Protocol

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import Progress
from csv_plugin.lm.engines.windows import Window


@dataclass(frozen=True)
class EngineFacts:
    """What is recorded about an engine and the model it runs.

    Args:
        engine (str): Name of the engine, such as 'vllm'.
        model (str): Name or path of the model.
        dtype (str): Number format of the model's weights, such as
            'bfloat16'; 'unknown' where the engine does not tell.
        cache_dtype (str): Number format of the key-value cache; 'none' if
            scoring fills none.
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
        entropy (Optional[NDArray]): Of the predictive distribution, nats;
            None unless asked for. Shape `(N,)`.
        rank (Optional[NDArray]): Vocabulary entries that were more likely
            than the target; None unless asked for. Shape `(N,)`.
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
        """What is recorded about the engine and its model."""

    def score(self, windows: Sequence[Window], entropy: bool, rank: bool,
              progress: Progress) -> Generator[Scored, None, None]:
        """Statistics of the targets of windows.

        Args:
            windows (Sequence[Window]): In any order.
            entropy (bool): Whether to compute entropies.
            rank (bool): Whether to compute ranks.
            progress (Progress): Wraps the batches.

        Yields:
            Scored: Some of the windows; every window once, in any order.

        Raises:
            InputError: The engine cannot do what is asked, or its answer is
                not what a language model gives.
        """
