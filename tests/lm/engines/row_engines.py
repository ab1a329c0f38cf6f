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


class Missing(Exact):
    """The answer about the last row is lost."""

    def row_scores(self, rows):
        return super().row_scores(rows)[:-1]


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


def changed(name, change):
    """An engine whose log-probabilities are changed."""

    def answer(self, row):
        return RowScores(row, change(Exact.answer(self, row).log_probs))

    return type(name, (Exact, ), {'answer': answer})


#: The error about each of them.
WRONG = {
    Missing:
    'answers, found',
    CutAndTold:
    'log-probabilities of the ids .* for the ids',
    Tokenized:
    'log-probabilities of the ids .* for the ids',
    WithItsOwnStart:
    'log-probabilities of the ids .* for the ids',
    changed('OneLate', lambda x: np.append(-1.0, x[:-1])):
    'add up to 1 at most',
    changed('OneEarly', lambda x: np.append(x[1:], -1.0)):
    'with and without the rest',
    changed('Cut', lambda x: x[:19]):
    'log-probabilities of the ids .* found an array of shape',
    changed('NotNormalized', lambda x: x / 3):
    'add up to 1 at most',
    changed('Positive', lambda x: -x):
    'log-probabilities from -103.3, the least in float32, to 0, found',
    changed('NotFinite', lambda x: np.append(x[:-1], -np.inf)):
    'log-probabilities from -103.3, .* found -inf',
    changed('NotANumber', lambda x: np.append(np.nan, x[1:])):
    'log-probabilities from -103.3, .* found nan',
    # Finite, and of no model: as some programs write what has no probability.
    changed('Absurd', lambda x: np.append(x[:-1], -1e30)):
    'log-probabilities from -103.3, .* found -1e\\+30',
    changed('BelowFloat32', lambda x: np.append(x[:-1], -104.)):
    'log-probabilities from -103.3, .* found -104',
    # Attention is not causal: the ids behind change the answer.
    changed('Leaking', lambda x: x - 0.3 * len(x)):
    'with and without the rest',
    changed('OffInShortRows', lambda x: x - (len(x) == 1)):
    'the first 2 ids of a row with and without the rest',
}
