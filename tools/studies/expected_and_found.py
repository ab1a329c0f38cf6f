"""Errors that predictors expect, beside those on models they have not seen."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core.held_out_errors import CrossValidatedError, ErrorsByReach

#: Kinds of predictions: up to what most of the fitted families reach, and
#: above.
WITHIN, BEYOND = 'within reach', 'beyond'


@dataclass(frozen=True)
class ExpectedAndFound:
    """Errors that a predictor expects beside those on models it has not seen.

    Args:
        exam (str): Of which they are.
        kind (str): `WITHIN` or `BEYOND` the reach of most fitted families.
        expected (CrossValidatedError): On families held out of the fit.
        found (Mapping[str, NDArray]): Squared errors of the predictions of
            this kind, by what models they are of.
    """
    exam: str
    kind: str
    expected: CrossValidatedError
    found: Mapping[str, NDArray[np.float64]]


def both_kinds(exam: str, expected: Optional[ErrorsByReach],
               predicted: NDArray, squares: NDArray,
               groups: Mapping[str, NDArray]) -> list[ExpectedAndFound]:
    """Of one exam; none where nothing is expected.

    Args:
        predicted (NDArray): Accuracies of all models, `(M,)`.
        squares (NDArray): Their squared errors, `(M,)`.
        groups (Mapping[str, NDArray]): Masks of the models that were not
            fitted to, `(M,)`, by what they are.
    """
    if expected is None:
        return []
    beyond = expected.is_beyond(predicted)
    kinds = ((WITHIN, expected.within, ~beyond), (BEYOND, expected.beyond,
                                                  beyond))
    return [
        ExpectedAndFound(exam, kind, error, {
            name: squares[mask & of_kind]
            for name, mask in groups.items()
        }) for kind, error, of_kind in kinds
    ]


def errors_by_kind(series: Sequence[str],
                   parts: Sequence[ExpectedAndFound]) -> str:
    """A row per series and one of all: errors x 1e-3 by kind, in Markdown.

    Means over the models and exams of a kind; what is expected counts once for
    each prediction it was expected of.
    """
    rows = [[name, *_of_both_kinds(parts, [name])] for name in series]
    rows.append(['all', *_of_both_kinds(parts, series)])
    columns = [
        f'{kind}: {what}' for kind in (WITHIN, BEYOND)
        for what in ('cross-validated', 'found', 'predictions')
    ]
    return tabulate(
        rows, ['series', *columns],
        tablefmt='pipe',
        floatfmt=('', '.2f', '.2f', '.0f', '.2f', '.2f', '.0f'))


def _of_both_kinds(parts: Sequence[ExpectedAndFound],
                   series: Sequence[str]) -> list[float]:
    """Of both kinds: errors expected and found, and how many predictions."""
    cells = []
    for kind in (WITHIN, BEYOND):
        squares = [(part.expected.mse, square) for part in parts
                   if part.kind == kind and not np.isnan(part.expected.mse)
                   for name in series for square in part.found.get(name, ())]
        means = 1e3 * np.mean(squares, axis=0) if squares else [np.nan] * 2
        cells += [*means, len(squares)]
    return cells
