"""Small collections of models of the zoo, whole and in parts."""
from pathlib import Path

import csv_plugin as cp
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.collection import (BENCHMARKS, Collection, read_collection,
                                      write_collection)
from csv_plugin.io.tables import read_benchmarks, read_models

#: Finished models, and some at half of their training, of four families.
MODELS = tuple(f'{series}-{size}@{percent}' for series in 'abcd'
               for size, percent in (('xs', 50), ('xs', 100), ('m', 100)))


def small_zoo(folder: Path, every: int = 16) -> Collection:
    """Write a collection of `MODELS` on one of every so many texts."""
    texts = cp.read_texts(shipped.TEXTS)
    losses = cp.read_dumps(
        [shipped.COLLECTION / f'{model}.parquet' for model in MODELS],
        texts).select_texts(TextSet(texts.texts[::every]))
    accuracies = cp.read_accuracies(shipped.COLLECTION / 'scores.csv',
                                    shipped.COLLECTION / BENCHMARKS)
    info = read_models(shipped.COLLECTION / 'models.csv')
    write_part(
        folder,
        Collection(losses, accuracies.select(MODELS),
                   {model: info[model]
                    for model in MODELS}), MODELS)
    return read_collection(folder)


def write_part(folder: Path, whole: Collection, models: tuple[str, ...],
               **scores: float) -> Path:
    """Write a collection of some of the models.

    Args:
        folder (Path): The collection to create.
        whole (Collection): Has these models.
        models (tuple[str, ...]): Their names.
        scores (float): In place of accuracies of the first model, by
            benchmark.
    """
    table = whole.accuracies.select(models).to_dict()
    table[models[0]] |= scores
    write_collection(
        folder, whole.texts, whole.losses.select(models),
        {model: whole.info[model]
         for model in models}, {
             model: {
                 name: value
                 for name, value in row.items() if value is not None
             }
             for model, row in table.items()
         }, read_benchmarks(shipped.COLLECTION / BENCHMARKS))
    return folder
