"""Read the known accuracies of models whose other accuracies are predicted."""
import os
from collections.abc import Collection
from itertools import compress

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.core.formatting import shortened
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_tables import read_scores_alone


def read_known(path: FilePath,
               models: Collection[str],
               benchmarks: Collection[str],
               may_come: bool = False) -> tuple[AccuracyTable, list[str]]:
    """Read known accuracies of models whose other accuracies are predicted.

    Return a table of the accuracies of `models` on `benchmarks`, and notes
    that name the other models and benchmarks of the file, which are ignored.

    Args:
        path (FilePath): Table with a column `model`, and one column for each
            benchmark.
        models (Collection[str]): Models with losses.
        benchmarks (Collection[str]): Benchmarks of the predictor.
        may_come (bool): Whether losses of further models may be measured
            later. A table without any of `models` is then accepted.

    Raises:
        InputError: The file cannot be used (see `read_scores_alone`); an
            unknown name in it seems to be a misspelt name of a model or
            benchmark that is missing in it; or it has no accuracy of `models`
            on `benchmarks`, although `may_come` is False.
    """
    file = os.fspath(path)
    table = read_scores_alone(file)
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
            'predictor', 'none', 'Add accuracies, or correct the names.')
    return known, notes


def _unused(file: str, kind: str, names: Collection[str],
            wanted: Collection[str]) -> list[str]:
    """Return a note on names that are not `wanted`, if there are any.

    Raises:
        InputError: Such a name seems to be a misspelt name in `wanted`.
    """
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
    # The names in a note have at most this many characters.
    n_characters = 100
    return [
        f'{file}: names that are not among the {kind} do not count: '
        f'{shortened(", ".join(unused), n_characters)}.'
    ]
