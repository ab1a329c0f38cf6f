"""Forecasts and ranks of pretraining runs, from the losses so far."""
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable, places
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.formatting import counted, predicted_cell
from csv_plugin.core.joint import Joint
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.predictor import Predictor
from csv_plugin.triage.checkpoints import (Checkpoint, choose_measure,
                                           describe_checkpoints, known_budgets,
                                           rows_by_run)
from csv_plugin.triage.forecasting import Backtest, Forecast, Forecaster
from csv_plugin.triage.loss_errors import LEVEL, log_losses, with_loss_errors
from csv_plugin.triage.ranking import TOO_FAR, Expectation, Ranking, rank_all
from csv_plugin.triage.trajectories import RunTrajectory

#: Name of the ranking by the mean over the benchmarks.
OVERALL = 'mean'


class ErrorToExpect(NamedTuple):
    """Mean absolute errors of earlier runs, forecast from the others.

    Errors of the forecasts, and of the predictions where they were made;
    fractions, `(B,)` each. They are differences from the accuracies predicted
    at the ends of the runs.
    """
    runs: tuple[str, ...]
    forecast: NDArray[np.float64]
    now: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Triage:
    """Predictions and forecasts of R runs, sorted by name, on B benchmarks.

    Training is measured in `measure`: 'tokens', or 'steps' where no tokens are
    known. Predictions are of all checkpoints, `expected` accuracies at the
    budget, by run. Rankings are by benchmark and `OVERALL`. Errors are those
    of earlier runs, forecast from the same share of the budget, by unfinished
    run. Notes are remarks for users.
    """
    measure: str
    runs: tuple[RunTrajectory, ...]
    predictions: Predictions
    expected: Mapping[str, Expectation]
    rankings: Mapping[str, Ranking]
    errors: Mapping[str, ErrorToExpect]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        checkpoints = counted(len(self.predictions.models), 'checkpoint')
        return (f'Triage({checkpoints} of {counted(len(self.runs), "run")} on '
                f'{counted(len(self.benchmarks), "benchmark")})')

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """B names."""
        return self.predictions.benchmarks

    @property
    def forecast_runs(self) -> tuple[str, ...]:
        """Runs with a forecast, the best mean first."""
        ranking = self.rankings[OVERALL]
        return tuple(run for run, value in zip(ranking.runs, ranking.values)
                     if not math.isnan(value))

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the mean over the main benchmarks of values `(B,)`."""
        predictions = self.predictions
        return float(values[_in_mean(self.benchmarks,
                                     predictions.main)].mean())

    def error_to_expect(
            self, run: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean absolute errors of earlier runs, for one of `errors`.

        Those of forecasts, and of predictions where they were made; fractions,
        `(B,)` each.
        """
        test = self.errors[run]
        return test.forecast, test.now

    def checkpoint_records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of `checkpoints.csv`: each checkpoint and benchmark.

        Accuracies are fractions; unknown values are None.
        """
        places = {
            name: (run, i)
            for run in self.runs
            for i, name in enumerate(run.checkpoints)
        }
        for record in self.predictions.records():
            run, i = places[record['model']]
            yield {
                'run': run.run,
                'checkpoint': record['model'],
                'tokens': float(run.tokens[i]),
                'share': _or_none(run.shares[i]),
                **{
                    name: record[name]
                    for name in ('benchmark', 'predicted', 'low', 'high')
                },
                'extrapolated': int(record['extrapolated']),
            }

    def forecast_records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of `forecasts.csv`, the best run of a ranking first.

        Accuracies are fractions; unknown values are None.
        """
        runs = {run.run: run for run in self.runs}
        for k, (benchmark, ranking) in enumerate(self.rankings.items()):
            for r, name in enumerate(ranking.runs):
                run, expected = runs[name], self.expected[name]
                yield {
                    'run': name,
                    'benchmark': benchmark,
                    'tokens': float(run.tokens[-1]),
                    'share': _or_none(run.shares[-1]),
                    'budget': _or_none(run.budget),
                    'forecast': _or_none(expected.values[k]),
                    'low': _or_none(expected.low[k]),
                    'high': _or_none(expected.high[k]),
                    'extrapolated': int(expected.extrapolated[k]),
                    'best_rank': _or_none(ranking.best[r], int),
                    'worst_rank': _or_none(ranking.worst[r], int),
                    'chance_best': _or_none(ranking.chance[r]),
                    'above_next': _or_none(ranking.above_next[r]),
                    'verdict': ranking.verdicts[r],
                }

    def forecast_cells(self, run: str) -> list[str]:
        """Return the forecast of a run as texts: percent and interval.

        The mean over the main benchmarks is first, then each benchmark.
        """
        expected = self.expected[run]
        chance = np.array(
            [self.predictions.chance[name] for name in self.benchmarks])
        far = np.where(expected.extrapolated, '>', '').tolist()
        at_chance = [*self.predictions.at_chance[0, :, 0].tolist(), False]
        *cells, mean = map(predicted_cell, expected.values, expected.low,
                           expected.high, [*chance, self.mean(chance)],
                           [f + '?' * a for f, a in zip(far, at_chance)])
        return [mean, *cells]

    def to_dict(self) -> dict[str, Any]:
        """Return the values of `triage.json`."""
        errors: dict[str, dict[str, Any]] = {}
        for run, part in self.errors.items():
            errors[run] = {}
            for label, values in (('forecast', part.forecast),
                                  ('prediction now', part.now)):
                by_name = dict(zip(self.benchmarks, values.tolist()))
                errors[run][label] = by_name | {OVERALL: self.mean(values)}
        return {
            'measure': self.measure,
            'level': LEVEL,
            'checkpoints': list(self.checkpoint_records()),
            'forecasts': list(self.forecast_records()),
            'error_to_expect': errors,
            'notes': list(self.notes),
        }


