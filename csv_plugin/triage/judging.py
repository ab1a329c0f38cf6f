"""Forecast final accuracies of runs and sizes, rank them, and judge runs."""
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, Optional

import numpy as np

from csv_plugin.core.accuracies import AccuracyTable, indices_of
from csv_plugin.core.comparison import check_no_mean
from csv_plugin.core.conventions import InputError
from csv_plugin.core.copies import equal_models, notes_on_copies
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.measurement_units import measurement_notes
from csv_plugin.core.predictions import MARKS
from csv_plugin.core.predictor import LEVEL, Losses, Predictor, check_predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.checkpoints import (Checkpoint, check_described,
                                           describe_checkpoints, known_budgets,
                                           rows_by_run, unit_of_training)
from csv_plugin.triage.forecasting import EarlierRuns
from csv_plugin.triage.future_losses import (LossForecast, log_losses,
                                             losses_of, with_loss_errors)
from csv_plugin.triage.notes import (first_reason, notes_on_backtests,
                                     notes_on_budgets, notes_on_result,
                                     notes_on_runs, notes_on_sizes,
                                     why_impossible, why_not_forecast)
from csv_plugin.triage.result import TrainingEnd, Triage
from csv_plugin.triage.runs import (MEDIAN, OPTION, Run, amount_of_training,
                                    check_budget, check_finished, runs_of)
from csv_plugin.triage.sizes import forecast_sizes


def judge_runs(predictor: Predictor,
               losses: Losses,
               history: Optional[Losses] = None,
               checkpoints: Optional[Mapping[str, Checkpoint]] = None,
               budget: float = math.nan,
               known: Optional[AccuracyTable] = None) -> Triage:
    """Forecast how pretraining runs will end, and say which runs to stop.

    Every checkpoint gets predicted accuracies. Every run gets a forecast of
    its accuracies at the end of its training, a range of ranks, and the
    probability that it ends best. To forecast a run, the change of the losses
    (in logarithms) that earlier runs had between the same share of their
    budgets and their ends is added to the losses of the run; then the
    accuracies at these losses are predicted. See docs/triage.md. Accuracies
    are fractions, and intervals are 90 % intervals.

    `losses` are the losses of the checkpoints to judge, as in
    `Predictor.features` (dumps are in nats). Checkpoints at 0 tokens are left
    out. `history` has the losses of earlier, finished runs; without it, no
    unfinished run is forecast. `checkpoints` has the run and step of
    checkpoints, as `read_checkpoints` returns them; any other checkpoint must
    have a name such as `run@step`. `budget` is the number of tokens (or steps,
    if no tokens are known) at the end of runs that have none in `checkpoints`.
    By default, these runs get the median budget of the earlier runs; without
    earlier runs, they have no forecast. `known` are observed accuracies of
    some of the checkpoints. All predictions and forecasts of the runs of these
    checkpoints are conditioned on these accuracies.

    Raises:
        InputError: There is no checkpoint beyond 0 tokens; a name has no step;
            `checkpoints` is about other checkpoints; the tokens of only some
            checkpoints are known; a run is also in the history; a run has a
            checkpoint beyond its budget, or has two budgets; an earlier run
            ends before its budget; a benchmark is called 'mean'; or as in
            `Predictor.features`.
    """
    check_predictor(predictor)
    features = predictor.features(losses)
    earlier_features: Optional[FeatureTable] = None
    models = features.models
    if history:
        earlier_features = predictor.features(history)
        models = (*models, *earlier_features.models)
    notes: list[str] = []
    if checkpoints:
        notes = check_described('checkpoints', checkpoints, models)
    chosen = describe_checkpoints(features.models, checkpoints)
    past: Mapping[str, Checkpoint] = {}
    if earlier_features is not None:
        past = describe_checkpoints(earlier_features.models, checkpoints)
        # No judged run may be in the history, too. `judge` checks this as
        # well, but only after the tables are joined, which fails if both have
        # the same model.
        _check_apart(chosen, past)
        features = FeatureTable.concatenate([features, earlier_features])
    triage = judge(predictor, features, chosen, past, budget, known=known)
    return replace(triage, notes=(*triage.notes, *notes))


