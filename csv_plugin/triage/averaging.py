"""Losses of checkpoints that lie close together, averaged."""
from collections.abc import Mapping
from dataclasses import replace

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.triage.checkpoints import Checkpoint, rows_by_run


def average_losses(features: FeatureTable, checkpoints: Mapping[str,
                                                                Checkpoint],
                   window: float) -> FeatureTable:
    """Mean losses over the last part of the training so far.

    A window that is a part of the training so far is short at the beginning,
    when losses fall fast, and a checkpoint without others nearby keeps its
    losses.

    Args:
        features (FeatureTable): Losses of M checkpoints, `(M, K)`.
        checkpoints (Mapping[str, Checkpoint]): Run, step and tokens of each.
        window (float): Part of the tokens, or steps, up to a checkpoint: by
            0.05 it gets the mean losses of all checkpoints of its run from
            95 % of its tokens on up to itself; by 0 it keeps its own.

    Returns:
        FeatureTable: `(M, K)`.

    Raises:
        InputError: The window is negative or larger than 1, or the tokens of
            only some checkpoints are known.
    """
    check_window(window)
    # Two checkpoints may have the same tokens: 0 is no narrow window.
    if not window:
        return features
    values = features.values.copy()
    described = [checkpoints[model] for model in features.models]
    for rows, done in rows_by_run(described).values():
        for i, row in enumerate(rows):
            near = rows[(done >= (1 - window) * done[i]) & (done <= done[i])]
            values[row] = features.values[near].mean(axis=0)
    return replace(features, values=values)


def check_window(window: float) -> None:
    """Refuse what is no part of a training.

    Raises:
        InputError: It is negative or larger than 1.
    """
    if not 0 <= window <= 1:
        raise InputError('window', 'a part of the training, 0 to 1',
                         f'{window:g}', 'Give 0.05 for the last 5 %.')
