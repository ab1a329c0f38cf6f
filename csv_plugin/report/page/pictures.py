"""Pictures of a run."""
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure

from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.run_dumps import read_run_dump
from csv_plugin.report.page.summaries import Summary
from csv_plugin.report.page.tables import real_table
from csv_plugin.report.pictures import (capability_picture, capability_points,
                                        coverage_by_level, coverage_picture,
                                        save)
from csv_plugin.report.run_predictions import RunPredictions

_CAPABILITY = (
    'Accuracy against capability score',
    'Each model at its weighted loss and its real accuracy. The line is what '
    'the predictor would say; it is full where models were fitted on.')
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


def run_pictures(work_dir: str | os.PathLike[str], summary: Summary,
                 found: RunPredictions,
                 families: Mapping[str, str]) -> list[Picture]:
    """What one predictor says about the models of a run, drawn.

    Args:
        work_dir (str | os.PathLike[str]): Folder of the run.
        summary (Summary): Its scores.
        found (RunPredictions): The predictions of these models.
        families (Mapping[str, str]): Family by model; a model without one
            is a family of its own.

    Returns:
        list[Picture]: None if no model has both losses and a score.
    """
    predictor, real = found.predictor, real_table(summary)
    assert isinstance(predictor, Predictor)
    models = [
        model for model, scores in zip(summary.models, real.values) if
        not isinstance(found.tables[model], str) and np.isfinite(scores).any()
    ]
    if not models:
        return []
    features = _features(work_dir, predictor, models)
    own = dict(zip(models, models))
    points = capability_points(predictor, features, real, {**own, **families})
    pictures = [Picture(*_CAPABILITY, _svg(capability_picture(points)))]
    if any((one.drawn & ~one.fitted).any() for one in points):
        coverage = coverage_by_level(predictor, features, real)
        pictures.append(Picture(*_COVERAGE, _svg(coverage_picture(coverage))))
    return pictures


def _features(work_dir: str | os.PathLike[str], predictor: Predictor,
              models: list[str]) -> FeatureTable:
    """Of all models, whose losses are read one after the other."""
    fingerprint = predictor.fingerprint
    tables = [
        predictor.features(
            {model: read_run_dump(work_dir, model, fingerprint).texts},
            fingerprint) for model in models
    ]
    return replace(
        tables[0],
        models=tuple(models),
        values=np.concatenate([table.values for table in tables]))


def _svg(figure: Figure) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder, 'picture.svg')
        save(figure, path)
        return path.read_text('utf-8')
