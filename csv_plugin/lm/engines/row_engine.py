"""Engines that answer rows of token ids, and the checks of their answers.

Servers cut rows that are too long, tokenize again, put a token in front or
shift their answers by one position, all without an error. Every answer is
therefore checked by itself, and several are compared with each other before
the first is used.
"""
import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import shortened
from csv_plugin.core.losses import ROUNDING
from csv_plugin.core.progress import Progress
from csv_plugin.lm.engines.protocol import EngineFacts, Scored
from csv_plugin.lm.engines.windows import Window

#: Windows in one call of an engine: enough for its own batches, few enough
#: for a progress bar.
WINDOWS = 64
#: Log-probabilities below are no answers, nats. It is the logarithm of the
#: smallest float32, -103.3: an engine's softmax, which is computed in float32,
#: gives such an id no probability. Uniform over a million ids is -13.8.
LOWEST = float(np.log(np.finfo(np.float32).smallest_subnormal, dtype=float))

Rows = Sequence[NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class RowScores:
    """Answer of an engine about one row of token ids.

    `ids`, `(n,)`, are those that the engine has read; `log_probs`, `(n - 1,)`,
    are `log p` of each id but the first, given those before it, nats.
    """
    ids: NDArray[np.int64]
    log_probs: NDArray[np.float64]


class RowEngine(ABC):
    """An engine that answers rows of ids with their log-probabilities.

    A new engine defines `facts` and `row_scores`, and no more.
    """
    _is_tried = False

    @property
    @abstractmethod
    def facts(self) -> EngineFacts:
        """See `Engine`."""

    @abstractmethod
    def row_scores(self, rows: Rows) -> Sequence[RowScores]:
        """Log-probabilities of all ids of each row but its first, row by row.

        Rows have two ids or more, at most one more than the context.
        """

    def score(self, windows: Sequence[Window],
              progress: Progress) -> Generator[Scored, None, None]:
        """See `Engine`."""
        rows = [window.row for window in windows]
        if windows and not self._is_tried:
            _try_engine(self, rows)
            self._is_tried = True
        for start in progress(range(0, len(windows), WINDOWS)):
            batch = windows[start:start + WINDOWS]
            answers = _log_probs(self, rows[start:start + WINDOWS])
            of_targets = []
            for window, log_probs in zip(batch, answers):
                of_targets.append(log_probs[-len(window.targets):])
            yield batch, -np.concatenate(of_targets)


def _log_probs(engine: RowEngine, rows: Rows) -> list[NDArray[np.float64]]:
    """The answers of an engine, each of them checked.

    They are from `LOWEST` to 0.
    """
    answers = engine.row_scores(rows)
    if len(answers) != len(rows):
        raise _refused(engine, f'{len(rows)} answers', str(len(answers)))
    checked = []
    for row, answer in zip(rows, answers):
        log_probs = answer.log_probs
        n_expected = len(row) - 1
        same_ids = np.array_equal(row, answer.ids)
        if not same_ids or log_probs.shape != (n_expected, ):
            raise _refused(
                engine, f'{n_expected} log-probabilities of the ids '
                f'{_start(row)}', f'those of shape {log_probs.shape} '
                f'of the ids {_start(answer.ids)}')
        # NaN is not in the range.
        in_range = (log_probs >= LOWEST) & (log_probs <= ROUNDING)
        wrong = np.flatnonzero(~in_range)
        if len(wrong):
            raise _refused(
                engine,
                f'log-probabilities from {LOWEST:.1f}, the least in float32, '
                'to 0', f'{log_probs[wrong[0]]} at id {wrong[0] + 1}')
        checked.append(np.minimum(log_probs, 0))
    return checked


def _try_engine(engine: RowEngine, rows: Rows) -> None:
    """Refuse an engine whose answers contradict each other.

    The log-probability of an id must not depend on the ids behind it, and the
    probabilities of different ids at one position must not add up to more
    than 1.
    """
    # Ids of the rows of the trial, and most ids tried at one position.
    lengths, most_ids = (2, 8, 16), 32
    # Most that two answers for one position may differ, nats, and as a share
    # of the answer: in half precision another batch moves it by a few
    # hundredths, wrong positions by nats.
    agreement, share = 0.25, 0.05
    row = max(rows, key=len)
    *parts, whole = _log_probs(engine, [row[:length] for length in lengths])
    for part in parts:
        if not np.allclose(whole[:len(part)], part, share, agreement):
            raise _refused(
                engine, 'the same log-probabilities of the first '
                f'{len(part) + 1} ids of a row with and without the rest',
                f'{_start(whole[:len(part)])} and {_start(part)}')
    ids = np.unique(np.concatenate(rows))
    ids = ids[::math.ceil(len(ids) / most_ids)]
    continued = [np.append(row[:1], i) for i in ids]
    last = np.concatenate(_log_probs(engine, continued))
    total = np.exp(last).sum()
    if total > 1 + agreement:
        raise _refused(
            engine, f'probabilities of {len(ids)} different ids behind the '
            'same start that add up to 1 at most', f'a sum of {total:.3g}')


def _refused(engine: RowEngine, expected: str, found: str) -> InputError:
    facts = engine.facts
    return InputError(
        f'engine {facts.engine!r} with model {facts.model!r}', expected, found,
        'Its answers are not the losses of the texts: update or configure '
        'the engine, or use another one (docs/engines.md).')


def _start(values: NDArray) -> str:
    """The first ids or log-probabilities."""
    return shortened(', '.join(f'{value:.6g}' for value in values), 80)
