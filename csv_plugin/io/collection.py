"""What a predictor is trained on: dumps, accuracies and texts, joined."""
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.escaping import one_line
from csv_plugin.core.model_losses import ModelLosses, TokenLossDump
from csv_plugin.core.texts import TextSet
from csv_plugin.io import model_splits
from csv_plugin.io.dumps import read_dumps, write_dump
from csv_plugin.io.files import FilePath, check_file_names
from csv_plugin.io.tables import (BenchmarkInfo, ModelInfo, check_models_in,
                                  read_accuracies, read_benchmarks,
                                  read_models, with_all_models, write_csv)
from csv_plugin.io.text_sets import read_texts, write_texts

#: Files of a collection beside the dumps.
TEXTS, MODELS = 'texts.jsonl', 'models.csv'
SCORES, BENCHMARKS = 'scores.csv', 'benchmarks.csv'


@dataclass(frozen=True, eq=False)
class Collection:
    """Losses and accuracies of M models on one validation set.

    Args:
        losses (ModelLosses): By model, and the S texts.
        accuracies (AccuracyTable): Of the same models in the same order.
        info (Mapping[str, ModelInfo]): Family, split and size by model.
        side (tuple[str, ...]): Benchmarks that means leave out.
    """
    losses: ModelLosses
    accuracies: AccuracyTable
    info: Mapping[str, ModelInfo]
    side: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f'Collection({self.losses}, {self.accuracies})'

    @property
    def texts(self) -> TextSet:
        """The validation set."""
        return self.losses.texts

    @property
    def families(self) -> dict[str, str]:
        """Family of each model."""
        return model_splits.families(self.info)

    def coverage(self, fitted: Sequence[str]) -> list[str]:
        """Models with losses, then for each benchmark those with accuracies.

        Args:
            fitted (Sequence[str]): Models that are to be fitted to.

        Returns:
            list[str]: One line on the losses, and one per benchmark, to be
            shown on the screen.

        Raises:
            InputError: A benchmark has no accuracy of a model to fit to.
        """
        models, to_fit = self.accuracies.models, set(fitted)
        lines = [
            f'{len(models)} models, {len(to_fit)} to fit to, losses on '
            f'{len(self.texts)} texts'
        ]
        for name in self.accuracies.benchmarks:
            evaluated = [
                model
                for model, value in zip(models, self.accuracies.column(name))
                if not np.isnan(value)
            ]
            n_fitted = len(to_fit.intersection(evaluated))
            if not n_fitted:
                raise InputError(
                    f'accuracies on {name!r}', 'that of a model to fit to',
                    f'those of {len(evaluated)} models, none to fit to',
                    'Run the benchmark on them, or leave it out.')
            missing = [model for model in models if model not in evaluated]
            lacking = f'; none of {", ".join(missing)}' if missing else ''
            lines.append(f'{name}: accuracies of {len(evaluated)} of '
                         f'{len(models)} models, {n_fitted} of them to fit to'
                         f'{lacking}')
        return list(map(one_line, lines))

    def models_in(self, *splits: str) -> tuple[str, ...]:
        """Models of some splits, in the order of the losses.

        Raises:
            InputError: A split has no model.
        """
        return model_splits.models_in(splits, self.accuracies.models,
                                      self.info)

    def models_to_fit(self, splits: Sequence[str] = ()) -> tuple[str, ...]:
        """Models of some splits, by default of all but the test split.

        Raises:
            InputError: A split has no model, or no model has a split.
        """
        return model_splits.models_to_fit(splits, self.accuracies.models,
                                          self.info)

    def select(self, models: Sequence[str]) -> 'Collection':
        """The given models, in the given order.

        Raises:
            InputError: A model is not among those of the collection.
        """
        return replace(
            self,
            losses=self.losses.select(models),
            accuracies=self.accuracies.select(models),
            info={model: self.info[model]
                  for model in models})

    def select_texts(self, texts: TextSet) -> 'Collection':
        """The same models on some of the texts."""
        return replace(self, losses=self.losses.select_texts(texts))

    def write(self, folder: FilePath,
              benchmarks: Mapping[str, BenchmarkInfo]) -> None:
        """Write what `read_collection` reads; errors as `write_collection`.

        Args:
            folder (FilePath): Is made if it does not exist.
            benchmarks (Mapping[str, BenchmarkInfo]): Of these benchmarks at
                least.
        """
        scores = {
            model: {
                name: accuracy
                for name, accuracy in row.items() if accuracy is not None
            }
            for model, row in self.accuracies.to_dict().items()
        }
        write_collection(
            folder, self.texts, self.losses, self.info, scores,
            {name: benchmarks[name]
             for name in self.accuracies.benchmarks})


def read_collection(folder: FilePath, progress: Progress = iter) -> Collection:
    """Read a folder with a dump `<model>.safetensors` of every model.

    Beside the dumps lie `texts.jsonl`, `models.csv`, `scores.csv` and
    `benchmarks.csv`; docs/formats.md describes them. Models without a row
    in `scores.csv` were run on no benchmark.

    Args:
        folder (FilePath): Where these files are.
        progress (Progress): Wraps the dumps.

    Raises:
        InputError: A file is missing or cannot be used, or `models.csv`
            lacks a model of `scores.csv` or names one that no file can be
            named after.
    """
    root = Path(folder)
    texts, info = read_texts(root / TEXTS), read_models(root / MODELS)
    check_file_names(f'{root / MODELS}, model', info, 'Rename the model.')
    accuracies = read_accuracies(root / SCORES, root / BENCHMARKS)
    check_models_in(root / SCORES, accuracies.models, root / MODELS, info)
    accuracies = with_all_models(accuracies, tuple(info))
    losses = read_dumps(
        {model: root / f'{model}.safetensors'
         for model in info}, texts, progress)
    benchmarks = read_benchmarks(root / BENCHMARKS)
    side = tuple(name for name in accuracies.benchmarks
                 if not benchmarks[name].main)
    return Collection(losses, accuracies, info, side)


def write_collection(folder: FilePath, texts: TextSet,
                     dumps: Mapping[str,
                                    TokenLossDump], info: Mapping[str,
                                                                  ModelInfo],
                     scores: Mapping[str, Mapping[str, float]],
                     benchmarks: Mapping[str, BenchmarkInfo]) -> None:
    """Write what `read_collection` reads.

    Args:
        folder (FilePath): Is made if it does not exist; files of the same
            name are replaced.
        texts (TextSet): The validation set.
        dumps (Mapping[str, TokenLossDump]): By model.
        info (Mapping[str, ModelInfo]): Of the same models.
        scores (Mapping): Accuracies, fractions, by model and benchmark,
            without those that were not run.
        benchmarks (Mapping[str, BenchmarkInfo]): By benchmark.

    Raises:
        InputError: No file can be named after a model.
    """
    check_file_names('model', info, 'Rename the model.')
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    for model, dump in dumps.items():
        write_dump(root / f'{model}.safetensors', dump)
    write_texts(root / TEXTS, texts)
    write_csv(root / MODELS,
              ('model', 'family', 'params_b', 'split', 'tokens'),
              ((model, details.family, details.params_b, details.split,
                details.tokens) for model, details in info.items()))
    write_csv(root / SCORES, ('model', *benchmarks),
              ((model, *(scores.get(model, {}).get(name, math.nan)
                         for name in benchmarks)) for model in info))
    write_csv(root / BENCHMARKS,
              ('benchmark', 'chance', 'n_items', 'main', 'kind'),
              ((name, details.chance, details.n_items, int(
                  details.main), details.kind)
               for name, details in benchmarks.items()))
