"""Observed accuracies of models that are predicted, from a table."""
import os
from collections.abc import Collection
from itertools import compress

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.core.formatting import shortened
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_tables import read_accuracy_columns, scores_alone


def read_known(path: FilePath,
               models: Collection[str],
               benchmarks: Collection[str],
               may_come: bool = False) -> tuple[AccuracyTable, list[str]]:
    """Read known accuracies of models that are predicted on benchmarks.

    Returns the accuracies of these models on these benchmarks, and notes on
    what else is in the table and does not count.

    Args:
        path (FilePath): Table with a column `model`, and one for each
            benchmark.
        models (Collection[str]): Models with losses.
        benchmarks (Collection[str]): Benchmarks of the predictor.
        may_come (bool): The table may have no accuracy that counts, because
            losses of its models come later.

    Raises:
        InputError: As in `read_accuracy_columns`; a name in the table is not
            among these but like one that the table lacks; or no accuracy
            counts.
    """
    file = os.fspath(path)
    table = scores_alone(*read_accuracy_columns(file))
    has_accuracy = ~np.isnan(table.values).all(axis=1)
    with_accuracy = list(compress(table.models, has_accuracy))
    notes = _unused(file, 'models with losses', with_accuracy, models)
    notes += _unused(file, 'benchmarks of the predictor', table.benchmarks,
                     benchmarks)
    kept_models = [name for name in with_accuracy if name in models]
    kept_benchmarks = [name for name in table.benchmarks if name in benchmarks]
    known = table.reindexed(kept_models, kept_benchmarks)
    if np.isnan(known.values).all() and not may_come:
        raise InputError(
            file, 'accuracies of models with losses, on benchmarks of the '
            'predictor', 'none', 'Correct the names.')
    return known, notes


def _unused(file: str, kind: str, names: Collection[str],
            wanted: Collection[str]) -> list[str]:
    """Return a note on names that do not count; refuse misspelt names."""
    unused = [name for name in names if name not in wanted]
    lacking = [name for name in wanted if name not in names]
    for name in unused:
        question = did_you_mean([name], lacking)
        if question:
            raise InputError(
                file, f'names of {kind}', repr(name),
                f'{question}Correct the name, or remove its accuracies.')
    if not unused:
        return []
    # Most characters of the names that a note lists.
    n_characters = 100
    return [
        f'{file}: names that are not among the {kind} do not count: '
        f'{shortened(", ".join(unused), n_characters)}.'
    ]
