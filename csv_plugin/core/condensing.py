"""Predictors that hold no more columns than their predictions need."""
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array, hstack

from csv_plugin.core.blocks import Columns
from csv_plugin.core.features import TokenColumns
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.targets import TargetTokens


def condensed(predictor: Predictor, targets: TargetTokens,
              columns: Columns) -> Predictor:
    """A predictor of token losses with no more columns than it needs.

    A benchmark's capability scores (Eq. 1), that of the fit on all models
    and those of F fold models, are sums over its columns. Columns of the
    all-token loss are kept. Where a benchmark uses more than 1 + F others
    (directions of hidden states), the scores themselves become columns.
    Columns that nobody uses are dropped.

    Args:
        predictor (Predictor): Fitted to features of these columns.
        targets (TargetTokens): The tokens that losses are mapped onto.
        columns (Columns): What the features were made by.

    Raises:
        InputError: If they are not those of the training.
    """
    scores = {b.benchmark: _scores(b) for b in predictor.benchmarks}
    kept = predictor.uniform != 0
    wide = [
        name for name, rows in scores.items()
        if rows[:, ~kept].any(axis=0).sum() > len(rows)
    ]
    for name in scores.keys() - set(wide):
        kept |= scores[name].any(axis=0)
    units = [unit for unit, keep in zip(predictor.units, kept) if keep]
    sums, places = [eye_array(len(kept), format='csc')[:, kept]], {}
    for name in wide:
        places[name] = len(units)
        units += [f'{name}: score {i}' for i in range(len(scores[name]))]
        sums.append(csc_array(scores[name].T))
    narrow = TokenColumns(
        tuple(units), csc_array(columns.combine(hstack(sums, format='csc'))),
        np.append(predictor.uniform[kept], np.zeros(len(units) - kept.sum())),
        columns.scored)
    return replace(
        predictor,
        units=narrow.units,
        uniform=narrow.uniform,
        benchmarks=tuple(
            _narrowed(known, kept, places.get(known.benchmark), len(units))
            for known in predictor.benchmarks)).with_tokens(targets, narrow)


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
