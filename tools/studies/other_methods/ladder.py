"""The two steps of model ladders: size and tokens, task loss, accuracy.

Source: Bhagia et al., "Establishing Task Scaling Laws via Compute-Efficient
Model Ladders", arXiv 2412.04403. Step one: the loss on a benchmark's own
answers is `E + A N^-a + B D^-b` with N parameters and D training tokens. Step
two: the accuracy is a sigmoid of that loss. Losses of the model that is
predicted take no part; where they are known, step two alone is the method of
the benchmark's own units.

The sigmoid is that of all methods here, without the free ceiling of the
source. For given exponents step one is linear, so the exponents are tried on
a grid, and a model is a sum of powers with coefficients.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.salience.base import SalienceFit, Task, floor_candidates
from tools.studies.other_methods.cross_validation import (Candidates,
                                                          cross_validate,
                                                          fit_lines)

#: Exponents that step one chooses from.
EXPONENTS = tuple(np.geomspace(0.03, 1.5, 18).tolist())


def ladder_features(models: Sequence[str], parameters: NDArray,
                    tokens: NDArray, own_loss: NDArray) -> FeatureTable:
    """What `Ladder` is fitted to.

    Args:
        parameters (NDArray): Positive, in any unit, `(M,)`.
        tokens (NDArray): Positive, in any unit, `(M,)`.
        own_loss (NDArray): On the benchmark's own units, `(M,)`.
    """
    powers = [(size / np.exp(np.log(size).mean()))[:,
                                                   None]**-np.array(EXPONENTS)
              for size in (parameters, tokens)]
    units = ['own loss'] + [
        f'{size}^-{exponent:.3g}' for size in ('parameters', 'tokens')
        for exponent in EXPONENTS
    ]
    values = np.hstack([own_loss[:, None], *powers])
    uniform = np.eye(len(units))[0]
    return FeatureTable(
        tuple(models), Columns(tuple(units), uniform, 'ladder'), values)


@dataclass(frozen=True)
class Ladder:
    """A solver for `ladder_features`; models give their losses no weight."""
    name: str = 'ladder'

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """See `Solver.fit`."""
        return cross_validate(self.name, task, masks, ('two steps', ),
                              _candidates)


def _candidates(task: Task) -> Candidates:
    own_loss = task.values[:, 0]
    constant, coefficients = loss_law(task.values[:, 1:], own_loss)
    slopes, offsets = fit_lines(own_loss[:, None], task.accuracy,
                                floor_candidates(task.chance))
    return Candidates(
        np.concatenate([[0.0], coefficients])[None], slopes[None],
        (offsets + slopes[:, 0] * constant)[None])


def loss_law(powers: NDArray, loss: NDArray) -> tuple[float, NDArray]:
    """Step one: a constant and one power of each size, none negative.

    Args:
        powers (NDArray): As in `ladder_features`, `(n, 2 P)`.
        loss (NDArray): Shape `(n,)`.

    Returns:
        tuple[float, NDArray]: The constant, and the coefficients of all
        powers, at most two of them not 0. `(2 P,)`.
    """
    n_powers = powers.shape[1] // 2
    ones = np.ones(len(loss))
    fits = []
    for a, b in product(range(n_powers), range(n_powers, 2 * n_powers)):
        columns = np.stack([ones, powers[:, a], powers[:, b]], axis=1)
        parts, error = nnls(columns, loss)
        fits.append((error, a, b, parts))
    _, a, b, parts = min(fits, key=lambda fit: fit[0])
    coefficients = np.zeros(2 * n_powers)
    coefficients[[a, b]] = parts[1:]
    return float(parts[0]), coefficients
