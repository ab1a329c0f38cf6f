"""Losses and accuracies of 47 real language models and worse versions of them.

docs/appendix/real_models.md says how they were made, by the command
`collect` of this package at commit f76777a6. The folder `kept` has tables as
`salience fit` takes them, without texts. A unit such as `answers: boolq/3` is
a loss in nats a byte, of a whole text (`losses`) or of its answer (`answers`).
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import csv_plugin as cp
from tools.studies.trials import Models

#: Where the tables lie.
KEPT = Path(__file__).with_name('kept')
LOSSES, ANSWERS = 'losses', 'answers'
#: The split of models that were not made worse.
AS_IT_IS = 'as it is'


@dataclass(frozen=True, eq=False)
class RealModels:
    """Losses of M models on K units, and their accuracies on B benchmarks.

    `losses` are `(M, K)`; `unit_kinds` are `LOSSES` or `ANSWERS`, and
    `sources` those of the units' texts, `(K,)` each. `kinds` are what made
    models worse, '' for a model as it is.
    """
    losses: NDArray
    unit_kinds: NDArray
    sources: NDArray
    accuracies: cp.AccuracyTable
    families: tuple[str, ...]
    kinds: tuple[str, ...]

    @classmethod
    def read(cls) -> 'RealModels':
        """Read the tables."""
        tables = cp.read_model_tables(KEPT / 'losses.safetensors',
                                      KEPT / 'scores.csv', KEPT / 'models.csv',
                                      KEPT / 'benchmarks.csv')
        kinds, sources = [], []
        for unit in tables.features.columns.units:
            kind, _, text = unit.partition(': ')
            kinds.append(kind)
            sources.append(text.rpartition('/')[0])
        rows = [tables.info[model] for model in tables.accuracies.models]
        splits = ['' if row.split == AS_IT_IS else row.split for row in rows]
        return cls(tables.features.values, np.array(kinds), np.array(sources),
                   tables.accuracies, tuple(row.family for row in rows),
                   tuple(splits))

    def models(self, losses: NDArray, families: Sequence[str]) -> Models:
        """The models with some losses, `(M, K)`, of no known source."""
        groups = [family or AS_IT_IS for family in families]
        accuracies = self.accuracies
        return Models(losses, accuracies.values, np.array(groups),
                      np.array(self.kinds), accuracies.chance,
                      accuracies.n_items, np.full(losses.shape[1], ''))

    def texts(self, families: Sequence[str]) -> Models:
        """Losses of whole texts, whose sources are known."""
        columns = self.unit_kinds == LOSSES
        return replace(
            self.models(self.losses[:, columns], families),
            sources=self.sources[columns])

    def answers(self, benchmark: str) -> NDArray[np.float64]:
        """Losses of right answers of a benchmark's own questions, `(M, T)`."""
        return self.losses[:, (self.unit_kinds == ANSWERS) &
                           (self.sources == benchmark)]
