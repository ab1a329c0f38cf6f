"""How much of the binomial noise of scores is a model's own.

    python -m tools.studies.noise_of_items FOLDER --fit train val

reads `scores.csv`, `benchmarks.csv` and `models.csv` (docs/formats.md) of a
folder and prints a table in Markdown. The last checkpoints of a run are much
alike, so how far a score lies from the mean of both its neighbours is noise.
They answer the same items, so it is that of a model's own, and at least that:
neighbours share some of it, too.
"""
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.io.model_tables import read_accuracies
from csv_plugin.io.tables import read_models, split_name
from csv_plugin.triage.checkpoints import read_checkpoints, rows_by_run
from tools.studies.options import parser_of

#: Checkpoints of a run that count, its last.
LAST = 5


def bends(scores: NDArray) -> NDArray:
    """Of each three neighbours, how much the middle one sticks out.

    Args:
        scores (NDArray): Of checkpoints, in their order, `(n, B)`.

    Returns:
        NDArray: In units of which noise has a variance of 1, `(n - 2, B)`.
    """
    before, middle, after = scores[:-2], scores[1:-1], scores[2:]
    return (before - 2 * middle + after) / np.sqrt(1 + 4 + 1)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('folder', type=Path)
    parser.add_argument(
        '--fit', nargs='+', required=True, type=split_name, help='splits')
    args = parser.parse_args()
    models = args.folder / 'models.csv'
    splits = read_models(models)
    known = read_checkpoints(models)
    table = read_accuracies(args.folder / 'scores.csv',
                            args.folder / 'benchmarks.csv')
    table = table.select(
        [name for name in table.models if splits[name].split in args.fit])
    runs = rows_by_run([known[name] for name in table.models])
    last = [table.values[rows[-LAST:]] for rows, _ in runs.values()]
    noise = np.mean(np.concatenate([bends(part) for part in last])**2, axis=0)
    mean = np.concatenate(last).mean(axis=0)
    binomial = mean * (1 - mean) / table.n_items
    print(
        tabulate(
            [[name, n, 100 * np.sqrt(one), 100 * np.sqrt(own), own / one]
             for name, n, one, own in zip(table.benchmarks, table.n_items,
                                          binomial, noise)] +
            [['mean', '', '', '',
              np.mean(noise / binomial)]],
            ['benchmark', 'items', 'binomial', 'own', 'share'],
            'pipe',
            floatfmt=('', '.0f', '.2f', '.2f', '.2f')))


if __name__ == '__main__':
    main()
