"""Errors on families left out, by number of models and of their families.

    OMP_NUM_THREADS=1 python -m tools.studies.study_models ../shared/real

prints the table of docs/appendix/public_models.md, from a folder of tables as
docs/formats.md describes them. Predictors are fitted to more and more models
of all families, or to `FIXED` models of more and more families, and predict
families that none of the fitted models belongs to. Errors and widths are means
over the main benchmarks in points; medians of ten draws, in brackets the 10 %
and 90 % quantiles. The coverage is a mean over the draws.
"""
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from tools.studies.common import parser_of, tables_in
from tools.studies.trials import (METHODS, Models, Trial, column, figures,
                                  of_tables)

#: Numbers of models of all families.
NUMBERS = (6, 9, 12, 24, 48)
#: Number of models of some families, as many of each.
FIXED = 12
#: Numbers of families that these models come from.
FAMILIES = (4, 6, 12)
#: Share of the models that are predicted: whole families, until it is reached.
PREDICTED = 0.25
#: Draws of the models that are fitted to and predicted.
N_DRAWS = 10
HEADER = ('models', 'families', 'salience: error', 'mean loss: error',
          'salience: width of intervals', 'hold')


def draws(models: Models, seed: int) -> Iterator[Trial]:
    """Draws of every number of models and of families, by one seed.

    The predicted families are the same, and draws of more models of all
    families contain those of fewer. A name has both numbers.
    """
    rng = Random(seed)
    families = list(models.families)
    names = list(dict.fromkeys(families))
    predicted: list[int] = []
    for name in rng.sample(names, len(names)):
        if len(predicted) >= PREDICTED * len(families):
            break
        predicted += [m for m, family in enumerate(families) if family == name]
    rest = [m for m in range(len(families)) if m not in predicted]
    rest = rng.sample(rest, len(rest))
    drawn = [(f'{n} all', rest[:n]) for n in NUMBERS]
    members: dict[str, list[int]] = {}
    for m in rest:
        members.setdefault(families[m], []).append(m)
    for n in FAMILIES:
        n_each = FIXED // n
        large = [name for name in members if len(members[name]) >= n_each]
        fitted = []
        for name in rng.sample(large, n):
            fitted += members[name][:n_each]
        drawn.append((f'{FIXED} {n}', fitted))
    every = np.arange(len(models.chance))
    for name, fitted in drawn:
        fit = np.array(fitted), np.array(predicted)
        yield Trial('models', name, models, [fit], every)


def cell(points: NDArray) -> str:
    """Median and quantiles of points."""
    low, middle, high = np.quantile(points, [0.1, 0.5, 0.9])
    return f'{middle:.1f} ({low:.1f}-{high:.1f})'


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('folder', type=Path)
    models = of_tables(tables_in(parser.parse_args().folder))
    found: dict[str, dict[str, list]] = {}
    for seed in tqdm(range(N_DRAWS), desc='draws'):
        for trial in draws(models, seed):
            of_methods = found.setdefault(trial.name, {})
            for method in METHODS:
                of_methods.setdefault(method,
                                      []).append(figures(trial, method))
    rows = []
    for name, of_methods in found.items():
        ours, baseline = of_methods['salience'], of_methods['mean-loss']
        rows.append([
            *name.split(),
            cell(column(ours, 'mae')),
            cell(column(baseline, 'mae')),
            cell(column(ours, 'width')),
            f'{column(ours, "coverage").mean():.2f}'
        ])
    print(tabulate(rows, HEADER, 'pipe', disable_numparse=True))


if __name__ == '__main__':
    main()
