"""Equal weights of the units whose losses go with accuracy most.

Units are ordered by how much their losses fall as accuracy rises, and the mean
over the logarithms of the first of them is the capability score (Eq. 1): of
all units, the first half, the first quarter, and so on. All weights have one
sign, and next to nothing is fitted: slope and offset in the exponents of
Eq. 2.

That units are ordered by rank correlations, and the first of them get equal
weights, is after the estimator of Thrush, Potts and Hashimoto, "Improving
Pretraining Data Using Perplexity Correlations", ICLR 2025, arXiv 2409.05816;
here, the ranks are those of the accuracies only.
"""
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from csv_plugin.core.conventions import short_repr
from csv_plugin.core.salience.base import held_out_mse
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import Regressions, accuracy_at

#: The mean over fewer units would hang on what single ones say.
LEAST_UNITS = 8
#: Logarithms that differ less than this, in standard deviations, may differ by
#: rounding alone.
LEAST_SPREAD = 1e-4


class _Lines(NamedTuple):
    """Curves on scores of models, for each fit and each number of units.

    Args:
        scores (NDArray): Of all n models, `(R, S, n)`.
        slopes (NDArray): With each floor, `(R, S, L)`.
        offsets (NDArray): Alike.
    """
    scores: NDArray
    slopes: NDArray
    offsets: NDArray

    def exponents(self) -> NDArray:
        """Of all models, `(L, S, R, n)`."""
        exponents = self.slopes[..., None] * self.scores[:, :, None]
        return (exponents + self.offsets[..., None]).transpose(2, 1, 0, 3)


@dataclass(frozen=True, eq=False)
class EqualWeights:
    """Fits to all n models and without held-out families, R in all.

    A `Member` of `averaged`. Scores and errors have no unit: scores are means
    of logarithms of losses over typical ones, errors squared fractions.

    Args:
        sizes (NDArray): Numbers of units that count, falling from K, `(S,)`.
        orders (NDArray): Indices of the units for each fit, those first that
            go with accuracy most, `(R, K)`.
        uniform (NDArray): Coefficients of the mean loss, `(K,)`.
        floors (NDArray): Fractions, `(L,)`.
        lines (_Lines): The curves.
        errors (NDArray): Mean squared errors on held-out models, `(S, L)`.
    """
    sizes: NDArray
    orders: NDArray
    uniform: NDArray
    floors: NDArray
    lines: _Lines
    errors: NDArray

    __repr__ = short_repr

    @classmethod
    def of(cls, values: NDArray, uniform: NDArray, accuracy: NDArray,
           masks: NDArray, floors: NDArray) -> 'EqualWeights':
        """Fit.

        Args:
            values (NDArray): Logarithms of feature columns over typical
                ones, `(n, K)`.
            uniform (NDArray): Coefficients of the mean loss, `(K,)`.
            accuracy (NDArray): Fractions, `(n,)`.
            masks (NDArray): As in `Solver.fit`, `(R - 1, n)`.
            floors (NDArray): Fractions, `(L,)`.
        """
        rows = np.vstack([masks, np.ones((1, len(values)), dtype=bool)])
        sizes = _halves(values.shape[1])
        orders = _orders(values, accuracy, rows)
        lines = _fit(values, accuracy, rows, floors, sizes, orders)
        predicted = accuracy_at(lines.exponents(), floors[:, None, None, None])
        errors = held_out_mse(predicted[:, :, :-1], accuracy, masks)
        return cls(sizes, orders, uniform, floors, lines, errors.T)

    def average(self, floor: int,
                weights: NDArray) -> tuple[NDArray, SalienceModel]:
        """Exponents of all models, averaged over the numbers of units.

        Args:
            floor (int): Which of the L.
            weights (NDArray): Of the numbers of units, `(S,)`.

        Returns:
            tuple[NDArray, SalienceModel]: The exponents `(R, n)`, and models
            of them `(R,)`.
        """
        exponents = np.tensordot(weights, self.lines.exponents()[floor], 1)
        slopes = weights * self.lines.slopes[:, :, floor] / self.sizes
        # A unit has a part in the scores of all sizes above its place.
        n_sizes = np.sum(
            self.sizes[:, None] > np.arange(self.sizes[0]), axis=0)
        gradient = np.empty(self.orders.shape)
        np.put_along_axis(
            gradient,
            self.orders,
            np.cumsum(slopes, axis=1)[:, n_sizes - 1],
            axis=1)
        offset = self.lines.offsets[:, :, floor] @ weights
        return exponents, SalienceModel.from_linear(gradient, offset,
                                                    self.floors[floor],
                                                    self.uniform)


