"""Feature columns: the losses of models on each text, item or token."""
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Optional

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from csv_plugin.core.arrays import Booleans, Floats, Integers
from csv_plugin.core.conventions import (InputError, check_known, check_list,
                                         check_unique)
from csv_plugin.core.escaping import slightly_other
from csv_plugin.core.formatting import counted
from csv_plugin.core.losses import LossTable
from csv_plugin.core.measured import Measured
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, fingerprint


@dataclass(frozen=True, eq=False)
class Columns:
    """Names and origin of K feature columns.

    `units` are the unique names of all columns, including columns that do not
    count in the mean loss. `uniform`, `(K,)`, has the coefficient of each
    column in the mean loss; not all are 0. If a score has other coefficients,
    the *weight* of a column is its coefficient in the score divided by its
    coefficient in `uniform`. So all weights are 1 if the score is the mean
    loss. `fingerprint` identifies the validation set; see `texts.fingerprint`.
    `scored`, `(T,)`, is the mask of the tokens that the columns count; it is
    None if the columns were not made from tokens.
    """
    units: tuple[str, ...]
    uniform: Floats
    fingerprint: str
    scored: Optional[Booleans] = None

    def __post_init__(self) -> None:
        uniform = self.uniform
        shape = (len(self.units), )
        has_shape = uniform.shape == shape
        are_finite = np.isfinite(uniform).all()
        if not (has_shape and are_finite and uniform.any()):
            raise InputError(
                'feature columns',
                f'finite uniform coefficients of shape {shape}, not all 0',
                f'{uniform}', 'Give one coefficient per column.')
        check_unique('units of feature columns', self.units)

    def __repr__(self) -> str:
        columns = f'{len(self.units)} columns'
        if self.scored is not None:
            n_scored = np.count_nonzero(self.scored)
            columns += f' of {n_scored} scored tokens'
        return f'Columns({columns}, texts {self.fingerprint[:12]})'

    def check_texts(self, fingerprint: str, where: str = 'predictor') -> None:
        """Raise an `InputError` if losses are on other texts.

        `fingerprint` identifies the texts of the losses, and `where` is what
        the error says first.
        """
        if fingerprint != self.fingerprint:
            raise InputError(
                where, 'losses on the validation set with fingerprint '
                f'{self.fingerprint}',
                f'the validation set with fingerprint {fingerprint}',
                'Score the models on the same texts, or fit another predictor.'
            )

    def check_same(self,
                   trained: 'Columns',
                   where: str = 'predictor',
                   of: str = 'the training') -> None:
        """Raise an `InputError` if these columns differ from `trained`.

        Columns are the same if they have the same kind of losses, names in the
        same order, texts and counted tokens. `where` is what the error says
        first, and `of` is what it calls the owner of `trained`.
        """
        kind = self._kind
        expected = trained._kind
        if kind != expected:
            raise InputError(
                where, f'{expected}, like the losses of {of}', kind,
                f'Give {expected}, or a predictor that was fitted to {kind}.')
        for theirs, ours in zip_longest(self.units, trained.units):
            if theirs != ours:
                raise InputError(
                    where, f'the {len(trained.units)} feature columns '
                    f'of {of}, in their order',
                    f'{len(self.units)} columns, {theirs!r} in place of '
                    f'{ours!r}',
                    'Give the same columns in the same order. A predictor has '
                    'their names in predictor.columns.units.')
        trained.check_texts(self.fingerprint, where)
        scored = np.asarray(self.scored)
        expected_scored = np.asarray(trained.scored)
        if not np.array_equal(scored, expected_scored):
            raise InputError(
                where, f'features made from the tokens that {of} counted',
                'features of other tokens',
                'Make the features with the same mask `scored`. A predictor '
                'has it in predictor.columns.scored.')

    @property
    def _kind(self) -> str:
        """Return what error messages call the kind of the losses."""
        if self.scored is None:
            return 'a table of losses'
        return 'token losses'


