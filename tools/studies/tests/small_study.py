"""Families of many models, and a study of few."""
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import ModelInfo
from tools.studies import models_study
from tools.studies.models_study import draws

#: Family of each of 90 models.
FAMILIES = {f'm{i}': f'f{i % 20}' for i in range(90)}


def shrink(monkeypatch):
    """One number of models and one of families."""
    monkeypatch.setattr(models_study, 'NUMBERS', (14, ))
    monkeypatch.setattr(models_study, 'FIXED', 6)
    monkeypatch.setattr(models_study, 'FAMILIES', (2, ))


def small_draws(tables):
    """Tables as they are read from files, and one draw of their models."""
    info = {
        model: ModelInfo(family, 'train', None)
        for model, family in tables.families.items()
    }
    read = ModelTables(tables.features, tables.accuracies, info)
    return read, draws(tables.families, [0])
