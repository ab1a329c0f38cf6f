"""Which models to train on and which to predict."""
from collections.abc import Mapping
from dataclasses import replace
from math import isnan
from typing import Optional

from csv_plugin.core.conventions import InputError
from csv_plugin.core.splits import paper_split, split_by_size
from csv_plugin.io.paper import paper_models, paper_scores
from csv_plugin.io.tables import FilePath, ModelInfo, read_models

TABLE, FAMILY_SIZE, PAPER = 'table', 'family-size', 'paper'
#: Ways to split models.
SPLITS = (TABLE, FAMILY_SIZE, PAPER)


def named_models(table: Optional[FilePath],
                 split: str) -> dict[str, ModelInfo]:
    """The models to train on and to predict, with their splits.

    Args:
        table (Optional[FilePath]): As in `read_models`; may be missing if
            the split is the paper's: then its models that have a split and
            scores, those of configs/eval_csv_paper.py.
        split (str): One of `SPLITS`: as in the table; by size within each
            family (`split_by_size`); or the paper's Table 2.

    Raises:
        InputError: If the table is missing, cannot be used, or lacks what
            the split needs.
    """
    if table is None and split != PAPER:
        raise InputError('models', 'a table of models', 'none',
                         'Give one, or use the split of the paper.')
    if table is None:
        scored = paper_scores().models
        info = {m: known for m, known in paper_models().items() if m in scored}
    else:
        info = read_models(table)
    return split_models(info, split)


def split_models(info: Mapping[str, ModelInfo],
                 split: str) -> dict[str, ModelInfo]:
    """The same models in the splits of `named_models`.

    Raises:
        InputError: A size is unknown, or a model is not in the paper.
    """
    if split == TABLE:
        return dict(info)
    if split == FAMILY_SIZE:
        unknown = [m for m, known in info.items() if isnan(known.params_b)]
        if unknown:
            raise InputError('models', 'params_b of every model',
                             f'none of {", ".join(unknown)}',
                             'Give their billions of parameters.')
        splits = split_by_size([known.family for known in info.values()],
                               [known.params_b for known in info.values()])
        return {
            model: replace(known, split=str(name))
            for (model, known), name in zip(info.items(), splits)
        }
    known_splits = paper_split()
    unknown = [model for model in info if model not in known_splits]
    if unknown:
        raise InputError('models', "models of the paper's Table 2",
                         ', '.join(unknown), 'Use the names of its tables.')
    return {
        model: replace(known, split=known_splits[model])
        for model, known in info.items()
    }