def _or_none(value: float, kind: type = float) -> Any:
    return None if math.isnan(value) else kind(value)


def forecast(predictor: Predictor,
             losses: Mapping[str, TokenLossDump],
             history: Mapping[str, TokenLossDump] = MappingProxyType({}),
             checkpoints: Optional[Mapping[str, Checkpoint]] = None,
             budget: float = math.nan) -> Triage:
    """Forecast the accuracies of pretraining runs at the end of training.

    Every checkpoint gets predicted accuracies. Every run gets a forecast of
    its accuracies at its budget of training tokens, and a rank among the runs.
    A forecast adds to the logarithms of the losses of the run the gain of
    earlier runs from the same share of their budgets on, and predicts the
    accuracies at these losses; see docs/triage.md. Accuracies are fractions,
    intervals 90 % intervals.

    The predictor was fitted to token losses. `losses` are in nats, of the
    checkpoints to judge, by name; one at 0 tokens is left out. `history` has
    losses of earlier runs, each up to its end; without it, no unfinished run
    is forecast. `checkpoints` describes checkpoints as `read_checkpoints`
    does; other names must have the form `run@step`. `budget` is that of runs
    without one of their own, in tokens if all checkpoints have them, else in
    steps. By default it is the median of the earlier runs; without any, these
    runs have no forecast.

    Raises:
        InputError: There is no checkpoint beyond 0 tokens; a name has no step;
            the tokens of only some checkpoints are known; a run is part of the
            history too, beyond its budget or has two; an earlier run ends
            before its budget; or as in `Predictor.features`.
    """
    features = predictor.features({**losses, **history})
    return judge(predictor, features,
                 describe_checkpoints(losses, checkpoints),
                 describe_checkpoints(history, checkpoints), budget)


def judge(
    predictor: Predictor,
    features: FeatureTable,
    checkpoints: Mapping[str, Checkpoint],
    history: Mapping[str, Checkpoint],
    budget: float = math.nan,
    refused: Mapping[str, str] = MappingProxyType({}),
    known: Optional[AccuracyTable] = None,
) -> Triage:
    """Judge runs by the features of their checkpoints, as `forecast` does.

    Checkpoints at 0 tokens or without features are left out. `refused` maps
    some of the latter to the reasons why; these become notes. `known` are
    accuracies of some of the checkpoints, on which all that is said of their
    runs is conditioned. An `InputError`, too, if a benchmark is called
    `OVERALL`.
    """
    if OVERALL in predictor.names:
        raise InputError(
            'predictor', 'benchmarks with other names than that of the mean '
            'over them', repr(OVERALL), 'Fit it with another name.')
    chosen, past = ({
        name: described[name]
        for name in described if name in features.models
    } for described in (checkpoints, history))
    measure = choose_measure([*chosen.values()])
    earlier = _trajectories(predictor, features, past)
    if math.isnan(budget) and earlier:
        _check_measures(chosen, past)
        budget = float(np.median([run.budget for run in earlier]))
    runs = _trajectories(predictor, features, chosen, budget)
    if not runs:
        raise InputError('checkpoints', 'one or more that can be used',
                         first_reason(refused, 'none beyond 0 tokens'),
                         'Collect losses of checkpoints.')
    forecaster = Forecaster(earlier)
    triage = _judge_runs(predictor, features, runs, forecaster, measure, known)
    notes = [f'{name} is left out: {why}' for name, why in refused.items()]
    notes += _notes(measure, runs, chosen, forecaster, triage.expected)
    scored = _scored(runs, predictor, known)
    if scored:
        notes.append(f'{", ".join(scored)}: the known scores of checkpoints '
                     'count in predictions and forecasts.')
    return replace(triage, notes=tuple(notes))


