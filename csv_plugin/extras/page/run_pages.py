"""Make the page of a leaderboard, such as the one of an OpenCompass run."""
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Optional

import numpy as np
from matplotlib.figure import Figure

from csv_plugin.core.features import FeatureTable
from csv_plugin.core.overall import mean_misses
from csv_plugin.core.predicting import ModelColumns
from csv_plugin.core.predictions import check_labels, farthest_first, misses
from csv_plugin.core.progress import Progress
from csv_plugin.extras.page.rendering import (HeatMaps, Page, Picture,
                                              PredictorFile, heat_sections)
from csv_plugin.extras.pictures import (capability_picture, capability_points,
                                        methods_picture, save)
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_tables import scores_alone
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.tables import read_models
from csv_plugin.io.text_sets import read_texts
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.run_leaderboards import run_leaderboard

_CAPABILITY = (
    'Accuracy against capability',
    'Each model at the exponent that its losses predict and at its observed '
    'accuracy. The line is the curve of Eq. 2: solid over the exponents of '
    'the training models, which need not be models of this run, and dashed '
    'beyond.')
_METHODS = ('Predicted against observed',
            'Held-out models. On the diagonal a prediction is right; '
            'bars are the intervals, which may go on beyond a panel.')


def run_page(work_dir: FilePath,
             predictors: Sequence[tuple[str, str]],
             models: Optional[FilePath] = None,
             texts: Optional[FilePath] = None,
             progress: Progress = iter) -> Page:
    """Return the page of an OpenCompass run.

    `work_dir` is the work folder of the run. `predictors` are pairs of a label
    and a file, the main predictor first. `models` is a table with the models'
    families, and `texts` the validation set of the main predictor. `progress`
    wraps the iteration over the models. Predictions are conditioned on the
    same known accuracies as in the newest leaderboard of the run.
    """
    info = read_models(models) if models else {}
    families = {name: model.family for name, model in info.items()}
    check_labels('predictors', [label for label, _ in predictors])
    sources = []
    for label, path in predictors:
        predictor = load_predictor(path)
        sources.append(PredictorFile(label, path, predictor))
    for source in sources:
        source.predictor.check_tokens(f'predictor {source.label!r}')
    # The heat maps are made before the dumps are read, which takes long,
    # because texts of another predictor are an error.
    text_set = read_texts(texts) if texts else None
    heat_maps = heat_sections(sources[0].predictor, text_set)
    predictors_by_label = {}
    files = {}
    for source in sources:
        predictors_by_label[source.label] = source.predictor
        files[source.label] = source.path
    board, columns = run_leaderboard(
        work_dir,
        predictors_by_label,
        files,
        progress,
        families=families or None)
    title = Path(work_dir).resolve().name
    main_label = sources[0].label
    return page_of(title, board, sources, columns[main_label], heat_maps,
                   families)


def page_of(title: str, board: Leaderboard, sources: Sequence[PredictorFile],
            columns: ModelColumns, heat_maps: HeatMaps,
            families: Mapping[str, str]) -> Page:
    """Return the page of a leaderboard.

    `columns` are the losses, by model, from which the first predictor of
    `sources` predicts. `families` maps models to their known families.
    """
    pictures = _pictures(board, sources[0], columns, families)
    missed = [
        *mean_misses(board.overall, board.predictions,
                     board.predictions.methods[0]),
        *misses(board.predictions),
    ]
    return Page(title, board, farthest_first(missed), sources, heat_maps,
                families, pictures)


def _pictures(board: Leaderboard, source: PredictorFile, columns: ModelColumns,
              families: Mapping[str, str]) -> list[Picture]:
    """Draw pictures of the main predictor.

    They show the models that have both losses and observed accuracies. The
    keys of `columns` and `families` are the names of the models' folders in
    the run. A model without a known family is a family of its own.
    """
    predictor = source.predictor
    predictions = board.predictions.select(
        benchmarks=predictor.names, methods=[source.label])
    folders = [board.folders[model] for model in predictions.models]
    observed = scores_alone(
        tuple(folders), predictions.benchmarks, predictions.observed)
    tables = []
    for folder, accuracies in zip(folders, observed.values):
        table = columns.get(folder)
        was_run = np.isfinite(accuracies).any()
        if isinstance(table, FeatureTable) and was_run:
            tables.append(table)
    is_held_out = predictions.held_out(source.label).any()
    # With known accuracies and without held-out models, the predictions were
    # conditioned on the observed accuracies: a picture of both would prove
    # nothing.
    proves_nothing = board.known is not None and not is_held_out
    if not tables or proves_nothing:
        return []
    features = FeatureTable.concatenate(tables)
    # By default, a model is a family with the name that the page shows.
    family_of = {folder: model for model, folder in board.folders.items()}
    family_of |= families
    points = capability_points(predictor, features, observed, family_of)
    pictures = [_drawn(_CAPABILITY, capability_picture(points))]
    if is_held_out:
        pictures.append(_drawn(_METHODS, methods_picture(predictions)))
    return pictures


def _drawn(words: tuple[str, str], figure: Figure) -> Picture:
    """Return a figure as a picture with a transparent background.

    `words` are the title and the caption.
    """
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    with TemporaryDirectory() as folder:
        path = Path(folder, 'picture.svg')
        save(figure, path)
        return Picture(*words, path.read_text('utf-8'))
