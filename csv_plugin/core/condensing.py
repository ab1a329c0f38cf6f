"""Predictors that hold no more columns than their predictions need."""
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, hstack

from csv_plugin.core.errors import InputError
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor


def condensed(predictor: Predictor) -> Predictor:
    """The same predictions from fewer columns.

    A benchmark's capability scores (Eq. 1), that of the fit on all models
    and those of F fold models, are sums over its columns. Columns of the
    all-token loss are kept. Where a benchmark uses more than 1 + F others
    (directions of hidden states), the scores themselves become columns.
    Columns that nobody uses are dropped.

    Args:
        predictor (Predictor): Made from tokens.

    Raises:
        InputError: If it was made from a table.
    """
    if predictor.matrix is None:
        raise InputError('predictor', 'one that was made from tokens',
                         'columns of a table', 'Leave it as it is.')
    scores = {b.benchmark: _scores(b) for b in predictor.benchmarks}
    kept = predictor.uniform != 0
    wide = [
        name for name, rows in scores.items()
        if rows[:, ~kept].any(axis=0).sum() > len(rows)
    ]
    for name in scores.keys() - set(wide):
        kept |= scores[name].any(axis=0)
    units = [unit for unit, keep in zip(predictor.units, kept) if keep]
    parts, places = [predictor.matrix[:, np.flatnonzero(kept)]], {}
    for name in wide:
        places[name] = len(units)
        units += [f'{name}: score {i}' for i in range(len(scores[name]))]
        parts.append(csc_array(predictor.matrix @ scores[name].T))
    return replace(
        predictor,
        units=tuple(units),
        uniform=np.append(predictor.uniform[kept],
                          np.zeros(len(units) - kept.sum())),
        benchmarks=tuple(
            _narrowed(known, kept, places.get(known.benchmark), len(units))
            for known in predictor.benchmarks),
        matrix=csc_array(hstack(parts)))


def _scores(known: BenchmarkPredictor) -> NDArray:
    """Coefficients of the fit on all models, then of the fold models."""
    return np.vstack(
        [known.model.coefficients, known.intervals.folds.coefficients])


def _narrowed(known: BenchmarkPredictor, kept: NDArray, place: Optional[int],
              width: int) -> BenchmarkPredictor:
    """On the new columns: the kept ones, or its own scores from `place`."""
    rows = _scores(known)
    new = np.zeros((len(rows), width))
    if place is None:
        new[:, :kept.sum()] = rows[:, kept]
    else:
        new[:, place:place + len(rows)] = np.eye(len(rows))
    folds = replace(known.intervals.folds, coefficients=new[1:])
    return replace(
        known,
        model=replace(known.model, coefficients=new[0]),
        intervals=replace(known.intervals, folds=folds))
