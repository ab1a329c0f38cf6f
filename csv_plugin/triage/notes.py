"""Write notes of a triage on missing or doubtful inputs, and on errors.
"""
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predicting import result_or_missing
from csv_plugin.core.predictions import NOT_YET, Missing, Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.forecasting import LEAST_RUNS, EarlierRuns, GainLaw
from csv_plugin.triage.future_losses import losses_of
from csv_plugin.triage.runs import MEDIAN, Run, amount_of_training
from csv_plugin.triage.sizes import MOST_TIMES_COMPUTE, log_compute


def notes_on_runs(measure: str, runs: Sequence[Run], earlier: EarlierRuns,
                  not_forecast: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on missing or doubtful inputs, by run.

    `not_forecast` maps runs without a forecast to the reasons. Equal notes on
    several runs are one line.
    """
    if measure == 'steps':
        # This does not say that the tokens are unknown: `watch` may know them.
        yield ('The names of the checkpoints contain no tokens, so training '
               'is measured in steps.')
    named: dict[str, list[str]] = {}
    for run in runs:
        for note in _notes_on(run, earlier):
            named.setdefault(note, []).append(run.name)
    for name, reason in not_forecast.items():
        note = f'nothing is forecast, as {reason}'
        named.setdefault(note, []).append(name)
    for note, names in named.items():
        listed = ', '.join(names)
        yield f'{listed}: {note}'


def _notes_on(run: Run, earlier: EarlierRuns) -> Iterator[str]:
    """Yield a note on earlier runs whose first checkpoint is too late."""
    share = float(run.shares[-1])
    if math.isnan(share) or run.finished:
        return
    early = earlier.covering(share)
    late = [past.name for past in earlier.runs if past not in early]
    if late:
        yield (f'after {100 * share:.3g} % of the training, earlier runs '
               'without a checkpoint as early do not count: '
               f'{", ".join(late)}.')


def why_not_forecast(run: Run, earlier: EarlierRuns, measure: str) -> str:
    """Return why `earlier` has no forecast of a run, and what to do.

    `measure` is the unit of the budget of the run, 'tokens' or 'steps'.
    """
    share = float(run.shares[-1])
    if math.isnan(share):
        return ('the end of training is unknown. Give finished runs by '
                '--history.')
    remedy = 'Give'
    if len(earlier.runs) >= LEAST_RUNS and run.budget_source != MEDIAN:
        budget = amount_of_training(run.budget, measure)
        remedy = f'Check the budget, {budget} {measure}, or give'
    return (f'fewer than {LEAST_RUNS} earlier runs have a checkpoint as early '
            f'as after {100 * share:.3g} % of the training. {remedy} more '
            'checkpoints of finished runs (--history or, of tables, --fit).')


def why_impossible(predictor: Predictor,
                   at_end: FeatureTable) -> Optional[str]:
    """Return why forecast losses are impossible, None if they are not.

    `at_end` are the forecast losses of one model, which are impossible if the
    predictor refuses them.
    """
    found = result_or_missing(predictor.features, at_end)
    if not isinstance(found, Missing):
        return None
    mean_loss, = at_end.mean_loss
    low, high = predictor.mean_losses
    return (f'the mean loss would end at {mean_loss:.3g}, far outside of the '
            f'{low:.3g} to {high:.3g} of the training models.')


def notes_on_budgets(measure: str, runs: Sequence[Run], earlier: EarlierRuns,
                     not_forecast: Collection[str]) -> Iterator[str]:
    """Yield notes on budgets far outside the range of the earlier runs.

    `measure` is the unit of all budgets, 'tokens' or 'steps'. Runs that are
    `not_forecast` are left out.
    """
    if not earlier.runs:
        return
    budgets = [run.budget for run in earlier.runs]
    shortest = min(budgets)
    longest = max(budgets)
    of_shortest = f'{amount_of_training(shortest, measure)} {measure}'
    of_longest = f'{amount_of_training(longest, measure)} {measure}'
    # Budgets in this range, relative to the shortest and longest earlier run,
    # get no note. These factors are a convention.
    least, most = 0.5, 1.5
    long = []
    short = []
    for run in runs:
        if run.finished or run.name in not_forecast:
            continue
        if run.budget > most * longest:
            long.append(run.name)
        elif run.budget < least * shortest:
            short.append(run.name)
    beyond = ('Forecasts go beyond what earlier runs show, and the back-test '
              'does not cover them.')
    if long:
        yield (f'{", ".join(long)}: the budget is more than {most} times the '
               f"longest earlier run's budget, {of_longest}. "
               f'{beyond}')
    if short:
        yield (f'{", ".join(short)}: the budget is less than half of the '
               f"shortest earlier run's budget, {of_shortest}. "
               f'{beyond}')


def notes_on_backtests(predictor: Predictor, features: FeatureTable,
                       runs: Sequence[Run],
                       earlier: EarlierRuns) -> Iterator[str]:
    """Yield a note on how far forecasts of earlier runs are off.

    It has an error for each share of the training that a run is forecast from.
    There is no note without such a share.
    """
    shares = set()
    for run in runs:
        if not run.finished:
            shares.add(run.shares[-1])
    tests = []
    others = 'runs'
    for share in sorted(shares):
        law = earlier.law(share)
        if law is None:
            continue
        error = backtest_error(predictor, features, law)
        n_runs = len(law.runs)
        if len(set(law.families)) < n_runs:
            others = 'families'
        tests.append((n_runs, f'{100 * share:.3g} %', f'{100 * error:.1f}'))
    if not tests:
        return
    (n_runs, after, points), *further = tests
    more = ''
    for n_further, after_further, points_further in further:
        more += (f'; after {after_further} ({n_further} runs), by '
                 f'{points_further} points')
    yield (f'Back-test: {n_runs} earlier runs were forecast after {after} of '
           f'the training from the other {others}. The forecasts differ by '
           f'{points} points, as a mean over runs and benchmarks, from the '
           f'predictions at the ends of these runs{more}. Errors of the '
           'predictions themselves come on top.')


def backtest_error(predictor: Predictor, features: FeatureTable,
                   law: GainLaw) -> float:
    """Return the mean absolute error of forecasts of earlier runs, a fraction.

    The forecasts are compared with the accuracies predicted at the ends of the
    runs, not with observed accuracies.
    """
    accuracies = []
    for states in (law.at_end, law.left_out):
        logs = states[:, 1:]
        losses = losses_of(predictor, logs)
        table = FeatureTable(law.runs, features.columns, losses)
        joint = predictor.joint(table)
        accuracies.append(joint.accuracies)
    end, forecast = accuracies
    error = np.abs(forecast - end).mean()
    return float(error)


def notes_on_sizes(models: Mapping[str, ModelInfo],
                   targets: Mapping[str, ModelInfo]) -> list[str]:
    """Return notes on the fit of the law of losses, and on extrapolation."""
    notes = [f'The law of losses was fitted to {len(models)} models.']
    of_targets = log_compute([*targets.values()])
    of_models = log_compute([*models.values()])
    difference = of_targets.max() - of_models.max()
    times = np.exp(difference)
    if times > MOST_TIMES_COMPUTE:
        notes.append(
            f'The largest target has {times:.0f} times the compute of the '
            f'largest model. Few forecasts beyond {MOST_TIMES_COMPUTE} times '
            'its compute were checked.')
    return notes


def notes_on_result(found: Predictions, forecasts: Predictions,
                    known: Optional[AccuracyTable]) -> Iterator[str]:
    """Yield notes on known accuracies, and on what means leave out.

    There is a note if none of the known accuracies was used, and one that
    names known accuracies far from predictions. A last note names the
    benchmarks that means leave out.
    """
    if known is not None:
        used = known.reindexed(found.models, found.benchmarks)
        is_missing = np.isnan(used.values)
        if is_missing.all():
            yield ('None of the known accuracies was used: they belong to '
                   'other checkpoints or other benchmarks.')
    yield from found.contradictions()
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
