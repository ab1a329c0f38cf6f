"""Exponents of all fitted models, with hyper-parameters that were learned.

Applies hyper-parameters that a `Posterior` learned (of at most
`Settings.most_models` models, all benchmarks at once) to all models, one
benchmark at a time: given them, benchmarks are independent. Each is solved
again whenever it is needed. So memory grows with the square of the number of
models, but not with the number of benchmarks.
"""
from collections.abc import Iterator
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.calibration import doubt_of
from csv_plugin.core.kernels import (PARTS, Standardised, parts_of_benchmark,
                                     shared_parts)
from csv_plugin.core.observed import Observed, filled_items
from csv_plugin.core.posterior import N_PARTS, SCALES, Posterior
from csv_plugin.core.settings import Settings


class Fitted:
    """The posterior of M fitted models on B benchmarks.

    `hyper`, `shares`, `tangent_dual` and `doubt` are as in `Posterior`.
    Without the last two, modes and models that lie far off are found first.

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
                 standardised: Standardised,
                 observed: Observed,
                 floor: NDArray,
                 hyper: NDArray,
                 shares: NDArray,
                 straight: float,
                 settings: Settings,
                 tangent_dual: Optional[NDArray] = None,
                 doubt: Optional[NDArray] = None) -> None:
        self.standardised, self.observed = standardised, observed
        self.floor, self.hyper, self.shares = floor, hyper, shares
        self.straight, self.settings = straight, settings
        self.means = (standardised.means @ shares).T
        self.worst = self.means[:, standardised.sound].max(axis=1)
        self.amounts = dict(zip(PARTS, np.exp(2 * hyper[:N_PARTS])))
        self.scales, self.noise = np.exp(hyper[SCALES:]).reshape(2, -1)
        if tangent_dual is None or doubt is None:
            self.tangent_dual = np.zeros_like(self.means)
            self.doubt = np.zeros_like(observed.accuracies)
            self._find_modes()
        else:
            self.tangent_dual, self.doubt = tangent_dual, doubt
        self.dual = np.empty_like(self.means)
        mean, variance = np.empty((2, *observed.accuracies.shape))
        for b, part in enumerate(self.solved()):
            self.dual[b] = part.dual[0]
            of_part = part.families_left_out()
            mean[:, b], variance[:, b] = of_part[0][:, 0], of_part[1][:, 0]
        self.families_left_out = mean, variance

    def _find_modes(self) -> None:
        """Find modes, which models lie far off, and modes with these."""
        errors, deviations = np.zeros((2, *self.doubt.shape))
        for b, part in enumerate(self._unsolved()):
            part.find_mode()
            self.tangent_dual[b] = part.tangent_dual[0]
            error, deviation = part.left_out_errors()
            errors[:, b], deviations[:, b] = error[:, 0], deviation[:, 0]
        self.doubt = doubt_of(errors, deviations, self.observed.teaching,
                              self.settings.outlier)
        # From these modes on, with less weight for models that lie far off.
        for b, part in enumerate(self._unsolved()):
            part.dual = self.tangent_dual[[b]]
            part.find_mode()
            self.tangent_dual[b] = part.tangent_dual[0]

    def solved(self) -> Iterator[Posterior]:
        """Yield the solution of each benchmark, as a posterior of it alone."""
        for b, part in enumerate(self._unsolved()):
            part.settle(self.tangent_dual[[b]])
            yield part

    def _unsolved(self) -> Iterator[Posterior]:
        """Yield a posterior of each benchmark alone, without a mode."""
        shared = self.kernel_of(
            shared_parts(self.standardised, self.standardised,
                         self.settings.tilt, True))
        n, observed = len(self.noise), self.observed
        items = filled_items(observed.n_items)
        for b, (mean, worst) in enumerate(zip(self.means, self.worst)):
            kernel = self.kernel_of(
                parts_of_benchmark(self.standardised, self.standardised, mean,
                                   mean, worst, b))
            kernel += shared
            part = Posterior(self.standardised, observed.accuracies[:, [b]],
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

    def cross_covariances(
            self, standardised: Standardised) -> Iterator[NDArray[np.float64]]:
        """Yield covariances of new and fitted models, `(N, M)` a benchmark.
        """
        settings = self.settings
        shared = self.kernel_of(
            shared_parts(standardised, self.standardised, settings.tilt,
                         False))
        means = (standardised.means @ self.shares).T
        for b, (new, old) in enumerate(zip(means, self.means)):
            kernel = self.kernel_of(
                parts_of_benchmark(standardised, self.standardised, new, old,
                                   self.worst[b], b))
            kernel += shared
            yield settings.level_width**2 + self.scales[b]**2 * kernel

    def prior_covariances(
            self, standardised: Standardised) -> Iterator[NDArray[np.float64]]:
        """Yield covariances of new models, `(N, N)` a benchmark, before any
        accuracy is known.
        """
        settings = self.settings
        shared = self.kernel_of(
            shared_parts(standardised, standardised, settings.tilt, True))
        means = (standardised.means @ self.shares).T
        for b, mean in enumerate(means):
            kernel = self.kernel_of(
                parts_of_benchmark(standardised, standardised, mean, mean,
                                   self.worst[b], b))
            kernel += shared
            yield settings.level_width**2 + self.scales[b]**2 * kernel
