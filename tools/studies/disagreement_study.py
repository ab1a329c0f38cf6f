"""How often disagreement flags are raised on unseen series of the zoo.

On the series as they are flags should be rare. They are wanted where answers
become less likely while they become more often right, so the same series are
predicted again with the losses of one exam's answers changed to that end.
"""
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.losses import LossTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.salience_model import TINY
from csv_plugin.core.training import answers_by_source
from csv_plugin.lm.methods import train_auto
from tools.studies.zoo_study import TRAIN, VALIDATION, ZooStudy


@dataclass(frozen=True, eq=False)
class Flags:
    """Predictions of n cells, each of a model and an exam.

    Args:
        disagrees (NDArray): Whether the flag is raised, bool, `(n,)`.
        inside (NDArray): Whether the interval would hold the real accuracy
            if there were no flag, bool, `(n,)`.
        inside_widened (NDArray): Whether the interval holds it, `(n,)`.
    """
    disagrees: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    inside_widened: NDArray[np.bool_]

    def select(self, cells: NDArray) -> 'Flags':
        """Some of the cells, by a mask `(n,)`."""
        return Flags(self.disagrees[cells], self.inside[cells],
                     self.inside_widened[cells])

    @classmethod
    def concatenate(cls, parts: list['Flags']) -> 'Flags':
        """The cells of all parts."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts])
                     for name in vars(parts[0])))


@dataclass(frozen=True, eq=False)
class SeriesDisagreements:
    """Disagreement flags on one series, by a predictor that has not seen it.

    Args:
        series (str): Its name.
        fitted_series (int): To how many others the predictor was fitted.
        as_it_is (Flags): All models and exams.
        turned (Flags): Of each exam whose answers' losses rise with the
            accuracy, the models in the upper half of its range.
    """
    series: str
    fitted_series: int
    as_it_is: Flags
    turned: Flags


def disagreements_left_out(study: ZooStudy) -> Iterator[SeriesDisagreements]:
    """Disagreement flags on all series of the zoo.

    Each series with fitted models is predicted from the others of these,
    each of the rest from all of them.
    """
    info = study.collection.info
    fitted = {
        info[name].family
        for name in study.collection.models_in(TRAIN, VALIDATION)
    }
    unseen = {row.family for row in info.values()} - fitted
    for series in (*sorted(fitted), *sorted(unseen)):
        yield disagreements_on(study, fitted - {series}, series)


def disagreements_on(study: ZooStudy, fitted: set[str],
                     series: str) -> SeriesDisagreements:
    """Disagreement flags on one series."""
    info = study.collection.info
    models = [name for name, row in info.items() if row.family in fitted]
    predictor = train_auto(study.training(models), study.states)
    models = [name for name, row in info.items() if row.family == series]
    table = study.table.select(models)
    accuracies = study.collection.accuracies.select(models)
    answers = answers_by_source(table, study.collection.texts, study.targets)
    turned = []
    for b, exam in enumerate(accuracies.benchmarks):
        real = accuracies.values[:, b]
        share = (real - real.min()) / max(np.ptp(real), TINY)
        cells = np.zeros(accuracies.values.shape, bool)
        cells[:, b] = share > .5
        flags = _flags(predictor, turned_around(table, answers[exam], share),
                       accuracies.values)
        turned.append(flags.select(cells.ravel()))
    return SeriesDisagreements(series, len(fitted),
                               _flags(predictor, table, accuracies.values),
                               Flags.concatenate(turned))


def _flags(predictor: Predictor, table: LossTable, real: NDArray) -> Flags:
    """Cells of all models and exams, real accuracies `(M, B)`."""
    without = replace(
        predictor,
        benchmarks=tuple(
            replace(part, references=()) for part in predictor.benchmarks))
    before, after = without.predict(table), predictor.predict(table)
    return Flags(after.disagrees.ravel(), *(
        ((part.low[:, :, 0] <= real) & (real <= part.high[:, :, 0])).ravel()
        for part in (before, after)))  # yapf: disable


def turned_around(table: LossTable, answers: NDArray,
                  share: NDArray) -> LossTable:
    """Losses of answers that rise from their median to twice as much.

    Args:
        answers (NDArray): The tokens that change, bool, `(T,)`.
        share (NDArray): How far to go, from 0 to 1, `(M,)`.
    """
    losses = table.losses.copy()
    means = losses[:, answers].mean(axis=1)
    wanted = np.median(means) * (1 + share)
    losses[:, answers] *= (wanted / means)[:, None]
    return replace(table, losses=losses)