def places_of_columns(where: str, names: Sequence[str],
                      wanted: Sequence[str]) -> list[int]:
    """Return where the columns that a predictor needs are in a table.

    `names` are all columns of the table, and `wanted` are those that the
    predictor needs, in its order. `where` is what the error says first.

    Raises:
        InputError: A wanted column is missing.
    """
    index_of = {name: k for k, name in enumerate(names)}
    places = []
    missing = []
    for name in wanted:
        if name in index_of:
            places.append(index_of[name])
        else:
            missing.append(name)
    if missing:
        found = f'no column {missing[0]!r}'
        if len(missing) > 1:
            found += f' ({len(missing)} missing in all)'
        kept = frozenset(wanted)
        others = [name for name in names if name not in kept]
        raise InputError(where, f'the {len(wanted)} columns of the predictor',
                         found, _on_missing(missing, others))
    return places


def _on_missing(missing: Sequence[str], others: Collection[str]) -> str:
    """Return the remedy for missing columns of a table of losses.

    `others` are the columns of the table that are not wanted, one of which may
    be a missing column with a slightly different name.
    """
    # Only three, as a search among many names takes long.
    for unit in missing[:3]:
        other = slightly_other(unit, others)
        if other:
            return (f'The table has a column {other!r}: if it is the column '
                    f'{unit!r}, rename it.')
    return ('Add what is missing, or train a predictor on the columns of this '
            'table.')


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """K feature columns of M models.

    `values`, `(M, K)`, are losses in nats per character or in any other unit
    that is the same for all models. `measured` says how imported losses were
    measured; it may contain records of models that are not in the table.

    Raises:
        InputError: The shape of `values` does not fit the names, a name occurs
            twice, or a value is not finite.
    """
    models: tuple[str, ...]
    columns: Columns
    values: Floats
    measured: tuple[Measured, ...] = ()

    def __post_init__(self) -> None:
        values = self.values
        units = self.columns.units
        expected = len(self.models), len(units)
        if values.shape != expected:
            raise InputError(
                'features', f'values of shape {expected}', str(values.shape),
                'Give one row per model and one column per unit.')
        check_unique('models of features', self.models)
        is_finite = np.isfinite(values)
        for m, k in np.argwhere(~is_finite):
            raise InputError(
                'features', 'finite values',
                f'{values[m, k]} for model {self.models[m]!r}, unit '
                f'{units[k]!r}', 'Leave that model or unit out.')

    @classmethod
    def of_losses(cls, models: Sequence[str], units: Sequence[str],
                  losses: ArrayLike) -> 'FeatureTable':
        """Make a table from losses of M models on K units, `(M, K)`.

        The units are texts or items, and their names identify them: tables
        with the same names count as losses on the same texts. Losses may be in
        any unit that is the same for all models. The mean loss of a model is
        the mean of its K losses.

        Raises:
            InputError: A loss is negative, or as for the class itself.
        """
        check_list('models', models)
        check_list('units', units)
        try:
            values = np.asarray(losses, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                'losses', 'an array of numbers with a row for each model',
                str(error),
                'Give one number for each model and unit.') from error
        is_negative = values < 0
        if is_negative.any():
            raise InputError(
                'losses', '0 or more', f'{values.min():g}',
                'Losses are -log p: change the sign of log-likelihoods.')
        n_units = len(units)
        uniform = np.ones(n_units) / n_units
        without_text = fingerprint((unit, '') for unit in units)
        columns = Columns(tuple(units), uniform, without_text)
        return cls(tuple(models), columns, values)

    def __repr__(self) -> str:
        models = counted(len(self.models), 'model')
        return f'FeatureTable({models}, {self.columns})'

    @property
    def mean_loss(self) -> Floats:
        """Return the mean loss of each model (all weights are 1), `(M,)`."""
        return self.values @ self.columns.uniform

    def in_columns(self, trained: Columns) -> 'FeatureTable':
        """Return the table with the columns `trained` of a predictor.

        Columns of tables of losses are found by their names: their order does
        not matter, and further columns are left out. Columns of token losses
        must be the same.

        Raises:
            InputError: A column is missing, or as in `Columns.check_same`.
        """
        own = self.columns
        are_tables = own.scored is None and trained.scored is None
        if not are_tables or own.units == trained.units:
            own.check_same(trained)
            return self
        places = places_of_columns('losses', own.units, trained.units)
        values = self.values[:, places]
        return FeatureTable(self.models, trained, values, self.measured)

    def select(self, models: Sequence[str]) -> 'FeatureTable':
        """Return a table with the rows of the given models, in their order.

        Raises an `InputError` if a model is not in this table.
        """
        row_of = {model: row for row, model in enumerate(self.models)}
        check_known('features', models, row_of)
        rows = [row_of[model] for model in models]
        values = self.values[rows]
        return FeatureTable(tuple(models), self.columns, values, self.measured)

    @classmethod
    def concatenate(cls, tables: Sequence['FeatureTable']) -> 'FeatureTable':
        """Return one table with the models of all tables.

        Raises an `InputError` if the columns of the tables differ, or if a
        model is in two tables.
        """
        columns = tables[0].columns
        models: list[str] = []
        measured: list[Measured] = []
        values = []
        for table in tables:
            table.columns.check_same(columns, 'tables to join',
                                     'the first table')
            models += table.models
            measured += table.measured
            values.append(table.values)
        return cls(
            models=tuple(models),
            columns=columns,
            values=np.concatenate(values),
            measured=tuple(measured))


