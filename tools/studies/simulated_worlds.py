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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.curve import accuracy_of
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from tools.studies.options import parser_of

CHANCE, N_ITEMS, N_UNITS = .25, 500, 30
#: Models of a fitted family, and new models of each distance.
OF_FAMILY, N_NEW = 4, 12
LEVEL = 0.9
#: Logarithms of compute are 0 to 2 for fitted models.
MOST = 2.
#: How far beyond the best fitted model, by the factor of compute.
BEYOND = {'within': 0., '3 times': np.log10(3), '10 times': 1.}


class Kind(NamedTuple):
    """Exponent of a benchmark at a compute of 1, and its slope."""
    level: float
    slope: float


#: Each world has two benchmarks of each kind.
KINDS = {
    'rising': Kind(-.5, 1.),
    'flat': Kind(-.8, .2),
    'emerging': Kind(-3.5, 2.),
    'saturating': Kind(1.5, 1.5),
}
OF_KIND = 2


@dataclass(frozen=True, eq=False)
class World:
    """Families whose losses and accuracies can be drawn.

    `base` and `rates`, `(K,)`, are the logarithms of losses at no compute and
    how they fall; `salience`, `(K, B)`, is what tokens count for benchmarks.
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
        kinds = [kind for kind in KINDS.values() for _ in range(OF_KIND)]
        shift = rng.normal(0, .3, len(kinds))
        return cls(rng, rng.normal(1, .2, N_UNITS),
                   rng.uniform(.05, .15, N_UNITS),
                   rng.normal(0, 1 / np.sqrt(N_UNITS), (N_UNITS, len(kinds))),
                   np.array([kind.level for kind in kinds]) + shift,
                   np.array([kind.slope for kind in kinds]) *
                   np.exp(shift / 2))  # yapf: disable

    def models(self, compute: NDArray,
               families: NDArray) -> tuple[NDArray, NDArray]:
        """Return losses `(M, K)` and accuracies `(M, B)` of new models.

        Given logarithms of their compute, and numbers of their families.
        """
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
        accuracies = accuracy_of(exponents, np.full(n_benchmarks, CHANCE))
        return losses, rng.binomial(N_ITEMS, accuracies) / N_ITEMS


class Seen(NamedTuple):
    """Intervals that hold what is observed, and their widths, `(M, B)`."""
    held: NDArray
    width: NDArray


def predict_world(seed: int, n_families: int) -> Mapping[str, Seen]:
    """Fit to a world and predict new models, by how far they are beyond."""
    rng = np.random.default_rng([seed, n_families])
    world = World.draw(rng)
    families = np.repeat(np.arange(n_families), OF_FAMILY)
    losses, accuracies = world.models(
        rng.uniform(0, MOST, len(families)), families)
    names = [f'm{m}' for m in range(len(families))]
    n_benchmarks = accuracies.shape[1]
    table = AccuracyTable(names, [f'b{b}' for b in range(n_benchmarks)],
                          accuracies, np.full(n_benchmarks, CHANCE),
                          np.full(n_benchmarks, N_ITEMS))
    units = [f'u{k}' for k in range(N_UNITS)]
    predictor = fit_predictor(
        FeatureTable.of_losses(names, units, losses), table,
        [f'f{family}' for family in families])
    found = {}
    for name, more in BEYOND.items():
        compute = np.full(N_NEW, MOST + more)
        if not more:
            compute = rng.uniform(0, MOST, N_NEW)
        losses, accuracies = world.models(compute, np.arange(N_NEW))
        new = FeatureTable.of_losses([f'n{m}' for m in range(N_NEW)], units,
                                     losses)
        low, high = predictor.joint(new).intervals(LEVEL)
        held = (low <= accuracies) & (accuracies <= high)
        found[name] = Seen(held, high - low)
    return found


def rows(n_families: int, n_worlds: int) -> list[list]:
    """Rows of the table, one for each kind of benchmark."""
    worlds = [predict_world(seed, n_families) for seed in range(n_worlds)]
    found = []
    for k, kind in enumerate(KINDS):
        columns = slice(k * OF_KIND, (k + 1) * OF_KIND)
        row: list = [kind, n_families]
        for name in BEYOND:
            seen = [world[name] for world in worlds]
            row.append(np.mean([part.held[:, columns] for part in seen]))
            row.append(100 * np.mean([part.width[:, columns]
                                      for part in seen]))
        found.append(row)
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument('--worlds', type=int, default=30)
    args = parser.parse_args()
    header = ['benchmark', 'families']
    for name in BEYOND:
        header += [name, 'width']
    table = [
        row for n_families in (3, 6, 12)
        for row in rows(n_families, args.worlds)
    ]
    print(
        tabulate(
            sorted(table, key=lambda row: [*KINDS].index(row[0])),
            header,
            'pipe',
            floatfmt=('', '', *('.2f', '.1f') * len(BEYOND))))


if __name__ == '__main__':
    main()
