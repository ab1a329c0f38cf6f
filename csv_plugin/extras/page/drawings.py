"""Pictures of a run as SVG, each with a heading and a caption."""
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Optional

from matplotlib.figure import Figure

from csv_plugin.core.outliers import Outlier
from csv_plugin.core.predictions import Predictions
from csv_plugin.extras.capability_points import CapabilityPoints
from csv_plugin.extras.coverage import Coverage
from csv_plugin.extras.pictures import (capability_picture, coverage_picture,
                                        methods_picture, outliers_picture,
                                        save)

_CAPABILITY = (
    'Accuracy against capability score',
    'Each model at its weighted loss and its real accuracy. The line is what '
    'the predictor would say: full over the scores of the models fitted on, '
    'which need not be models of this run, and dashed beyond.')
_METHODS = (
    'Predicted against real',
    'Models that were not fitted on. On the diagonal a prediction is right; '
    'bars are the intervals.')
_OUTLIERS = (
    'Far from the prediction',
    'Real accuracies outside their intervals, the farthest first; what that '
    'may mean stands below, under outliers.')
_MOST_OUTLIERS = 20
#: Fewer models make no picture.
_LEAST_MODELS = 3
_COVERAGE = (
    'How often the intervals hold',
    'The share of intervals, of models not fitted on, that hold the real '
    'accuracy, by the level of the intervals. Right intervals stay near the '
    'diagonal; the band is where chance alone would leave them.')


@dataclass(frozen=True)
class Picture:
    """A drawing.

    Args:
        title (str): Its heading.
        caption (str): What it shows and how to read it.
        svg (str): The drawing itself.
    """
    title: str
    caption: str
    svg: str


def run_pictures(points: Sequence[CapabilityPoints], predictions: Predictions,
                 coverage: Optional[Coverage],
                 outliers: Sequence[Outlier]) -> list[Picture]:
    """Draw the predictions of one predictor for the models of a run.

    Of one model or two there are no pictures but that of outliers.

    Args:
        points (Sequence[CapabilityPoints]): Models with losses and real
            accuracies, by benchmark.
        predictions (Predictions): Of this predictor alone, beside the real
            accuracies.
        coverage (Optional[Coverage]): Of its intervals; None if no model
            was held out, so that only the points can be drawn.
        outliers (Sequence[Outlier]): Accuracies that it does not explain,
            the farthest first.
    """
    pictures = []
    if max(part.drawn.sum() for part in points) >= _LEAST_MODELS:
        pictures.append(_drawn(_CAPABILITY, capability_picture(points)))
    if coverage is not None and coverage.n_models.max() >= _LEAST_MODELS:
        pictures += [
            _drawn(_METHODS, methods_picture(predictions)),
            _drawn(_COVERAGE, coverage_picture(coverage))
        ]
    if outliers:
        figure = outliers_picture(outliers[:_MOST_OUTLIERS])
        pictures.append(_drawn(_OUTLIERS, figure))
    return pictures


def _drawn(words: tuple[str, str], figure: Figure) -> Picture:
    """A picture by its title and caption."""
    with TemporaryDirectory() as folder:
        path = Path(folder, 'picture.svg')
        save(figure, path)
        return Picture(*words, path.read_text('utf-8'))
