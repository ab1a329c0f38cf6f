"""Several sets of feature columns side by side, for `Auto` to choose from."""
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Optional, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.features import (Columns, FeatureTable, answer_groups,
                                      answer_mask, group_columns, text_columns)
from csv_plugin.core.losses import LossTable, TargetTokens
from csv_plugin.core.salience import Auto, NonNegative, Ridge, Solver
from csv_plugin.core.salience.choice import OnColumns
from csv_plugin.core.texts import TextSet

#: The block of the label-token losses.
GROUPS = 'groups'


class LossColumns(Protocol):
    """K feature columns that are sums of T token losses."""

    @property
    def columns(self) -> Columns:
        """What the columns are."""

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
        source (LossColumns): Makes the columns.
        solvers (tuple[Solver, ...]): Solvers that may fit them.
        answers_of (Optional[str]): The source of texts of which the columns
            are answers alone, if they are.
    """
    name: str
    source: LossColumns
    solvers: tuple[Solver, ...]
    answers_of: Optional[str] = None

    __repr__ = short_repr

    @property
    def units(self) -> tuple[str, ...]:
        """Names of the block's columns."""
        return self.source.columns.units


@dataclass(frozen=True, eq=False)
class JoinedColumns:
    """The columns of several blocks side by side.

    Those of the first block give the all-token loss.

    Args:
        blocks (Sequence[Block]): One or more of different names, which count
            the same tokens.
    """
    blocks: Sequence[Block]

    __repr__ = short_repr

    @property
    def columns(self) -> Columns:
        """Units are named after their blocks: 'groups: sums/answer'."""
        units = tuple(f'{block.name}: {unit}' for block in self.blocks
                      for unit in block.units)
        first = self.blocks[0].source.columns
        uniform = np.append(first.uniform,
                            np.zeros(len(units) - len(first.uniform)))
        return Columns(units, uniform, first.fingerprint, first.scored)

    def solvers(self, benchmark: str) -> tuple[OnColumns, ...]:
        """The solvers that a benchmark is offered, each on its own columns.

        A benchmark that a source of texts is named after is not offered the
        answers of other sources: with few families, they look better than
        they are by chance.

        Args:
            benchmark (str): Its name.

        Returns:
            tuple[OnColumns, ...]: Named after their blocks, such as
            'groups ridge'.
        """
        has_own = any(block.answers_of == benchmark for block in self.blocks)
        return tuple(solver for block, solver in self._solvers()
                     if not has_own or block.answers_of in (None, benchmark))

    def auto(self, benchmark: str) -> Auto:
        """The choice among what a benchmark is offered.

        Its own answers are kept unless something else is better by a test.

        Args:
            benchmark (str): Its name.
        """
        own = (solver.name for block, solver in self._solvers()
               if block.answers_of == benchmark)
        return Auto(self.solvers(benchmark), next(own, None))

    def _solvers(self) -> list[tuple[Block, OnColumns]]:
        """All solvers with their blocks, each on the block's columns."""
        return [(block, _solver(block, solver, end))
                for block, end in zip(self.blocks, _ends(self.blocks))
                for solver in block.solvers]

    def features(self, table: LossTable) -> FeatureTable:
        """See `LossColumns.features`."""
        values = np.hstack(
            [block.source.features(table).values for block in self.blocks])
        return FeatureTable(table.models, self.columns, values)

    def combine(self, coefficients: csc_array) -> csc_array:
        """See `LossColumns.combine`."""
        return sum(
            block.source.combine(coefficients[end - len(block.units):end])
            for block, end in zip(self.blocks, _ends(self.blocks)))


def _ends(blocks: Sequence[Block]) -> list[int]:
    """The column after the last one of each block."""
    return list(accumulate(len(block.units) for block in blocks))


def _solver(block: Block, solver: Solver, end: int) -> OnColumns:
    indices: NDArray[np.int64] = np.arange(end - len(block.units), end)
    return OnColumns(f'{block.name} {solver.name}', solver, indices,
                     block.source.columns.uniform)


def loss_blocks(table: LossTable, texts: TextSet,
                targets: TargetTokens) -> list[Block]:
    """The blocks that need no scoring LM, coarse columns first.

    Args:
        table (LossTable): Losses of M models on T tokens.
        texts (TextSet): The S texts.
        targets (TargetTokens): Their tokens.

    Returns:
        list[Block]: One mean loss per (source, answer or not), and one loss
        per text.
    """
    groups = group_columns(table, answer_groups(texts.texts, targets.spans))
    return [
        Block(GROUPS, groups, (NonNegative(), Ridge())),
        Block('texts', text_columns(table), (Ridge(), ))
    ]


def answers_by_source(table: LossTable, texts: TextSet,
                      targets: TargetTokens) -> dict[str, NDArray[np.bool_]]:
    """Scored tokens of the answers of each source that has answers.

    Args as in `loss_blocks`.

    Returns:
        dict[str, NDArray]: By source, in alphabetical order, `(T,)`.
    """
    sources = np.repeat([text.source for text in texts],
                        [len(spans) for spans in targets.spans])
    answers = answer_mask(texts, targets.spans) & table.scored
    return {
        str(source): answers & (sources == source)
        for source in np.unique(sources[answers])
    }


def answer_block(source: str, columns: LossColumns) -> Block:
    """Columns of the answers of one source alone.

    Their weights are shrunk toward the source's label-token loss.
    """
    return Block(f'answers of {source}', columns, (Ridge(), ), source)
