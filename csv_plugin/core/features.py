"""Feature columns: losses of models by text, item or token."""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Optional

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.conventions import (InputError, check_known, check_list,
                                         check_unique)
from csv_plugin.core.formatting import short_repr
from csv_plugin.core.losses import LossTable
from csv_plugin.core.measured import Measured
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, fingerprint


@dataclass(frozen=True, eq=False)
class Columns:
    """Names and origin of K feature columns.

    `units` are the unique names of all columns, also of those that have no
    part in the mean loss. `uniform`, `(K,)`, are the coefficients of the
    mean loss, not all 0. The *weight* of a column is its coefficient
    divided by its `uniform`, so uniform salience is 1 everywhere.
    `fingerprint` is that of the validation set; see `texts.fingerprint`.
    `scored`, `(T,)`, is the mask of the tokens that the columns count; None if
    they were not made from tokens.
    """
    units: tuple[str, ...]
    uniform: NDArray[np.float64]
    fingerprint: str
    scored: Optional[NDArray[np.bool_]] = None

    def __post_init__(self) -> None:
        shape = (len(self.units), )
        if (self.uniform.shape != shape or not self.uniform.any()
                or not np.isfinite(self.uniform).all()):
            raise InputError(
                'feature columns',
                f'finite uniform coefficients of shape {shape}, not all 0',
                f'{self.uniform}', 'Give one coefficient per unit.')
        check_unique('units of feature columns', self.units)

    def __repr__(self) -> str:
        counted = '' if self.scored is None else (
            f' of {np.count_nonzero(self.scored)} scored tokens')
        return (f'Columns({len(self.units)} columns{counted}, texts '
                f'{self.fingerprint[:12]})')

    def check_texts(self, fingerprint: str, where: str = 'predictor') -> None:
        """Raise an `InputError` for losses on other texts.

        The error calls them `where`.
        """
        if fingerprint != self.fingerprint:
            raise InputError(
                where, f'losses on the validation set {self.fingerprint}',
                f'the validation set {fingerprint}',
                'Collect losses on the texts of the training, or train anew.')

    def check_same(self,
                   trained: 'Columns',
                   where: str = 'predictor',
                   of: str = 'the training') -> None:
        """Raise an `InputError` if columns are not those of a training.

        Kind of losses, units, texts and counted tokens must be the same. The
        error calls the place `where`, and says `of` what the columns must be.
        """
        kind, expected = self._kind, trained._kind
        if kind != expected:
            raise InputError(
                where, f'{expected}, as those of {of}', kind,
                f'Give {expected}, or a predictor that was trained on {kind}.')
        for theirs, ours in zip_longest(self.units, trained.units):
            if theirs != ours:
                raise InputError(
                    where, f'the {len(trained.units)} feature columns '
                    f'of {of}, in their order',
                    f'{len(self.units)} columns, {theirs!r} in place of '
                    f'{ours!r}',
                    'Give the same columns, in this order (of a predictor: '
                    'predictor.columns.units).')
        trained.check_texts(self.fingerprint, where)
        if not np.array_equal(
                np.asarray(self.scored), np.asarray(trained.scored)):
            raise InputError(
                where, f'features of the tokens that {of} counted',
                'features of other tokens',
                'Build the features with the same `scored` (of a predictor: '
                'predictor.columns.scored).')

    @property
    def _kind(self) -> str:
        """What errors call the losses."""
        return 'a table of losses' if self.scored is None else 'token losses'


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """K feature columns of M models, in nats per character or any unit.

    `values` are `(M, K)`; `measured` are records of losses that were imported,
    perhaps of further models.

    Raises:
        InputError: The shape does not fit, a name occurs twice, or a value is
            not finite.
    """
    models: tuple[str, ...]
    columns: Columns
    values: NDArray[np.float64]
    measured: tuple[Measured, ...] = ()

    def __post_init__(self) -> None:
        expected = (len(self.models), len(self.columns.units))
        if self.values.shape != expected:
            raise InputError('features', f'values of shape {expected}',
                             str(self.values.shape),
                             'Give one row per model, one column per unit.')
        check_unique('models of features', self.models)
        bad = np.argwhere(~np.isfinite(self.values))
        if len(bad):
            m, k = bad[0]
            raise InputError(
                'features', 'finite values',
                f'{self.values[m, k]} for model {self.models[m]!r}, unit '
                f'{self.columns.units[k]!r}', 'Leave that model or unit out.')

    @classmethod
    def of_losses(cls, models: Sequence[str], units: Sequence[str],
                  losses: ArrayLike) -> 'FeatureTable':
        """Make a table from losses of M models on K units, `(M, K)`.

        Names of units identify the texts. Losses are in any unit, the same for
        all models. The uniform score is the mean of the columns.

        Raises:
            InputError: As for the table itself, or a loss is negative.
        """
        check_list('models', models)
        check_list('units', units)
        try:
            values = np.asarray(losses, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError('losses', 'an array of numbers, a row for each '
                             'model', str(error),
                             'Give as many for each model.') from error
        if (values < 0).any():
            raise InputError(
                'losses', '0 or more', f'{values.min():g}',
                'Losses are -log p: change the sign of log-likelihoods.')
        columns = Columns(
            tuple(units),
            np.ones(len(units)) / len(units),
            fingerprint((unit, '') for unit in units))
        return cls(tuple(models), columns, values)

    __repr__ = short_repr

    @property
    def mean_loss(self) -> NDArray[np.float64]:
        """Mean loss of each model (all weights 1), `(M,)`."""
        return self.values @ self.columns.uniform

    def select(self, models: Sequence[str]) -> 'FeatureTable':
        """Return the same columns for some models, in their order.

        An `InputError` if a model has no features.
        """
        place = dict(zip(self.models, range(len(self.models))))
        check_known('features', models, place)
        rows = [place[model] for model in models]
        return FeatureTable(
            tuple(models), self.columns, self.values[rows], self.measured)

    @classmethod
    def concatenate(cls, tables: Sequence['FeatureTable']) -> 'FeatureTable':
        """Join the models of several tables with the same columns.

        An `InputError` if columns differ, or a model is in two tables.
        """
        columns = tables[0].columns
        for table in tables[1:]:
            table.columns.check_same(columns, 'tables to join',
                                     'the first table')
        models: list[str] = []
        measured: list[Measured] = []
        values = []
        for table in tables:
            models += table.models
            measured += table.measured
            values.append(table.values)
        return cls(
            tuple(models), columns, np.concatenate(values), tuple(measured))


def mean_token_loss(
        table: LossTable,
        tokens: Optional[NDArray[np.bool_]] = None) -> NDArray[np.float64]:
    """Return the mean loss in nats per token, `(M,)`.

    Scored: the tokens that every model scored; of these the given ones, such
    as those of answers for the label-token loss. An `InputError` if there is
    none.
    """
    return _common_losses(table, tokens).mean(axis=1)


def bits_per_byte(table: LossTable) -> NDArray[np.float64]:
    """Return the summed loss in bits over the bytes of all raw texts, `(M,)`.

    Scored: the tokens that every model scored, so this is a lower bound if
    there are others. Raises as `mean_token_loss`.
    """
    bits = _common_losses(table).sum(axis=1) / np.log(2)
    return bits / table.n_bytes.sum()


def _common_losses(
        table: LossTable,
        tokens: Optional[NDArray[np.bool_]] = None) -> NDArray[np.float64]:
    """Losses of the given tokens, by default all, that every model scored."""
    counted = table.scored if tokens is None else tokens & table.scored
    return table.losses[:, counted_tokens(table, counted)]


def counted_tokens(table: LossTable,
                   scored: Optional[NDArray] = None) -> NDArray[np.bool_]:
    """Return the mask of tokens to count, `(T,)`.

    By default those that every model scored. An `InputError` if there is
    none, or one is missing from a model.
    """
    counted = table.scored if scored is None else scored
    if not counted.any():
        raise InputError('features', 'a token that every model scored',
                         f'none of {len(counted)}',
                         'Leave out models that miss texts.')
    unscored = np.isnan(table.losses[:, counted]).sum(axis=1)
    for model in np.flatnonzero(unscored):
        raise InputError(
            f'losses of {table.models[model]!r}',
            f'all {np.count_nonzero(counted)} tokens that the training '
            'counted', f'{unscored[model]} of them unscored',
            'Score it with a prefix token, or train without those tokens.')
    return counted


def counted_losses(table: LossTable,
                   scored: Optional[NDArray] = None) -> NDArray[np.float64]:
    """Return losses in nats, `(M, T)`.

    Scored: the tokens of `counted_tokens`, with its errors; others are 0.
    """
    return np.where(counted_tokens(table, scored), table.losses, 0.0)


@dataclass(frozen=True, eq=False)
class TokenColumns:
    """Feature columns as sums of token losses: `losses @ matrix`.

    The matrix, `(T, K)`, contains the value of a nat of each token in each
    column.
    """
    columns: Columns
    matrix: 'scipy.sparse.csc_array'

    def features(self, table: LossTable) -> FeatureTable:
        """Return the columns of M models.

        Scored: the tokens of `columns.scored`, which every model must have. An
        `InputError` for other texts, or as in `counted_tokens`.
        """
        self.columns.check_texts(table.fingerprint)
        losses = counted_losses(table, self.columns.scored)
        return FeatureTable(table.models, self.columns, losses @ self.matrix)


def text_columns(table: LossTable,
                 part: Optional[NDArray] = None) -> TokenColumns:
    """Return one column per text: its loss per character.

    Scored: the tokens that every model scored, one or more; of these only the
    mask `part`, `(T,)`, if given. Texts without one are left out. Characters
    are those of the whole text. Its `uniform` is its share of all characters.
    """
    counted = counted_tokens(table)
    weighted = counted if part is None else counted & part
    kept, member = np.unique(
        table.text_of_token()[weighted], return_inverse=True)
    n_chars = table.n_chars[kept]
    columns = Columns(
        tuple(table.text_ids[text] for text in kept),
        n_chars / table.n_chars.sum(), table.fingerprint, counted)
    return TokenColumns(columns, _indicator(weighted, member, 1 / n_chars))


def _indicator(counted: NDArray, member: NDArray,
               values: NDArray) -> 'scipy.sparse.csc_array':
    """`values[k]` where a counted token belongs to column k. `(T, K)`."""
    shape = (len(counted), len(values))
    return scipy.sparse.csc_array(
        (values[member], (np.flatnonzero(counted), member)), shape=shape)


def answer_mask(texts: Iterable[Text],
                spans: Sequence[TokenSpans]) -> NDArray[np.bool_]:
    """Return the mask of tokens that touch their text's answer, `(T,)`."""
    masks = []
    for text, tokens in zip(texts, spans):
        first, last = text.answer or (0, 0)
        # Tokens are at bytes, answers at characters.
        start = len(text.text[:first].encode())
        end = len(text.text[:last].encode())
        masks.append((tokens.starts < end) & (tokens.ends > start))
    return np.concatenate(masks)


def equal_rows(values: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of rows by their values, and the first equal row.

    Rows are `(n, k)`, and the results are indices, `(n,)`. Of equal rows, the
    first one comes first in the order. Little memory is taken beside the rows.

    >>> equal_rows(np.array([[2, 1], [1, 3], [2, 1]]))
    (array([1, 0, 2]), array([0, 1, 0]))
    """
    order = np.lexsort(values.T[::-1])
    first = np.arange(len(values))
    for before, row in zip(order, order[1:]):
        if (values[before] == values[row]).all():
            first[row] = first[before]
    return order, first