def _scored(runs: Sequence[RunTrajectory], predictor: Predictor,
            known: Optional[AccuracyTable]) -> list[str]:
    """Names of runs with a known accuracy on a benchmark of the predictor."""
    if known is None:
        return []
    return [
        run.run for run in runs if not np.isnan(
            known.spread(run.checkpoints, predictor.names).values).all()
    ]


def _check_measures(chosen: Mapping[str, Checkpoint],
                    past: Mapping[str, Checkpoint]) -> None:
    """Refuse a budget of earlier runs that are measured in another unit."""
    measures = [
        choose_measure([*part.values()]) for part in (chosen, past) if part
    ]
    ends = known_budgets(chosen.values())
    without = [p.run for p in chosen.values() if p.run not in ends]
    if without and len({*measures}) > 1:
        raise InputError(
            f'run {without[0]!r}', f'its {measures[1]}, as of earlier runs',
            f'only {measures[0]}', 'Give the end of the run (--budget), or '
            'tokens of all checkpoints in a table (--checkpoints).')


def _judge_runs(predictor: Predictor, features: FeatureTable,
                runs: Sequence[RunTrajectory], forecaster: Forecaster,
                measure: str, known: Optional[AccuracyTable]) -> Triage:
    """Forecast, expect and rank runs; there are no notes yet."""
    forecasts = [forecaster.forecast(run) for run in runs]
    names = tuple(name for run in runs for name in run.checkpoints)
    families = {name: run.run for run in runs for name in run.checkpoints}
    # A run without a forecast stays where it is.
    ends = [run.checkpoints[-1] for run in runs]
    tables = [features.select(names)]
    for r, part in enumerate(forecasts):
        if part.is_made and part.share != 1:
            ends[r] = f'end of the training of {part.run}'
            families[ends[r]] = part.run
            losses = part.losses[None]
            tables.append(FeatureTable((ends[r], ), features.columns, losses))
    table = FeatureTable.concatenate(tables)
    joint = predictor.joint(table, families)
    if known is not None:
        joint = joint.given(known.spread(table.models, predictor.names).values)
    predictions = predictor.predictions(
        joint.take(np.arange(len(names))), names, LEVEL)
    at_ends = with_loss_errors(
        joint.take(np.array(places(ends, table.models))), predictor,
        table.select(ends), [part.errors for part in forecasts])
    main = _in_mean(predictor.names, predictor.main)
    marks = _extrapolated(
        predictions.select([run.checkpoints[-1] for run in runs]), main)
    expected = _expected(predictor, forecasts, at_ends, main, marks)
    rankings = rank_all([*expected], [*expected.values()],
                        np.array([run.finished for run in runs]),
                        np.array([run.budget for run in runs]),
                        _drawn(forecasts, at_ends, main))
    by_share = {
        part.share: _error_to_expect(predictor, features, part.backtest)
        for part in forecasts if part.share != 1 and part.backtest.runs
    }
    return Triage(
        measure=measure,
        runs=tuple(runs),
        predictions=predictions,
        expected=expected,
        rankings=dict(zip((*predictor.names, OVERALL), rankings)),
        errors={
            part.run: by_share[part.share]
            for part in forecasts if part.share in by_share
        },
        notes=())


def _expected(predictor: Predictor, forecasts: Sequence[Forecast],
              at_ends: Joint, main: Sequence[int],
              marks: NDArray[np.bool_]) -> dict[str, Expectation]:
    """Expected accuracies of R runs, by their joint distribution.

    NaN of those without a forecast. `marks` are those of `_extrapolated`.
    """
    names = tuple(part.run for part in forecasts)
    table = predictor.predictions(at_ends, names, LEVEL)
    means = np.clip(at_ends.means(np.array(main), LEVEL), 0, 1)
    cubes = np.array([table.values, table.low, table.high])[..., 0]
    numbers = np.append(cubes, means[..., None], axis=2)
    found = {}
    for r, (part, (far, useless)) in enumerate(zip(forecasts, marks)):
        value, low, high = numbers[:, r]
        if not part.errors_known:
            low, high = np.full((2, len(value)), np.nan)
        if not part.is_made:
            value, low, high = np.full((3, len(value)), np.nan)
        found[part.run] = Expectation(value, low, high, far,
                                      useless & part.is_made)
    return found


def _drawn(forecasts: Sequence[Forecast], at_ends: Joint,
           main: Sequence[int]) -> Optional[NDArray]:
    """Draws of accuracies at the ends of R runs, `(n, R, B + 1)`.

    Those of the mean are last. None if the error of a forecast is unknown.
    """
    if not all(part.errors_known for part in forecasts if part.is_made):
        return None
    draws = at_ends.draws()
    mean = draws[:, :, main].mean(axis=2, keepdims=True)
    return np.append(draws, mean, axis=2)


