"""Coverage and width of prediction intervals on simulated families of models.

    OMP_NUM_THREADS=1 python -m tools.studies.intervals_study --worlds 300

Families share what they were trained on: each has its own mean skill, its own
losses on every unit, and its own accuracy beside what its losses tell. Fitted
to are 3, 6 or 12 families of eight sizes. Predicted are four other families of
equal skill, and with 3, 10 and 30 times the compute, if 30 times makes the
smallest models the largest:

* inside: where the curve is steep among those fitted on;
* saturating: where curves flatten;
* emerging: where those fitted on are near the chance level.

Beside each row stand the same for the cross-conformal intervals of MAPIE (CV+,
folds by family) around a linear ridge of scikit-learn, if both are installed:
`pip install mapie scikit-learn`.
"""
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import SOLVERS
from csv_plugin.core.salience.base import grouped_folds
from tools.studies.options import parser_of

LEVELS = (0.5, 0.8, 0.9)
FAMILIES = (3, 6, 12)
SIZES, UNITS, ITEMS, CHANCE = 8, 30, 500, 0.25
#: Families that are predicted.
NEW = 4
#: Number of the first world; choices were made on worlds of lower numbers.
FIRST = 2000
#: Skill at which accuracy is half-way to 1.
SITUATIONS = {'inside': 0.5, 'saturating': -0.5, 'emerging': 2.5}
#: Times the compute of the predicted families, and the skill of the last.
BEYOND, SKILL = (1, 3, 10, 30), 1.5


class World(NamedTuple):
    """Losses `(M, K)`, accuracies `(M,)` and families `(M,)`."""
    losses: NDArray
    accuracy: NDArray
    families: NDArray


def simulate(middle: float, n_families: int, lead: float, rates: NDArray,
             weights: NDArray, rng: np.random.Generator) -> World:
    """Models of some families."""
    member = np.repeat(np.arange(n_families), SIZES)
    skill = (
        rng.normal(0, 0.3, n_families)[member] +
        np.tile(np.linspace(0, 1.5, SIZES), n_families) + lead)
    of_family = rng.normal(0, 0.05, (n_families, UNITS))[member]
    losses = 6 - rates * skill[:, None] + of_family + rng.normal(
        0, 0.01, (len(skill), UNITS))
    told = (6 - losses) @ weights / (rates @ weights)
    exponent = 3 * (told - middle) + rng.normal(0, 0.2, n_families)[member]
    truth = CHANCE + (1 - CHANCE) * expit(exponent)
    return World(losses, rng.binomial(ITEMS, truth) / ITEMS, member)


#: From losses and accuracies of fitted models, their families, and losses of
#: others: bounds `(levels, 2, M)`.
Method = Callable[[World, NDArray], NDArray]


def of_solver(name: str) -> Method:
    """The intervals of this package."""

    def bounds(fitted: World, losses: NDArray) -> NDArray:
        columns = Columns(
            tuple(f'unit {k}' for k in range(UNITS)),
            np.full(UNITS, 1 / UNITS), 'simulated', None)
        models = tuple(f'm{i}' for i in range(len(fitted.accuracy)))
        predictor = fit_predictor(
            FeatureTable(models, columns, fitted.losses),
            AccuracyTable(models, ('exam', ), fitted.accuracy[:, None],
                          np.array([CHANCE]), np.array([ITEMS])),
            [f'family {f}' for f in fitted.families], SOLVERS[name])
        new = FeatureTable(
            tuple(f'n{i}' for i in range(len(losses))), columns, losses)
        tables = [predictor.predict(new, level) for level in LEVELS]
        return np.array([[table.low[:, 0, 0], table.high[:, 0, 0]]
                         for table in tables])

    return bounds


def of_mapie() -> Optional[Method]:
    """MAPIE's, or None where it is not installed."""
    try:
        from mapie.regression import CrossConformalRegressor
        from sklearn.linear_model import RidgeCV
        from sklearn.model_selection import PredefinedSplit
    except ModuleNotFoundError:
        return None

    def bounds(fitted: World, losses: NDArray) -> NDArray:
        folds = grouped_folds([str(f) for f in fitted.families], 5, 0)
        conformal: Any = CrossConformalRegressor(
            RidgeCV(np.logspace(-4, 2, 13)),
            confidence_level=LEVELS,
            method='plus',
            cv=PredefinedSplit(folds))
        conformal.fit_conformalize(fitted.losses, fitted.accuracy)
        _, intervals = conformal.predict_interval(losses)
        return np.clip(intervals.transpose(2, 1, 0), 0, 1)

    return bounds


def measure(method: Method, middle: float, n_families: int,
            worlds: int) -> Iterator[NDArray]:
    """Coverage and mean width of each world, `(len(BEYOND), 2, levels)`."""
    leads = SKILL * np.log(BEYOND) / np.log(BEYOND[-1])
    for seed in range(FIRST, FIRST + worlds):
        rng = np.random.default_rng([seed, n_families])
        rates = rng.uniform(0.2, 1, UNITS)
        weights = rng.exponential(1, UNITS) * (rng.random(UNITS) < 0.3) + 0.01
        fitted, *new = (simulate(middle, count, lead, rates, weights, rng)
                        for count, lead in ((n_families, 0.),
                                            *((NEW, lead) for lead in leads)))
        bounds = method(fitted, np.vstack([world.losses for world in new]))
        low, high = bounds[:, 0], bounds[:, 1]
        real = np.concatenate([world.accuracy for world in new])
        inside = (low <= real) & (real <= high)
        parts = np.array([inside, high - low]).reshape(2, len(LEVELS),
                                                       len(BEYOND), -1)
        yield parts.mean(axis=-1).transpose(2, 0, 1)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        '--worlds',
        type=int,
        default=40,
        metavar='N',
        help='worlds of each kind (default 40)')
    parser.add_argument(
        '--solvers',
        nargs='+',
        default=['uniform', 'ridge', 'averaged'],
        choices=SOLVERS,
        metavar='SOLVER',
        help='default: uniform, ridge and averaged')
    args = parser.parse_args()
    methods = {name: of_solver(name) for name in args.solvers}
    mapie = of_mapie()
    if mapie:
        methods['MAPIE'] = mapie
    else:
        print('MAPIE is not installed, and has no rows.', file=sys.stderr)
    cells = [(situation, count, name) for situation in SITUATIONS
             for count in FAMILIES for name in methods]
    rows = []
    for situation, count, name in tqdm(cells, desc='cells'):
        found = np.mean([
            *measure(methods[name], SITUATIONS[situation], count, args.worlds)
        ], axis=0)  # yapf: disable
        for times, part in zip(BEYOND, found):
            rows.append([
                situation, count, times, name,
                *(cell for share, width in part.T
                  for cell in (f'{share:.2f}', f'{100 * width:.1f}'))
            ])
    header = ['', 'families', 'times beyond', 'method'] + [
        f'{level:.0%} {what}' for level in LEVELS for what in ('hold', 'width')
    ]
    print(tabulate(rows, header, tablefmt='pipe', disable_numparse=True))


if __name__ == '__main__':
    main()
