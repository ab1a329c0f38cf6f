"""Write the files of a training: a predictor, tables and pictures."""
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

import numpy as np

from csv_plugin.core.formatting import counted
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import Study
from csv_plugin.extras.pictures import (capability_picture, capability_points,
                                        methods_picture, save, steps_picture)
from csv_plugin.io.collection import Collection
from csv_plugin.io.files import file_set
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import write_csv
from csv_plugin.lm.head.training_steps import SPLITS, TrainingSteps
from csv_plugin.report.leaderboard_tables import write_markdown
from csv_plugin.report.study_tables import (leaderboard, summary,
                                            write_predictions, write_report)

#: Names of files in the folder of a training, and of the folder of pictures.
PREDICTOR, PICTURES, STEPS = 'predictor.safetensors', 'pictures', 'steps.csv'
#: Name of the leaderboard of the models that were not fitted to.
LEADERBOARD = 'leaderboard.md'


def write_training(out: Path,
                   predictors: Mapping[str, Predictor],
                   collection: Collection,
                   command: str,
                   remarks: Sequence[str] = (),
                   wide: bool = False,
                   steps: Optional[TrainingSteps] = None) -> str:
    """Write a predictor, its tables and pictures (docs/formats.md).

    The first of `predictors` is the trained predictor, the second the
    baseline. `command` is the command line that the report shows, `remarks`
    are notes that the report gives on all benchmarks, and `steps` are the
    steps of Algorithm 2, if it was the training method. The models that the
    predictor was not fitted to are shown; without any, there is no
    leaderboard. Return the text of `summary`, for the screen.
    """
    trained = next(iter(predictors.values()))
    losses = trained.loss_table(collection.losses)
    study = Study.of(predictors, losses, collection.accuracies)
    fitted = trained.fit_models
    shown = [model for model in collection.info if model not in fitted]
    n_fitted = len(collection.info) - len(shown)
    title = f'Fitted to {counted(n_fitted, "model")}'
    if shown:
        title = f'{counted(len(shown), "model")} predicted from {n_fitted}'
    pictures = out / PICTURES
    # Files of an earlier training, which are removed.
    earlier = [
        *pictures.glob('*.png'),
        *pictures.glob('*.svg'),
        *out.glob(STEPS),
        *out.glob(LEADERBOARD),
    ]
    with file_set(out, *earlier):
        write_predictions(out, study, collection.info)
        if shown:
            write_markdown(out / LEADERBOARD, leaderboard(study, shown))
        write_report(out / 'report.md', study, shown, title, command, remarks)
        points = capability_points(trained, losses, collection.accuracies,
                                   collection.families)
        drawn = {'capability': capability_picture(points)}
        if shown:
            drawn['methods'] = methods_picture(study.predictions)
        if steps is not None:
            _write_steps(out / STEPS, steps)
            drawn['steps'] = steps_picture(steps, collection.families)
        for name, figure in drawn.items():
            for kind in ('png', 'svg'):
                save(figure, pictures / f'{name}.{kind}')
        save_predictor(trained, out / PREDICTOR)
    return summary(study, shown, title, wide)


def _write_steps(path: Path, steps: TrainingSteps) -> None:
    """Write the mean squared errors of every step, in squared fractions."""
    header = ['benchmark', 'step']
    errors = []
    for split in SPLITS:
        header.append(f'mse_{split}')
        errors.append(steps.mse(split))
    # The axes are splits, steps and benchmarks.
    by_step = np.array(errors)
    # After training on a benchmark has stopped, its curve is NaN.
    is_running = ~np.isnan(steps.curve.alpha)
    rows = []
    for b, benchmark in enumerate(steps.benchmarks):
        run_steps = np.flatnonzero(is_running[:, b])
        for step in run_steps.tolist():
            of_splits = by_step[:, step, b]
            rows.append((benchmark, step, *of_splits))
    write_csv(path, header, rows)