def mean_token_loss(table: LossTable,
                    tokens: Optional[Booleans] = None) -> Floats:
    """Return the mean loss in nats per token, `(M,)`.

    The mean is over the tokens that every model scored. If `tokens`, `(T,)`,
    is given, only tokens of this mask count; the mask of answers gives the
    label-token loss. Raises an `InputError` if no token is left.
    """
    losses = _common_losses(table, tokens)
    return losses.mean(axis=1)


def bits_per_byte(table: LossTable) -> Floats:
    """Return each model's loss in bits per byte of the raw texts, `(M,)`.

    It is the sum of losses over the tokens that every model scored, divided by
    the bytes of all texts. So it is a lower bound if some tokens were not
    scored. Raises an `InputError` if no token was scored by all models.
    """
    losses = _common_losses(table)
    bits = losses.sum(axis=1) / np.log(2)
    return bits / table.n_bytes.sum()


def _common_losses(table: LossTable,
                   tokens: Optional[Booleans] = None) -> Floats:
    """Return losses on the tokens that every model scored, `(M, n)`.

    With a mask `tokens`, `(T,)`, only tokens of the mask are counted.
    """
    counted = table.scored
    if tokens is not None:
        counted = counted & tokens
    counted = counted_tokens(table, counted)
    return table.losses[:, counted]


def counted_tokens(table: LossTable,
                   scored: Optional[NDArray] = None) -> Booleans:
    """Return the mask of tokens to count, `(T,)`.

    It is the mask `scored` or, by default, the mask of the tokens that every
    model scored. Raises an `InputError` if the mask is empty, or if a model
    did not score a token of it.
    """
    counted = table.scored if scored is None else scored
    if not counted.any():
        raise InputError(
            'features', 'a token that every model scored',
            f'none of {len(counted)} tokens',
            'Leave out models that were not scored on all texts.')
    losses = table.losses[:, counted]
    n_unscored = np.isnan(losses).sum(axis=1)
    for m in np.flatnonzero(n_unscored):
        n_counted = np.count_nonzero(counted)
        raise InputError(
            f'losses of {table.models[m]!r}',
            f'all {n_counted} tokens that the training counted',
            f'{n_unscored[m]} of them without a loss',
            'Score the model with a prefix token, such as BOS, or fit the '
            'predictor without these tokens.')
    return counted


def counted_losses(table: LossTable,
                   scored: Optional[NDArray] = None) -> Floats:
    """Return losses in nats, `(M, T)`, with 0 for tokens that do not count.

    Tokens that count, and errors, are as in `counted_tokens`.
    """
    counted = counted_tokens(table, scored)
    return np.where(counted, table.losses, 0.0)


@dataclass(frozen=True, eq=False)
class TokenColumns:
    """Feature columns that are weighted sums of token losses.

    Features are `losses @ matrix`, where token losses, `(M, T)`, are in nats.
    The `matrix`, `(T, K)`, has the coefficient of each token in each column.
    """
    columns: Columns
    matrix: 'scipy.sparse.csc_array'

    def features(self, table: LossTable) -> FeatureTable:
        """Return the feature columns of the M models of a loss table.

        The tokens of `columns.scored` are counted, and every model must have
        scored them. Raises an `InputError` if the losses are on other texts,
        or for the reasons of `counted_tokens`.
        """
        self.columns.check_texts(table.fingerprint)
        losses = counted_losses(table, self.columns.scored)
        values = losses @ self.matrix
        return FeatureTable(table.models, self.columns, values)


