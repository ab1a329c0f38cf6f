"""Feature columns: what the capability score is a weighted sum of.

A column may be a token, a text, a group of tokens or a direction of a
scoring LM's hidden states; the solvers in `salience` take any of them.
"""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.errors import InputError
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


def text_features(table: LossTable,
                  scored: Optional[NDArray] = None) -> FeatureTable:
    """One column per text: its loss per character.

    Scored: the tokens that every model scored (`LossTable.scored`), or
    those given; the characters are those of the whole text. Texts without
    such a token are left out.

    Args:
        table (LossTable): Losses of M models on T tokens.
        scored (Optional[NDArray]): As in `counted_losses`;
            `Predictor.scored` for models to be predicted.

    Returns:
        FeatureTable: `values` `(M, S)` in nats per character; `uniform`
        `(S,)`, each text's share of all characters, so the uniform score
        is Eq. 1 with all weights 1.

    Raises:
        InputError: As in `counted_losses`.
    """
    losses, counted = counted_losses(table, scored)
    text = table.text_of_token()
    n_texts = len(table.text_ids)
    filled = (np.bincount(text, counted, minlength=n_texts) > 0) & (
        table.n_chars > 0)
    sums = np.stack(
        [np.bincount(text, row, minlength=n_texts) for row in losses])[:,
                                                                       filled]
    units = tuple(np.array(table.text_ids, dtype=object)[filled])
    n_chars = table.n_chars[filled]
    return FeatureTable(table.models, units, sums / n_chars,
                        n_chars / table.n_chars.sum(), counted)


def group_features(table: LossTable,
                   groups: Sequence[str],
                   scored: Optional[NDArray] = None) -> FeatureTable:
    """One column per group of tokens: the group's mean token loss.

    Scored: the tokens that every model scored (`LossTable.scored`), or
    those given; groups without one are left out.

    Args:
        table (LossTable): Losses of M models on T tokens.
        groups (Sequence[str]): T names, such as those of `answer_groups`.
        scored (Optional[NDArray]): As in `text_features`.

    Returns:
        FeatureTable: `values` `(M, groups)` in nats per token, groups in
        alphabetical order; `uniform`, scored tokens of the group per
        character of all texts, so the uniform score is Eq. 1 with all
        weights 1.

    Raises:
        InputError: As in `counted_losses`, and if there is not one group
            name per token.
    """
    if len(groups) != table.losses.shape[1]:
        raise InputError('group_features',
                         f'{table.losses.shape[1]} group names, one a token',
                         str(len(groups)), 'Name the group of every token.')
    losses, counted = counted_losses(table, scored)
    names, member = np.unique(np.asarray(groups)[counted], return_inverse=True)
    counts = np.bincount(member)
    sums = np.stack(
        [np.bincount(member, weights=row) for row in losses[:, counted]])
    return FeatureTable(table.models, tuple(str(n) for n in names),
                        sums / counts, counts / table.n_chars.sum(), counted)


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
