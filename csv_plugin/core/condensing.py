"""Predictors that hold no more columns than their predictions need."""
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array, hstack

from csv_plugin.core.blocks import LossColumns
from csv_plugin.core.features import Columns, TokenColumns
from csv_plugin.core.predictor import BenchmarkPredictor, Predictor
from csv_plugin.core.targets import TargetTokens


def condensed(predictor: Predictor, targets: TargetTokens,
              source: LossColumns) -> Predictor:
    """A predictor of token losses with no more columns than it needs.

    Each benchmark has 1 + F capability scores, of the fit on all models and
    of its F fold models, and each is a weighted sum of the columns. Columns
    of the all-token loss are kept. Where a benchmark uses more than 1 + F
    further columns (directions of hidden states), its scores become columns
    in their place. Columns that no benchmark uses are dropped.

    Args:
        predictor (Predictor): Fitted to features of these columns.
        targets (TargetTokens): The tokens that losses are mapped onto.
        source (LossColumns): What the features were made by.

    Raises:
        InputError: The columns or the tokens are not those of the training.
    """
    source.columns.check_same(predictor.columns)
    scores = {part.benchmark: _scores(part) for part in predictor.benchmarks}
    wide_columns = predictor.columns
    kept = wide_columns.uniform != 0
    wide = [
        name for name, rows in scores.items()
        if rows[:, ~kept].any(axis=0).sum() > len(rows)
        and not _has_logs(predictor.benchmark(name))
    ]
    for part in predictor.benchmarks:
        if part.benchmark not in wide:
            kept |= _used(part)
    units = [unit for unit, keep in zip(wide_columns.units, kept) if keep]
    sums, places = [eye_array(len(kept), format='csc')[:, kept]], {}
    for name in wide:
        places[name] = len(units)
        units += [f'{name}: score {i}' for i in range(len(scores[name]))]
        sums.append(csc_array(scores[name].T))
    uniform = np.append(wide_columns.uniform[kept],
                        np.zeros(len(units) - kept.sum()))
    columns = Columns(
        tuple(units), uniform, wide_columns.fingerprint, wide_columns.scored)
    matrix = csc_array(source.combine(hstack(sums, format='csc')))
    narrow = replace(
        predictor,
        columns=columns,
        benchmarks=tuple(
            _narrowed(part, kept, places.get(part.benchmark), len(units))
            for part in predictor.benchmarks))
    return narrow.with_tokens(targets, TokenColumns(columns, matrix))


def _scores(part: BenchmarkPredictor) -> NDArray:
    """Coefficients of the fit on all models, then of the fold models."""
    return np.vstack(
        [part.model.coefficients, part.intervals.folds.coefficients])


def _has_logs(part: BenchmarkPredictor) -> bool:
    """Whether the scores are no sums of the columns."""
    return part.model.logs is not None


def _used(part: BenchmarkPredictor) -> NDArray[np.bool_]:
    """Columns that count, `(K,)`."""
    rows = _scores(part)
    if part.model.logs and part.intervals.folds.logs:
        rows = np.vstack([
            rows, part.model.logs.coefficients,
            part.intervals.folds.logs.coefficients
        ])
    return rows.any(axis=0)


def _narrowed(part: BenchmarkPredictor, kept: NDArray, place: Optional[int],
              width: int) -> BenchmarkPredictor:
    """The part on the new columns: kept ones, or its scores from `place`."""
    model, folds = part.model, part.intervals.folds
    if place is None:
        places = np.arange(kept.sum())
        model = model.on_columns(kept, places, width)
        folds = folds.on_columns(kept, places, width)
    else:
        new = np.eye(1 + len(folds.coefficients), width, place)
        model = replace(model, coefficients=new[0])
        folds = replace(folds, coefficients=new[1:])
    # Witnesses use columns of the all-token loss only, which are kept.
    return replace(
        part,
        model=model,
        intervals=replace(part.intervals, folds=folds),
        witnesses=tuple(
            replace(
                witness,
                model=witness.model.on_columns(kept, np.arange(
                    kept.sum()), width)) for witness in part.witnesses))