def text_columns(table: LossTable,
                 part: Optional[NDArray] = None) -> TokenColumns:
    """Return feature columns with the loss per character of each text.

    The loss of a text is the sum over its tokens that every model scored, and
    that are in the mask `part`, `(T,)`, if it is given. This sum is divided by
    the number of all characters of the text. Texts without such a token have
    no column. `uniform` is the share of the text in the characters of all
    texts. Raises an `InputError` if no token was scored by all models.
    """
    counted = counted_tokens(table)
    weighted = counted if part is None else counted & part
    tokens = np.flatnonzero(weighted)
    text_of_token = table.text_of_token()
    # The texts that have a column, and the column of each token.
    kept, column_of_token = np.unique(
        text_of_token[tokens], return_inverse=True)
    names = tuple(table.text_ids[text] for text in kept)
    n_chars = table.n_chars[kept]
    uniform = n_chars / table.n_chars.sum()
    columns = Columns(names, uniform, table.fingerprint, counted)
    shape = len(weighted), len(kept)
    coefficients = 1 / n_chars
    values = coefficients[column_of_token]
    entries = values, (tokens, column_of_token)
    matrix = scipy.sparse.csc_array(entries, shape=shape)
    return TokenColumns(columns, matrix)


def answer_mask(texts: Iterable[Text],
                spans: Sequence[TokenSpans]) -> Booleans:
    """Return the mask of tokens that overlap the answer of their text, `(T,)`.

    `spans` has the positions of the tokens of each text.
    """
    masks = []
    for text, tokens in zip(texts, spans):
        first, last = text.answer or (0, 0)
        # Positions of tokens are in bytes, positions of answers in characters.
        before = text.text[:first].encode()
        up_to_end = text.text[:last].encode()
        begins_before_end = tokens.starts < len(up_to_end)
        ends_after_start = tokens.ends > len(before)
        masks.append(begins_before_end & ends_after_start)
    return np.concatenate(masks)


def distinct_rows(values: NDArray) -> tuple[Integers, Integers]:
    """Return the distinct rows in ascending order, and the copies of each row.

    `values`, `(n, k)`, have no NaN. Both results are indices of rows. The
    first result has the first copy of each distinct row, sorted by the values
    of the rows. The second result, `(n,)`, is, for each row, the index of the
    first row that is equal to it (its own index if there is no earlier one).
    Apart from the rows, this takes little memory.

    >>> distinct_rows(np.array([[2, 1], [1, 3], [2, 1]]))
    (array([1, 0]), array([0, 1, 0]))
    """
    order = np.arange(len(values))
    first = np.arange(len(values))
    # A run is a view of `order`: neighbours that are equal in all columns so
    # far. Sorting the rows of every run by the next column sorts `order`.
    runs = [order]
    for column in values.T:
        tied = []
        for run in runs:
            for part in _sorted_and_split(run, column):
                if len(part) == len(run):
                    tied.append(part)
                elif len(part) > 1 and _are_copies(values, part):
                    # Copies are not sorted by the columns that follow.
                    first[part] = part[0]
                elif len(part) > 1:
                    tied.append(part)
        runs = tied
    # These rows are equal in all columns.
    for run in runs:
        first[run] = run[:1]
    is_first = first[order] == order
    return order[is_first], first


def _sorted_and_split(run: NDArray, column: NDArray) -> list[NDArray]:
    """Sort the indices of rows by a column, in place, and split them.

    The parts are views of `run`. The rows of a part have the same value.
    """
    run[:] = run[np.argsort(column[run], kind='stable')]
    in_order = column[run]
    is_new = in_order[1:] != in_order[:-1]
    starts = np.flatnonzero(is_new) + 1
    return np.split(run, starts)


def _are_copies(values: NDArray, rows: NDArray) -> bool:
    """Return True if the rows with these indices are all equal."""
    first_row = values[rows[0]]
    return all(np.array_equal(first_row, values[row]) for row in rows)
