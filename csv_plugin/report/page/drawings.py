"""Pictures of a run."""
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure

from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import Study
from csv_plugin.report.outliers import outliers
from csv_plugin.report.page.summaries import Summary
from csv_plugin.report.page.tables import real_table
from csv_plugin.report.pictures import (capability_picture, capability_points,
                                        coverage_by_level, coverage_picture,
                                        methods_picture, outliers_picture,
                                        save)
from csv_plugin.report.run_predictions import RunPredictions

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


def run_pictures(summary: Summary, found: RunPredictions,
                 families: Mapping[str, str]) -> list[Picture]:
    """What one predictor says about the models of a run, drawn.

    Args:
        summary (Summary): Scores of the run.
        found (RunPredictions): The predictions of these models.
        families (Mapping[str, str]): Family by model; a model without one
            is a family of its own.

    Returns:
        list[Picture]: None if no model has both losses and a score.
    """
    predictor = found.predictor
    assert isinstance(predictor, Predictor)
    names = {folder: model for model, folder in summary.folders.items()}
    table = real_table(summary).select_benchmarks(found.benchmarks)
    # Models are fitted on under the names of their folders.
    real = replace(
        table, models=tuple(summary.folders[model] for model in table.models))
    columns = [
        found.features[model]
        for model, scores in zip(real.models, real.values)
        if np.isfinite(scores).any()
    ]
    known = [one for one in columns if not isinstance(one, str)]
    if not known:
        return []
    features = replace(
        known[0],
        models=tuple(model for one in known for model in one.models),
        values=np.concatenate([one.values for one in known]))
    points = capability_points(predictor, features, real, {
        **names,
        **families
    })
    pictures = [Picture(*_CAPABILITY, _svg(capability_picture(points)))]
    if any((one.drawn & ~one.fitted).any() for one in points):
        table = predictor.predict(features,
                                  predictor.fingerprint).on(real.benchmarks)
        study = Study(predictor, {found.label: table},
                      real.select(features.models))
        pictures.append(Picture(*_METHODS, _svg(methods_picture(study))))
        coverage = coverage_by_level(predictor, features, real)
        pictures.append(Picture(*_COVERAGE, _svg(coverage_picture(coverage))))
        if far := outliers(table, real)[:_MOST_OUTLIERS]:
            pictures.append(Picture(*_OUTLIERS, _svg(outliers_picture(far))))
    return pictures


def _svg(figure: Figure) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder, 'picture.svg')
        save(figure, path)
        return path.read_text('utf-8')
