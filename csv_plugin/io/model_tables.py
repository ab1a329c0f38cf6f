"""The four tables of a study, read and joined."""
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.io import model_splits
from csv_plugin.io.files import FilePath
from csv_plugin.io.tables import (ModelInfo, check_models_in, read_accuracies,
                                  read_benchmarks, read_losses, read_models,
                                  with_all_models)


@dataclass(frozen=True, eq=False)
class ModelTables:
    """Losses and accuracies, and facts about models and benchmarks.

    Args:
        features (FeatureTable): One loss column per unit, `(M, K)`; the
            uniform score is their plain mean.
        accuracies (AccuracyTable): Of the same models in the same order.
        info (Mapping[str, ModelInfo]): Family, split and size by model.
        main (tuple[str, ...]): Benchmarks that averages are taken over.
        source (str): The table of models, for errors.
    """
    features: FeatureTable
    accuracies: AccuracyTable
    info: Mapping[str, ModelInfo]
    main: tuple[str, ...]
    source: str = 'models'

    @property
    def families(self) -> dict[str, str]:
        """Family of each model."""
        return model_splits.families(self.info)

    def models_in(self, *splits: str) -> tuple[str, ...]:
        """Models of some splits, in the order of the losses.

        Raises:
            InputError: A split has no model.
        """
        return model_splits.models_in(splits, self.features.models, self.info,
                                      self.source)

    def select(self, models: tuple[str, ...]) -> 'ModelTables':
        """The given models, in the given order."""
        return replace(
            self,
            features=self.features.select(models),
            accuracies=self.accuracies.select(models))

    def select_benchmarks(self, benchmarks: Sequence[str]) -> 'ModelTables':
        """The given benchmarks, in the given order."""
        return replace(
            self,
            accuracies=self.accuracies.select(benchmarks=benchmarks),
            main=tuple(name for name in self.main if name in benchmarks))

    def select_units(self, units: Sequence[str]) -> 'ModelTables':
        """The given units, in the given order, as a table that has no other.

        Args:
            units (Sequence[str]): Some of the columns of losses.
        """
        place = {unit: k for k, unit in enumerate(self.features.columns.units)}
        values = self.features.values[:, [place[unit] for unit in units]]
        return replace(
            self,
            features=FeatureTable.of_losses(self.features.models, units,
                                            values))


def read_model_tables(losses_path: FilePath, scores_path: FilePath,
                      models_path: FilePath,
                      benchmarks_path: FilePath) -> ModelTables:
    """Read and join the tables; docs/formats.md describes them.

    Args:
        losses_path (FilePath): Losses by model and unit: CSV, Parquet or
            safetensors, by the ending of the name.
        scores_path (FilePath): Accuracies by model and benchmark, CSV or
            Parquet; models without a row were run on no benchmark.
        models_path (FilePath): Family and split of every model.
        benchmarks_path (FilePath): Chance level and number of items.

    Raises:
        InputError: A file cannot be used, the table of models lacks a model
            with losses, or a model with accuracies has no losses.
    """
    features = read_loss_features(losses_path)
    accuracies = read_accuracies(scores_path, benchmarks_path)
    info = read_models(models_path)
    check_models_in(losses_path, features.models, models_path, info)
    check_models_in(scores_path, accuracies.models, losses_path,
                    features.models)
    benchmarks = read_benchmarks(benchmarks_path)
    return ModelTables(
        features, with_all_models(accuracies, features.models), info,
        tuple(name for name in accuracies.benchmarks if benchmarks[name].main),
        os.fspath(models_path))


def read_loss_features(path: FilePath,
                       units: Optional[Sequence[str]] = None) -> FeatureTable:
    """Read a table of losses as columns to fit to or to predict from.

    Args:
        path (FilePath): Losses by model and unit: CSV, Parquet or
            safetensors, by the ending of the name; see docs/formats.md.
        units (Optional[Sequence[str]]): Units to keep, in this order, such as
            those of a predictor; by default all.

    Returns:
        FeatureTable: One column per unit, `(M, K)`; the uniform score is
        their plain mean.

    Raises:
        InputError: As in `tables.read_losses`, or a unit is not there.
    """
    losses = read_losses(path)
    if units is not None:
        losses = losses.select(units, path)
    return FeatureTable.of_losses(losses.models, losses.columns, losses.values)
