"""Predictors that hold no more columns than their predictions need."""
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, hstack

from csv_plugin.core.errors import InputError
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor


def condensed(predictor: Predictor) -> Predictor:
    """The same predictions from fewer columns.

    A benchmark's capability scores, that of the fit on all models and those
    of F fold models, are sums over its columns. Columns of the all-token
    loss are kept. Where a benchmark uses more than 1 + F others (directions
    of hidden states), the scores themselves become columns. Columns that
    nobody uses are dropped.

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
    wide = {
        name
        for name, rows in scores.items()
        if rows[:, ~kept].any(axis=0).sum() > len(rows)
    }
    for name in scores.keys() - wide:
        kept |= scores[name].any(axis=0)
    units = [unit for unit, keep in zip(predictor.units, kept) if keep]
    parts = [predictor.matrix[:, np.flatnonzero(kept)]]
    first = {}
    for name in sorted(wide):
        first[name] = len(units)
        units += [f'{name}: score {i}' for i in range(len(scores[name]))]
        parts.append(csc_array(predictor.matrix @ scores[name].T))
    uniform = np.zeros(len(units))
    uniform[:kept.sum()] = predictor.uniform[kept]

    def narrow(known: BenchmarkPredictor) -> BenchmarkPredictor:
        rows = scores[known.benchmark]
        narrowed = np.zeros((len(rows), len(units)))
        if known.benchmark in wide:
            start = first[known.benchmark]
            narrowed[:, start:start + len(rows)] = np.eye(len(rows))
        else:
            narrowed[:, :kept.sum()] = rows[:, kept]
        return _with_scores(known, narrowed)

    return replace(
        predictor,
        units=tuple(units),
        uniform=uniform,
        benchmarks=tuple(narrow(known) for known in predictor.benchmarks),
        matrix=csc_array(hstack(parts)))


def _scores(known: BenchmarkPredictor) -> NDArray:
    """Coefficients of the fit on all models, then of the fold models."""
    return np.vstack(
        [known.model.coefficients, known.intervals.folds.coefficients])


def _with_scores(known: BenchmarkPredictor,
                 rows: NDArray) -> BenchmarkPredictor:
    folds = replace(known.intervals.folds, coefficients=rows[1:])
    return replace(
        known,
        model=replace(known.model, coefficients=rows[0]),
        intervals=replace(known.intervals, folds=folds))
