"""What own answers of benchmarks add to the losses of texts.

    OMP_NUM_THREADS=1 python -m tools.studies.study_own_answers

The demonstration has losses of tokens. Of the kept real models, losses of
answers in nats a byte are known, each of which counts as a token. The model is
that of core.accuracy_model. Columns:

    pooled      MSE x 1e-3 of all left-out models, geometric mean over the
                benchmarks, and plain mean
    by group    geometric mean over benchmarks and groups that are left out
    coverage    share of the 90 % intervals that hold the observed accuracy
"""
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

import csv_plugin as cp
from csv_plugin.core.study import geometric_mean
from csv_plugin.demo import shipped
from tools.studies.options import parser_of
from tools.studies.real_models.tables import ANSWERS, LOSSES, RealModels
from tools.studies.yard import Models, demonstration, one_model

HEADER = ('left out', 'losses', 'pooled', 'mean', 'by group', 'coverage',
          'CPU s')


def demonstration_models() -> tuple[Models, NDArray]:
    """The demonstration, and a mask of its test models, `(M,)`."""
    whole = cp.read_collection(shipped.COLLECTION)
    splits = [whole.info[name].split for name in whole.losses]
    return demonstration(whole), np.array(splits) == 'test'


def real_models() -> tuple[Models, NDArray]:
    """The kept real models, and the kinds of degradation, `(M,)`."""
    real = RealModels.read()
    accuracies, losses = real.accuracies, real.part(LOSSES)
    answers = tuple(
        real.part(ANSWERS, name).values for name in accuracies.benchmarks)
    sources = [unit.rsplit('/', 1)[0] for unit in losses.columns.units]
    models = Models(losses.values, accuracies.values, np.array(real.families),
                    accuracies.chance, accuracies.n_items, np.array(sources),
                    answers)
    return models, np.array(real.kinds)


def errors(models: Models, left_out: Sequence[NDArray]) -> list[float]:
    """Cells of a row; each mask of models, `(M,)`, is left out in turn."""
    squares, inside = [], []
    start = time.process_time()
    for mask in tqdm(left_out):
        new = models.take(np.flatnonzero(mask))
        found = one_model(models.take(np.flatnonzero(~mask)), new)
        squares.append((found.values - new.accuracies)**2)
        inside.append((found.low <= new.accuracies)
                      & (new.accuracies <= found.high))
    seconds = (time.process_time() - start) / len(left_out)
    pooled = np.concatenate(squares).mean(axis=0)
    by_group = np.array([part.mean(axis=0) for part in squares])
    return [
        1e3 * geometric_mean(pooled), 1e3 * pooled.mean(),
        1e3 * geometric_mean(by_group.ravel()),
        np.concatenate(inside).mean(), seconds
    ]


def each(names: NDArray) -> list[NDArray]:
    """A mask for every name but the empty one."""
    return [names == name for name in np.unique(names) if name]


def main() -> None:
    parser_of(__doc__).parse_args()
    demo, test = demonstration_models()
    real, kinds = real_models()
    protocols = {
        "the demonstration's test models": (demo, [test]),
        'each of its series': (demo, each(demo.families)),
        'each family of real models': (real, each(real.families)),
        'each kind of degradation': (real, each(kinds)),
    }
    rows = []
    for name, (models, left_out) in protocols.items():
        texts = replace(models, answers=())
        rows.append([name, 'texts', *errors(texts, left_out)])
        rows.append([name, 'own answers too', *errors(models, left_out)])
    print(tabulate(rows, HEADER, tablefmt='pipe', floatfmt='.2f'))


if __name__ == '__main__':
    main()
