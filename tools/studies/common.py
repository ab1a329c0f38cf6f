"""What several studies share: options, tables, groups of families, intervals.
"""
import argparse
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.predictor import LEVEL
from csv_plugin.io.model_tables import ModelTables, read_model_tables

TABLES = ('losses', 'scores', 'models', 'benchmarks')
#: Draws of groups for ratios, and of values for means, which are cheaper.
RATIO_DRAWS, MEAN_DRAWS = 1000, 2000
#: Families are left out in at most so many groups.
PARTS = 8


def parser_of(text: str | None) -> argparse.ArgumentParser:
    """A parser that shows the docstring of a study as it is."""
    return argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawTextHelpFormatter)


def tables_in(folder: Path) -> ModelTables:
    """The tables of a folder, as docs/formats.md describes them."""
    losses, *others = (folder / f'{name}.csv' for name in TABLES)
    if not losses.exists():
        losses = losses.with_suffix('.safetensors')
    return read_model_tables(losses, *others)


def bits_per_character() -> ModelTables:
    """The tables of bits per character that ship with the package."""
    folder = Path(str(resources.files('csv_plugin'))) / 'data'
    return read_model_tables(*(folder / f'bits_per_character_{name}.csv'
                               for name in TABLES))


def dealt(families: Sequence[str] | NDArray,
          n_parts: int = PARTS,
          seed: Optional[int] = 0) -> NDArray[np.int64]:
    """The group of each of M models, `(M,)`; groups never divide a family.

    The largest family goes first, into the group with the fewest models.
    Families of equal size go in a random order, or by name without a seed.
    """
    names, family_of_model, n_models = np.unique(
        families, return_inverse=True, return_counts=True)
    order = np.arange(len(names))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(order)
    part_of_family = np.empty(len(names), np.int64)
    sizes = np.zeros(n_parts, np.int64)
    for family in order[np.argsort(-n_models[order], kind='stable')]:
        smallest = sizes.argmin()
        part_of_family[family] = smallest
        sizes[smallest] += n_models[family]
    return part_of_family[family_of_model]


def mean_with_interval(values: NDArray) -> tuple[float, float, float]:
    """A mean of n values, and the ends of its 90 % interval.

    Values, `(n,)`, such as one per run, are drawn again and again.
    """
    rng = np.random.default_rng(0)
    means = rng.choice(values, (MEAN_DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(values.mean()), float(low), float(high)


def error_ratio(squares: NDArray, reference: NDArray,
                groups: Sequence[str]) -> tuple[float, float, float]:
    """How many times the errors of one method are those of another.

    Args:
        squares (NDArray): Squared errors of M models on B benchmarks,
            `(M, B)`, NaN where the accuracy is not known.
        reference (NDArray): Those of the other method.
        groups (Sequence[str]): Group of each model, such as its family.

    Returns:
        tuple[float, float, float]: Ratio of the mean squared errors, a
        geometric mean over the benchmarks, and the ends of its 90 % interval:
        groups are drawn, as many as there are, with repetition.
    """
    names, group = np.unique(groups, return_inverse=True)
    n = len(names)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n),
                                                 RATIO_DRAWS)
    weights = np.vstack([np.ones(n), drawn])[:, group]
    known = ~np.isnan(squares)
    # A draw may lack all models that were run on a benchmark.
    with np.errstate(divide='ignore', invalid='ignore'):
        ours, theirs = (
            np.log((weights @ np.where(known, part, 0)) / (weights @ known))
            for part in (squares, reference))
    ratios = np.exp((ours - theirs).mean(axis=1))
    low, high = np.nanquantile(ratios[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(ratios[0]), float(low), float(high)
