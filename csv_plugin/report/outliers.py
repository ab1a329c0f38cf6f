"""Models whose real accuracy is far from the prediction."""
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tabulate import tabulate

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.predictions import PredictionTable
from csv_plugin.report.markdown import table_cell

EXPLANATION = """\
`distance` is how far the real accuracy lies from the prediction, in halves of
the interval on that side: beyond 1 it lies outside. Of {level:.0%} intervals
about {rest:.0%} miss by chance alone, so many models on many benchmarks always
give some. A row is a reason to look, never a proof.

* Far above: the benchmark, or something much like it, may be in the training
  data (contamination); but the model may as well have a capability that the
  texts do not show, or have been tuned to the form of the questions.
* Far below: the evaluation may have failed: a wrong chat template or prompt,
  answers that the parser did not find, outputs cut off. It may also be a
  weakness that the losses do not show."""


@dataclass(frozen=True)
class Outlier:
    """A model's accuracy on a benchmark that its losses do not explain.

    Args:
        model (str): Its name.
        benchmark (str): Where it stands out.
        observed (float): Real accuracy, a fraction.
        predicted (float): Predicted accuracy, a fraction.
        low (float): Lower end of the interval.
        high (float): Upper end.
        distance (float): Observed minus predicted, in halves of the
            interval on that side; positive above. Infinite if that half
            has no width.
    """
    model: str
    benchmark: str
    observed: float
    predicted: float
    low: float
    high: float
    distance: float


def outliers(predictions: PredictionTable,
             observed: AccuracyTable,
             limit: float = 1.0) -> list[Outlier]:
    """Cells beyond a limit, the farthest first.

    Models whose accuracy was fitted on do not count, as their prediction
    has seen it.

    Args:
        predictions (PredictionTable): Of M models.
        observed (AccuracyTable): Of the same models and more, in any order.
        limit (float): Least distance to be listed, 1 = the end of the
            interval.

    Raises:
        InputError: If `observed` lacks a model or a benchmark.
    """
    real = observed.select(predictions.models).select_benchmarks(
        predictions.benchmarks)
    candidates = ~predictions.in_sample & np.isfinite(real.values)
    found = [
        _outlier(predictions, real, int(m), int(b))
        for m, b in np.argwhere(candidates)
    ]
    return sorted((one for one in found if abs(one.distance) > limit),
                  key=lambda one: -abs(one.distance))


def _outlier(table: PredictionTable, real: AccuracyTable, m: int,
             b: int) -> Outlier:
    predicted, observed = float(table.values[m, b]), float(real.values[m, b])
    low, high = float(table.low[m, b]), float(table.high[m, b])
    difference = observed - predicted
    half = high - predicted if difference > 0 else predicted - low
    if half > 0 or math.isnan(half):
        distance = difference / half
    else:
        distance = math.copysign(math.inf, difference) if difference else 0.0
    return Outlier(table.models[m], table.benchmarks[b], observed, predicted,
                   low, high, distance)


def as_markdown(found: Sequence[Outlier], level: float) -> str:
    """A table in percent, and what it means and does not mean.

    Args:
        found (Sequence[Outlier]): Rows, in this order.
        level (float): Of the intervals.
    """
    if not found:
        return ('No real accuracy lies far from its prediction. That alone '
                'proves nothing either.')
    rows = [[
        table_cell(one.model),
        table_cell(one.benchmark), 'above' if one.distance > 0 else 'below',
        f'{one.distance:+.2f}', f'{100 * one.observed:.1f}',
        f'{100 * one.predicted:.1f}',
        f'{100 * one.low:.1f} - {100 * one.high:.1f}'
    ] for one in found]
    header = [
        'model', 'benchmark', 'side', 'distance', 'real', 'predicted',
        'interval'
    ]
    align = ['left', 'left', 'left', *['right'] * 4]
    table = tabulate(rows, header, tablefmt='pipe', colalign=align,
                     disable_numparse=True)  # yapf: disable
    return f'{table}\n\n{EXPLANATION.format(level=level, rest=1 - level)}'
