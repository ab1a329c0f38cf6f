"""Arguments and results of every salience solver."""
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Optional, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.conventions import InputError
from csv_plugin.core.held_out_errors import mean_unseen
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.scaling_law import AT_CHANCE, PROBLEMS, diagnose

#: Remembered selections of models: those of a benchmark and of its three
#: back-tests, which most often are those of the next benchmark as well.
MOST_PARTS = 4

#: Smaller losses have the logarithm of this one.
TINY = np.finfo(float).tiny

Made = TypeVar('Made')


class SharedFeatures:
    """Feature columns `(n, K)` of n models, with a cache of derived values.

    `uniform` are the coefficients of the mean loss, `(K,)`.
    """

    def __init__(self, values: NDArray, uniform: NDArray) -> None:
        self.uniform = uniform
        self._table, self._rows = values, np.arange(len(values))
        self._parts = lru_cache(MOST_PARTS)(self._part)
        self._made: dict[Callable[..., Any], Any] = {}
        self._logs = cache(lambda: np.log(np.maximum(values, TINY)))

    @property
    def shape(self) -> tuple[int, int]:
        """Models and columns."""
        return len(self._rows), len(self.uniform)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Places of the models among those of the first table, `(n,)`."""
        return self._rows

    @property
    def values(self) -> NDArray:
        """Shape `(n, K)`; a copy for a selection, of which one is kept."""
        return _last_values(self)

    @property
    def logs(self) -> NDArray:
        """Logarithms, `(n, K)`; those of all models are kept."""
        return self._of_rows(self._logs())

    def _of_rows(self, table: NDArray) -> NDArray:
        whole = np.array_equal(self._rows, np.arange(len(table)))
        return table if whole else table[self._rows]

    @property
    def mean_loss(self) -> NDArray:
        """The mean loss, `(n,)`."""
        return self.once(_mean_loss)

    def select(self, rows: NDArray) -> 'SharedFeatures':
        """Select models by indices or by a mask.

        The last few selections are cached.
        """
        return self._parts(self._rows[rows].tobytes())

    def _part(self, rows: bytes) -> 'SharedFeatures':
        part = copy(self)
        part._rows = np.frombuffer(rows, dtype=self._rows.dtype)
        part._made = {}
        return part

    def once(self, make: Callable[['SharedFeatures'], Made]) -> Made:
        """Return `make(self)`, computed once."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]


@lru_cache(maxsize=1)
def _last_values(features: SharedFeatures) -> NDArray:
    return features._of_rows(features._table)


def _mean_loss(features: SharedFeatures) -> NDArray:
    return features.values @ features.uniform


@dataclass(frozen=True, eq=False)
class Task:
    """One benchmark: features and accuracies of the n models to learn from.

    Accuracies are fractions, none missing, `(n,)`; families are `(n,)`. What
    benchmarks share is learned on the `main` ones.
    """
    features: SharedFeatures
    accuracy: NDArray
    chance: float
    families: NDArray
    main: bool = True

    @classmethod
    def of(cls, values: NDArray, uniform: NDArray, accuracy: NDArray,
           chance: float, families: NDArray) -> 'Task':
        """Make a task with features `(n, K)` of its own."""
        return cls(SharedFeatures(values, uniform), accuracy, chance, families)

    @property
    def values(self) -> NDArray:
        """Feature columns, shape `(n, K)`."""
        return self.features.values

    @property
    def uniform(self) -> NDArray:
        """Coefficients of the mean loss, `(K,)`."""
        return self.features.uniform

    def select(self, rows: NDArray) -> 'Task':
        """Return the task on some of its models, by indices or by a mask."""
        return replace(
            self,
            features=self.features.select(rows),
            accuracy=self.accuracy[rows],
            families=self.families[rows])

    def on(self, values: NDArray, uniform: NDArray) -> 'Task':
        """Return the task with other features `(n, K)`."""
        return replace(self, features=SharedFeatures(values, uniform))

    @property
    def problems(self) -> tuple[str, ...]:
        """Keys of `scaling_law.PROBLEMS` that prevent any learning."""
        problems = diagnose(self.features.mean_loss, self.accuracy,
                            self.chance)
        return tuple(name for name in problems if name != AT_CHANCE)

    @property
    def at_chance(self) -> bool:
        """True if all accuracies may come from guessing."""
        return AT_CHANCE in diagnose(self.features.mean_loss, self.accuracy,
                                     self.chance)


@dataclass(frozen=True, eq=False)
class SalienceFit:
    """Fit of one benchmark.

    `model` is fitted to all n models, `folds` without the held-out models of
    each of F folds, with the same penalty and floor. `masks`, `(F, n)`, is
    True for their training models. The penalty is infinite for uniform
    weights. `cv_mse` is the mean squared error on held-out models, and
    `held_out`, `(n,)`, are predictions of these if not those of `folds`.
    `scores`, `(F + 1, n)`, are those of all models by the folds and the fit,
    where they are known.
    """
    solver: str
    model: SalienceModel
    folds: SalienceModel
    masks: NDArray
    penalty: float
    cv_mse: float
    notes: tuple[str, ...] = ()
    held_out: Optional[NDArray] = None
    scores: Optional[NDArray] = None

    @property
    def models(self) -> SalienceModel:
        """Models of the folds, then that of all models, `(F + 1,)`."""
        folds = (self.folds[f] for f in range(len(self.folds.curve.alpha)))
        return SalienceModel.stack([*folds, self.model])

    def scores_of(self, task: Task) -> NDArray:
        """Return scores of all models by folds, then the fit, `(F + 1, n)`."""
        # Each sum over all columns once: there may be many thousands.
        return (self.models.scores(task.values)
                if self.scores is None else self.scores)

    def held_out_of(self, scores: NDArray) -> NDArray:
        """Return mean predictions by fits to other families, `(n,)`.

        A choice of the solver excluded them, too. NaN where nothing was held
        out. Scores are those of `scores_of`.
        """
        if self.held_out is not None:
            return self.held_out
        predicted = self.folds.curve.accuracies(scores[:-1])
        return mean_unseen(predicted, self.masks)


