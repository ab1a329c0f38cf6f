"""Models and accuracies of the paper (Ge et al. 2025), and splits of models.

All names are those of its Tables 3 and 4. 57 models are in both
`paper_models` and `paper_accuracies`. gemma-2-2b-it and gemma-2-9b-it are in
no split of Table 2; internlm2.5-1.8B-chat-sft and internlm2.5-7B-chat-sft
have no accuracies.
"""
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import as_file, files
from typing import NamedTuple, Optional

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_tables import read_accuracies
from csv_plugin.io.tables import CsvRow, ModelInfo, read_models, read_rows

TABLE, PAPER = 'table', 'paper'
#: Ways to split models.
SPLITS = (TABLE, PAPER)


class PaperWeights(NamedTuple):
    """Name of a model on the hub, and the number of GPUs for it.

    They are those of 80 GB that the weights in 16 bits fill less than half of:
    a power of two.
    """
    path: str
    gpus: int


def paper_accuracies() -> AccuracyTable:
    """Return Tables 3 and 4: accuracies of 59 models on six benchmarks.

    None is missing. Chance levels and numbers of items are those of
    `known_benchmarks`, as the paper gives none.

    >>> table = paper_accuracies()
    >>> float(table.column('gsm8k')[table.models.index('Qwen2-72B')])
    0.8954
    """
    data = files('csv_plugin') / 'data'
    with as_file(data / 'paper_tables3_4.csv') as scores, \
            as_file(data / 'benchmarks.csv') as benchmarks:
        return read_accuracies(scores, benchmarks)


def paper_models() -> dict[str, ModelInfo]:
    """Return Table 2: the series (as family), split and size of 59 models.

    >>> paper_models()['Yi-34B']
    ModelInfo(family='Yi', split='validation', params_b=34.0, tokens=nan)
    """
    return {
        row.cells['model']:
        ModelInfo(
            row.text('series'), row.text('split'), row.number('params_b'))
        for row in _rows('paper_table2.csv', 'series', 'split')
    }


def paper_weights() -> dict[str, PaperWeights]:
    """Return the weights on the hub of the 59 models of Tables 3 and 4.

    Base models are first. Names are those that OpenCompass has for these
    models, or for others of their series; InternLM2 and 2.5 need the code that
    comes with them.
    """
    return {
        row.cells['model']:
        PaperWeights(row.text('path'), int(row.number('gpus')))
        for row in _rows('paper_list.csv', 'path', 'gpus')
    }


def _rows(name: str, *columns: str) -> list[CsvRow]:
    with as_file(files('csv_plugin') / 'data' / name) as path:
        return read_rows(path, ('model', *columns))


def named_models(table: Optional[FilePath],
                 split: str) -> dict[str, ModelInfo]:
    """Return the models to train on and to predict, with their splits.

    The table is as in `read_models`. With the split 'paper' it may be None:
    then the models are those of the paper with a split and accuracies, as in
    configs/eval_csv_paper.py. Splits are as in `split_models`.
    """
    if table is not None:
        return split_models(read_models(table), split)
    if split != PAPER:
        raise InputError('models', 'a table of models', 'none',
                         'Give a table, or use the split of the paper.')
    models, evaluated = paper_models(), paper_accuracies().models
    return {model: models[model] for model in models if model in evaluated}


def split_models(info: Mapping[str, ModelInfo],
                 split: str) -> dict[str, ModelInfo]:
    """Replace the splits of models, in one of the ways `SPLITS`.

    'table' keeps them, 'paper' takes those of the paper's Table 2.
    """
    if split == TABLE:
        return dict(info)
    parts = {name: row.split for name, row in paper_models().items()}
    unknown = [model for model in info if model not in parts]
    if unknown:
        raise InputError('models', "models of the paper's Table 2",
                         ', '.join(unknown), 'Use the names of its tables.')
    return {model: replace(info[model], split=parts[model]) for model in info}
