"""Every method of a comparison: what it looks at, and what it is fitted to."""
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.salience import SOLVERS, Constant, Solver, Uniform
from csv_plugin.core.salience.choice import OnColumns
from tools.studies.other_methods.completion import Completion, score_features
from tools.studies.other_methods.components import (PartialLeastSquares,
                                                    PrincipalComponents)
from tools.studies.other_methods.ladder import Ladder, ladder_features
from tools.studies.other_methods.perplexity_correlations import \
    PerplexityCorrelations


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of M models.

    Args:
        features (FeatureTable): Their losses, `(M, K)`.
        accuracies (AccuracyTable): Of the same models in the same order,
            and of the benchmarks to compare on.
        parameters (NDArray): NaN where unknown, `(M,)`.
        tokens (NDArray): That a model was trained on; NaN where unknown,
            `(M,)`.
        own_units (Mapping[str, NDArray]): Columns that are a benchmark's own
            items, by benchmark; the others have none.
        doubles (Sequence[frozenset[str]]): Benchmarks that are nearly the
            same, of which none may tell of another.
    """
    features: FeatureTable
    accuracies: AccuracyTable
    parameters: NDArray[np.float64]
    tokens: NDArray[np.float64]
    own_units: Mapping[str, NDArray[np.int64]]
    doubles: Sequence[frozenset[str]]

    def others(self, benchmark: str) -> list[str]:
        """Benchmarks, without the given one and what is nearly the same."""
        same = {benchmark}.union(*(group for group in self.doubles
                                   if benchmark in group))
        return [
            name for name in self.accuracies.benchmarks if name not in same
        ]


#: What a method is fitted to for a benchmark; None where it cannot be.
Part = Optional[tuple[FeatureTable, Solver]]


class Method(NamedTuple):
    """A method of a comparison.

    Args:
        looks_at (str): What it takes to predict a model.
        part (Callable): Features and a solver for a benchmark, if any.
    """
    looks_at: str
    part: Callable[[Evidence, str], Part]


def own_units(units: Sequence[str], benchmarks: Sequence[str],
              prefixes: Mapping[str, str]) -> dict[str, NDArray[np.int64]]:
    """Units that are a benchmark's own items, by their names.

    >>> own_units(['a/0', 'b/0', 'a/1'], ['a', 'c', 'd'], {'c': 'b'})
    {'a': array([0, 2]), 'c': array([1])}
    """
    firsts = np.array([unit.partition('/')[0] for unit in units])
    found = {
        name: np.flatnonzero(firsts == prefixes.get(name, name))
        for name in benchmarks
    }
    return {name: indices for name, indices in found.items() if len(indices)}


def _on_losses(solver: Solver, looks_at: str = 'losses') -> Method:
    return Method(looks_at, lambda evidence, _: (evidence.features, solver))


def _on_own_units(evidence: Evidence, benchmark: str) -> Part:
    columns = evidence.own_units.get(benchmark)
    if columns is None:
        return None
    uniform = np.full(len(columns), 1 / len(columns))
    solver = OnColumns('own-units', Uniform(learn_floor=True), columns,
                       uniform)
    return evidence.features, solver


def _on_sizes(evidence: Evidence, benchmark: str) -> Part:
    columns = evidence.own_units.get(benchmark)
    if columns is None or np.isnan([evidence.parameters, evidence.tokens
                                    ]).any():
        return None
    own_loss = evidence.features.values[:, columns].mean(axis=1)
    return ladder_features(evidence.features.models, evidence.parameters,
                           evidence.tokens, own_loss), Ladder()


def _on_scores(evidence: Evidence, benchmark: str) -> Part:
    others = evidence.others(benchmark)
    if not others:
        return None
    table = evidence.accuracies.select(benchmarks=others)
    return score_features(table.models, others, table.values), Completion()


#: Methods by the names that command lines and tables use.
METHODS: dict[str, Method] = {
    'constant': _on_losses(Constant(), 'nothing'),
    'own-units': Method('own losses', _on_own_units),
    'perplexity-correlations': _on_losses(PerplexityCorrelations()),
    'pca': _on_losses(PrincipalComponents()),
    'pls': _on_losses(PartialLeastSquares()),
    'ladder': Method('size, tokens', _on_sizes),
    'completion': Method('other scores', _on_scores),
    **{
        name: _on_losses(solver)
        for name, solver in SOLVERS.items()
    },
}
