"""What a predictor is trained on: dumps, scores and texts in one place."""
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.model_losses import ModelLosses, TokenLossDump
from csv_plugin.core.texts import TextSet
from csv_plugin.io.dumps import read_dumps, write_dump
from csv_plugin.io.files import FilePath
from csv_plugin.io.tables import (BenchmarkInfo, ModelInfo, read_accuracies,
                                  read_benchmarks, read_models, write_csv)
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
        return {model: self.info[model].family for model in self.losses}

    def coverage(self, fitted: Sequence[str]) -> list[str]:
        """Who has a score: one line on the losses, then one per benchmark.

        Args:
            fitted (Sequence[str]): Models that are to be fitted to.

        Raises:
            InputError: If a benchmark has no score of these.
        """
        models, to_fit = self.accuracies.models, set(fitted)
        lines = [
            f'{len(models)} models, {len(to_fit)} to fit to, losses on '
            f'{len(self.texts)} texts'
        ]
        for name in self.accuracies.benchmarks:
            scored = [
                model
                for model, value in zip(models, self.accuracies.column(name))
                if not np.isnan(value)
            ]
            n_fitted = len(to_fit.intersection(scored))
            if not n_fitted:
                raise InputError(f'scores on {name!r}',
                                 'one of a model to fit to',
                                 f'{len(scored)} of others',
                                 'Run it, or leave it out.')
            missing = [model for model in models if model not in scored]
            lacking = f', none of {", ".join(missing)}' if missing else ''
            lines.append(f'{name}: {len(scored)} scores, {n_fitted} of them '
                         f'to fit to{lacking}')
        return lines

    def models_in(self, *splits: str) -> tuple[str, ...]:
        """Models of some splits, in the order of the losses.

        Raises:
            InputError: If a split has no model.
        """
        present = {self.info[model].split for model in self.losses}
        for split in splits:
            if split not in present:
                raise InputError(
                    'models', f'models in split {split!r}',
                    f'only {sorted(present)}' if any(present) else 'no split',
                    'Name a split that has models, or split them.')
        return tuple(model for model in self.losses
                     if self.info[model].split in splits)

    def models_to_fit(self, splits: Sequence[str] = ()) -> tuple[str, ...]:
        """Models of some splits, by default of all but the test split.

        Raises:
            InputError: If a split has no model, or no model has a split.
        """
        present = {self.info[model].split for model in self.losses}
        return self.models_in(
            *(splits or sorted(present - {'', 'test'}) or ('train', )))

    def select_texts(self, texts: TextSet) -> 'Collection':
        """The same models on some of the texts."""
        return replace(self, losses=self.losses.select_texts(texts))


def read_collection(folder: FilePath, progress: Progress = iter) -> Collection:
    """Read a folder with a dump `<model>.parquet` of every model.

    Beside the dumps lie `texts.jsonl`, `models.csv`, `scores.csv` and
    `benchmarks.csv`; docs/formats.md describes them. Models without a row
    of scores were run on no benchmark.

    Args:
        folder (FilePath): Where they are.
        progress (Progress): Wraps the dumps.

    Raises:
        InputError: If a file is missing or cannot be used, or a model with
            scores is not among the models.
    """
    root = Path(folder)
    texts, info = read_texts(root / TEXTS), read_models(root / MODELS)
    scored = read_accuracies(root / SCORES, root / BENCHMARKS)
    row = {model: index for index, model in enumerate(info)}
    values = np.full((len(info), len(scored.benchmarks)), np.nan)
    for model, accuracies in zip(scored.models, scored.values):
        if model not in row:
            raise InputError(
                str(root / SCORES), f'models of {root / MODELS}', repr(model),
                'Add it there or remove it here.')
        values[row[model]] = accuracies
    losses = read_dumps({model: root / f'{model}.parquet'
                         for model in info}, texts, progress)
    known = read_benchmarks(root / BENCHMARKS)
    side = tuple(name for name in scored.benchmarks if not known[name].main)
    return Collection(
        losses,
        AccuracyTable(
            tuple(info), scored.benchmarks, values, scored.chance,
            scored.n_items), info, side)


def write_collection(folder: FilePath, texts: TextSet,
                     dumps: Mapping[str,
                                    TokenLossDump], info: Mapping[str,
                                                                  ModelInfo],
                     scores: Mapping[str, Mapping[str, float]],
                     benchmarks: Mapping[str, BenchmarkInfo]) -> None:
    """Write what `read_collection` reads.

    Args:
        folder (FilePath): To create; files of the same name
            are replaced.
        texts (TextSet): The validation set.
        dumps (Mapping[str, TokenLossDump]): By model.
        info (Mapping[str, ModelInfo]): Of the same models.
        scores (Mapping): Fractions by model and benchmark; what was not
            run is missing.
        benchmarks (Mapping[str, BenchmarkInfo]): By benchmark.
    """
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    for model, dump in dumps.items():
        write_dump(root / f'{model}.parquet', dump)
    write_texts(root / TEXTS, texts)
    write_csv(root / MODELS, ('model', 'family', 'params_b', 'split'),
              ((model, known.family, known.params_b, known.split)
               for model, known in info.items()))
    write_csv(root / SCORES, ('model', *benchmarks),
              ((model, *(scores.get(model, {}).get(name, math.nan)
                         for name in benchmarks)) for model in info))
    write_csv(root / BENCHMARKS, ('benchmark', 'chance', 'n_items', 'main'),
              ((name, known.chance, known.n_items, int(known.main))
               for name, known in benchmarks.items()))
