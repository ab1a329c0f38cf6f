"""Splits of models: which to train on, and which to predict."""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Optional

from csv_plugin.core.conventions import InputError, check_list
from csv_plugin.core.splits import paper_split, split_by_size
from csv_plugin.io.files import FilePath
from csv_plugin.io.paper import paper_accuracies, paper_models
from csv_plugin.io.tables import ModelInfo, read_models

TABLE, FAMILY_SIZE, PAPER = 'table', 'family-size', 'paper'
#: Ways to split models.
SPLITS = (TABLE, FAMILY_SIZE, PAPER)


def named_models(table: Optional[FilePath],
                 split: str) -> dict[str, ModelInfo]:
    """The models to train on and to predict, with their splits.

    Args:
        table (Optional[FilePath]): As in `read_models`. With the split
            'paper' it may be None: then the models are those of the paper
            with a split and accuracies, as in configs/eval_csv_paper.py.
        split (str): A way to split models, from `SPLITS`: 'table' takes the
            splits of the table, 'family-size' splits each family by size
            (see `split_by_size`), 'paper' takes those of the paper's Table
            2.

    Returns:
        dict[str, ModelInfo]: By model, in the order of the table.

    Raises:
        InputError: The table is missing or cannot be used, or as in
            `split_models`.
    """
    if table is None and split != PAPER:
        raise InputError('models', 'a table of models', 'none',
                         'Give a table, or use the split of the paper.')
    if table is None:
        models, evaluated = paper_models(), paper_accuracies().models
        info = {model: models[model] for model in models if model in evaluated}
    else:
        info = read_models(table)
    return split_models(info, split)


def families(info: Mapping[str, ModelInfo]) -> dict[str, str]:
    """Family of each model."""
    return {model: details.family for model, details in info.items()}


def models_in(splits: Sequence[str],
              models: Sequence[str],
              info: Mapping[str, ModelInfo],
              where: str = 'models') -> tuple[str, ...]:
    """Those of the models that are in one of the splits, in their order.

    Args:
        splits (Sequence[str]): Such as 'train' and 'validation'.
        models (Sequence[str]): Models to choose from.
        info (Mapping[str, ModelInfo]): Of these models, and perhaps more.
        where (str): The table that says so, for the error.

    Raises:
        InputError: A split has no model.
    """
    check_list('splits', splits)
    present = {info[model].split for model in models} - {''}
    for split in splits:
        if split not in present:
            raise InputError(
                where, f'models in split {split!r}',
                f'only {", ".join(sorted(present))}' if present else
                'no split', 'Separate the names of splits by spaces.' if ','
                in split else 'Name a split that has models, or split them.')
    return tuple(model for model in models if info[model].split in splits)


def models_to_fit(splits: Sequence[str], models: Sequence[str],
                  info: Mapping[str, ModelInfo]) -> tuple[str, ...]:
    """Those of some splits, by default of all but the test split.

    Args and errors as in `models_in`; it is an error, too, if no model has a
    split.
    """
    present = {info[model].split for model in models}
    chosen = splits or sorted(present - {'', 'test'}) or ('train', )
    return models_in(chosen, models, info)


def split_models(info: Mapping[str, ModelInfo],
                 split: str) -> dict[str, ModelInfo]:
    """Replace the splits of models.

    Args:
        info (Mapping[str, ModelInfo]): By model.
        split (str): As in `named_models`.

    Returns:
        dict[str, ModelInfo]: The same models in the same order.

    Raises:
        InputError: The split needs sizes and the size of a model is
            unknown, or it is that of the paper and a model is not in it.
    """
    if split == TABLE:
        return dict(info)
    if split == FAMILY_SIZE:
        unknown = [model for model in info if isnan(info[model].params_b)]
        if unknown:
            raise InputError('models', 'params_b of every model',
                             f'none of {", ".join(unknown)}',
                             'Give their billions of parameters.')
        splits = split_by_size([model.family for model in info.values()],
                               [model.params_b for model in info.values()])
        return {
            model: replace(info[model], split=str(part))
            for model, part in zip(info, splits)
        }
    parts = paper_split()
    unknown = [model for model in info if model not in parts]
    if unknown:
        raise InputError('models', "models of the paper's Table 2",
                         ', '.join(unknown), 'Use the names of its tables.')
    return {model: replace(info[model], split=parts[model]) for model in info}
