"""What a predictor is trained on: dumps, scores and texts in one place."""
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from csv_plugin.core.errors import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.progress import Progress
from csv_plugin.core.scores import AccuracyTable
from csv_plugin.core.texts import TextSet
from csv_plugin.io.dumps import (TokenLossDump, merge_dumps, read_dump,
                                 write_dump)
from csv_plugin.io.files import atomic_path, read_bytes
from csv_plugin.io.run_dumps import read_run_dump
from csv_plugin.io.run_scores import read_run_scores
from csv_plugin.io.tables import (FilePath, ModelInfo, read_accuracies,
                                  read_benchmarks, read_models, write_csv)
from csv_plugin.io.text_sets import read_texts

#: Files of a collection beside the dumps.
TEXTS, MODELS = 'texts.jsonl', 'models.csv'
SCORES, BENCHMARKS = 'scores.csv', 'benchmarks.csv'


@dataclass(frozen=True, eq=False)
class Collection:
    """Losses and scores of M models on one validation set.

    Args:
        texts (TextSet): The S texts.
        losses (Mapping[str, tuple[TokenLosses, ...]]): By model, texts in
            the order of the set.
        accuracies (AccuracyTable): Of the same models in the same order.
        info (Mapping[str, ModelInfo]): Family, split and size by model.
    """
    texts: TextSet
    losses: Mapping[str, tuple[TokenLosses, ...]]
    accuracies: AccuracyTable
    info: Mapping[str, ModelInfo]

    @property
    def families(self) -> dict[str, str]:
        """Family of each model."""
        return {model: self.info[model].family for model in self.losses}

    def models_in(self, *splits: str) -> tuple[str, ...]:
        """Models of some splits, in the order of the losses.

        Raises:
            InputError: If a split has no model.
        """
        present = {self.info[model].split for model in self.losses}
        for split in splits:
            if split not in present:
                raise InputError('models', f'models in split {split!r}',
                                 f'only {sorted(present)}',
                                 'Name a split that has models.')
        return tuple(model for model in self.losses
                     if self.info[model].split in splits)

    def on(self, texts: TextSet) -> 'Collection':
        """The same models on some of the texts."""
        chosen = set(texts.ids)
        losses = {
            model: tuple(text for text in all_texts if text.text_id in chosen)
            for model, all_texts in self.losses.items()
        }
        return replace(self, texts=texts, losses=losses)

    def losses_of(self,
                  models: Sequence[str]) -> dict[str, tuple[TokenLosses, ...]]:
        """Losses of some models, in their order."""
        return {model: self.losses[model] for model in models}


def read_collection(folder: str | os.PathLike[str],
                    progress: Progress = iter) -> Collection:
    """Read a folder with a dump `<model>.parquet` of every model.

    Beside the dumps lie `texts.jsonl`, `models.csv`, `scores.csv` and
    `benchmarks.csv`; docs/formats.md describes them. Models without a row
    of scores were run on no benchmark.

    Args:
        folder (str | os.PathLike[str]): Where they are.
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
    losses = {
        model: merge_dumps([read_dump(root / f'{model}.parquet')], texts).texts
        for model in progress(list(info))
    }
    return Collection(
        texts, losses,
        AccuracyTable(
            tuple(info), scored.benchmarks, values, scored.chance,
            scored.n_items), info)


def collect_runs(folder: str | os.PathLike[str],
                 runs: Sequence[str | os.PathLike[str]],
                 texts: FilePath,
                 models: FilePath,
                 benchmarks: FilePath,
                 progress: Progress = iter) -> None:
    """Make a collection of OpenCompass runs.

    Of several runs the last one that has a model's dump, or its score,
    counts. A model without a dump is an error before anything is written.

    Args:
        folder (str | os.PathLike[str]): To create; files of the same name
            are replaced.
        runs (Sequence): Time-stamped folders, the newest last.
        texts (FilePath): The validation set.
        models (FilePath): Table of the models; their abbreviations.
        benchmarks (FilePath): Table of the benchmarks; their abbreviations.
        progress (Progress): Wraps the models.

    Raises:
        InputError: If a table or a run cannot be used, a model has no dump
            on these texts, or a benchmark no score in any run.
    """
    known, names = read_models(models), list(read_benchmarks(benchmarks))
    found = [read_run_scores(run, names) for run in runs]
    scores = {
        model: {
            name: value
            for scored in found
            for name, value in scored.get(model, {}).items()
        }
        for model in known
    }
    for name in names:
        if not any(name in row for row in scores.values()):
            raise InputError(
                'runs', f'a score on {name!r}', 'none of these models',
                'Run it, or remove it '
                f'from {os.fspath(benchmarks)}.')
    fingerprint = read_texts(texts).fingerprint
    dumps = {
        model: _last_dump(runs, model, fingerprint)
        for model in progress(list(known))
    }
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    for model, dump in dumps.items():
        write_dump(root / f'{model}.parquet', dump)
    for source, name in ((texts, TEXTS), (models, MODELS), (benchmarks,
                                                            BENCHMARKS)):
        with atomic_path(root / name) as path:
            path.write_bytes(read_bytes(source))
    write_csv(root / SCORES, ('model', *names),
              ((model, *(row.get(name, math.nan) for name in names))
               for model, row in scores.items()))


def _last_dump(runs: Sequence[str | os.PathLike[str]], model: str,
               fingerprint: str) -> TokenLossDump:
    reasons = []
    for run in reversed(runs):
        try:
            return read_run_dump(run, model, fingerprint)
        except InputError as error:
            reasons.append(f'{os.fspath(run)}: {error}')
    raise InputError(f'losses of {model!r}', 'a dump in one of the runs',
                     '; '.join(reasons) or 'no run',
                     'Collect them, or remove the model from the table.')
