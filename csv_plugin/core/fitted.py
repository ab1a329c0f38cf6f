"""Exponents of all fitted models, with hyper-parameters that were found.

Given the hyper-parameters, benchmarks are independent. So each is solved by
itself, and again whenever it is needed: memory grows with the square of the
number of models, but not with the number of benchmarks.
"""
from collections.abc import Iterator
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.calibration import doubt_of
from csv_plugin.core.kernels import (PARTS, Place, parts_of_benchmark,
                                     shared_parts)
from csv_plugin.core.observed import Observed, filled_items
from csv_plugin.core.posterior import N_PARTS, SCALES, Posterior, worst_means
from csv_plugin.core.settings import Settings


class Fitted:
    """The posterior of M fitted models on B benchmarks.

    `hyper` and `shares` are as in `Posterior`. Without `found` and `doubt`,
    which are as there too, modes are found first, and models that lie far off.

    Attributes:
        means: The mean loss that each benchmark follows, `(B, M)`.
        worst: The largest of these, without absurd models, `(B,)`.
        scales: Changes of exponents for one deviation of these, `(B,)`.
        noise: Noise of accuracies over p (1 - p), `(B,)`.
        dual: That of each benchmark's solution, `(B, M)`.
        families_left_out: Means and variances of exponents without a model's
            family, `(M, B)` each, NaN where there is no accuracy.
    """

    def __init__(self,
                 place: Place,
                 observed: Observed,
                 floor: NDArray,
                 hyper: NDArray,
                 shares: NDArray,
                 straight: float,
                 settings: Settings,
                 found: Optional[NDArray] = None,
                 doubt: Optional[NDArray] = None) -> None:
        self.place, self.observed, self.floor = place, observed, floor
        self.hyper, self.shares = hyper, shares
        self.straight, self.settings = straight, settings
        self.means = (place.means @ shares).T
        self.worst = worst_means(place, self.means, settings)
        self.amounts = dict(zip(PARTS, np.exp(2 * hyper[:N_PARTS])))
        self.scales, self.noise = np.exp(hyper[SCALES:]).reshape(2, -1)
        if found is None or doubt is None:
            self.found = np.zeros_like(self.means)
            self.doubt = np.zeros_like(observed.accuracies)
            self._find_modes()
        else:
            self.found, self.doubt = found, doubt
        solved = list(self._summaries())
        self.dual = np.array([dual for dual, _, _ in solved])
        self.families_left_out = (np.column_stack([part[1]
                                                   for part in solved]),
                                  np.column_stack([part[2]
                                                   for part in solved]))

    def _find_modes(self) -> None:
        """Find modes, which models lie far off, and modes with these."""
        errors, deviations = np.zeros((2, *self.doubt.shape))
        for b, part in enumerate(self._unsolved()):
            part.find_mode()
            self.found[b] = part.found[0]
            of_benchmark = part.left_out_errors()
            errors[:, b], deviations[:, b] = np.hstack(of_benchmark).T
        self.doubt = doubt_of(errors, deviations, self.observed.counts,
                              self.settings.outlier)
        for b, part in enumerate(self._unsolved()):
            part.dual = self.found[[b]]
            part.find_mode()
            self.found[b] = part.found[0]

    def solved(self) -> Iterator[Posterior]:
        """Yield the solution of each benchmark, as a posterior of it alone."""
        for b, part in enumerate(self._unsolved()):
            part.settle(self.found[[b]])
            yield part

    def _summaries(self) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
        """Yield what is kept of each benchmark, `(M,)` each."""
        for part in self.solved():
            mean, variance = part.families_left_out()
            yield part.dual[0], mean[:, 0], variance[:, 0]

    def _unsolved(self) -> Iterator[Posterior]:
        """Yield a posterior of each benchmark alone, without a mode."""
        shared = self.kernel_of(
            shared_parts(self.place, self.place, self.settings.tilt, True))
        n, observed = len(self.noise), self.observed
        items = filled_items(observed.n_items)
        for b, (mean, worst) in enumerate(zip(self.means, self.worst)):
            kernel = self.kernel_of(
                parts_of_benchmark(self.place, self.place, mean, mean, worst,
                                   b))
            kernel += shared
            part = Posterior(self.place, observed.accuracies[:, [b]],
                             items[[b]], self.floor[[b]], np.array([True]),
                             self.straight, self.settings)
            part.hyper = np.append(self.hyper[:SCALES],
                                   self.hyper[[SCALES + b, SCALES + n + b]])
            part.doubt = self.doubt[:, [b]]
            part.follow(self.shares[:, [b]], kernel[None])
            yield part

    def kernel_of(self, parts: dict[str, NDArray]) -> NDArray[np.float64]:
        """Return the sum of some parts of the kernel, with their amounts."""
        total = np.zeros_like(next(iter(parts.values())))
        for name, part in parts.items():
            total += self.amounts[name] * part
        return total

    def cross_covariances(self, place: Place) -> Iterator[NDArray[np.float64]]:
        """Yield covariances of new and fitted models, `(N, M)` a benchmark.
        """
        settings = self.settings
        shared = self.kernel_of(
            shared_parts(place, self.place, settings.tilt, False))
        means = (place.means @ self.shares).T
        for b, (new, old) in enumerate(zip(means, self.means)):
            kernel = self.kernel_of(
                parts_of_benchmark(place, self.place, new, old, self.worst[b],
                                   b))
            kernel += shared
            yield settings.level_width**2 + self.scales[b]**2 * kernel

    def prior_covariances(self, place: Place) -> Iterator[NDArray[np.float64]]:
        """Yield covariances of new models, `(N, N)` a benchmark, before any
        accuracy is known.
        """
        settings = self.settings
        shared = self.kernel_of(
            shared_parts(place, place, settings.tilt, True))
        means = (place.means @ self.shares).T
        for b, mean in enumerate(means):
            kernel = self.kernel_of(
                parts_of_benchmark(place, place, mean, mean, self.worst[b], b))
            kernel += shared
            yield settings.level_width**2 + self.scales[b]**2 * kernel
