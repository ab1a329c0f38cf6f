"""Synthetic worlds: models of a few families, whose skill moves all losses."""
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracy_model import AccuracyModel, Observed
from csv_plugin.core.standardised import UnitLosses

#: Capability scores of the certified curves.
SCORES = np.array([
    0.71, 0.84, 0.95, 1.06, 1.10, 1.17, 1.21, 1.28, 1.33, 1.42, 1.55, 1.63,
    1.80, 1.94
])


def accuracies(alpha, beta, floor, scores=SCORES):
    return np.array([
        floor + (1 - floor) / (1 + math.exp(-alpha * (s - beta)))
        for s in scores
    ])


N_MODELS, N_UNITS, N_TOKENS = 24, 8, 7
#: Names of six families of four models each.
FAMILIES = tuple('abcdef'[m // 4] for m in range(N_MODELS))


@cache
def observed() -> Observed:
    """Accuracies on three benchmarks, one of which lacks a model."""
    rng = np.random.default_rng(5)
    exponents = np.outer(_skill(), [1, .6, 1.4]) - 1
    exponents += .3 * rng.normal(size=(6, 1))[np.arange(N_MODELS) // 4]
    values = .25 + .75 / (1 + np.exp(-exponents))
    values += rng.normal(0, .01, values.shape)
    values[3, 1] = np.nan
    return Observed(values, FAMILIES, np.full(3, .25), np.array([500, 500, 0]))


@cache
def plain() -> UnitLosses:
    """UnitLosses on eight units; those of one half go together."""
    rng = np.random.default_rng(6)
    common = .1 * rng.normal(size=(N_MODELS, 1)) * (np.arange(N_UNITS) < 4)
    noise = .05 * rng.normal(size=(N_MODELS, N_UNITS))
    return UnitLosses.of(np.exp(1 - .2 * _skill()[:, None] + common + noise))


@cache
def with_sources() -> UnitLosses:
    """The same units, of two sources."""
    return replace(plain(), sources=np.repeat(['web', 'books'], 4))


@cache
def with_answers() -> UnitLosses:
    """The same units; the first and the last benchmark have own answers."""
    rng = np.random.default_rng(7)
    answers = {}
    for b in (0, 2):
        skill = observed().accuracies[:, [b]]
        noise = rng.normal(0, .2, (N_MODELS, N_TOKENS - b))
        answers[b] = np.exp(1 - 6 * skill + noise)
    return replace(plain(), answers=answers)


KINDS: dict[str, Callable[[], UnitLosses]] = {
    'plain': plain,
    'sources': with_sources,
    'answers': with_answers,
}


@cache
def fitted(kind: str = 'plain') -> AccuracyModel:
    """The model of accuracies of one of these kinds of losses."""
    return AccuracyModel(KINDS[kind](), observed())


def _skill() -> NDArray[np.float64]:
    return np.random.default_rng(4).normal(size=N_MODELS)
