"""What a training leaves: a predictor, tables and pictures."""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from matplotlib.figure import Figure

from csv_plugin.core.predictor import Predictor
from csv_plugin.core.study import Study
from csv_plugin.io.collection import Collection
from csv_plugin.io.predictors import save_predictor
from csv_plugin.report.pictures import (CapabilityPoints, TrainingCurve,
                                        capability_picture, capability_points,
                                        convergence_picture, methods_picture,
                                        save, training_curve_picture)
from csv_plugin.report.study_tables import (error_table, write_leaderboard,
                                            write_predictions, write_report)
from csv_plugin.report.training_curves import write_curve

PREDICTOR, CURVE = 'predictor.safetensors', 'training_curve.csv'
PICTURES = 'pictures'
#: The methods that pictures show before and after the training.
BEFORE, AFTER = 'all-token loss', 'capability score'


@dataclass(frozen=True, eq=False)
class TrainingOutcome:
    """A predictor beside its baselines, on all models of a collection.

    Args:
        predictors (Mapping[str, Predictor]): By method, the main one first;
            'uniform' is among the others.
        collection (Collection): Losses and scores of all models.
        curve (Optional[TrainingCurve]): Errors in the course of the
            training, if there was one.
    """
    predictors: Mapping[str, Predictor]
    collection: Collection
    curve: Optional[TrainingCurve]

    def write(self, out: Path, command: str) -> str:
        """Write everything; see docs/formats.md.

        Args:
            out (Path): Folder to write to.
            command (str): What reproduces it.

        Returns:
            str: Title and table of errors.
        """
        study = Study.of(self.predictors, self.collection.losses,
                         self.collection.accuracies)
        splits = {m: known.split for m, known in self.collection.info.items()}
        main = [
            name for name in study.observed.benchmarks
            if name not in self.collection.side
        ]
        fitted = {m for b in study.predictor.benchmarks for m in b.fit_models}
        shown = [model for model in splits if model not in fitted]
        title = f'{len(shown)} models predicted from {len(splits)-len(shown)}'
        _remove_earlier(out)
        write_predictions(out / 'predictions.csv', study, splits)
        write_leaderboard(out / 'leaderboard.md', study, shown)
        write_report(out / 'report.md', study, main, title, command)
        if self.curve:
            write_curve(out / CURVE, self.curve)
        (out / PICTURES).mkdir(exist_ok=True)
        for name, figure in self._pictures(study, bool(shown)):
            for kind in ('png', 'svg'):
                save(figure, out / PICTURES / f'{name}.{kind}')
        # Last: whoever finds the predictor finds all the rest.
        save_predictor(study.predictor, out / PREDICTOR)
        return f'{title}\n\n{error_table(study, main)}'

    def _pictures(self, study: Study,
                  held_out: bool) -> Iterator[tuple[str, Figure]]:
        """Names and figures; the paper's Figures 4, 6 and 7."""
        steps = [(name, self._points(predictor))
                 for name, predictor in ((BEFORE, self.predictors['uniform']),
                                         (AFTER, study.predictor))]
        yield 'capability', capability_picture(steps[-1][1])
        yield 'convergence', convergence_picture(steps)
        if self.curve:
            yield 'training_curve', training_curve_picture(self.curve)
        if held_out:
            yield 'methods', methods_picture(study)

    def _points(self, predictor: Predictor) -> list[CapabilityPoints]:
        features = predictor.features(self.collection.losses,
                                      self.collection.texts.fingerprint)
        return capability_points(predictor, features,
                                 self.collection.accuracies,
                                 self.collection.families)


def _remove_earlier(out: Path) -> None:
    """What another training left there, which this one may not replace."""
    for file in (out / PREDICTOR, out / CURVE, *(out / PICTURES).glob('*.png'),
                 *(out / PICTURES).glob('*.svg')):
        file.unlink(missing_ok=True)
