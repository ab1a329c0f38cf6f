"""The kernel: the prior covariances of exponents between models.

From standardised losses (core.standardised), this file computes the prior
covariance between the exponents of two models on one benchmark, `(M, M)` for M
models. The formulas stand in docs/appendix/method.md, "The prior". The kernel
is a sum of six parts. Each part is multiplied by its own variance, which is
fitted; the root of this variance is the amount of the part:

    spread    product of the mean losses: slopes differ between benchmarks
    units     inner product of the units' deviations: the salience weights
    answers   inner product of the deviations of tokens of the right answers,
              on benchmarks that have texts of their own among the losses
    bend      a smooth curve of the mean loss: 0 up to the worst sound model,
              it varies more the better a model is
    family    models of one family deviate together
    own       each model deviates by itself

Spread and bend use the mean loss that a benchmark follows, and family the mean
loss of all units. The words stand in docs/appendix/method.md, "Words of the
code".
"""
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats

if TYPE_CHECKING:
    from csv_plugin.core.standardised import Standardised

#: Names of parts of the kernel (`PARTS`), each with its covariances.
Parts = Iterator[tuple[str, Floats]]

#: Names of the parts of the kernel, in the order of their amounts.
PARTS = ('spread', 'units', 'answers', 'bend', 'family', 'own')


def wiener(first: NDArray, second: NDArray) -> Floats:
    """Return covariances of a smooth random curve, `(M, N)`.

    The curve is 0 for arguments up to 0, and beyond 0 an integrated Wiener
    process (Wahba, J. R. Stat. Soc. B 40(3), 1978). Covariances are between
    its heights at the arguments `first`, `(M,)`, and `second`, `(N,)`.
    """
    first = np.maximum(first, 0)
    second = np.maximum(second, 0)
    # low^2 (3 high - low) / 6, in place.
    low = np.minimum.outer(first, second)
    found = np.maximum.outer(first, second)
    found *= 3
    found -= low
    found *= low
    found *= low
    found /= 6
    return found


def slope_of_wiener(first: NDArray, second: NDArray) -> Floats:
    """Return the derivative of `wiener` with respect to `first`, `(M, N)`."""
    first = np.maximum(first, 0)
    second = np.maximum(second, 0)
    first = first[:, None]
    is_rising = first < second
    rising = first * second - first**2 / 2
    constant = second**2 / 2
    return np.where(is_rising, rising, constant)


def shared_parts(new: 'Standardised', old: 'Standardised', tilt: float,
                 same: bool) -> Parts:
    """Yield the parts of the kernel that are the same for all benchmarks.

    Each is a name of `PARTS` and its covariances, `(M, N)`, between M `new`
    and N `old` models. With `same`, `new` and `old` are the same models.
    Otherwise, no model is in both, so the part `own` is 0. `tilt` is as in
    `Settings`.
    """
    new_deviations = new.unit_deviations
    old_deviations = new_deviations
    if not same:
        old_deviations = old.unit_deviations
    yield 'units', new_deviations @ old_deviations.T
    # Deviations may take more memory than all covariances.
    del new_deviations, old_deviations
    same_family = np.equal.outer(new.families, old.families)
    # Computed in place, as covariances of many models take much memory.
    new_losses = new.mean_losses[:, 0]
    old_losses = old.mean_losses[:, 0]
    family = np.outer(new_losses, old_losses)
    family *= tilt
    family += 1
    family *= same_family
    yield 'family', family
    del family
    shape = len(new), len(old)
    own = np.zeros(shape)
    if same:
        np.fill_diagonal(own, 1)
    yield 'own', own


def parts_of_benchmark(new: 'Standardised', old: 'Standardised',
                       new_followed: NDArray, old_followed: NDArray,
                       worst: float, b: int) -> Parts:
    """Yield the parts of the kernel that differ between benchmarks.

    Each is a name of `PARTS` and its covariances on benchmark b, `(M, N)`,
    between M `new` and N `old` models. `new_followed`, `(M,)`, and
    `old_followed`, `(N,)`, are the models' mean losses that the benchmark
    follows. `worst` is the largest such mean loss of a sound fitted model. The
    part `answers` is yielded only if the benchmark has own answers.
    """
    # How much lower the mean losses are than the worst one.
    new_better = worst - new_followed
    old_better = worst - old_followed
    yield 'bend', wiener(new_better, old_better)
    yield 'spread', np.outer(new_followed, old_followed)
    if b in new.answer_deviations:
        new_deviations = new.answer_deviations[b]
        old_deviations = old.answer_deviations[b]
        yield 'answers', new_deviations @ old_deviations.T


def covariances(models: 'Standardised', followed: NDArray, worst: NDArray,
                shared: dict[str, NDArray]) -> list[NDArray]:
    """Return the covariances of each part of the kernel, in order of `PARTS`.

    Covariances are between M models, `(B, M, M)`, or `(1, M, M)` if they are
    the same on all benchmarks. `followed` and `worst` are as in `variances`.
    `shared` has the parts that `shared_parts` yields, by name.
    """
    n_models = len(models)
    n_benchmarks = len(worst)
    same_on_all = 1, n_models, n_models
    one_for_each = n_benchmarks, n_models, n_models
    found = {
        'spread': np.zeros(one_for_each),
        'bend': np.zeros(one_for_each),
        'answers': np.zeros(same_on_all)
    }
    if models.answer_deviations:
        found['answers'] = np.zeros(one_for_each)
    for name, part in shared.items():
        found[name] = part[None]
    for b, loss in enumerate(followed):
        parts = parts_of_benchmark(models, models, loss, loss, worst[b], b)
        for name, part in parts:
            found[name][b] = part
    return [found[name] for name in PARTS]


def variances(models: 'Standardised', followed: NDArray, worst: NDArray,
              tilt: float) -> dict[str, Floats]:
    """Return the variances of each part of the kernel, by its name.

    They are `(B, M)`, or `(1, M)` if they are the same on all benchmarks.
    These are the diagonals of `covariances`, computed with less memory.
    `followed`, `(B, M)`, are the mean losses that benchmarks follow. `worst`,
    `(B,)`, are the largest such mean losses of the sound fitted models.
    """
    n_models = len(models)
    answers = np.zeros((1, n_models))
    if models.answer_deviations:
        answers = np.zeros_like(followed)
    for b, deviations in models.answer_deviations.items():
        squares = deviations**2
        answers[b] = squares.sum(axis=1)
    better = worst[:, None] - followed
    better = np.maximum(better, 0)
    deviations = models.unit_deviations
    squared_lengths = np.einsum('mk,mk->m', deviations, deviations)
    mean_loss = models.mean_losses[:, 0]
    family = 1 + tilt * mean_loss**2
    return dict(
        spread=followed**2,
        units=squared_lengths[None],
        answers=answers,
        bend=better**3 / 3,
        family=family[None],
        own=np.ones((1, n_models)))
