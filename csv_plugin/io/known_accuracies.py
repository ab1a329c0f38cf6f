"""Observed accuracies of models that are predicted, from a table."""
import os
from collections.abc import Collection

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import did_you_mean
from csv_plugin.core.formatting import shortened
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_tables import read_accuracy_columns, scores_alone


def read_known(path: FilePath, models: Collection[str],
               benchmarks: Collection[str]) -> tuple[AccuracyTable, list[str]]:
    """Read known accuracies of models that are predicted on benchmarks.

    Returns the accuracies of these models on these benchmarks, and notes on
    what else is in the table and does not count.

    Raises:
        InputError: As in `read_accuracy_columns`, or the table has no accuracy
            of the models on the benchmarks.
    """
    file = os.fspath(path)
    table = scores_alone(*read_accuracy_columns(file))
    seen = ~np.isnan(table.values)
    models_of = [m for m, row in zip(table.models, seen) if row.any()]
    known = table.spread([m for m in models_of if m in models],
                         [b for b in table.benchmarks if b in benchmarks])
    if np.isnan(known.values).all():
        raise InputError(
            file, 'accuracies of models with losses, on benchmarks of the '
            'predictor', 'none',
            did_you_mean(table.models, models) +
            did_you_mean(table.benchmarks, benchmarks) + 'Correct the names.')
    notes = []
    for what, names, wanted in (
        ('of models without losses', models_of,
         models), ('on benchmarks that are not among those of the predictor',
                   table.benchmarks, benchmarks)):
        # Most characters of the names that a note lists.
        n_characters = 100
        rest = [name for name in names if name not in wanted]
        if rest:
            notes.append(f'{file}: known accuracies {what} do not count: '
                         f'{shortened(", ".join(rest), n_characters)}')
    return known, notes
