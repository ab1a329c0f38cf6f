"""Feature columns: what the capability score is a weighted sum of.

A column may be a token, a text, a group of tokens or a direction of a
scoring LM's hidden states; the solvers in `salience` take any of them.
"""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text


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
        scored (Optional[NDArray]): Tokens that were counted, bool, `(T,)`;
            None where the columns were not made from tokens.

    Raises:
        InputError: On shapes that differ, doubled names, values that are
            not finite.
    """
    models: tuple[str, ...]
    units: tuple[str, ...]
    values: NDArray
    uniform: NDArray
    scored: Optional[NDArray] = None

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
        return replace(
            self,
            models=tuple(models),
            values=self.values[[row[m] for m in models]])


def counted_losses(
        table: LossTable,
        scored: Optional[NDArray] = None) -> tuple[NDArray, NDArray]:
    """Losses of the tokens that features count, and which those are.

    Features of different tokens cannot be compared, so what is to be
    predicted is counted on the tokens that the training counted.

    Args:
        table (LossTable): Losses of M models on T tokens.
        scored (Optional[NDArray]): Tokens to count, bool, `(T,)`; by
            default those that every model of the table scored.

    Returns:
        tuple[NDArray, NDArray]: Losses, 0 elsewhere, `(M, T)`; and the
        tokens, `(T,)`.

    Raises:
        InputError: If no token is left, or a model lacks one of them.
    """
    counted = table.scored if scored is None else scored
    if counted.shape != table.scored.shape or not counted.any():
        raise InputError(
            'features', 'a token or more that every model scored, of '
            f'{len(table.scored)}', f'{np.count_nonzero(counted)} of '
            f'{len(counted)}', 'Leave out models that miss texts, and map '
            'losses onto one tokenization.')
    lacking = np.isnan(table.losses[:, counted]).sum(axis=1)
    if lacking.any():
        model = int(np.argmax(lacking > 0))
        raise InputError(
            f'losses of {table.models[model]!r}',
            f'all {np.count_nonzero(counted)} tokens that the training '
            'counted', f'{lacking[model]} of them unscored',
            'Score it with a prefix token, or train without those tokens.')
    return np.where(counted, table.losses, 0.0), counted


@dataclass(frozen=True, eq=False)
class TokenColumns:
    """Feature columns as sums of token losses: `losses @ matrix`.

    Args:
        units (tuple[str, ...]): K column names.
        matrix (csc_array): What a nat of a token adds to each column.
            Shape `(T, K)`.
        uniform (NDArray): As in `FeatureTable`, `(K,)`.
        scored (NDArray): Tokens that count, bool, `(T,)`.

    Raises:
        InputError: On shapes that differ.
    """
    units: tuple[str, ...]
    matrix: csc_array
    uniform: NDArray
    scored: NDArray

    def __post_init__(self) -> None:
        expected = (len(self.scored), len(self.units))
        if self.matrix.shape != expected or \
                self.uniform.shape != expected[1:]:
            raise InputError(
                'columns of token losses', f'a matrix of shape {expected} and '
                f'uniform of shape {expected[1:]}',
                f'{self.matrix.shape} and {self.uniform.shape}',
                'Give one row per token, one column per unit.')

    def features(self, table: LossTable) -> FeatureTable:
        """The columns of M models.

        Scored: the tokens of `scored`, all of which every model must have.

        Raises:
            InputError: As in `counted_losses`.
        """
        losses, counted = counted_losses(table, self.scored)
        return FeatureTable(table.models, self.units, losses @ self.matrix,
                            self.uniform, counted)

    def combine(self, coefficients: csc_array) -> csc_array:
        """Weighted sums of the columns, `(K, n)` to `(T, n)`."""
        return csc_array(self.matrix @ coefficients)


def group_columns(table: LossTable,
                  groups: Sequence[str],
                  scored: Optional[NDArray] = None) -> TokenColumns:
    """One column per group of tokens: the group's mean token loss.

    Groups without a scored token are left out.

    Args:
        table (LossTable): Losses of M models on T tokens.
        groups (Sequence[str]): T names, such as those of `answer_groups`.
        scored (Optional[NDArray]): As in `counted_losses`.

    Returns:
        TokenColumns: Groups in alphabetical order; `uniform`, scored tokens
        of the group per character of all texts, so the uniform score is
        Eq. 1 with all weights 1.

    Raises:
        InputError: As in `counted_losses`, and if there is not one group
            name per token.
    """
    if len(groups) != table.losses.shape[1]:
        raise InputError('group_columns',
                         f'{table.losses.shape[1]} group names, one a token',
                         str(len(groups)), 'Name the group of every token.')
    _, counted = counted_losses(table, scored)
    names, member = np.unique(np.asarray(groups)[counted], return_inverse=True)
    counts = np.bincount(member)
    return TokenColumns(
        tuple(str(n) for n in names), _indicator(counted, member, 1 / counts),
        counts / table.n_chars.sum(), counted)


def text_columns(table: LossTable,
                 scored: Optional[NDArray] = None,
                 part: Optional[NDArray] = None) -> TokenColumns:
    """One column per text: its loss per character.

    The characters are those of the whole text. Texts without a token that
    gets a weight are left out.

    Args:
        table (LossTable): Losses of M models on T tokens.
        scored (Optional[NDArray]): As in `counted_losses`.
        part (Optional[NDArray]): Tokens that get a weight, bool, `(T,)`; by
            default all that count.

    Returns:
        TokenColumns: Nats per character; `uniform` `(S,)`, each text's
        share of all characters, so the uniform score is Eq. 1 with the
        weight 1 for all those tokens.

    Raises:
        InputError: As in `counted_losses`.
    """
    _, counted = counted_losses(table, scored)
    weighted = counted if part is None else counted & part
    kept, member = np.unique(
        table.text_of_token()[weighted], return_inverse=True)
    n_chars = table.n_chars[kept]
    return TokenColumns(
        tuple(table.text_ids[text] for text in kept),
        _indicator(weighted, member, 1 / n_chars),
        n_chars / table.n_chars.sum(), counted)


def _indicator(counted: NDArray, member: NDArray,
               values: NDArray) -> csc_array:
    """`values[k]` where a counted token belongs to column k. `(T, K)`."""
    shape = (len(counted), len(values))
    return csc_array((values[member], (np.flatnonzero(counted), member)),
                     shape=shape)


def text_features(table: LossTable,
                  scored: Optional[NDArray] = None) -> FeatureTable:
    """Values of `text_columns`, shape `(M, S)`, nats per character."""
    return text_columns(table, scored).features(table)


def group_features(table: LossTable,
                   groups: Sequence[str],
                   scored: Optional[NDArray] = None) -> FeatureTable:
    """Values of `group_columns`, shape `(M, groups)`, nats per token."""
    return group_columns(table, groups, scored).features(table)


def answer_mask(texts: Iterable[Text],
                spans: Sequence[TokenSpans]) -> NDArray[np.bool_]:
    """Tokens that touch the answer of their text, for the label-token loss.

    Args:
        texts (Iterable[Text]): S texts; those without an answer have none.
        spans (Sequence[TokenSpans]): Tokens of each text. Length S.

    Returns:
        NDArray: Shape `(T,)`, tokens of all texts in order.
    """
    masks = []
    for text, tokens in zip(texts, spans):
        start, end = (
            len(text.text[:place].encode()) for place in text.answer or (0, 0))
        masks.append((tokens.starts < end) & (tokens.ends > start))
    return np.concatenate(masks)


def answer_groups(texts: Sequence[Text],
                  spans: Sequence[TokenSpans]) -> list[str]:
    """'source/answer' or 'source/text' for every token, length T.

    Args as in `answer_mask`.
    """
    sources = np.repeat([text.source for text in texts],
                        [len(tokens) for tokens in spans])
    return [
        f'{source}/{"answer" if inside else "text"}'
        for source, inside in zip(sources, answer_mask(texts, spans))
    ]
