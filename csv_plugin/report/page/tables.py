"""The scores of the page as the tables that other reports work on."""
import math

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.predictions import PredictionTable
from csv_plugin.report.page.summaries import Summary


def real_table(summary: Summary) -> AccuracyTable:
    """Real accuracies, NaN where not known; chance and items not told."""
    unknown = np.zeros(len(summary.benchmarks))
    return AccuracyTable(summary.models, summary.benchmarks,
                         _fractions(summary, summary.labels[0], 'real'),
                         unknown, unknown.astype(int))


def predicted_table(summary: Summary, label: str) -> PredictionTable:
    """What one predictor says, NaN where not known; level not told."""
    low, value, high = (
        _fractions(summary, label, name)
        for name in ('low', 'predicted', 'high'))
    extrapolated, in_sample = (
        _column(summary, label, name).astype(bool)
        for name in ('extrapolated', 'in_sample'))
    return PredictionTable(summary.models, summary.benchmarks, value, low,
                           high, extrapolated, in_sample, math.nan)


def _fractions(summary: Summary, label: str, name: str) -> NDArray:
    return _column(summary, label, name) / 100


def _column(summary: Summary, label: str, name: str) -> NDArray:
    """A field of all cells, None as NaN; float64, `(M, B)`."""
    return np.array([[
        getattr(summary.cells[label, model, benchmark], name)
        for benchmark in summary.benchmarks
    ] for model in summary.models], np.float64)
