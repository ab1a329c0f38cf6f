"""The four tables of a study, read and joined."""
import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.texts import fingerprint
from csv_plugin.io.files import FilePath
from csv_plugin.io.tables import (ModelInfo, read_accuracies, read_benchmarks,
                                  read_losses, read_models)


@dataclass(frozen=True, eq=False)
class ModelTables:
    """Losses, accuracies and what is known of models and benchmarks.

    Args:
        features (FeatureTable): One loss column per unit, `(M, K)`; the
            uniform score is their plain mean.
        accuracies (AccuracyTable): Of the same models in the same order.
        info (Mapping[str, ModelInfo]): Family, split and size by model.
        main (tuple[str, ...]): Benchmarks that averages are taken over.
    """
    features: FeatureTable
    accuracies: AccuracyTable
    info: Mapping[str, ModelInfo]
    main: tuple[str, ...]

    @property
    def families(self) -> dict[str, str]:
        """Family of each model."""
        return {model: known.family for model, known in self.info.items()}

    def models_in(self, splits: tuple[str, ...]) -> tuple[str, ...]:
        """Models of some splits, in the order of the losses.

        Raises:
            InputError: If a split has no model.
        """
        present = {self.info[model].split for model in self.features.models}
        for split in splits:
            if split not in present:
                raise InputError(
                    'models', f'models in split {split!r}',
                    f'only {sorted(present)}' if any(present) else 'no split',
                    'Name a split that has models.')
        return tuple(model for model in self.features.models
                     if self.info[model].split in splits)

    def select(self, models: tuple[str, ...]) -> 'ModelTables':
        """The same tables for some models."""
        return ModelTables(
            self.features.select(models), self.accuracies.select(models),
            self.info, self.main)


def read_model_tables(losses_path: FilePath, scores_path: FilePath,
                      models_path: FilePath,
                      benchmarks_path: FilePath) -> ModelTables:
    """Read and join the tables; docs/formats.md describes them.

    Args:
        losses_path (FilePath): Losses by model and unit.
        scores_path (FilePath): Accuracies by model and benchmark; models
            without a row were run on no benchmark.
        models_path (FilePath): Family and split of every model.
        benchmarks_path (FilePath): Chance level and number of items.

    Raises:
        InputError: If a file cannot be used, or a model with losses or
            scores is not in the models, or one with scores has no losses.
    """
    losses = read_losses(losses_path)
    scored = read_accuracies(scores_path, benchmarks_path)
    info = read_models(models_path)
    _check_known(losses_path, losses.models, models_path, info)
    _check_known(scores_path, scored.models, losses_path, losses.models)
    values = np.full((len(losses.models), len(scored.benchmarks)), np.nan)
    row = {model: index for index, model in enumerate(losses.models)}
    values[[row[model] for model in scored.models]] = scored.values
    n_units = len(losses.columns)
    benchmarks = read_benchmarks(benchmarks_path)
    # The texts behind the units are not known, their names are.
    columns = Columns(losses.columns, np.full(n_units, 1 / n_units),
                      fingerprint((unit, '') for unit in losses.columns))
    return ModelTables(
        FeatureTable(losses.models, columns, losses.values),
        AccuracyTable(losses.models, scored.benchmarks, values, scored.chance,
                      scored.n_items), info,
        tuple(name for name in scored.benchmarks if benchmarks[name].main))


def _check_known(path: FilePath, models: tuple[str, ...], other_path: FilePath,
                 known: Mapping[str, ModelInfo] | tuple[str, ...]) -> None:
    for model in models:
        if model not in known:
            raise InputError(
                os.fspath(path), f'models of {os.fspath(other_path)}',
                repr(model), 'Add it there or remove it here.')
