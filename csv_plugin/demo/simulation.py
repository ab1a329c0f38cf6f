"""A simulated laboratory: tables of losses and scores from latent skills.

Nobody trained these models. Each has a few skills that grow with its size,
each text asks for a mixture of skills, and so does each benchmark, which is
what makes losses on texts tell something about benchmarks.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.features import FeatureTable
from csv_plugin.core.scores import AccuracyTable
from csv_plugin.core.sigmoid import scaling_law
from csv_plugin.core.splits import split_by_size

FAMILIES = ('Amber', 'Birch', 'Cedar', 'Dune', 'Ember', 'Fjord', 'Grove',
            'Heath', 'Inlet', 'Juniper', 'Kelp', 'Lichen')
#: Parameters in billions.
SIZES = (0.1, 0.4, 1.5, 6, 25)
N_TEXTS = 120
#: By benchmark: chance level, number of items, share of each skill
#: (knowledge, reasoning, everyday sense), skill needed to be half-way up.
BENCHMARKS = {
    'facts': (0.25, 800, (0.9, 0.0, 0.1), 0.2),
    'puzzles': (0.0, 500, (0.1, 0.9, 0.0), 0.9),
    'endings': (0.25, 1000, (0.2, 0.0, 0.8), -0.3),
    'sums': (0.0, 500, (0.0, 1.0, 0.0), 0.5),
    'yes-no': (0.5, 600, (0.5, 0.2, 0.3), 0.4),
}


@dataclass(frozen=True, eq=False)
class Laboratory:
    """What a laboratory would know of its models.

    Args:
        features (FeatureTable): Nats per token, 60 models x 120 texts.
        accuracies (AccuracyTable): Fractions, 60 models x 5 benchmarks.
        families (tuple[str, ...]): Family of each model.
        sizes (tuple[float, ...]): Parameters in billions.
        splits (tuple[str, ...]): By size; two families are only for test.
    """
    features: FeatureTable
    accuracies: AccuracyTable
    families: tuple[str, ...]
    sizes: tuple[float, ...]
    splits: tuple[str, ...]


def simulate(seed: int = 0) -> Laboratory:
    """Make the laboratory; the same seed makes the same one.

    >>> simulate().features.values.shape
    (60, 120)
    """
    rng = np.random.default_rng(seed)
    families = tuple(name for name in FAMILIES for _ in SIZES)
    sizes = SIZES * len(FAMILIES)
    models = tuple(f'{family}-{size:g}B'
                   for family, size in zip(families, sizes))
    skills = _skills(rng)
    units = tuple(f'text-{index:03d}' for index in range(N_TEXTS))
    splits = split_by_size(families, sizes, held_out_families=FAMILIES[-2:])
    return Laboratory(
        FeatureTable(models, units, _losses(rng, skills),
                     np.full(N_TEXTS, 1 / N_TEXTS)),
        AccuracyTable(models, tuple(BENCHMARKS), _accuracies(rng, skills),
                      np.array([b[0] for b in BENCHMARKS.values()]),
                      np.array([b[1] for b in BENCHMARKS.values()])), families,
        sizes, tuple(str(split) for split in splits))


def _skills(rng: np.random.Generator) -> NDArray:
    """Three skills of each model, shape `(60, 3)`, about -1.5 to 2.5."""
    taste = rng.normal(0, 0.4, (len(FAMILIES), 1, 3))
    growth = 0.6 * np.log10(SIZES)[:, None]
    return (taste + growth + rng.normal(0, 0.08, (1, 1, 3)) +
            rng.normal(0, 0.08,
                       (len(FAMILIES), len(SIZES), 3))).reshape(-1, 3)


def _losses(rng: np.random.Generator, skills: NDArray) -> NDArray:
    """Losses fall with the skills that a text asks for."""
    asked = rng.dirichlet(np.full(3, 0.3), N_TEXTS)
    base = rng.uniform(1.8, 3.2, N_TEXTS)
    return base - 0.4 * skills @ asked.T + rng.normal(0, 0.03,
                                                      (len(skills), N_TEXTS))


def _accuracies(rng: np.random.Generator, skills: NDArray) -> NDArray:
    """Eq. 2 over the skills, then as many coin tosses as there are items."""
    columns = []
    for chance, n_items, shares, needed in BENCHMARKS.values():
        true = scaling_law(skills @ np.array(shares), 3.0, needed, chance)
        columns.append(rng.binomial(n_items, true) / n_items)
    return np.stack(columns, axis=1)
