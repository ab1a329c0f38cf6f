"""Posterior of exponents by Laplace's method, and families left out."""
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.optimize import minimize
from scipy.special import expit

from tools.studies.one_model.kernels import PARTS, Place, covariances
from tools.studies.one_model.settings import Settings

#: Places of hyper-parameters: logarithms of the parts' standard deviations,
#: the typical logarithm of scales, then scales and noise by benchmark.
N_PARTS = len(PARTS)
SCALES = N_PARTS + 1


class Line(NamedTuple):
    """The curve as a straight line at the exponents, `(M, B)` each.

    Accuracies are `heights + slopes (f - exponents)`; `targets` are exponents
    that the line gives the observed accuracies, with a variance of `spread`
    times the noise of the benchmark, plus `more`.
    """
    heights: NDArray
    targets: NDArray
    spread: NDArray
    more: NDArray


class Solution(NamedTuple):
    """Solution of the linearised model, by benchmark.

    `dual`, `(B, M)`, is the inverse covariance of targets times what they
    exceed the prior mean by; `inverse`, `(B, M, M)`.
    """
    dual: NDArray
    inverse: NDArray
    evidence: float


class Posterior:
    """Exponents f of M fitted models on B benchmarks.

    f_b = level_b + scale_b g_b, level_b ~ N(level), g_b ~ GP(-mean_b, k);
    accuracies are floor + (1 - floor) sigmoid(f) plus noise of variance
    noise_b p (1 - p). Accuracies are `(M, B)`, NaN where there is none.
    """

    def __init__(self, place: Place, accuracies: NDArray, n_items: NDArray,
                 floor: NDArray, straight: float,
                 settings: Settings) -> None:
        self.settings, self.place, self.floor = settings, place, floor
        self.straight = straight
        self.accuracies = accuracies
        self.seen = ~np.isnan(accuracies)
        self.filled = np.nan_to_num(accuracies)
        self.shape = accuracies.shape
        self.rows = [np.flatnonzero(column) for column in self.seen.T]
        known = n_items[n_items > 0]
        usual = np.median(known) if len(known) else 1000.
        items = np.where(n_items > 0, n_items, usual)
        self.binomial = np.log(.25 / items)
        share = (np.where(self.seen, accuracies, .5) * items + 2) / (items + 4)
        self.items_variance = share * (1 - share)
        same = place.family[:, None] == place.family
        size = same.sum(axis=1)[:, None]
        self.weight = self.seen / size**settings.family_size
        self.held_out = self._held_out_sets()
        self.more = np.zeros(self.shape)
        self.dual = np.zeros(self.shape[::-1])
        n_benchmarks = self.shape[1]
        first = np.zeros((place.groups.shape[1], n_benchmarks))
        first[0] = 1
        self.follow(first)
        self.hyper = np.concatenate([
            [getattr(settings, part)[0] for part in PARTS],
            np.full(1 + n_benchmarks, settings.typical[0]),
            self.binomial + settings.noise[0]
        ])  # yapf: disable

    def follow(self, shares: NDArray) -> None:
        """Let benchmarks follow mean losses of groups, shares `(C, B)`."""
        self.shares = shares
        self.means = (self.place.groups @ shares).T
        sound = np.abs(self.place.mean) <= self.settings.sound
        self.worst = self.means[:, sound].max(axis=1)
        self.parts = covariances(self.place, self.place, self.means,
                                 self.means, self.worst, self.settings.tilt,
                                 True)
        self.dual = np.zeros_like(self.dual)

    # ---- the mode

    def _apply(self, hyper: NDArray) -> NDArray:
        """Take hyper-parameters; return the kernel, `(B, M, M)`."""
        n_benchmarks = self.shape[1]
        self.amounts = np.exp(2 * hyper[:N_PARTS])
        self.scales, self.noise = np.exp(hyper[SCALES:]).reshape(2, -1)
        kernel = sum(amount * part
                     for amount, part in zip(self.amounts, self.parts))
        return np.broadcast_to(kernel, (n_benchmarks, *kernel.shape[1:]))

    @property
    def _prior_mean(self) -> NDArray:
        return self.settings.level[0] - self.scales * self.means.T

    def line(self) -> Line:
        """Linearise the curve at the exponents."""
        end = self.straight
        near = np.clip(self.exponents, -end, end)
        share = expit(near)
        slopes = (1 - self.floor) * share * (1 - share)
        heights = self.floor + (1 - self.floor) * share
        heights = heights + slopes * (self.exponents - near)
        targets = self.exponents + (self.filled - heights) / slopes
        return Line(heights, targets, self.items_variance / slopes**2,
                    self.more / slopes**2)

    def _cost(self, kernel: NDArray, dual: NDArray) -> NDArray:
        """Minus log posterior by benchmark, `(B,)`; sets the exponents."""
        above = (
            self.settings.level[1]**2 * dual.sum(axis=1) +
            self.scales**2 * np.einsum('bij,bj->ib', kernel, dual))
        self.exponents = self._prior_mean + above
        errors = np.where(self.seen, self.filled - self.line().heights, 0)
        variance = self.noise * self.items_variance + self.more
        return .5 * (errors**2 / variance + dual.T * above).sum(axis=0)

    def find_mode(self, steps: int = 30) -> None:
        """Damped Newton steps on the dual, then the final solution."""
        kernel, dual = self._apply(self.hyper), self.dual
        now = self._cost(kernel, dual)
        from_zero = self._cost(kernel, 0 * dual)
        dual = np.where((from_zero < now)[:, None], 0, dual)
        now = np.minimum(from_zero, now)
        for _ in range(steps):
            self._cost(kernel, dual)
            step = self._solve(kernel, self.line(), False).dual - dual
            length, old = np.ones(len(dual)), now
            for _ in range(9):
                now = self._cost(kernel, dual + length[:, None] * step)
                length = np.where(now < old, length, length / 2)
                if (now < old).all():
                    break
            length = np.where(now < old, length, 0)
            dual = dual + length[:, None] * step
            now = np.minimum(now, old)
            if (old - now).sum() < 1e-3:
                break
        self._cost(kernel, dual)
        self.final = self.line()
        self.solution = self._solve(kernel, self.final)
        self.dual = self.solution.dual

    def _solve(self,
               kernel: NDArray,
               line: Line,
               inverse: bool = True) -> Solution:
        n_models, n_benchmarks = self.shape
        duals = np.zeros((n_benchmarks, n_models))
        inverses = np.zeros(
            (n_benchmarks if inverse else 0, n_models, n_models))
        evidence = 0.
        above = line.targets - self._prior_mean
        for b, rows in enumerate(self.rows):
            block = np.ix_(rows, rows)
            matrix = (
                self.settings.level[1]**2 +
                self.scales[b]**2 * kernel[b][block])
            matrix[np.diag_indices(len(rows))] += (
                self.noise[b] * line.spread[rows, b] + line.more[rows, b])
            factor = cho_factor(matrix, lower=True, check_finite=False)
            duals[b, rows] = cho_solve(factor, above[rows, b])
            evidence -= np.log(np.diag(factor[0])).sum()
            evidence -= .5 * above[rows, b] @ duals[b, rows]
            if inverse:
                lower = np.tril(lapack.dpotri(factor[0], lower=1)[0])
                inverses[b][block] = lower + np.tril(lower, -1).T
        return Solution(duals, inverses, evidence)

    # ---- hyper-parameters

    def _prior(self, hyper: NDArray) -> tuple[float, NDArray]:
        """Minus log prior of hyper-parameters, and its gradient."""
        settings, n = self.settings, self.shape[1]
        names = (*PARTS, 'typical')
        mean, sd = np.array([getattr(settings, name) for name in names]).T
        parts = (hyper[:SCALES] - mean) / sd
        scales = hyper[SCALES:SCALES + n] - hyper[N_PARTS]
        scales = scales / settings.scale
        noise = hyper[SCALES + n:] - self.binomial - settings.noise[0]
        common = noise.mean() / settings.noise[1]
        each = (noise - noise.mean()) / settings.noise[2]
        gradient = np.concatenate([
            parts / sd, scales / settings.scale,
            each / settings.noise[2] + common / settings.noise[1] / n
        ])
        gradient[N_PARTS] -= scales.sum() / settings.scale
        cost = parts @ parts + scales @ scales + each @ each + common**2
        return .5 * cost, gradient

    def _gradient(self, hyper: NDArray, kernel: NDArray, line: Line,
                  by_matrix: NDArray, by_above: NDArray) -> NDArray:
        """Gradient of a cost with given derivatives by hyper-parameters.

        Derivatives by the covariances of targets, `(B, M, M)`, and by what
        targets exceed the prior mean by, `(B, M)`.
        """
        n = self.shape[1]
        gradient = np.zeros_like(hyper)
        scaled = self.scales[:, None, None]**2 * by_matrix
        gradient[:N_PARTS] = [
            2 * amount * (part * scaled).sum()
            for amount, part in zip(self.amounts, self.parts)
        ]
        spread = np.where(self.seen, line.spread, 0).T
        diagonal = np.diagonal(by_matrix, axis1=1, axis2=2)
        gradient[SCALES:SCALES + n] = 2 * (scaled * kernel).sum(
            axis=(1, 2)) + self.scales * (by_above * self.means).sum(axis=1)
        gradient[SCALES + n:] = self.noise * (diagonal * spread).sum(axis=1)
        return gradient

    def evidence_cost(self, hyper: NDArray,
                      line: Line) -> tuple[float, NDArray]:
        """Minus log of evidence times prior, and its gradient."""
        cost, gradient = self._prior(hyper)
        kernel = self._apply(hyper)
        dual, inverse, evidence = self._solve(kernel, line)
        by_matrix = .5 * (inverse - dual[:, :, None] * dual[:, None])
        return cost - evidence, gradient + self._gradient(
            hyper, kernel, line, by_matrix, dual)

    def left_out_cost(self, hyper: NDArray,
                      line: Line) -> tuple[float, NDArray]:
        """Minus log score of families left out, times prior; its gradient.

        The error of the family's targets is `E dual`, with the covariance `E`,
        the inverse of its block of the inverse. Scores are of Student's t with
        four degrees of freedom.
        """
        cost, gradient = self._prior(hyper)
        kernel = self._apply(hyper)
        dual, inverse, _ = self._solve(kernel, line)
        by_inverse, by_dual = np.zeros_like(inverse), np.zeros_like(dual)
        for rows, part in self.held_out:
            errors, matrix = self._left_out(rows, dual, inverse)
            variance = np.diagonal(matrix, axis1=1, axis2=2)
            weight = part * self.weight[rows].T
            ratio = errors**2 / (4 * variance)
            cost += (weight *
                     (.5 * np.log(variance) + 2.5 * np.log1p(ratio))).sum()
            by_error = weight * 5 / (1 + ratio) * errors / (4 * variance)
            by_variance = weight * (.5 - 2.5 * ratio / (1 + ratio)) / variance
            by_block = by_error[:, :, None] * dual[:, None, rows]
            places = np.arange(len(rows))
            by_block[:, places, places] += by_variance
            by_dual[:, rows] += np.einsum('bij,bj->bi', matrix, by_error)
            every = np.ix_(np.arange(len(dual)), rows, rows)
            by_inverse[every] -= matrix @ by_block @ matrix
        by_inverse = (by_inverse + by_inverse.transpose(0, 2, 1)) / 2
        by_above = np.einsum('bij,bj->bi', inverse, by_dual)
        mixed = by_above[:, :, None] * dual[:, None]
        by_matrix = (-inverse @ by_inverse @ inverse -
                     (mixed + mixed.transpose(0, 2, 1)) / 2)
        return cost, gradient + self._gradient(hyper, kernel, line, by_matrix,
                                               by_above)

    def _left_out(self, rows: NDArray, dual: NDArray,
                  inverse: NDArray) -> tuple[NDArray, NDArray]:
        """Errors `(B, m)` and covariances of models left out together."""
        block = inverse[:, rows][:, :, rows]
        block = block + np.eye(len(rows)) * ~self.seen[rows].T[:, :, None]
        matrix = np.linalg.inv(block)
        return np.einsum('bij,bj->bi', matrix, dual[:, rows]), matrix

    def learn(self, rounds: int) -> None:
        """Alternate the mode and hyper-parameters of the most evidence."""
        for _ in range(rounds):
            self.find_mode()
            self._doubt()
            self.hyper = self._least(self.evidence_cost, len(self.hyper))
        self.find_mode()

    def tune(self) -> None:
        """Choose amounts of the parts by the score of families left out."""
        self.hyper = self._least(self.left_out_cost, N_PARTS)
        self.find_mode()
        self._doubt()
        self.find_mode()

    def _least(self, cost, n: int) -> NDArray:
        """Hyper-parameters of least cost, the first n of which are free."""
        line, start = self.line(), self.hyper.copy()

        def part(free: NDArray) -> tuple[float, NDArray]:
            value, gradient = cost(np.append(free, start[n:]), line)
            return value, gradient[:n]

        bounds = [(value - 1.5, value + 1.5) for value in start[:n]]
        found = minimize(
            part,
            start[:n],
            jac=True,
            method='L-BFGS-B',
            bounds=bounds,
            options={'maxiter': 15})
        return np.append(found.x, start[n:])

    def _doubt(self) -> None:
        """Give models that nobody else explains a larger variance."""
        errors, deviation = self.standardised(*self.families_out())
        counts = np.maximum(self.seen.sum(axis=1), 1)
        squares = np.nansum(errors**2, axis=1) / counts
        beyond = np.maximum(squares - self.settings.outlier, 0)[:, None]
        self.more = np.where(self.seen, deviation**2 * beyond, 0)

    # ---- held-out predictions

    def _held_out_sets(self) -> list[tuple[NDArray, float]]:
        """Models that are left out together, and their weights.

        These are families, and the best models.
        """
        sets = []
        for name in np.unique(self.place.family):
            sets.append((np.flatnonzero(self.place.family == name), 1.))
        order = np.argsort(self.place.mean, kind='stable')
        for share in self.settings.better:
            best = order[:round(share * len(order))]
            if 0 < len(best) < len(order):
                sets.append((np.sort(best), self.settings.better_weight))
        return sets

    def families_out(self) -> tuple[NDArray, NDArray]:
        """Means and variances of exponents `(M, B)`, families left out."""
        mean, variance = np.full((2, *self.shape), np.nan)
        noise = self.noise * self.final.spread + self.final.more
        for name in np.unique(self.place.family):
            rows = np.flatnonzero(self.place.family == name)
            errors, matrix = self._left_out(rows, self.dual,
                                            self.solution.inverse)
            mean[rows] = self.final.targets[rows] - errors.T
            total = np.diagonal(matrix, axis1=1, axis2=2).T
            variance[rows] = np.maximum(total - noise[rows], 1e-6)
        mean[~self.seen] = variance[~self.seen] = np.nan
        return mean, variance

    def moments(self, mean: NDArray,
                variance: NDArray) -> tuple[NDArray, NDArray]:
        """Means and deviations of accuracies, noise of items included."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(9)
        weights = weights / weights.sum()
        exponents = mean[..., None] + np.sqrt(variance)[..., None] * nodes
        values = curve(exponents, self.floor[:, None])
        middle = values @ weights
        spread = (values - middle[..., None])**2 @ weights
        share = np.clip(middle, .01, .99)
        return middle, np.sqrt(spread + self.noise * share * (1 - share))

    def standardised(self, mean: NDArray,
                     variance: NDArray) -> tuple[NDArray, NDArray]:
        """Errors over their deviations, and these, `(M, B)`."""
        middle, deviation = self.moments(mean, variance)
        return (self.accuracies - middle) / deviation, deviation

    def scores(self) -> NDArray[np.float64]:
        """Minus log scores of families left out by benchmark, `(B,)`."""
        errors, deviation = self.standardised(*self.families_out())
        cost = np.log(deviation) + 2.5 * np.log1p(errors**2 / 4)
        return np.nansum(self.weight * cost, axis=0)


def curve(exponents: NDArray, floor: NDArray) -> NDArray[np.float64]:
    """Accuracies of exponents (Eq. 2)."""
    return floor + (1 - floor) * expit(exponents)
