"""Predictors that the user of a command names for the summary of a run."""
import os
from collections.abc import Sequence

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import PREDICTED
from csv_plugin.io.model_paths import split_name

#: Environment variable with files of predictors, perhaps with labels, such as
#: `old=/a/p.safetensors:new=/b/p.safetensors`.
VARIABLE = 'CSV_PREDICTORS'


def chosen_predictors(
        otherwise: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Labels and files of the predictors that `CSV_PREDICTORS` names.

    Args:
        otherwise (Sequence[tuple[str, str]]): Those where it is not set.

    Returns:
        list[tuple[str, str]]: Paths are absolute; a single file may come
        without a label.

    Raises:
        InputError: A label or a file is missing.
    """
    text = os.environ.get(VARIABLE, '')
    if not text:
        return list(otherwise)
    parts = text.split(os.pathsep)
    chosen = []
    for part in parts:
        label, path = split_name(part)
        if path == part and len(parts) == 1:
            label = PREDICTED
        if not label or not path:
            raise InputError(VARIABLE,
                             f'LABEL=FILE, and a {os.pathsep!r} between two',
                             repr(text), 'Name files of predictors.')
        chosen.append((label, os.path.abspath(path)))
    return chosen
