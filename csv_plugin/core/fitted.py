"""Exponents of all fitted models, with hyper-parameters that were learned.

Hyper-parameters are learned by a `Posterior` of at most `Settings.most_models`
models, and of all benchmarks at once. This file applies them to all M fitted
models, one benchmark at a time: given hyper-parameters, benchmarks are
independent. It keeps the dual of each benchmark, `(B, M)`. Matrices of models
by models, `(M, M)`, are computed again whenever they are needed. So memory
grows with the square of the number of models, but not with the number of
benchmarks.
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

    `hyper`, `shares`, `floor`, `straight`, `tangent_dual` and `doubt` are as
    in `Posterior`. Without the last two, modes and models that lie far off are
    found first.

    Attributes:
        means: The mean loss that each benchmark follows, `(B, M)`.
        worst: The largest of these, without absurd models, `(B,)`.
        scales: Changes of exponents for one deviation of these, `(B,)`.
        noise: Noise of accuracies over p (1 - p), `(B,)`.
        part_variances: Squared amounts of the parts of the kernel, by name.
        dual: That of each benchmark's solution, `(B, M)`.
        left_out: Means and variances of exponents without a model's
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
        self.part_variances = dict(zip(PARTS, np.exp(2 * hyper[:N_PARTS])))
        self.scales, self.noise = np.exp(hyper[SCALES:]).reshape(2, -1)
        shared = self.shared_kernel()
        if tangent_dual is None or doubt is None:
            self.tangent_dual = np.zeros_like(self.means)
            self.doubt = np.zeros_like(observed.accuracies)
            self._find_modes(shared)
        else:
            self.tangent_dual, self.doubt = tangent_dual, doubt
        self.dual = np.empty_like(self.means)
        mean, variance = np.empty((2, *observed.accuracies.shape))
        for b in range(len(self.dual)):
            mean[:, b], variance[:, b] = self._leave_out(b, shared)
        self.left_out = mean, variance

    # The memory of a benchmark's posterior is free once a method of this
    # benchmark returns.

    def _find_modes(self, shared: NDArray) -> None:
        """Find modes, which models lie far off, and modes with these."""
        errors, deviations = np.zeros((2, *self.doubt.shape))
        for b in range(len(self.means)):
            errors[:, b], deviations[:, b] = self._find_mode(b, shared)
        self.doubt = doubt_of(errors, deviations, self.observed.teaching,
                              self.settings.outlier)
        # From these modes on, with less weight for models that lie far off.
        for b in range(len(self.means)):
            self._find_mode(b, shared)

    def _find_mode(self, b: int, shared: NDArray) -> tuple[NDArray, NDArray]:
        """Find the mode of benchmark b, from the last one on.

        Returns errors of families left out, and deviations, `(M,)` each.
        """
        part = self._unsolved(b, shared)
        part.dual = self.tangent_dual[[b]]
        part.find_mode()
        self.tangent_dual[b] = part.tangent_dual[0]
        error, deviation = part.left_out_errors()
        return error[:, 0], deviation[:, 0]

    def _leave_out(self, b: int, shared: NDArray) -> tuple[NDArray, NDArray]:
        """Solve benchmark b, and keep its dual.

        Returns means and variances without a model's family, `(M,)` each.
        """
        part = self.solved(b, shared)
        self.dual[b] = part.dual[0]
        mean, variance = part.families_left_out()
        return mean[:, 0], variance[:, 0]

    def solved(self, b: int, shared: NDArray) -> Posterior:
        """Return the solution of benchmark b, as a posterior of it alone.

        `shared` is the `shared_kernel`.
        """
        part = self._unsolved(b, shared)
        part.settle(self.tangent_dual[[b]])
        return part

    def _unsolved(self, b: int, shared: NDArray) -> Posterior:
        """The posterior of benchmark b alone, without a mode."""
        models, observed, mean = self.standardised, self.observed, self.means[
            b]
        kernel = self._kernel_of(
            parts_of_benchmark(models, models, mean, mean, self.worst[b], b))
        kernel += shared
        # Unknown numbers of items get the median of all benchmarks, of which
        # the posterior of a single one would know nothing.
        items = filled_items(observed.n_items)
        # Unused, as nothing is learned here.
        teaching = np.array([True])
        part = Posterior(models, observed.accuracies[:, [b]], items[[b]],
                         self.floor[[b]], teaching, self.straight,
                         self.settings)
        n_benchmarks = len(self.noise)
        own = [SCALES + b, SCALES + n_benchmarks + b]
        part.hyper = np.append(self.hyper[:SCALES], self.hyper[own])
        part.doubt = self.doubt[:, [b]]
        part.follow(self.shares[:, [b]], kernel[None])
        return part

    # ---- kernels

    def shared_kernel(self) -> NDArray[np.float64]:
        """Return the kernel's parts that all benchmarks share, `(M, M)`.

        Making it takes long, and it takes much memory: keep it as long as it
        is needed.
        """
        models = self.standardised
        return self._kernel_of(
            shared_parts(models, models, self.settings.tilt, True))

    def _kernel_of(
            self, parts: Iterator[tuple[str, NDArray]]) -> NDArray[np.float64]:
        """The sum of some parts of the kernel, with their amounts.

        The parts are changed in place.
        """
        name, total = next(parts)
        total *= self.part_variances[name]
        for name, part in parts:
            part *= self.part_variances[name]
            total += part
        return total

    def cross_covariances(
            self, standardised: Standardised) -> Iterator[NDArray[np.float64]]:
        """Yield covariances of new and fitted models, `(N, M)` a benchmark.
        """
        return self._covariances(standardised, self.standardised, self.means,
                                 False)

    def prior_covariances(
            self, standardised: Standardised) -> Iterator[NDArray[np.float64]]:
        """Yield covariances of new models, `(N, N)` a benchmark, before any
        accuracy is known.
        """
        means = (standardised.means @ self.shares).T
        return self._covariances(standardised, standardised, means, True)

    def _covariances(self, new: Standardised, old: Standardised,
                     old_means: NDArray,
                     same: bool) -> Iterator[NDArray[np.float64]]:
        """Yield prior covariances of exponents, `(N, M)` a benchmark.

        `old_means`, `(B, M)`, are the mean losses that benchmarks follow, and
        `same` is as in `shared_parts`.
        """
        settings = self.settings
        shared = self._kernel_of(shared_parts(new, old, settings.tilt, same))
        new_means = (new.means @ self.shares).T
        for b, worst in enumerate(self.worst):
            parts = parts_of_benchmark(new, old, new_means[b], old_means[b],
                                       worst, b)
            kernel = self._kernel_of(parts)
            kernel += shared
            yield settings.level_width**2 + self.scales[b]**2 * kernel
