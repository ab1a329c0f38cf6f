"""Feature columns: what the capability score is a weighted sum of.

A column may be a token, a text, a group of tokens or a direction of a
scoring LM's hidden states; the solvers in `salience` take any of them.
"""
from dataclasses import dataclass
from typing import Sequence

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.errors import InputError
from csv_plugin.core.losses import LossTable


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Feature columns of M models; a capability score is `values @ c`.

    Args:
        models (tuple[str, ...]): M names.
        units (tuple[str, ...]): K column names.
        values (NDArray): Shape `(M, K)`, nats per character or any unit.
        uniform (NDArray): Shape `(K,)`, not all 0: the coefficients that
            give the all-token loss. A column's *weight* is its coefficient
            divided by its `uniform`, so uniform salience is 1 everywhere.

    Raises:
        InputError: On shapes that differ, doubled names, values that are
            not finite.
    """
    models: tuple[str, ...]
    units: tuple[str, ...]
    values: NDArray
    uniform: NDArray

    def __post_init__(self) -> None:
        expected = (len(self.models), len(self.units))
        if self.values.shape != expected:
            raise InputError('features', f'values of shape {expected}',
                             str(self.values.shape),
                             'Give one row per model, one column per unit.')
        if (self.uniform.shape != expected[1:] or not self.uniform.any()
                or not np.isfinite(self.uniform).all()):
            raise InputError(
                'features',
                f'finite uniform of shape {expected[1:]}, not all 0',
                f'{self.uniform} of shape {self.uniform.shape}',
                'Give one coefficient per unit.')
        for kind, names in (('models', self.models), ('units', self.units)):
            if len(set(names)) < len(names):
                twice = next(n for n in names if names.count(n) > 1)
                raise InputError('features', f'{kind} named once',
                                 f'{twice!r} twice', 'Rename or drop one.')
        bad = np.argwhere(~np.isfinite(self.values))
        if len(bad):
            m, k = bad[0]
            raise InputError(
                'features', 'finite values',
                f'{self.values[m, k]} for model {self.models[m]!r}, unit '
                f'{self.units[k]!r}', 'Leave that model or unit out.')

    def select(self, models: Sequence[str]) -> 'FeatureTable':
        """The same columns for some models, in their order.

        Raises:
            InputError: If a model has no features.
        """
        row = {model: m for m, model in enumerate(self.models)}
        missing = [model for model in models if model not in row]
        if missing:
            raise InputError('features', 'features of every model',
                             f'none of {missing[0]!r}',
                             'Collect its losses or leave it out.')
        return FeatureTable(
            tuple(models), self.units, self.values[[row[m] for m in models]],
            self.uniform)


def text_features(table: LossTable) -> FeatureTable:
    """One column per text: its loss per character.

    Scored: the tokens that every model scored (`LossTable.scored`); the
    characters are those of the whole text.

    Returns:
        FeatureTable: `values` `(M, S)` in nats per character; `uniform`
        `(S,)`, each text's share of all characters, so the uniform score
        is Eq. 1 with all weights 1.
    """
    losses = np.where(table.scored, table.losses, 0.0)
    sums = np.add.reduceat(
        np.pad(losses, ((0, 0), (0, 1))), table.token_offsets[:-1], axis=1)
    sums[:, np.diff(table.token_offsets) == 0] = 0
    filled = table.n_chars > 0
    values = sums[:, filled] / table.n_chars[filled]
    units = tuple(np.array(table.text_ids, dtype=object)[filled])
    share = table.n_chars[filled] / table.n_chars.sum()
    return FeatureTable(table.models, units, values, share)


def group_features(table: LossTable, groups: Sequence[str]) -> FeatureTable:
    """One column per group of tokens: the group's mean token loss.

    Scored: the tokens that every model scored (`LossTable.scored`); groups
    without one are left out.

    Args:
        table (LossTable): Losses of M models on T tokens.
        groups (Sequence[str]): T names, for example 'gsm8k/answer'.

    Returns:
        FeatureTable: `values` `(M, groups)` in nats per token, groups in
        alphabetical order; `uniform`, scored tokens of the group per
        character of all texts, so the uniform score is Eq. 1 with all
        weights 1.

    Raises:
        InputError: If there is not one group name per token.
    """
    if len(groups) != table.losses.shape[1]:
        raise InputError('group_features',
                         f'{table.losses.shape[1]} group names, one a token',
                         str(len(groups)), 'Name the group of every token.')
    losses = np.where(table.scored, table.losses, 0.0)
    names, member = np.unique(
        np.asarray(groups)[table.scored], return_inverse=True)
    counts = np.bincount(member)
    sums = np.stack(
        [np.bincount(member, weights=row) for row in losses[:, table.scored]])
    return FeatureTable(table.models, tuple(str(n) for n in names),
                        sums / counts, counts / table.n_chars.sum())
