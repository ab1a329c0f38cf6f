"""Predictions of the models of an OpenCompass run, or why there are none."""
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, Union

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictions import PredictionTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import Constant
from csv_plugin.io.dumps import TokenLossDump
from csv_plugin.io.predictors import load_predictor
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.report.leaderboards import Leaderboard, Predicted, Real

#: Predictions of one model, or one line that says why there are none.
Table = Union[PredictionTable, str]


@dataclass(frozen=True, eq=False)
class RunPredictions:
    """What one predictor says about the models of a run.

    Args:
        label (str): What to call the predictor.
        path (str): Its file.
        predictor (Union[Predictor, str]): Or why it cannot be used.
        features (Mapping): By model the columns that the predictor works
            on, or why there are none.
    """
    label: str
    path: str
    predictor: Union[Predictor, str]
    features: Mapping[str, Union[FeatureTable, str]]

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """What the predictor knows; nothing if it cannot be used."""
        if isinstance(self.predictor, str):
            return ()
        return tuple(known.benchmark for known in self.predictor.benchmarks)

    @property
    def remarks(self) -> list[str]:
        """The file, and what could not be learned; nothing if no use."""
        if isinstance(self.predictor, str):
            return []
        return [f'{self.label}: {self.path}'] + [
            f'{self.label}, {known.benchmark}: {note}'
            for known in self.predictor.benchmarks
            if known.solver == Constant.name for note in known.notes
        ]

    @cached_property
    def tables(self) -> dict[str, Table]:
        """By model its predictions on `benchmarks`, or why none."""
        predictor = self.predictor
        if isinstance(predictor, str):
            return dict.fromkeys(self.features, predictor)
        return {
            model:
            columns if isinstance(columns, str) else predictor.predict(
                columns, predictor.fingerprint)
            for model, columns in self.features.items()
        }

    def at(self, model: str, benchmark: str) -> Predicted:
        """The prediction of one model on one benchmark, or why none."""
        if isinstance(self.predictor, str):
            return self.predictor
        if benchmark not in self.benchmarks:
            return 'the predictor does not know the benchmark'
        table = self.tables[model]
        return table if isinstance(table, str) else table.at(model, benchmark)


def predict_run(
    work_dir: str | os.PathLike[str],
    models: Sequence[str],
    paths: Sequence[tuple[str, str]],
    progress: Progress = iter,
    loaded: Sequence[Predictor] = ()
) -> list[RunPredictions]:
    """Predict the models of a run from its token-loss dumps.

    Bad input of one model or predictor leaves the others as they are.

    Args:
        work_dir (str | os.PathLike[str]): Folder of the run.
        models (Sequence[str]): Abbreviations of the models.
        paths (Sequence[tuple[str, str]]): Label and file of each predictor.
        progress (Progress): Wraps the models to show progress.
        loaded (Sequence[Predictor]): What the files hold, if they were read
            before.
    """
    predictors = loaded or [_attempt(load_predictor, p) for _, p in paths]
    # Predictors of one validation set read a model's dump once.
    read = lru_cache(maxsize=len(paths))(partial(read_run_dump, work_dir))
    features = {
        model: [_attempt(_features, one, model, read) for one in predictors]
        for model in progress(models)
    }
    return [
        RunPredictions(label, path, predictors[p],
                       {model: features[model][p] for model in features})
        for p, (label, path) in enumerate(paths)
    ]  # yapf: disable


def _features(
        predictor: Union[Predictor, str], model: str,
        read: Callable[[str, str], TokenLossDump]) -> Union[FeatureTable, str]:
    if isinstance(predictor, str):
        return predictor
    dump = read(model, predictor.fingerprint)
    return predictor.features({model: dump.texts}, dump.info.fingerprint)


def _attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns or, of bad input, the error as one line."""
    try:
        return function(*arguments)
    except InputError as error:
        return ' '.join(str(error).split())


def compare(models: Mapping[str, str], real: Mapping[tuple[str, str], Real],
            found: Sequence[RunPredictions]) -> Leaderboard:
    """The leaderboard of a run.

    Args:
        models (Mapping[str, str]): How to call each model, and its
            abbreviation in the predictions.
        real (Mapping): As in `Leaderboard`, of every benchmark that one of
            the predictors knows.
        found (Sequence[RunPredictions]): Of one or more predictors.
    """
    benchmarks = tuple(dict.fromkeys(benchmark for _, benchmark in real))
    predicted = {(one.label, model, benchmark): one.at(abbr, benchmark)
                 for one in found for model, abbr in models.items()
                 for benchmark in benchmarks}  # yapf: disable
    remarks = [remark for one in found for remark in one.remarks]
    if not benchmarks:
        remarks = [f'{one.label}: {one.predictor}' for one in found]
    return Leaderboard(
        tuple(models), benchmarks, tuple(one.label for one in found), real,
        predicted, models, tuple(remarks))
