"""The posterior of exponents of all fitted models, given hyper-parameters.

Hyper-parameters are learned before, by a `Posterior` of at most
`Settings.most_models` models and all benchmarks at once. This file applies
them to all M fitted models, one benchmark at a time; given hyper-parameters,
benchmarks are independent. For each benchmark it keeps only duals (see
core.posterior), `(B, M)` in all. Matrices with a row and a column for each
model, `(M, M)`, are computed again whenever they are needed. So the memory for
matrices grows with the square of the number of models, but not with the number
of benchmarks.

Each time, a `Posterior` of one benchmark is made (`_unsolved`). It either
searches for the mode (`_find_mode`), which is done once and gives the
`tangent_dual` that is kept, or takes the tangents at the kept `tangent_dual`
(`solved`). Both solve the model with the tangents, and so have a `solution`.
"""
from collections.abc import Iterator
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.calibration import doubt_of
from csv_plugin.core.kernels import (PARTS, Parts, parts_of_benchmark,
                                     shared_parts)
from csv_plugin.core.observed import Observed, filled_items
from csv_plugin.core.posterior import SCALES, Posterior, natural
from csv_plugin.core.settings import Settings
from csv_plugin.core.standardised import Standardised


class Fitted:
    """The posterior of M fitted models on B benchmarks.

    `hyper`, `shares`, `floor`, `straight`, `tangent_dual` and `doubt` are as
    in `Posterior`. If `tangent_dual` or `doubt` is None, both are computed
    here, by a search for the modes and for the models that lie far off.

    Attributes:
        followed_losses: The mean loss that each benchmark follows, `(B, M)`.
        worst: The largest of these mean losses of a sound model, `(B,)`.
        scales: Change of an exponent for a change of this mean loss by one
            standard deviation, `(B,)`.
        noise: Variance of the noise of an accuracy p, divided by p (1 - p),
            `(B,)`.
        part_variances: Squared amount of each part of the kernel, by name.
        dual: `solution.dual` of each benchmark's posterior, `(B, M)`.
        left_out: Means and variances of the exponents of fitted models, each
            predicted without its family; `(M, B)` each, NaN where there is no
            accuracy.
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
        self.standardised = standardised
        self.observed = observed
        self.floor = floor
        self.hyper = hyper
        self.shares = shares
        self.straight = straight
        self.settings = settings
        self.followed_losses = standardised.followed_losses(shares)
        self.worst = standardised.worst_losses(self.followed_losses)
        part_variances, self.scales, self.noise = natural(hyper)
        self.part_variances = dict(zip(PARTS, part_variances))
        shared = self.shared_kernel()
        if tangent_dual is None or doubt is None:
            self.tangent_dual = np.zeros_like(self.followed_losses)
            self.doubt = np.zeros_like(observed.accuracies)
            self._find_modes(shared)
        else:
            self.tangent_dual = tangent_dual
            self.doubt = doubt
        self.dual = np.empty_like(self.followed_losses)
        mean = np.empty_like(observed.accuracies)
        variance = np.empty_like(observed.accuracies)
        for b in range(len(self.dual)):
            column = slice(b, b + 1)
            single = self.solved(b, shared)
            self.dual[[b]] = single.solution.dual
            left_out = single.families_left_out()
            mean[:, column], variance[:, column] = left_out
            # This frees memory before the next posterior needs it.
            del single
        self.left_out = mean, variance

    def _find_modes(self, shared: NDArray) -> None:
        """Find the modes of all benchmarks, and models that lie far off.

        Models that lie far off get additional noise (`doubt`), and the modes
        are then found again.
        """
        benchmarks = range(len(self.followed_losses))
        errors = np.empty_like(self.doubt)
        deviations = np.empty_like(self.doubt)
        for b in benchmarks:
            column = slice(b, b + 1)
            of_benchmark = self._find_mode(b, shared)
            errors[:, column], deviations[:, column] = of_benchmark
        self.doubt = doubt_of(errors, deviations, self.observed.learned_from,
                              self.settings.outlier)
        # The second search starts from the modes of the first search.
        for b in benchmarks:
            self._find_mode(b, shared)

    def _find_mode(self, b: int, shared: NDArray) -> tuple[NDArray, NDArray]:
        """Find the mode of benchmark b, starting from its last mode.

        This sets the `tangent_dual` of the benchmark. Returns the standardised
        errors of models predicted without their family, and the predicted
        standard deviations of their accuracies, `(M, 1)` each.
        """
        single = self._unsolved(b, shared)
        single.start_dual = self.tangent_dual[[b]]
        single.find_mode()
        self.tangent_dual[[b]] = single.tangent_dual
        return single.left_out_errors()

    def solved(self, b: int, shared: NDArray) -> Posterior:
        """Return the posterior of benchmark b alone, with its `solution`.

        Its tangents are taken at the `tangent_dual` of the benchmark. `shared`
        is the result of `shared_kernel`.
        """
        single = self._unsolved(b, shared)
        single.solve_with_tangents_at(self.tangent_dual[[b]])
        return single

    def _unsolved(self, b: int, shared: NDArray) -> Posterior:
        """Return a posterior of benchmark b alone, without a solution yet."""
        models = self.standardised
        followed = self.followed_losses[b]
        worst = self.worst[b]
        parts = parts_of_benchmark(models, models, followed, followed, worst,
                                   b)
        kernel = self._kernel_of(parts)
        kernel += shared
        # Unknown numbers of items are replaced by the median over benchmarks
        # here, as the posterior of a single benchmark cannot compute it.
        items = filled_items(self.observed.n_items)
        accuracies = self.observed.accuracies
        single = Posterior(
            models,
            accuracies=accuracies[:, [b]],
            n_items=items[[b]],
            floor=self.floor[[b]],
            # This has no effect, as no hyper-parameters are learned here.
            learned_from=np.array([True]),
            straight=self.straight,
            settings=self.settings)
        # Indices of the benchmark's scale and noise.
        scale = SCALES + b
        noise = scale + len(self.noise)
        shared_hyper = self.hyper[:SCALES]
        own_hyper = self.hyper[[scale, noise]]
        single.hyper = np.append(shared_hyper, own_hyper)
        single.doubt = self.doubt[:, [b]]
        shares = self.shares[:, [b]]
        single.follow(shares, kernel[None])
        return single

    # ---- kernels

    def shared_kernel(self) -> Floats:
        """Return the sum of the parts that all benchmarks share, `(M, M)`.

        They are between the fitted models. The sum takes long to compute and
        takes much memory, so keep it as long as it is needed, but not longer.
        """
        models = self.standardised
        parts = shared_parts(models, models, self.settings.tilt, same=True)
        return self._kernel_of(parts)

    def _kernel_of(self, parts: Parts) -> Floats:
        """Return the sum of some parts of the kernel, times squared amounts.

        `parts` yields the name and the matrix of each part. The matrices are
        changed in place.
        """
        name, total = next(parts)
        total *= self.part_variances[name]
        for name, part in parts:
            part *= self.part_variances[name]
            total += part
        return total

    def cross_covariances(self,
                          standardised: Standardised) -> Iterator[Floats]:
        """Yield, for each benchmark, covariances of exponents, `(N, M)`.

        They are prior covariances between the N new models of `standardised`
        and the M fitted models.
        """
        return self._covariances(standardised, self.standardised, same=False)

    def prior_covariances(self,
                          standardised: Standardised) -> Iterator[Floats]:
        """Yield, for each benchmark, covariances of exponents, `(N, N)`.

        They are prior covariances between the N new models of `standardised`.
        """
        return self._covariances(standardised, standardised, same=True)

    def _covariances(self, new: Standardised, old: Standardised,
                     same: bool) -> Iterator[Floats]:
        """Yield, for each benchmark, prior covariances of exponents, `(N, M)`.

        They are between the N models of `new` and the M models of `old`.
        `same` is True if `new` and `old` are the same models, as in
        `shared_parts`.
        """
        settings = self.settings
        shared_by_name = shared_parts(new, old, settings.tilt, same)
        shared = self._kernel_of(shared_by_name)
        new_losses = new.followed_losses(self.shares)
        old_losses = old.followed_losses(self.shares)
        for b, worst in enumerate(self.worst):
            new_loss = new_losses[b]
            old_loss = old_losses[b]
            parts = parts_of_benchmark(new, old, new_loss, old_loss, worst, b)
            kernel = self._kernel_of(parts)
            kernel += shared
            # Changed in place, as a matrix may take much memory.
            kernel *= self.scales[b]**2
            kernel += settings.level_width**2
            yield kernel
