"""Return the models, splits and accuracies of the paper (Ge et al. 2025).

All models have the names that Tables 3 and 4 of the paper give them. 57 models
are in both `paper_models` and `paper_accuracies`. Only in `paper_accuracies`
are gemma-2-2b-it and gemma-2-9b-it, which are in no split of Table 2. Only in
`paper_models` are internlm2.5-1.8B-chat-sft and internlm2.5-7B-chat-sft, of
which the paper has no accuracies.
"""
from importlib.resources import as_file, files
from typing import NamedTuple

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.io.files import FilePath
from csv_plugin.io.model_tables import read_accuracies
from csv_plugin.io.tables import ModelInfo, read_models, read_rows

#: What a user gives instead of a path to get the tables of the paper.
PAPER = 'paper'
_DATA = files('csv_plugin') / 'data'


class PaperWeights(NamedTuple):
    """The name of a model on the hub, and the number of GPUs to run it on.

    The GPUs have 80 GB each. In 16 bits, the weights of the model fill less
    than half of the memory of these GPUs.
    """
    path: str
    gpus: int


def paper_accuracies() -> AccuracyTable:
    """Return Tables 3 and 4: accuracies of 59 models on six benchmarks.

    No accuracy is missing. As the paper states no chance levels and numbers of
    items, they are taken from `known_benchmarks`.

    >>> table = paper_accuracies()
    >>> float(table.column('gsm8k')[table.models.index('Qwen2-72B')])
    0.8954
    """
    with as_file(_DATA / 'paper_tables3_4.csv') as scores, \
            as_file(_DATA / 'benchmarks.csv') as benchmarks:
        return read_accuracies(scores, benchmarks)


def paper_models() -> dict[str, ModelInfo]:
    """Return Table 2: the series (as family), split and size of 59 models.

    >>> paper_models()['Yi-34B']
    ModelInfo(family='Yi', split='validation', params_b=34.0, tokens=nan)
    """
    with as_file(_DATA / 'paper_table2.csv') as path:
        return read_models(path)


def paper_weights() -> dict[str, PaperWeights]:
    """Return where the weights of the 59 models of Tables 3 and 4 are.

    The keys are the names of the models, base models first. InternLM2 and 2.5
    need the Python code that comes with their weights.
    """
    with as_file(_DATA / 'paper_list.csv') as path:
        rows = read_rows(path, ('model', 'path', 'gpus'))
    weights = {}
    for row in rows:
        model = row.text('model')
        gpus = int(row.number('gpus'))
        weights[model] = PaperWeights(row.text('path'), gpus)
    return weights


def read_models_or_paper(path: FilePath) -> dict[str, ModelInfo]:
    """Read a table of models, or return the models of the paper for 'paper'.

    The models of the paper are the 57 models that have both accuracies and a
    split in it.
    """
    if path != PAPER:
        return read_models(path)
    models = paper_models()
    evaluated = paper_accuracies().models
    return {name: models[name] for name in models if name in evaluated}
