"""Several sets of feature columns side by side, for `Auto` to choose from."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, hstack

from csv_plugin.core.errors import InputError, check_unique
from csv_plugin.core.features import TokenColumns
from csv_plugin.core.salience import Solver
from csv_plugin.core.salience.columns import OnColumns


@dataclass(frozen=True, eq=False)
class Block:
    """Feature columns that solvers get together.

    Args:
        name (str): Such as 'groups'.
        columns (TokenColumns): Its columns.
        solvers (tuple[Solver, ...]): What may fit them.
    """
    name: str
    columns: TokenColumns
    solvers: tuple[Solver, ...]


def join_blocks(
        blocks: Sequence[Block]) -> tuple[TokenColumns, tuple[OnColumns, ...]]:
    """All columns in one set, and the solvers, each on its own columns.

    Args:
        blocks (Sequence[Block]): One or more, of the same tokens; the
            first gives the all-token loss.

    Returns:
        tuple[TokenColumns, tuple[OnColumns, ...]]: Units and solvers are
        named after their blocks, 'groups: sums/answer' and 'groups ridge'.

    Raises:
        InputError: There is no block, two have one name, or they count
            different tokens.
    """
    if not blocks:
        raise InputError('blocks', 'one or more', 'none', 'Give columns.')
    check_unique('blocks', [block.name for block in blocks])
    first = blocks[0].columns
    for block in blocks:
        if not np.array_equal(block.columns.scored, first.scored):
            raise InputError(f'block {block.name!r}',
                             f'the tokens of {blocks[0].name!r}', 'others',
                             'Make all blocks of the same table.')
    ends = np.cumsum([len(block.columns.units) for block in blocks])
    uniform = np.zeros(ends[-1])
    uniform[:ends[0]] = first.uniform
    columns = TokenColumns(
        tuple(f'{block.name}: {unit}' for block in blocks
              for unit in block.columns.units),
        csc_array(hstack([block.columns.matrix for block in blocks])), uniform,
        first.scored)
    solvers = tuple(
        _solver(block, solver, end) for block, end in zip(blocks, ends)
        for solver in block.solvers)
    return columns, solvers


def _solver(block: Block, solver: Solver, end: int) -> OnColumns:
    n_columns: int = len(block.columns.units)
    indices: NDArray[np.int64] = np.arange(end - n_columns, end)
    return OnColumns(f'{block.name} {solver.name}', solver, indices,
                     block.columns.uniform)