def judge(
    predictor: Predictor,
    features: FeatureTable,
    checkpoints: Mapping[str, Checkpoint],
    history: Mapping[str, Checkpoint],
    budget: float = math.nan,
    refused: Mapping[str, str] = MappingProxyType({}),
    known: Optional[AccuracyTable] = None
) -> Triage:  # yapf: disable
    """Judge runs by the features of their checkpoints, as `judge_runs` does.

    `features` contains checkpoints to judge and checkpoints of the history.
    Checkpoints at 0 tokens or without features are left out. `budget` is NaN
    if unknown. `refused` maps the checkpoints whose dumps could not be used to
    the reasons, which become notes.
    """
    # Checkpoints that are left out must not be in both, either.
    _check_apart(checkpoints, history)
    chosen = _with_features(checkpoints, features)
    past = _with_features(history, features)
    usual_budget, source = find_budget(chosen, past, budget)
    runs = runs_of(predictor, features, chosen, usual_budget, source)
    if not runs:
        found = first_reason(refused, 'none beyond 0 tokens')
        raise InputError('checkpoints', 'at least one that can be used', found,
                         'Collect losses of checkpoints.')
    finished = runs_of(predictor, features, past, are_finished=True)
    earlier = EarlierRuns(finished, _families(predictor, past))
    measure = unit_of_training([*chosen.values()])
    ends, not_forecast = _ends_of_runs(predictor, features.columns, runs,
                                       earlier, measure)
    begun = [run.name for run in runs]
    for name in sorted({point.run for point in chosen.values()}):
        if name not in begun:
            not_forecast[name] = 'there is no checkpoint yet.'
    notes = []
    for name, reason in refused.items():
        notes.append(f'{name} is left out: {reason}')
    names: list[str] = []
    for run in (*runs, *finished):
        names += run.checkpoints
    losses = dict(zip(names, features.select(names).values))
    notes += notes_on_copies('Checkpoints', equal_models(losses))
    notes += notes_on_runs(measure, runs, earlier, not_forecast)
    # Only budgets in the same unit can be compared.
    if unit_of_training([*past.values()]) == measure:
        notes += notes_on_budgets(measure, runs, earlier, not_forecast)
    notes += notes_on_backtests(predictor, features, runs, earlier)
    return _triage(predictor, features, runs, ends, measure, notes,
                   not_forecast, known)


def _ends_of_runs(predictor: Predictor, columns: Columns, runs: Sequence[Run],
                  earlier: EarlierRuns,
                  measure: str) -> tuple[list['_PlannedEnd'], dict[str, str]]:
    """Return the ends of runs, and why some runs have no forecast, by name.

    A finished run needs no forecast. Forecast losses have the columns
    `columns`. `measure` is the unit of training, 'tokens' or 'steps'.
    """
    ends = []
    not_forecast = {}
    for run in runs:
        losses = None
        if not run.finished:
            losses = earlier.forecast(run)
            if losses is None:
                reason = why_not_forecast(run, earlier, measure)
                not_forecast[run.name] = reason
                continue
            at_end = _losses_at_end(predictor, columns, run.name, losses)
            impossible = why_impossible(predictor, at_end)
            if impossible is not None:
                budget = amount_of_training(run.budget, measure)
                not_forecast[run.name] = (
                    f'{impossible} Check the budget, {budget} {measure}.')
                continue
        tokens = float(run.tokens[-1])
        end = TrainingEnd(run.name, tokens, run.budget)
        ends.append(_PlannedEnd(end, run.checkpoints[-1], losses))
    return ends, not_forecast


