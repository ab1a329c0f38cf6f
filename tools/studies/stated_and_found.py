"""Errors that predictors state, beside those on models they have not seen."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core.stated_errors import ErrorsByReach, StatedError

#: Kinds of predictions: up to what most of the fitted families reach, and
#: above.
WITHIN, BEYOND = 'within reach', 'beyond'


@dataclass(frozen=True)
class StatedAndFound:
    """Errors that a predictor states beside those on models it has not seen.

    Args:
        exam (str): Of which they are.
        kind (str): `WITHIN` or `BEYOND` the reach of most fitted families.
        stated (StatedError): On families that were held out of the fit.
        found (Mapping[str, NDArray]): Squared errors of the predictions of
            this kind, by what models they are of.
    """
    exam: str
    kind: str
    stated: StatedError
    found: Mapping[str, NDArray[np.float64]]


def both_kinds(exam: str, stated: Optional[ErrorsByReach], predicted: NDArray,
               squares: NDArray,
               groups: Mapping[str, NDArray]) -> list[StatedAndFound]:
    """Of one exam; none where nothing is stated.

    Args:
        exam (str): Its name.
        stated (Optional[ErrorsByReach]): Of the fit.
        predicted (NDArray): Accuracies of all models, `(M,)`.
        squares (NDArray): Their squared errors, `(M,)`.
        groups (Mapping[str, NDArray]): Masks of the models that were not
            fitted to, `(M,)`, by what they are.
    """
    if stated is None:
        return []
    beyond = stated.is_beyond(predicted)
    kinds = ((WITHIN, stated.within, ~beyond), (BEYOND, stated.beyond, beyond))
    return [
        StatedAndFound(exam, kind, error, {
            name: squares[mask & of_kind]
            for name, mask in groups.items()
        }) for kind, error, of_kind in kinds
    ]


def errors_by_kind(series: Sequence[str],
                   parts: Sequence[StatedAndFound]) -> str:
    """A row per series and one of all: errors x 1e-3 by kind, in Markdown.

    Means over the models and exams of a kind; what is stated counts once for
    each prediction it was stated of.

    Args:
        series (Sequence[str]): Names in `StatedAndFound.found`.
        parts (Sequence[StatedAndFound]): Of every exam and kind.
    """
    rows = [[name, *_of_both_kinds(parts, [name])] for name in series]
    rows.append(['all', *_of_both_kinds(parts, series)])
    columns = [
        f'{kind}: {what}' for kind in (WITHIN, BEYOND)
        for what in ('stated', 'found', 'predictions')
    ]
    return tabulate(
        rows, ['series', *columns],
        tablefmt='pipe',
        floatfmt=('', '.2f', '.2f', '.0f', '.2f', '.2f', '.0f'))


def _of_both_kinds(parts: Sequence[StatedAndFound],
                   series: Sequence[str]) -> list[float]:
    """Of both kinds: errors stated and found, and how many predictions."""
    cells = []
    for kind in (WITHIN, BEYOND):
        squares = [(part.stated.mse, square) for part in parts
                   if part.kind == kind and not np.isnan(part.stated.mse)
                   for name in series for square in part.found.get(name, ())]
        means = 1e3 * np.mean(squares, axis=0) if squares else [np.nan] * 2
        cells += [*means, len(squares)]
    return cells