class Solver(Protocol):
    """Learns a salience vector and a scaling law for one benchmark."""

    @property
    def name(self) -> str:
        """Name in command lines and files."""

    def fit(self, task: Task, masks: NDArray) -> SalienceFit:
        """Fit to all models, and without the held-out models of each fold.

        The task must have no `problems`. Masks, `(F, n)`, are those of
        `fold_masks`: False where a model is held out.
        """


@runtime_checkable
class JointSolver(Solver, Protocol):
    """Solver that fits all benchmarks together."""

    def fit_together(self, tasks: Sequence[Task], masks: Sequence[NDArray],
                     progress: Progress,
                     with_folds: bool) -> list[SalienceFit]:
        """Fit all benchmarks; `progress` wraps them.

        Tasks and masks are those of `Solver.fit`, one per benchmark. Without
        folds, fits have `held_out` in place of fold models.
        """


@runtime_checkable
class ChoosingSolver(Solver, Protocol):
    """Solver that chooses among others by errors on held-out families.

    The error of the chosen one is too small, as its families took part in the
    choice.
    """

    def held_out(self, task: Task, masks: NDArray) -> NDArray:
        """Predict families that took no part in any choice, `(n,)`.

        Nested cross-validation: each fold is predicted by a solver that was
        chosen by cross-validation over the other folds. There are two families
        or more; only the first repeat of the masks counts.
        """


def grouped_folds(families: Sequence[str], n_folds: int,
                  seed: int) -> NDArray[np.int64]:
    """Assign models to folds that never divide a family, `(n,)`, from 0.

    The largest family goes first, into the fold with the fewest models;
    families of equal size go in a random order. With fewer families there are
    fewer folds. An `InputError` for fewer than two families.
    """
    names, family_of_model, n_models = np.unique(
        families, return_inverse=True, return_counts=True)
    if names.size < 2:
        raise InputError('families', 'at least two families',
                         str(names.tolist()), 'Add models of other families.')
    shuffled = np.random.default_rng(seed).permutation(names.size)
    largest_first = shuffled[np.argsort(-n_models[shuffled], kind='stable')]
    fold_of_family = np.empty(names.size, np.int64)
    fold_sizes = np.zeros(n_folds, np.int64)
    for family in largest_first:
        fold = fold_sizes.argmin()
        fold_of_family[family] = fold
        fold_sizes[fold] += n_models[family]
    return fold_of_family[family_of_model]


def fold_masks(families: NDArray, seed: int, n_repeats: int = 3) -> NDArray:
    """Make masks of repeated cross-validation that never separates a family.

    There are five folds, fewer if there are fewer families, and equal repeats
    are left out. Returns True where a model is fitted on, `(repeats * folds,
    n)`; each repeat holds every model out once. Shape `(0, n)` for a single
    family.
    """
    if len(np.unique(families)) < 2:
        return np.zeros((0, len(families)), dtype=bool)
    partitions: dict[frozenset[bytes], NDArray] = {}
    for r in range(n_repeats):
        folds = grouped_folds(list(families), 5, seed + r)
        masks = folds != np.arange(folds.max() + 1)[:, None]
        # Few families can be dealt in few ways.
        partitions.setdefault(
            frozenset(mask.tobytes() for mask in masks), masks)
    return np.concatenate(list(partitions.values()))


def with_all(masks: NDArray) -> NDArray:
    """Return masks of folds `(F, n)`, then that of all models."""
    return np.vstack([masks, np.ones((1, masks.shape[1]), dtype=bool)])


def held_out_mse(predicted: NDArray, accuracy: NDArray,
                 masks: NDArray) -> float:
    """Return the mean squared error where `masks` is False, or NaN.

    Predictions and masks are `(F, n)`.
    """
    squares = np.where(masks, 0, (predicted - accuracy)**2)
    return float(squares.sum() / (np.sum(~masks) or np.nan))


def floor_candidates(chance: float) -> NDArray:
    """Return candidate floors in `[0, chance]`, `chance` first."""
    return np.linspace(chance, 0, 6) if chance > 0 else np.zeros(1)


def fit_notes(model: SalienceModel, masks: NDArray,
              gained: bool) -> tuple[str, ...]:
    """Return remarks for users about a fit.

    `gained`: it predicts held-out models better than the mean loss.
    """
    notes = []
    if not len(masks):
        notes.append(
            'one family only, nothing to hold out: uniform weights used')
    elif not gained:
        notes.append('no gain over uniform weights on held-out families: '
                     'uniform weights used')
    if model.curve.alpha > 0:
        notes.append(PROBLEMS['slope_sign'])
    return tuple(notes)
