"""Write notes of a triage on missing or doubtful inputs, and on errors.
"""
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictions import NOT_YET, Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.checkpoints import Checkpoint
from csv_plugin.triage.forecasting import LEAST_RUNS, EarlierRuns, GainLaw
from csv_plugin.triage.future_losses import losses_of
from csv_plugin.triage.runs import Run
from csv_plugin.triage.sizes import FAR, log_compute


def notes_on_runs(measure: str, runs: Sequence[Run],
                  described: Mapping[str, Checkpoint],
                  earlier: EarlierRuns) -> Iterator[str]:
    """Yield notes on missing or doubtful inputs, by run.

    `described` also contains checkpoints without losses. Equal notes on
    several runs are one line.
    """
    if measure == 'steps':
        yield 'No tokens are known, so training is measured in steps.'
    named: dict[str, list[str]] = {}
    for run in runs:
        for note in _notes_on(run, earlier):
            named.setdefault(note, []).append(run.name)
    with_checkpoint = [run.name for run in runs]
    without = set()
    for point in described.values():
        if point.run not in with_checkpoint:
            without.add(point.run)
    if without:
        note = 'nothing is forecast, as there is no checkpoint yet.'
        named[note] = sorted(without)
    for note, names in named.items():
        listed = ', '.join(names)
        yield f'{listed}: {note}'


def _notes_on(run: Run, earlier: EarlierRuns) -> Iterator[str]:
    """Yield notes on one run: equal losses, and why forecasts are missing."""
    first: dict[float, str] = {}
    losses = run.mean_loss.tolist()
    for name, loss in zip(run.checkpoints, losses):
        twin = first.setdefault(loss, name)
        if twin != name:
            yield (f'{name} has the same losses as {twin}. One of the two may '
                   'be a wrong upload.')
    share = float(run.shares[-1])
    if math.isnan(share):
        yield ('nothing is forecast, as the end of training is unknown. Give '
               'finished runs by --history.')
        return
    if run.finished:
        return
    when = f'after {100 * share:.3g} % of the training, '
    early = earlier.covering(share)
    late = [past.name for past in earlier.runs if past not in early]
    if late:
        yield (f'{when}earlier runs without a checkpoint as early do not '
               f'count: {", ".join(late)}.')
    if len(early) < LEAST_RUNS:
        yield (
            f'{when}nothing is forecast, as fewer than {LEAST_RUNS} earlier '
            'runs have a checkpoint as early. Give more checkpoints of '
            'finished runs (--history or, of tables, --fit).')


def notes_on_backtests(predictor: Predictor, features: FeatureTable,
                       runs: Sequence[Run],
                       earlier: EarlierRuns) -> Iterator[str]:
    """Yield notes on the errors of forecasts of earlier runs.

    There is a note for each share of the training that a run is forecast from.
    """
    shares = set()
    for run in runs:
        if not run.finished:
            shares.add(run.shares[-1])
    for share in sorted(shares):
        law = earlier.law(share)
        if law is None:
            continue
        forecast, now = backtest_errors(predictor, features, law)
        n_runs = len(law.runs)
        n_families = len(set(law.families))
        others = 'runs' if n_families == n_runs else 'families'
        yield (
            f'Back-test: {n_runs} earlier runs were forecast after '
            f'{100 * share:.3g} % of the training from the other {others}. '
            'The mean absolute error over runs and benchmarks was '
            f'{100 * forecast:.1f} points; with the prediction at that time '
            f'in place of the forecast it was {100 * now:.1f} points.')


def backtest_errors(predictor: Predictor, features: FeatureTable,
                    law: GainLaw) -> tuple[float, float]:
    """Return mean absolute errors of forecasts of earlier runs, fractions.

    The first error is of the forecasts. The second error is of the predictions
    at the time of the forecast, as if the losses did not change any more. Both
    compare with the accuracies predicted at the ends of the runs.
    """
    accuracies = []
    for states in (law.end, law.left_out, law.now):
        logs = states[:, 1:]
        losses = losses_of(predictor, logs)
        table = FeatureTable(law.runs, features.columns, losses)
        joint = predictor.joint(table)
        accuracies.append(joint.accuracies)
    end, forecast, now = accuracies
    error = np.abs(forecast - end).mean()
    error_without_gain = np.abs(now - end).mean()
    return float(error), float(error_without_gain)


def notes_on_sizes(models: Mapping[str, ModelInfo],
                   targets: Mapping[str, ModelInfo]) -> list[str]:
    """Return notes on the fit of the law of losses, and on extrapolation."""
    notes = [f'The law of losses was fitted to {len(models)} models.']
    of_targets = log_compute([*targets.values()])
    of_models = log_compute([*models.values()])
    difference = of_targets.max() - of_models.max()
    times = np.exp(difference)
    if times > FAR:
        notes.append(
            f'The largest target has {times:.0f} times the compute of the '
            f'largest model. Few forecasts beyond {FAR} times its compute '
            'were checked.')
    return notes


def notes_on_result(found: Predictions, forecasts: Predictions,
                    known: Optional[AccuracyTable]) -> Iterator[str]:
    """Yield notes on unused known accuracies, and on what means leave out.
    """
    if known is not None:
        used = known.reindexed(found.models, found.benchmarks)
        is_missing = np.isnan(used.values)
        if is_missing.all():
            yield ('None of the known accuracies was used: they belong to '
                   'other checkpoints or other benchmarks.')
    if forecasts.not_yet:
        names = ', '.join(forecasts.not_yet)
        yield (f'{names}: {NOT_YET} Means and ranks leave these benchmarks '
               'out.')


def first_reason(refused: Mapping[str, str], default: str) -> str:
    """Return the first name and its reason, or `default`, for a message.

    >>> first_reason({'a': 'it has no step.', 'b': 'it is short.'}, 'none')
    'a: it has no step'
    """
    for name, reason in refused.items():
        return f'{name}: {reason}'.rstrip('.')
    return default
