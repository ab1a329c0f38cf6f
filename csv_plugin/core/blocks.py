"""Several sets of feature columns side by side, for `Auto` to choose from."""
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from csv_plugin.core.conventions import InputError, check_unique
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.losses import LossTable
from csv_plugin.core.salience import Solver
from csv_plugin.core.salience.on_columns import OnColumns


class Columns(Protocol):
    """K feature columns that are sums of T token losses."""

    @property
    def units(self) -> tuple[str, ...]:
        """K names."""

    @property
    def uniform(self) -> NDArray:
        """As in `FeatureTable`, `(K,)`."""

    @property
    def scored(self) -> NDArray:
        """Tokens that count, bool, `(T,)`."""

    def features(self, table: LossTable) -> FeatureTable:
        """Values of M models, `(M, K)`; see `TokenColumns.features`."""

    def combine(self, coefficients: csc_array) -> csc_array:
        """What a nat of each token adds to n weighted sums of the columns.

        Args:
            coefficients (csc_array): Shape `(K, n)`.

        Returns:
            csc_array: Shape `(T, n)`.
        """


@dataclass(frozen=True, eq=False)
class Block:
    """Feature columns that solvers get together.

    Args:
        name (str): Such as 'groups'.
        columns (Columns): Its columns.
        solvers (tuple[Solver, ...]): What may fit them.
    """
    name: str
    columns: Columns
    solvers: tuple[Solver, ...]


@dataclass(frozen=True, eq=False)
class JoinedColumns:
    """The columns of several blocks; those of the first make `uniform`.

    Args:
        blocks (tuple[Block, ...]): One or more, of the same tokens.
    """
    blocks: tuple[Block, ...]

    @property
    def units(self) -> tuple[str, ...]:
        """Named after their blocks, such as 'groups: sums/answer'."""
        return tuple(f'{block.name}: {unit}' for block in self.blocks
                     for unit in block.columns.units)

    @property
    def uniform(self) -> NDArray:
        """As in `FeatureTable`, `(K,)`."""
        first = self.blocks[0].columns.uniform
        return np.append(first, np.zeros(len(self.units) - len(first)))

    @property
    def scored(self) -> NDArray:
        """Tokens that count, bool, `(T,)`."""
        return self.blocks[0].columns.scored

    def features(self, table: LossTable) -> FeatureTable:
        """See `Columns.features`."""
        values = np.hstack(
            [block.columns.features(table).values for block in self.blocks])
        return FeatureTable(table.models, self.units, values, self.uniform,
                            self.scored)

    def combine(self, coefficients: csc_array) -> csc_array:
        """See `Columns.combine`."""
        ends = _ends(self.blocks)
        return sum(
            block.columns.combine(coefficients[end -
                                               len(block.columns.units):end])
            for block, end in zip(self.blocks, ends))


def join_blocks(
        blocks: Sequence[Block]
) -> tuple[JoinedColumns, tuple[OnColumns, ...]]:
    """All columns in one set, and the solvers, each on its own columns.

    Args:
        blocks (Sequence[Block]): One or more, of the same tokens; the
            first gives the all-token loss.

    Returns:
        tuple[JoinedColumns, tuple[OnColumns, ...]]: Solvers are named after
        their blocks, such as 'groups ridge'.

    Raises:
        InputError: There is no block, two have one name, or they count
            different tokens.
    """
    if not blocks:
        raise InputError('blocks', 'one or more', 'none', 'Give columns.')
    check_unique('blocks', [block.name for block in blocks])
    for block in blocks:
        if not np.array_equal(block.columns.scored, blocks[0].columns.scored):
            raise InputError(f'block {block.name!r}',
                             f'the tokens of {blocks[0].name!r}', 'others',
                             'Make all blocks of the same table.')
    solvers = tuple(
        _solver(block, solver, end)
        for block, end in zip(blocks, _ends(blocks))
        for solver in block.solvers)
    return JoinedColumns(tuple(blocks)), solvers


def _ends(blocks: Sequence[Block]) -> list[int]:
    """The column after the last one of each block."""
    return list(accumulate(len(block.columns.units) for block in blocks))


def _solver(block: Block, solver: Solver, end: int) -> OnColumns:
    n_columns: int = len(block.columns.units)
    indices: NDArray[np.int64] = np.arange(end - n_columns, end)
    return OnColumns(f'{block.name} {solver.name}', solver, indices,
                     block.columns.uniform)
