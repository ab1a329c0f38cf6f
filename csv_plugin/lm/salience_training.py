"""From a collection and a scoring LM to a predictor that travels alone."""
from collections.abc import Sequence
from typing import Optional

from numpy.typing import NDArray

from csv_plugin.core.blocks import join_blocks
from csv_plugin.core.condensing import condensed
from csv_plugin.core.features import TokenColumns, group_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import Auto, Solver, Uniform
from csv_plugin.core.targets import TargetTokens
from csv_plugin.io.collections import Collection
from csv_plugin.lm.feature_blocks import feature_blocks


def train_predictor(collection: Collection,
                    targets: TargetTokens,
                    models: Sequence[str],
                    states: Optional[NDArray] = None,
                    seed: int = 0,
                    progress: Progress = iter) -> Predictor:
    """The default method: `Auto` among all feature blocks.

    Args:
        collection (Collection): Losses and scores.
        targets (TargetTokens): Tokens that get the weights.
        models (Sequence[str]): Models to fit to.
        states (Optional[NDArray]): Hidden states of a scoring LM at the
            tokens, `(T, H)`.
        seed (int): Of the cross-validation folds.
        progress (Progress): Wraps the benchmarks.

    Raises:
        InputError: If the losses are not those of the tokens' texts.
    """
    table = targets.table(collection.losses_of(models))
    blocks = feature_blocks(table, collection.texts, targets, states)
    columns, candidates = join_blocks(blocks)
    return condensed(
        _fit(collection, targets, models, columns, Auto(candidates), seed,
             progress))


def train_baseline(collection: Collection, targets: TargetTokens,
                   models: Sequence[str]) -> Predictor:
    """The all-token baseline of the same models; args as above."""
    table = targets.table(collection.losses_of(models))
    columns = group_columns(table, ['all tokens'] * targets.n_tokens)
    return _fit(collection, targets, models, columns, Uniform(), 0)


def _fit(collection: Collection,
         targets: TargetTokens,
         models: Sequence[str],
         columns: TokenColumns,
         solver: Solver,
         seed: int,
         progress: Progress = iter) -> Predictor:
    table = targets.table(collection.losses_of(models))
    families = [collection.info[model].family for model in models]
    predictor = fit_predictor(
        columns.features(table), collection.accuracies.select(models),
        families, solver, targets.fingerprint, seed, progress)
    return predictor.with_tokens(targets, columns)