def find_budget(checkpoints: Mapping[str, Checkpoint],
                history: Mapping[str, Checkpoint],
                budget: float) -> tuple[float, str]:
    """Check runs, and return the budget of runs without one, and its source.

    Arguments are as in `judge`. The budget is `budget` or, if this is NaN, the
    median of the budgets of the earlier runs, NaN without any. No losses are
    needed, so a caller that fits a predictor can check the runs first.

    Raises:
        InputError: For the reasons of `judge_runs` that are about runs, steps,
            tokens and budgets.
    """
    _check_apart(checkpoints, history)
    known = known_budgets(history.values())
    budgets = []
    for run, (_, tokens) in rows_by_run([*history.values()]).items():
        last = float(tokens[-1])
        end = known.get(run, last)
        check_budget(run, last, end)
        check_finished(run, last, end)
        budgets.append(end)
    source = OPTION
    if math.isnan(budget) and budgets:
        _check_units(checkpoints, history)
        budget = float(np.median(budgets))
        source = MEDIAN
    known = known_budgets(checkpoints.values())
    for run, (_, tokens) in rows_by_run([*checkpoints.values()]).items():
        check_budget(run, float(tokens[-1]), known.get(run, budget))
    return budget, source


def _with_features(described: Mapping[str, Checkpoint],
                   features: FeatureTable) -> dict[str, Checkpoint]:
    """Return the checkpoints that have features."""
    found = {}
    for name, point in described.items():
        if name in features.models:
            found[name] = point
    return found


def judge_sizes(predictor: Predictor, features: FeatureTable,
                models: Mapping[str, ModelInfo],
                targets: Mapping[str, ModelInfo]) -> Triage:
    """Forecast accuracies of models that do not exist yet from their sizes.

    `models` are existing models, whose losses are in `features`. `targets` are
    the models to forecast. The family of a target is `sizes.NEW`, or the
    family of at least one of `models`. If no back-test can estimate the error
    of a target, the target gets a note in place of a forecast.

    Raises:
        InputError: As in `sizes.check_sizes`, or as in `judge_runs`.
    """
    losses = features.select(tuple(models)).values
    logs = log_losses(predictor, losses)
    sizes = list(models.values())
    target_sizes = list(targets.values())
    forecasts = forecast_sizes(logs, sizes, target_sizes)
    notes = notes_on_sizes(models, targets)
    ends = []
    not_forecast = {}
    for name, size, forecast in zip(targets, target_sizes, forecasts):
        reason: Optional[str] = ('too few models differ in size and tokens to '
                                 'test the law.')
        if forecast is not None:
            at_end = _losses_at_end(predictor, features.columns, name,
                                    forecast)
            reason = why_impossible(predictor, at_end)
        if reason is None:
            end = TrainingEnd(name, 0., size.tokens)
            ends.append(_PlannedEnd(end, None, forecast))
        else:
            not_forecast[name] = reason
            notes.append(f'{name}: nothing is forecast, as {reason}')
    return _triage(predictor, features, [], ends, 'tokens', notes,
                   not_forecast, None)


def _families(predictor: Predictor,
              past: Mapping[str, Checkpoint]) -> dict[str, str]:
    """Return the family of each earlier run that the predictor was fitted to.
    """
    family_of = dict(zip(predictor.fit_models, predictor.families))
    families = {}
    for name, point in past.items():
        if name in family_of:
            families[point.run] = family_of[name]
    return families


class _PlannedEnd(NamedTuple):
    """The end of a run, or of the training of a size, before it is judged.

    `last` is the last checkpoint of the run; it is None for a size. `losses`
    is the forecast of the losses at the end. It is None for a finished run,
    whose losses at the end are the losses of `last`.
    """
    end: TrainingEnd
    last: Optional[str]
    losses: Optional[LossForecast]


def _losses_at_end(predictor: Predictor, columns: Columns, model: str,
                   forecast: LossForecast) -> FeatureTable:
    """Return the expected losses of one model at the end of its training."""
    logs = forecast.logs[None]  # (1, K)
    losses = losses_of(predictor, logs)
    return FeatureTable((model, ), columns, losses)