def _halves(n: int) -> NDArray:
    """`n`, a half of it, and so on, down to `LEAST_UNITS`.

    >>> _halves(40), _halves(3)
    (array([40, 20, 10]), array([3]))
    """
    sizes = n // 2**np.arange(n.bit_length())
    return sizes[sizes >= min(n, LEAST_UNITS)]


def _orders(values: NDArray, accuracy: NDArray, rows: NDArray) -> NDArray:
    """Units by the correlation of values with ranks of accuracies.

    Args:
        values (NDArray): As in `EqualWeights.of`, `(n, K)`.
        accuracy (NDArray): Fractions, `(n,)`.
        rows (NDArray): Models that count, `(R, n)`.

    Returns:
        NDArray: Indices, the most negative correlation first, `(R, K)`.
    """
    centred = values - values.mean(axis=0)
    ranks = np.zeros(rows.shape)
    for row, rank in zip(rows, ranks):
        rank[row] = rankdata(accuracy[row])
        rank[row] -= rank[row].mean()
    shares = rows / rows.sum(axis=1, keepdims=True)
    variances = shares @ centred**2 - (shares @ centred)**2
    deviations = np.sqrt(
        np.where(variances > LEAST_SPREAD**2, variances, np.inf))
    return np.argsort(ranks @ centred / deviations, axis=1, kind='stable')


def _fit(values: NDArray, accuracy: NDArray, rows: NDArray, floors: NDArray,
         sizes: NDArray, orders: NDArray) -> _Lines:
    """Scores and curves of all fits, see `EqualWeights.of`."""
    shape = len(rows), len(sizes)
    scores = np.empty((*shape, len(values)))
    slopes, offsets = np.empty((2, *shape, len(floors)))
    for r, (row, order) in enumerate(zip(rows, orders)):
        weights = np.zeros((len(sizes), len(order)))
        for weight, size in zip(weights, sizes):
            weight[order[:size]] = 1 / size
        scores[r] = weights @ values.T
        for s, score in enumerate(scores[r]):
            line = fit_lines(score[row, None], accuracy[row], floors)
            slopes[r, s], offsets[r, s] = line[0][:, 0], line[1]
    return _Lines(scores, slopes, offsets)


def fit_lines(scores: NDArray, accuracy: NDArray,
              floors: NDArray) -> tuple[NDArray, NDArray]:
    """Exponents of Eq. 2 as sums of p scores, with each of F floors.

    Args:
        scores (NDArray): Of n models, `(n, p)`; those that do not differ
            get the slope 0.
        accuracy (NDArray): Of the models, fractions, `(n,)`.
        floors (NDArray): Fractions, `(F,)`.

    Returns:
        tuple[NDArray, NDArray]: Slopes `(F, p)` and offsets `(F,)`.
    """
    centre, spread = scores.mean(axis=0), scores.std(axis=0)
    inverse = np.divide(
        1, spread, where=spread > 1e-12 * np.abs(centre),
        out=np.zeros_like(spread))  # yapf: disable
    ones = np.ones((len(scores), 1))
    design = np.hstack([ones, (scores - centre) * inverse])
    lines = Regressions(
        design,
        accuracy,
        np.ones((len(floors), len(scores))),
        floors,
        n_free=design.shape[1])
    solution = lines.solve(0.0, lines.start(), tolerance=1e-7)
    slopes = solution[:, 1:] * inverse
    return slopes, solution[:, 0] - slopes @ centre
