"""Pages of leaderboards, such as that of an OpenCompass run."""
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional, Union

import numpy as np
from matplotlib.figure import Figure

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.metric_names import no_accuracy
from csv_plugin.core.predicting import ModelColumns, predictable_benchmarks
from csv_plugin.core.predictions import Missing, check_labels, outliers
from csv_plugin.core.progress import Progress
from csv_plugin.extras.page.rendering import (HeatSection, Page, Picture,
                                              PredictorFile, heat_sections)
from csv_plugin.extras.pictures import (capability_picture, capability_points,
                                        methods_picture, save)
from csv_plugin.io.files import FilePath
from csv_plugin.io.json_files import read_json
from csv_plugin.io.model_tables import scores_alone
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import run_models
from csv_plugin.io.runs.run_scores import (LEADERBOARD, newest_summary,
                                           read_run_accuracies)
from csv_plugin.io.tables import read_models
from csv_plugin.io.text_sets import read_texts
from csv_plugin.report.leaderboards import Leaderboard, predict_run

_CAPABILITY = (
    'Accuracy against capability',
    'Each model at the exponent that its losses predict and at its real '
    'accuracy. The line is the curve of Eq. 2: full over the exponents of the '
    'training models, which need not be models of this run, and dashed '
    'beyond.')
_METHODS = ('Predicted against real',
            'Held-out models. On the diagonal a prediction is right; '
            'bars are the intervals.')


def run_page(work_dir: FilePath,
             predictors: Sequence[tuple[str, str]],
             models: Optional[FilePath] = None,
             texts: Optional[FilePath] = None,
             progress: Progress = iter) -> Page:
    """Predict the models of a run, beside their real accuracies.

    `predictors` are labels and files, the main one first. `models` is a table
    with families, and `texts` the validation set of the first predictor.
    `progress` wraps the models. Predictions are conditioned on the same known
    accuracies as those of the run's newest leaderboard.
    """
    info = read_models(models) if models else {}
    families = {name: model.family for name, model in info.items()}
    check_labels('predictors', [label for label, _ in predictors])
    sources = []
    for label, path in predictors:
        sources.append(PredictorFile(label, path, load_predictor(path)))
    for source in sources:
        source.predictor.check_tokens(f'predictor {source.label!r}')
    # Before the dumps, which take long: texts may be of another predictor.
    text_set = read_texts(texts) if texts else None
    heat_maps = heat_sections(sources[0].predictor, text_set)
    board, columns = _leaderboard(work_dir, sources, progress)
    return page_of(
        Path(work_dir).resolve().name, board, sources, columns, heat_maps,
        families)


def page_of(title: str, board: Leaderboard, sources: Sequence[PredictorFile],
            columns: ModelColumns, heat_maps: Union[list[HeatSection],
                                                    Missing],
            families: Mapping[str, str]) -> Page:
    """Return the page of a leaderboard.

    `columns` are what the first predictor of `sources` predicts from, and
    `families` those of the models, where known.
    """
    pictures = _pictures(board, sources[0], columns, families)
    return Page(title, board, outliers(board.predictions), sources, heat_maps,
                families, pictures)


def _leaderboard(work_dir: FilePath, sources: Sequence[PredictorFile],
                 progress: Progress) -> tuple[Leaderboard, ModelColumns]:
    """Return the leaderboard of a run, and columns of the first predictor."""
    predictors = {}
    paths = {}
    for source in sources:
        predictors[source.label] = source.predictor
        paths[source.label] = source.path
    benchmarks = predictable_benchmarks(predictors)
    real, other_metrics = read_run_accuracies(work_dir, benchmarks)
    path = newest_summary(work_dir, LEADERBOARD)
    summary = read_json(path, '') if path else {}
    # A summary may call models otherwise than their folders.
    names = summary.get('folders', {})
    folders = {model: names.get(model, model) for model in real}
    named = list(folders.values())
    for model in run_models(work_dir):
        if model not in named:
            folders[model] = model
    scores: dict[tuple[str, str], Union[float, Missing]] = {}
    for benchmark in benchmarks:
        reason = 'no score in the run'
        if benchmark in other_metrics:
            reason = no_accuracy(other_metrics[benchmark])
        for model in folders:
            of_model = real.get(model, {})
            scores[model, benchmark] = of_model.get(benchmark, Missing(reason))
    items = {}
    for model, benchmark, n_items in summary.get('items', ()):
        items[model, benchmark] = n_items
    board, columns = predict_run(work_dir, folders, predictors, paths, scores,
                                 progress, _known(summary), items)
    return board, columns[sources[0].label]


def _known(summary: Mapping[str, Any]) -> Optional[AccuracyTable]:
    """Accuracies that predictions of a leaderboard are conditioned on."""
    by_model = summary.get('known', {})
    # Each benchmark once, in the order of the file.
    names: dict[str, None] = {}
    for percents in by_model.values():
        names |= dict.fromkeys(percents)
    if not names:
        return None
    values = []
    for percents in by_model.values():
        values.append([percents.get(name, np.nan) for name in names])
    return scores_alone(list(by_model), list(names), np.array(values) / 100)


def _pictures(board: Leaderboard, source: PredictorFile, columns: ModelColumns,
              families: Mapping[str, str]) -> list[Picture]:
    """Pictures of the main predictor, of models with losses and accuracies.

    Models have the names of their folders, as in the training; a model
    without a known family is a family of its own.
    """
    predictor = source.predictor
    predictions = board.predictions.select(
        benchmarks=predictor.names, methods=[source.label])
    folders = tuple(board.folders[model] for model in predictions.models)
    observed = scores_alone(folders, predictions.benchmarks, predictions.real)
    tables = []
    for folder, accuracies in zip(folders, observed.values):
        table = columns.get(folder)
        if isinstance(table, FeatureTable) and np.isfinite(accuracies).any():
            tables.append(table)
    is_held_out = predictions.held_out(source.label).any()
    # Known accuracies took part in their own predictions, so a picture of
    # both would prove nothing.
    if not tables or (board.known is not None and not is_held_out):
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
    """A picture by its title and caption, without a ground of its own."""
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    with TemporaryDirectory() as folder:
        path = Path(folder, 'picture.svg')
        save(figure, path)
        return Picture(*words, path.read_text('utf-8'))