def _triage(predictor: Predictor, features: FeatureTable, runs: Sequence[Run],
            ends: Sequence[_PlannedEnd], measure: str, notes: Sequence[str],
            not_forecast: Mapping[str, str],
            known: Optional[AccuracyTable]) -> Triage:
    """Predict checkpoints and ends together, so that errors are correlated.

    Checkpoints and ends are the models of one table. The end of a finished run
    is its last checkpoint, and any other end is one more model, with forecast
    losses. The checkpoints and the end of a run are a family.
    """
    check_no_mean('predictor', predictor.names)
    # Errors of the checkpoints and of the end of a run are correlated, like
    # the errors of the models of a family.
    families: dict[str, str] = {}
    for run in runs:
        for checkpoint in run.checkpoints:
            families[checkpoint] = run.name
    checkpoints = list(families)
    tables = [features.select(checkpoints)]
    # For each end, its model in the table, and the forecast of its losses.
    model_of: dict[str, str] = {}
    all_losses = []
    for end, last, losses in ends:
        model = last
        if losses is not None:
            model = f'end of the training of {end.name}'
            families[model] = end.name
            at_end = _losses_at_end(predictor, features.columns, model, losses)
            tables.append(at_end)
        # A size has no last checkpoint, but always a forecast of its losses.
        assert model is not None
        model_of[end.name] = model
        all_losses.append(losses)
    table = FeatureTable.concatenate(tables)
    found, joint = predictor.predict_jointly(table, LEVEL, families, known)
    models = tuple(model_of.values())
    rows = np.array(indices_of(models, table.models), int)
    of_ends = table.select(models)
    joint_of_ends = joint.take(rows)
    joint_of_ends = with_loss_errors(joint_of_ends, predictor, of_ends,
                                     all_losses)
    names = tuple(model_of)
    forecasts = predictor.predictions(joint_of_ends, names, LEVEL)
    # Flags, such as `extrapolated`, are taken from a prediction from the
    # expected losses. The uncertainty of losses does not change them.
    expected = found.select(model_of)
    flags = {flag: getattr(expected, flag) for flag in MARKS}
    forecasts = replace(forecasts, **flags)
    all_notes = [*notes, *notes_on_result(found, forecasts, known)]
    of_checkpoints = found.select(checkpoints)
    all_notes += measurement_notes(of_checkpoints.models,
                                   of_checkpoints.model_measurement_factors)
    return Triage.of(
        measure=measure,
        runs=runs,
        predictions=of_checkpoints,
        ends=[ahead.end for ahead in ends],
        forecasts=forecasts,
        joint=joint_of_ends,
        notes=all_notes,
        not_forecast=not_forecast)


def _check_apart(chosen: Mapping[str, Checkpoint],
                 past: Mapping[str, Checkpoint]) -> None:
    """Raise an `InputError` for a run that is also in the history."""
    earlier_names = {point.run for point in past.values()}
    for point in chosen.values():
        if point.run in earlier_names:
            raise InputError(f'run {point.run!r}',
                             'a run that is not in the history',
                             'the same run in the history',
                             'Leave it out of the history.')


def _check_units(chosen: Mapping[str, Checkpoint],
                 past: Mapping[str, Checkpoint]) -> None:
    """Raise an `InputError` if the budget of earlier runs has another unit.

    A run without a budget gets the usual budget of the earlier runs, so both
    must be measured in tokens, or both in steps.
    """
    measure = unit_of_training([*chosen.values()])
    measure_before = unit_of_training([*past.values()])
    budgets = known_budgets(chosen.values())
    for point in chosen.values():
        if point.run not in budgets and measure != measure_before:
            raise InputError(
                f'run {point.run!r}',
                f'progress in {measure_before}, as for the earlier runs',
                f'progress in {measure}',
                'Give the end of the run (--budget), or the tokens of all '
                'checkpoints in a table (--checkpoints or, of tables of '
                'losses, --models).')
