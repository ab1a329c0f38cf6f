"""Models and accuracies of the paper (Ge et al. 2025), as it prints them.

All names are those of its Tables 3 and 4. Two models there, gemma-2-2b-it
and gemma-2-9b-it, have accuracies but are in no split of Table 2. Two models
of Table 2, internlm2.5-1.8B-chat-sft and internlm2.5-7B-chat-sft, have no
accuracies. Nothing is filled in. 57 models are in both `paper_models` and
`paper_accuracies` and can be used for fits and comparisons.
"""
from importlib.resources import as_file, files
from typing import NamedTuple

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.io.csv_rows import read_rows
from csv_plugin.io.tables import ModelInfo, read_accuracies


class PaperWeights(NamedTuple):
    """Where the weights of a model are, and what they need.

    Args:
        path (str): Name on the hub.
        gpus (int): How many GPUs of 80 GB the weights in 16 bits fill less
            than half of: a power of two.
    """
    path: str
    gpus: int


def paper_accuracies() -> AccuracyTable:
    """Tables 3 and 4: accuracies of 59 models on six benchmarks.

    Returns:
        AccuracyTable: Accuracies in 0..1, none missing. Chance levels and
        numbers of items are those of `known_benchmarks`, as the paper
        gives none.

    >>> table = paper_accuracies()
    >>> float(table.column('gsm8k')[table.models.index('Qwen2-72B')])
    0.8954
    """
    data = files('csv_plugin.data')
    with as_file(data / 'paper_tables3_4.csv') as scores, \
            as_file(data / 'benchmarks.csv') as benchmarks:
        return read_accuracies(scores, benchmarks)


def paper_models() -> dict[str, ModelInfo]:
    """Table 2: the series, splits and sizes of 59 models.

    Returns:
        dict[str, ModelInfo]: By model, with its series as the family.

    >>> paper_models()['Yi-34B']
    ModelInfo(family='Yi', split='validation', params_b=34.0, tokens=nan)
    """
    with as_file(files('csv_plugin.data') / 'paper_table2.csv') as path:
        rows = read_rows(path, ('model', 'series', 'split'))
    return {
        row.cells['model']:
        ModelInfo(
            row.text('series'), row.text('split'), row.number('params_b'))
        for row in rows
    }


def paper_weights() -> dict[str, PaperWeights]:
    """Where the weights of the 59 models of Tables 3 and 4 are on the hub.

    Names on the hub are those that OpenCompass has for these models, or for
    others of their series; InternLM2 and 2.5 need the code that comes with
    them.

    Returns:
        dict[str, PaperWeights]: By model, base models first.

    >>> paper_weights()['llama-2-70b-hf'].path
    'meta-llama/Llama-2-70b-hf'
    """
    with as_file(files('csv_plugin.data') / 'paper_list.csv') as path:
        rows = read_rows(path, ('model', 'path', 'gpus'))
    return {
        row.cells['model']:
        PaperWeights(row.text('path'), int(row.number('gpus')))
        for row in rows
    }
