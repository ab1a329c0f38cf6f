"""The files of a training: a predictor, tables and pictures."""
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np
from matplotlib.figure import Figure

from csv_plugin.core.cells import counted
from csv_plugin.core.losses import LossTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import Study
from csv_plugin.core.training_curve import TrainingCurve
from csv_plugin.extras.capability_points import (CapabilityPoints,
                                                 capability_points)
from csv_plugin.extras.pictures import (capability_picture,
                                        convergence_picture, methods_picture,
                                        save, training_curve_picture)
from csv_plugin.io.collection import Collection
from csv_plugin.io.files import FilePath
from csv_plugin.io.predictors import save_predictor
from csv_plugin.io.tables import write_csv
from csv_plugin.report.study_tables import (summary, write_leaderboard,
                                            write_predictions, write_report)

PREDICTOR, CURVE = 'predictor.safetensors', 'training_curve.csv'
PICTURES = 'pictures'
#: The methods that pictures show before and after the training.
BEFORE, AFTER = 'all-token loss', 'capability score'
CURVE_COLUMNS = ('benchmark', 'step', 'train_mse', 'held_out_mse', 'kept')


@dataclass(frozen=True, eq=False)
class TrainingOutcome:
    """A predictor beside its baselines, on all models of a collection.

    Args:
        study (Study): Predictions of all models.
        points (Sequence[tuple[str, Sequence[CapabilityPoints]]]): Name and
            points of each step to show, such as `BEFORE` and `AFTER`; the
            predictor of the study is the last step.
        splits (Mapping[str, str]): Split of each model.
        main (Sequence[str]): Benchmarks of the means.
        curve (Optional[TrainingCurve]): Errors in the course of the
            training; None if it had no steps.
        remarks (Sequence[str]): What the report notes of all benchmarks.
    """
    study: Study
    points: Sequence[tuple[str, Sequence[CapabilityPoints]]]
    splits: Mapping[str, str]
    main: Sequence[str]
    curve: Optional[TrainingCurve]
    remarks: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        predictors: Mapping[str, Predictor],
        losses: LossTable,
        collection: Collection,
        curve: Optional[TrainingCurve],
        remarks: Sequence[str] = ()
    ) -> 'TrainingOutcome':
        """The outcome on all models of a collection.

        Args:
            predictors (Mapping[str, Predictor]): The one that was trained,
                then its baselines, by method.
            losses (LossTable): Of all models.
            collection (Collection): Their accuracies, families and splits.
            curve (Optional[TrainingCurve]): As in the class.
            remarks (Sequence[str]): As in the class.
        """
        accuracies, families = collection.accuracies, collection.families
        trained = next(iter(predictors.values()))
        points = [(step, capability_points(shown, losses, accuracies,
                                           families))
                  for step, shown in ((BEFORE, predictors['uniform']),
                                      (AFTER, trained))]
        splits = {model: row.split for model, row in collection.info.items()}
        main = [
            name for name in accuracies.benchmarks
            if name not in collection.side
        ]
        return cls(
            Study.of(predictors, losses, accuracies), points, splits, main,
            curve, remarks)

    def write(self,
              out: Path,
              command: str,
              verbose: bool = False,
              told: Container[str] = ()) -> str:
        """Write everything; see docs/formats.md.

        Args:
            out (Path): Folder to write to.
            command (str): The command that reproduces the files.
            verbose (bool): As in `learning_notes`.
            told (Container[str]): As there.

        Returns:
            str: As `summary` of the study.
        """
        study = self.study
        fitted = {m for b in study.predictor.benchmarks for m in b.fit_models}
        shown = [model for model in self.splits if model not in fitted]
        n_fitted = len(self.splits) - len(shown)
        title = f'{counted(len(shown), "model")} predicted from {n_fitted}'
        _remove_earlier(out)
        write_predictions(out / 'predictions.csv', study, self.splits)
        write_leaderboard(out / 'leaderboard.md', study, shown, self.main)
        write_report(out / 'report.md', study, self.main, title, command,
                     self.remarks, verbose)
        if self.curve:
            write_curve(out / CURVE, self.curve)
        (out / PICTURES).mkdir(exist_ok=True)
        for name, figure in self._pictures(bool(shown)):
            for kind in ('png', 'svg'):
                save(figure, out / PICTURES / f'{name}.{kind}')
        # The last file: where there is a predictor, all the rest is there.
        save_predictor(study.predictor, out / PREDICTOR)
        return summary(study, self.main, title, verbose, told)

    def _pictures(self, held_out: bool) -> Iterator[tuple[str, Figure]]:
        """Names and figures; the paper's Figures 4, 6 and 7."""
        yield 'capability', capability_picture(self.points[-1][1])
        yield 'convergence', convergence_picture(self.points)
        if self.curve:
            yield 'training_curve', training_curve_picture(self.curve)
        if held_out:
            yield 'methods', methods_picture(self.study.predictions)


def write_curve(path: FilePath, curve: TrainingCurve) -> None:
    """Write a curve as CSV, a row per benchmark and step.

    Args:
        path (FilePath): The file to create or replace.
        curve (TrainingCurve): Its columns are `CURVE_COLUMNS`, squared
            fractions; `kept` is 1 at the step that is kept.
    """
    rows = ((name, step, curve.train[s, b], curve.validation[s, b],
             int(s == curve.best[b]))
            for b, name in enumerate(curve.benchmarks)
            for s, step in enumerate(curve.x)
            if not np.isnan(curve.train[s, b]))
    write_csv(path, CURVE_COLUMNS, rows)


def _remove_earlier(out: Path) -> None:
    """Remove files of an earlier training that this one may not replace."""
    for file in (out / PREDICTOR, out / CURVE, *(out / PICTURES).glob('*.png'),
                 *(out / PICTURES).glob('*.svg')):
        file.unlink(missing_ok=True)
