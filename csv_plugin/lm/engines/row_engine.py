"""Define the base class of engines that score rows of token ids.

Without any error, servers may cut rows that are too long, tokenize the text
again, put a token in front or shift their answers by one position. Every
answer is therefore checked by itself. Before the first answer is used, the
answers to a few trial rows are also compared with each other.
"""
import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats, Integers
from csv_plugin.core.conventions import InputError
from csv_plugin.core.formatting import shortened
from csv_plugin.core.losses import ROUNDING
from csv_plugin.core.progress import Progress
from csv_plugin.lm.engines.protocol import EngineFacts, Scored
from csv_plugin.lm.engines.windows import Window

#: Number of windows in one call of an engine: enough for the engine to make
#: batches, and few enough to show progress.
WINDOWS = 64
#: The smallest positive number of float32.
_SMALLEST = np.finfo(np.float32).smallest_subnormal
#: Answers with a lower log-probability, in nats, are refused. The limit is the
#: logarithm of the smallest positive float32, -103.3: a softmax in float32
#: gives less probable ids the probability 0. For comparison, a uniform
#: distribution over a million ids has -13.8.
LOWEST = float(np.log(_SMALLEST, dtype=float))

#: Arrays of token ids, one per row.
TokenRows = Sequence[Integers]


@dataclass(frozen=True, eq=False)
class RowScores:
    """The answer of an engine about one row of token ids.

    `ids`, `(n,)`, are the ids that the engine has read. `log_probs`,
    `(n - 1,)`, are the log-probabilities in nats of each id but the first,
    given the ids before it.
    """
    ids: Integers
    log_probs: Floats


class RowEngine(ABC):
    """An engine that answers rows of ids with their log-probabilities.

    A new engine only has to define `facts` and `row_scores`.
    """
    _is_tried = False

    @property
    @abstractmethod
    def facts(self) -> EngineFacts:
        """See `Engine`."""

    @abstractmethod
    def row_scores(self, rows: TokenRows) -> Sequence[RowScores]:
        """Return the log-probabilities of the ids of each row, row by row.

        A row has at least two ids, and at most `facts.context + 1` ids. The
        first id of a row gets no log-probability.
        """

    def score(self, windows: Sequence[Window],
              progress: Progress) -> Generator[Scored, None, None]:
        """See `Engine`."""
        rows = [window.row for window in windows]
        if windows and not self._is_tried:
            _check_by_trials(self, rows)
            self._is_tried = True
        starts = range(0, len(windows), WINDOWS)
        for start in progress(starts):
            stop = start + WINDOWS
            batch = windows[start:stop]
            answers = _log_probs(self, rows[start:stop])
            of_targets = []
            for window, log_probs in zip(batch, answers):
                n_targets = len(window.targets)
                of_targets.append(log_probs[-n_targets:])
            losses = -np.concatenate(of_targets)
            yield batch, losses


def _log_probs(engine: RowEngine, rows: TokenRows) -> list[Floats]:
    """Return the log-probabilities of each row, in nats.

    An `InputError` if they are not between `LOWEST` and 0 up to rounding, or
    if the engine has read other ids.
    """
    answers = engine.row_scores(rows)
    n_answers = len(answers)
    if n_answers != len(rows):
        raise _refused(engine, f'{len(rows)} answers', str(n_answers))
    checked = []
    for row, answer in zip(rows, answers):
        log_probs = answer.log_probs
        n_expected = len(row) - 1
        same_ids = np.array_equal(row, answer.ids)
        if not same_ids or log_probs.shape != (n_expected, ):
            raise _refused(
                engine, f'{n_expected} log-probabilities of the ids '
                f'{_start(row)}', f'an array of shape {log_probs.shape} '
                f'for the ids {_start(answer.ids)}')
        # NaN is not in the range either.
        in_range = (log_probs >= LOWEST) & (log_probs <= ROUNDING)
        wrong = np.flatnonzero(~in_range)
        if len(wrong):
            first = wrong[0]
            raise _refused(
                engine,
                f'log-probabilities from {LOWEST:.1f}, the least in float32, '
                'to 0', f'{log_probs[first]} at id {first + 1}')
        checked.append(np.minimum(log_probs, 0))
    return checked


def _check_by_trials(engine: RowEngine, rows: TokenRows) -> None:
    """Refuse an engine whose answers contradict each other.

    The log-probability of an id must not depend on the ids behind it, and the
    probabilities of different ids at one position must not add up to more
    than 1.
    """
    # Two log-probabilities of the same id may differ by `agreement`, in nats,
    # plus `share` times the log-probability. In half precision, they differ by
    # a few hundredths of a nat between batches. If the engine answers for a
    # wrong position, they differ by whole nats.
    agreement = 0.25
    share = 0.05
    # Lengths of the trial rows, which begin with the same ids.
    lengths = (2, 8, 16)
    longest = max(rows, key=len)
    trial_rows = [longest[:length] for length in lengths]
    *shorter_rows, longest_row = _log_probs(engine, trial_rows)
    for shorter in shorter_rows:
        same_ids = longest_row[:len(shorter)]
        if not np.allclose(same_ids, shorter, share, agreement):
            raise _refused(
                engine, 'the same log-probabilities of the first '
                f'{len(shorter) + 1} ids of a row with and without the rest',
                f'{_start(same_ids)} and {_start(shorter)}')
    # The largest number of ids that are tried at one position.
    most_ids = 32
    ids = np.unique(np.concatenate(rows))
    step = math.ceil(len(ids) / most_ids)
    ids = ids[::step]
    first_id = longest[:1]
    continued = [np.append(first_id, i) for i in ids]
    log_probs = np.concatenate(_log_probs(engine, continued))
    total = np.exp(log_probs).sum()
    if total > 1 + agreement:
        raise _refused(
            engine, f'probabilities of {len(ids)} different ids after the '
            'same first id, which add up to 1 at most',
            f'a sum of {total:.3g}')


def _refused(engine: RowEngine, expected: str, found: str) -> InputError:
    """Return the error for an engine with wrong answers."""
    facts = engine.facts
    return InputError(
        f'engine {facts.engine!r} with model {facts.model!r}', expected, found,
        'Its answers are not the losses of the texts: update or configure '
        'the engine, or use another one (docs/engines.md).')


def _start(values: NDArray) -> str:
    """Return the first ids or log-probabilities as text for an error."""
    texts = [f'{value:.6g}' for value in values]
    return shortened(', '.join(texts), 80)
