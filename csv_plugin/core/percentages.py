"""Accuracies that should be percent, and seem to be fractions."""
from collections.abc import Iterable, Mapping
from typing import Union

import numpy as np

from csv_plugin.core.predictions import Missing
from csv_plugin.core.predictor import Predictor

#: What to do about it.
REMEDY = ('Let the evaluator of the dataset give percent, remove its files '
          'in results/, and run again with -r.')


def seem_fractions(accuracies: Iterable[float], chance: float) -> bool:
    """Whether accuracies that were read as percent were fractions.

    They seem so if no model of several has more than 1 %, which is less than
    half of what guessing gives, and if the middle one, taken for a fraction,
    reaches half of it. Where guessing gives nothing, such percentages are
    possible: then they never seem so.

    Args:
        accuracies (Iterable[float]): Of several models on one benchmark,
            in 0..1: what was read, divided by 100.
        chance (float): Accuracy of guessing, in 0..1.

    >>> seem_fractions([.0029, .0062], .25), seem_fractions([0, .5, .29], .25)
    (True, False)
    """
    values = np.array([*accuracies])
    return (len(values) > 1 and bool(values.max() <= .01 < chance / 2)
            and bool(100 * np.median(values) >= chance / 2))


def fractions_found(chance: float) -> str:
    """What was found where percentages were expected.

    Args:
        chance (float): Accuracy of guessing, in 0..1.
    """
    return (f'no score above 1, where guessing gives {100 * chance:.3g} %: '
            'they seem to be fractions')


def without_fractions(
    real: Mapping[tuple[str, str], Union[float, Missing]],
    predictors: Mapping[str, Union[Predictor, Missing]]
) -> dict[tuple[str, str], Union[float, Missing]]:
    """Real accuracies, but a reason on benchmarks that seem to give fractions.

    Args:
        real (Mapping): By model and benchmark.
        predictors (Mapping): By label; they know the chance levels.
    """
    chances = {
        part.benchmark: part.chance
        for predictor in predictors.values()
        if isinstance(predictor, Predictor) for part in predictor.benchmarks
    }
    by_benchmark: dict[str, list[float]] = {}
    for (_, benchmark), accuracy in real.items():
        if not isinstance(accuracy, Missing):
            by_benchmark.setdefault(benchmark, []).append(accuracy)
    wrong = {
        benchmark: Missing(f'{fractions_found(chances[benchmark])}. {REMEDY}')
        for benchmark, accuracies in by_benchmark.items() if
        benchmark in chances and seem_fractions(accuracies, chances[benchmark])
    }
    return {
        cell:
        accuracy if isinstance(accuracy, Missing) else wrong.get(
            cell[1], accuracy)
        for cell, accuracy in real.items()
    }