def _error_to_expect(predictor: Predictor, features: FeatureTable,
                     test: Backtest) -> ErrorToExpect:
    """Errors of a back-test in accuracies."""
    actual, forecasts, now = (
        predictor.joint(
            FeatureTable(test.runs, features.columns,
                         np.exp(states[:, 1:]))).accuracies
        for states in (test.actual, test.forecast, test.now))
    return ErrorToExpect(test.runs,
                         np.abs(actual - forecasts).mean(axis=0),
                         np.abs(actual - now).mean(axis=0))


def first_reason(refused: Mapping[str, str], default: str) -> str:
    """Return the first name and its reason, for an error message.

    >>> first_reason({'a': 'it has no step.', 'b': 'it is short.'}, 'none')
    'a: it has no step'
    """
    reasons = [f'{name}: {reason}' for name, reason in refused.items()]
    return reasons[0].rstrip('.') if reasons else default


def _in_mean(names: Sequence[str], main: Sequence[str]) -> list[int]:
    """Places of the main benchmarks, or of all without a main one."""
    return [names.index(name) for name in main or names]


def _trajectories(predictor: Predictor,
                  features: FeatureTable,
                  checkpoints: Mapping[str, Checkpoint],
                  budget: Optional[float] = None) -> list[RunTrajectory]:
    """Runs sorted by name; those without a budget get the given one.

    If it is None, they end at their last checkpoints.
    """
    names = tuple(checkpoints)
    table = features.select(names)
    levels = predictor.joint(table).mean.mean(axis=1)
    states = np.column_stack([levels, log_losses(predictor, table.values)])
    described = list(checkpoints.values())
    budgets = known_budgets(described)
    return [
        RunTrajectory(
            run,
            tuple(names[row] for row in rows),
            tokens=done,
            budget=budgets.get(run,
                               float(done[-1]) if budget is None else budget),
            states=states[rows],
            mean_loss=table.mean_loss[rows])
        for run, (rows, done) in rows_by_run(described).items()
    ]


def _extrapolated(last: Predictions, main: Sequence[int]) -> NDArray[np.bool_]:
    """Marks of R forecasts, `(R, 2, B + 1)`; see `Expectation`.

    Those of the mean are last: all main benchmarks have them.
    """
    far = last.extrapolated[:, :, 0]
    both = np.stack([far, far & last.uninformative(last.methods[0])], axis=1)
    mean = both[..., main].all(axis=-1, keepdims=True)
    return np.concatenate([both, mean], axis=-1)


def _notes(measure: str, runs: Sequence[RunTrajectory],
           described: Mapping[str, Checkpoint], forecaster: Forecaster,
           expected: Mapping[str, Expectation]) -> Iterator[str]:
    """Yield notes on missing or doubtful input of runs."""
    if measure == 'steps':
        yield 'No tokens are known, so training is measured in steps.'
    named: dict[str, list[str]] = {}
    for run in runs:
        for note in _notes_on(run, forecaster):
            named.setdefault(note, []).append(run.run)
    unbegun = {point.run for point in described.values()}
    unbegun.difference_update(run.run for run in runs)
    if unbegun:
        named['nothing is forecast: there is no checkpoint yet.'] = sorted(
            unbegun)
    for note, names in named.items():
        yield f'{", ".join(names)}: {note}'
    far = [name for name, part in expected.items() if part.useless[-1]]
    if far:
        yield (f'{TOO_FAR}: {", ".join(far)}. No prediction at the last '
               'checkpoint excludes anything, so there is no rank: fit the '
               'predictor to models that are more like these.')


def _notes_on(run: RunTrajectory, forecaster: Forecaster) -> Iterator[str]:
    first: dict[float, str] = {}
    for name, loss in zip(run.checkpoints, run.mean_loss):
        earlier = first.setdefault(float(loss), name)
        if earlier != name:
            yield (f'{name} has the losses of {earlier}. One of the two may '
                   'be a wrong upload.')
    share = float(run.shares[-1])
    if math.isnan(share):
        yield ('nothing is forecast: the end of training is unknown. Give '
               'finished runs by --history.')
    if not share < 1:
        return
    when = f'after {100 * share:.3g} % of the training, '
    early = forecaster.members(share)
    late = [past.run for past in forecaster.history if past not in early]
    if late:
        yield (f'{when}the losses of {", ".join(late)} do not count: no '
               'checkpoint is as early.')
    if not early:
        yield (f'{when}nothing is forecast: no earlier run has a checkpoint '
               'as early. Give finished runs by --history.')
    if len(early) == 1:
        yield (f'{when}the error of the forecast is unknown: only one '
               'earlier run has a checkpoint as early.')
