"""Coverage of 90 % intervals in simulated worlds, of which all is known.

    OMP_NUM_THREADS=1 python -m tools.studies.simulated_worlds --worlds 30

Logarithms of losses are linear in the logarithm of a model's compute, and
exponents of Eq. 2 in what a model can do: its compute, how well its family
uses it, which texts its family knows, and what the family and the model lie
off by. Each world has its own families, units and benchmarks. The predictor is
fitted to families of four models, and predicts models of other families: with
as much compute, and with 3 and 10 times that of the best fitted model.

A row of the table is a kind of benchmark and a number of fitted families. Its
columns are the share of intervals that hold the accuracy that is observed, and
their mean width in points. Coverage should be .85 to .95 in each.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core.curve import accuracy_of
from tools.studies.common import parser_of
from tools.studies.trials import Models, salience

#: Chance level of four options, items of a benchmark, and units of loss.
CHANCE, N_ITEMS, N_UNITS = .25, 500, 30
#: Numbers of fitted families, models of each, and new models of each distance.
FAMILIES, OF_FAMILY, N_NEW = (3, 6, 12), 4, 12
#: Logarithms of compute are 0 to 2 for fitted models.
MOST = 2.
#: How far beyond the best fitted model, by the factor of compute.
BEYOND = {'within': 0., '3 times': np.log10(3), '10 times': 1.}
#: Exponents of benchmarks at a compute of 1, and their slopes. Each world has
#: two benchmarks of each kind.
KINDS = {
    'rising': (-.5, 1.),
    'flat': (-.8, .2),
    'emerging': (-3.5, 2.),
    'saturating': (1.5, 1.5),
}
#: Benchmarks of each kind in a world.
OF_KIND = 2


@dataclass(frozen=True, eq=False)
class World:
    """Families whose losses and accuracies can be drawn.

    `base` and `rates`, `(K,)`, are the logarithms of losses at no compute and
    how they fall; `salience`, `(K, B)`, is what units count for benchmarks.
    """
    rng: np.random.Generator
    base: NDArray
    rates: NDArray
    salience: NDArray
    level: NDArray
    slope: NDArray

    @classmethod
    def draw(cls, rng: np.random.Generator) -> 'World':
        """A world with other units and benchmarks than the others."""
        levels, slopes = np.repeat([*KINDS.values()], OF_KIND, axis=0).T
        shift = rng.normal(0, .3, len(levels))
        return cls(rng, rng.normal(1, .2, N_UNITS),
                   rng.uniform(.05, .15, N_UNITS),
                   rng.normal(0, 1 / np.sqrt(N_UNITS), (N_UNITS, len(levels))),
                   levels + shift, slopes * np.exp(shift / 2))

    def models(self, compute: NDArray, families: NDArray) -> Models:
        """New models, given logarithms of compute and numbers of families."""
        rng, n = self.rng, families.max() + 1
        n_benchmarks = len(self.level)
        better = compute + rng.normal(0, .15, n)[families]
        # Which texts the family knows, and chance, in deviations.
        known = rng.normal(size=(n, N_UNITS))[families]
        known = known + .3 * rng.normal(size=known.shape)
        losses = np.exp(self.base - np.outer(better, self.rates) - .03 * known)
        exponents = self.level + np.outer(better - 1, self.slope)
        exponents += .3 * known @ self.salience
        exponents += rng.normal(0, .25, (n, n_benchmarks))[families]
        exponents += rng.normal(0, .15, exponents.shape)
        chance = np.full(n_benchmarks, CHANCE)
        accuracies = accuracy_of(exponents, chance)
        return Models(losses,
                      rng.binomial(N_ITEMS, accuracies) / N_ITEMS, families,
                      families, chance, np.full(n_benchmarks, N_ITEMS),
                      np.full(N_UNITS, ''))


def predict_world(seed: int, n_families: int) -> NDArray[np.float64]:
    """Fit to a world and predict new models, for each distance in turn.

    Whether intervals hold what is observed, and their widths,
    `(2, distances, M, B)`.
    """
    rng = np.random.default_rng([seed, n_families])
    world = World.draw(rng)
    families = np.repeat(np.arange(n_families), OF_FAMILY)
    fitted = world.models(rng.uniform(0, MOST, len(families)), families)
    found = []
    for more in BEYOND.values():
        compute = np.full(N_NEW, MOST + more)
        if not more:
            compute = rng.uniform(0, MOST, N_NEW)
        new = world.models(compute, np.arange(N_NEW))
        _, low, high = salience(fitted, new)
        held = (low <= new.accuracies) & (new.accuracies <= high)
        found.append((held, high - low))
    return np.swapaxes(np.array(found, float), 0, 1)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--worlds', type=int, default=30)
    n_worlds = parser.parse_args().worlds
    rows: dict[str, list] = {kind: [] for kind in KINDS}
    for n_families in FAMILIES:
        worlds = [predict_world(seed, n_families) for seed in range(n_worlds)]
        held, width = np.mean(worlds, axis=(0, 3))
        for k, kind in enumerate(KINDS):
            columns = slice(k * OF_KIND, (k + 1) * OF_KIND)
            row = [kind, n_families]
            for distance in range(len(BEYOND)):
                row.append(held[distance, columns].mean())
                row.append(100 * width[distance, columns].mean())
            rows[kind].append(row)
    header = ['benchmark', 'families']
    for name in BEYOND:
        header += [name, 'width']
    print(
        tabulate(
            sum(rows.values(), []),
            header,
            'pipe',
            floatfmt=('', '', *('.2f', '.1f') * len(BEYOND))))


if __name__ == '__main__':
    main()
