"""An exact engine of rows, and engines that are wrong in the known ways."""
import numpy as np

from csv_plugin.lm.engines.protocol import EngineFacts
from csv_plugin.lm.engines.row_engine import RowEngine, RowScores
from tests.lm.models import CONTEXT, make, reference_losses


class Exact(RowEngine):
    """The tests' reference as an engine.

    Args:
        name (str): A model of `tests.lm.models`.
    """

    def __init__(self, name='llama'):
        self.model, self.calls = make(name), []

    @property
    def facts(self):
        return EngineFacts('exact', 'm', 'float64', 'none', CONTEXT,
                           {'exact': '1'})

    def row_scores(self, rows):
        self.calls.append([row.tolist() for row in rows])
        return [self.answer(row) for row in rows]

    def answer(self, row):
        losses = reference_losses(self.model, row.tolist())
        return RowScores(row, -losses.numpy())


class Constant(Exact):
    """What some servers give in place of log-probabilities."""

    def answer(self, row):
        return RowScores(row, np.full(len(row) - 1, -4.2))


class OneLate(Exact):
    """Each id gets the log-probability of the one before it."""

    def answer(self, row):
        log_probs = super().answer(row).log_probs
        return RowScores(row, np.append(-1.0, log_probs[:-1]))


class OneEarly(Exact):
    """Each id gets the log-probability of the one behind it."""

    def answer(self, row):
        log_probs = super().answer(row).log_probs
        return RowScores(row, np.append(log_probs[1:], -1.0))


class Cut(Exact):
    """Rows are cut at 20 ids, and it does not tell."""

    def answer(self, row):
        return RowScores(row, super().answer(row).log_probs[:19])


class CutAndTold(Exact):
    """Rows are cut at 20 ids, which are told."""

    def answer(self, row):
        return super().answer(row[:20])


class Tokenized(Exact):
    """Rows are tokenized again: two ids become others."""

    def answer(self, row):
        return super().answer(np.append(row[:-2], row[-1:-3:-1] + 1))


class WithItsOwnStart(Exact):
    """A further id is put in front of every row."""

    def answer(self, row):
        return super().answer(np.append(row[:1], row))


class NotNormalized(Exact):
    """Log-probabilities to another base."""

    def answer(self, row):
        return RowScores(row, super().answer(row).log_probs / 20)


class Positive(Exact):
    """Losses in place of log-probabilities."""

    def answer(self, row):
        return RowScores(row, -super().answer(row).log_probs)


class NotFinite(Exact):
    """One value overflowed."""

    def answer(self, row):
        log_probs = super().answer(row).log_probs
        log_probs[-1] = -np.inf
        return RowScores(row, log_probs)


class NotANumber(Exact):
    """One value is not a number."""

    def answer(self, row):
        log_probs = super().answer(row).log_probs
        log_probs[0] = np.nan
        return RowScores(row, log_probs)


class Missing(Exact):
    """The answer about the last row is lost."""

    def row_scores(self, rows):
        return super().row_scores(rows)[:-1]


class Leaking(Exact):
    """Attention is not causal: the ids behind change what is said."""

    def answer(self, row):
        return RowScores(row, super().answer(row).log_probs - 0.3 * len(row))


class OffInShortRows(Exact):
    """Rows of two ids are answered otherwise, as if something stood before."""

    def answer(self, row):
        return RowScores(row, super().answer(row).log_probs - (len(row) == 2))


#: What the error about each of them must say.
WRONG = {
    Constant: 'different log-probabilities of .* for all of them',
    OneLate: 'different log-probabilities of .* -1 for all of them',
    OneEarly: 'with and without the rest',
    Cut: 'log-probabilities of .* ids, found an array of shape',
    CutAndTold: 'an answer about the ids',
    Tokenized: 'an answer about the ids',
    WithItsOwnStart: 'an answer about the ids',
    NotNormalized: 'add up to 1 at most',
    Positive: 'finite log-probabilities, 0 or less',
    NotFinite: 'finite log-probabilities, 0 or less, found -inf',
    NotANumber: 'finite log-probabilities, 0 or less, found nan',
    Missing: 'answers, found',
    Leaking: 'with and without the rest',
    OffInShortRows: 'the first 2 ids of a row with and without the rest',
}
