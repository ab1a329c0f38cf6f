"""Losses of the models that are compared, one for each text or item."""
from collections.abc import Sequence
from typing import NamedTuple, Optional, Union

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable, counted_losses
from csv_plugin.core.formatting import shortened
from csv_plugin.core.losses import TargetTokens, TextLosses
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.predictor import Predictor

#: Losses of one run: a dump of its token losses, or a table whose only model
#: is the run.
RunLosses = Union[TokenLossDump, FeatureTable]


class ComparedLosses(NamedTuple):
    """Losses of M models on S texts or items.

    The models are in this order: the runs of A, the runs of B, and further
    runs of one recipe. `n_runs` are the numbers of runs of A and of B. `texts`
    are the names of the texts or items. `contributions`, `(M, S)`, are what
    each text adds to the mean loss: the loss of the text times its share, so
    that a row adds up to the mean loss of the model. `shares`, `(S,)`, are the
    shares of the texts in all characters; for a table of losses, they are the
    weights of its columns in the mean loss.
    `features` has the feature columns for a predictor; it is None without a
    predictor.
    """
    n_runs: tuple[int, int]
    texts: tuple[str, ...]
    shares: NDArray
    contributions: NDArray
    features: Optional[FeatureTable]

    @property
    def n_compared(self) -> int:
        """Return the number of runs of A and B together."""
        return sum(self.n_runs)

    @property
    def weights(self) -> Floats:
        """Return the weights of all models in the difference B - A, `(M,)`.

        With them, the difference of the means over the runs of B and over the
        runs of A is a weighted sum. Further runs of one recipe have weight 0.
        """
        found = np.zeros(len(self.contributions))
        n_a, n_b = self.n_runs
        found[:n_a] = -1 / n_a
        found[n_a:n_a + n_b] = 1 / n_b
        return found

    @property
    def common_factor(self) -> float:
        """Return how many times larger all losses of B are than those of A.

        The result is 1 if this factor is near 1, is not the same for all
        texts, or cannot be told from few texts. Means over the runs of A and
        over the runs of B are compared.
        """
        # Fewer texts may have one factor by chance. Factors of less than 1.1
        # are no other unit. Of all pairs of models with a larger factor, in
        # five public collections with 8 to 263 columns, the logarithms of the
        # factors of columns scatter by at least 3.6 % of their mean.
        least_texts, least_factor, most_scatter = 6, 1.1, 0.01
        n_a, _ = self.n_runs
        of_a = self.contributions[:n_a].mean(axis=0)
        of_b = self.contributions[n_a:self.n_compared].mean(axis=0)
        counted = (of_a > 0) & (of_b > 0)
        if counted.sum() < least_texts:
            return 1.0
        logs = np.log(of_b[counted] / of_a[counted])
        mean = float(logs.mean())
        is_other = abs(mean) > np.log(least_factor)
        if is_other and logs.std() < most_scatter * abs(mean):
            return float(np.exp(mean))
        return 1.0

    @property
    def recipes(self) -> list[slice]:
        """Return the rows of each recipe that has two or more runs."""
        n_further = len(self.contributions) - self.n_compared
        found = []
        first = 0
        for n_of_recipe in (*self.n_runs, n_further):
            end = first + n_of_recipe
            if n_of_recipe > 1:
                found.append(slice(first, end))
            first = end
        return found


def losses_by_text(models: Sequence[RunLosses], n_runs: tuple[int, int],
                   predictor: Optional[Predictor]) -> ComparedLosses:
    """Return the losses of the models on each text or item.

    `models` has a dump for each model, or a table for each. Their order and
    `n_runs` are as in `ComparedLosses`. Raises an `InputError` if there are
    dumps and tables, if their texts or columns differ, or for the reasons of
    `Predictor.features`.
    """
    dumps: list[TokenLossDump] = []
    tables: list[FeatureTable] = []
    for losses in models:
        if isinstance(losses, TokenLossDump):
            dumps.append(losses)
        else:
            tables.append(losses)
    if dumps and tables:
        raise InputError('losses of the compared models',
                         'token losses of all, or tables of all',
                         'token losses of some, tables of others',
                         'Give losses of one kind for all models.')
    if dumps:
        return _of_dumps(dumps, n_runs, predictor)
    return _of_tables(tables, n_runs, predictor)


def _of_tables(tables: Sequence[FeatureTable], n_runs: tuple[int, int],
               predictor: Optional[Predictor]) -> ComparedLosses:
    """Return the losses of tables of one model each, in the tables' unit."""
    columns = predictor.columns if predictor else tables[0].columns
    rows = []
    for table in tables:
        if len(table.models) != 1:
            listed = ', '.join(table.models)
            raise InputError(
                'table of losses', 'one model', shortened(listed, 60),
                'Select one of its models: table.select([name]).')
        if predictor:
            table = table.in_columns(columns)
        else:
            table.columns.check_same(columns, 'losses of the compared models',
                                     'the first model')
        rows.append(table.values)
    values = np.concatenate(rows)
    features = None
    if predictor:
        n_others = len(tables) - sum(n_runs)
        names = stand_in_names(n_runs, n_others)
        joined = FeatureTable(names, columns, values)
        features = predictor.features(joined)
    # Columns with the uniform weight 0 contain tokens of answers. The losses
    # of the texts of these answers are already in other columns.
    counted = np.flatnonzero(columns.uniform)
    shares = columns.uniform[counted]
    texts = tuple(columns.units[k] for k in counted)
    contributions = values[:, counted] * shares
    return ComparedLosses(n_runs, texts, shares, contributions, features)


def _of_dumps(dumps: Sequence[TokenLossDump], n_runs: tuple[int, int],
              predictor: Optional[Predictor]) -> ComparedLosses:
    """Return the losses of dumps, in nats per character.

    They are counted on the tokens of the predictor's tokenizer or, without a
    predictor, of the tokenizer of the first dump.
    """
    n_others = len(dumps) - sum(n_runs)
    names = stand_in_names(n_runs, n_others)
    by_name = dict(zip(names, dumps))
    features = None
    if predictor:
        table = predictor.loss_table(by_name)
        features = predictor.features(table)
    else:
        first = dumps[0]
        own = TextLosses.of(first.texts)
        targets = TargetTokens(own.ids, own.hashes, own.spans,
                               first.info.fingerprint)
        texts = {name: dump.texts for name, dump in by_name.items()}
        table = targets.table(texts)
    text_of_token = table.text_of_token()
    n_texts = len(table.text_ids)
    by_text = []
    for of_tokens in counted_losses(table):
        of_texts = np.bincount(text_of_token, of_tokens, n_texts)
        by_text.append(of_texts)
    n_chars = table.n_chars.sum()
    shares = table.n_chars / n_chars
    contributions = np.array(by_text) / n_chars
    return ComparedLosses(n_runs, table.text_ids, shares, contributions,
                          features)


def stand_in_names(n_runs: tuple[int, int],
                   n_others: int = 0) -> tuple[str, ...]:
    """Return unique names for the runs of A, of B, and for further runs.

    Two models may have the same name, so errors use these names instead: 'A'
    for a single run of A, 'A1' and 'A2' for two runs of A, and 'run 1' for the
    first of the `n_others` further runs.
    """
    names = []
    for side, n_of_side in zip('AB', n_runs):
        if n_of_side == 1:
            names.append(side)
            continue
        for i in range(n_of_side):
            names.append(f'{side}{i + 1}')
    for i in range(n_others):
        names.append(f'run {i + 1}')
    return tuple(names)
