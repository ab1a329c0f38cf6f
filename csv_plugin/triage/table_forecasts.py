"""Forecasts of pretraining runs from tables of losses and scores."""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.features import FeatureTable
from csv_plugin.triage.checkpoints import (Checkpoint, choose_measure,
                                           known_budgets, rows_by_run)
from csv_plugin.triage.final_scores import (LEAST_RUNS, Ends, Levels, PastRun,
                                            as_early, forecast_end,
                                            forecast_other)
from csv_plugin.triage.held_out import fit_holding_out
from csv_plugin.triage.run_notes import RunNote, not_begun, without_early

#: Level of the intervals.
LEVEL = 0.9
#: What forecasts are made from.
LOSSES, SCORES, BOTH = SOURCES = 'losses', 'scores', 'losses and scores'
#: What they are compared with.
NOW, OBSERVED, GAIN = ('predicted from losses now', 'score observed now',
                       'score observed now, plus the median gain')
#: What is forecast.
ACCURACY, LOSS = 'accuracy', 'loss'
#: What an `EndForecast` says from its quantity on.
_Forecast = tuple[str, str, str, float, float, float, float]
#: A checkpoint stands for parts of the training as near as this.
NEAR = 0.005
#: With more sources of units, the loss on all units alone is forecast.
MOST_SOURCES = 30


class EndForecast(NamedTuple):
    """What is expected of a run at its end.

    Args:
        run (str): Its name.
        share (float): Part of the training that the forecast knows.
        end (float): Where the training ends, in its measure.
        measure (str): 'tokens', or 'steps' where no tokens are known.
        quantity (str): `ACCURACY`, or `LOSS` in the unit of the table.
        name (str): The benchmark, or the source of the units.
        method (str): What it is made from.
        forecast (float): The value.
        low (float): Lower end of its 90 % interval, NaN where it has none.
        high (float): Upper end, likewise.
        real (float): What the run reached, NaN where not known.
    """
    run: str
    share: float
    end: float
    measure: str
    quantity: str
    name: str
    method: str
    forecast: float
    low: float
    high: float
    real: float


class TableForecasts(NamedTuple):
    """Forecasts of runs from tables.

    Args:
        forecasts (list[EndForecast]): Of the runs that have reached a part of
            the training.
        notes (list[RunNote]): What is not forecast, and which finished runs
            were not learned from.
        known (dict[tuple[str, float], float]): By run and part of its
            training that was asked for: the part that its forecast knows, at
            the last checkpoint up to there.
    """
    forecasts: list[EndForecast]
    notes: list[RunNote]
    known: dict[tuple[str, float], float]


@dataclass(frozen=True, eq=False)
class _Run:
    """One run of the tables.

    Args:
        name (str): Of the run.
        end (float): Where its training ends.
        shares (NDArray): Parts of its training at n checkpoints, `(n,)`.
        by_losses (NDArray): Predicted accuracies there, `(n, B)`.
        scores (NDArray): Observed accuracies there, `(n, B)`.
        log_losses (NDArray): Logarithms of mean losses there by source,
            `(n, S)`.
    """
    name: str
    end: float
    shares: NDArray[np.float64]
    by_losses: NDArray[np.float64]
    scores: NDArray[np.float64]
    log_losses: NDArray[np.float64]

    def levels(self, method: str) -> tuple[Levels, ...]:
        """What a forecast is made from; checkpoints without it left out."""
        tables = {
            LOSSES: (self.by_losses, ),
            SCORES: (self.scores, ),
            BOTH: (self.by_losses, self.scores)
        }[method]
        known = [~np.isnan(table).any(axis=1) for table in tables]
        return tuple(
            Levels(self.shares[rows], table[rows])
            for rows, table in zip(known, tables))

    def until(self, share: float, method: str) -> tuple[Levels, ...]:
        """What a forecast is made from there; nothing if any of it lacks."""
        known = tuple(levels.until(share) for levels in self.levels(method))
        return known if all(len(levels.shares) for levels in known) else ()

    def past(self, method: str) -> PastRun:
        """The run as one that others are forecast from."""
        return PastRun(self.name, self.levels(method), self.scores[-1])

    def reached(self, share: float) -> Optional[float]:
        """The part of its training at its checkpoint there, if it has one."""
        known = self.shares[self.shares <= share + NEAR]
        if len(known) and self.shares[-1] >= share - NEAR:
            return float(known[-1])
        return None

    def if_finished(self, values: NDArray) -> NDArray[np.float64]:
        """What it reached, or NaN where that is not its end."""
        return values if self.shares[-1] == 1 else np.full_like(values, np.nan)


def forecast_tables(features: FeatureTable,
                    accuracies: AccuracyTable,
                    checkpoints: Mapping[str, Checkpoint],
                    fit: Sequence[str],
                    predict: Sequence[str],
                    after: Sequence[float] = (),
                    all_finished: bool = False,
                    progress: Progress = iter) -> TableForecasts:
    """Forecast where runs will end, from finished runs.

    A predictor is fitted to the checkpoints of the finished runs. What it
    predicts along the runs, and the scores that were observed, tell by
    `forecast_end` where the others will end.

    Args:
        features (FeatureTable): Losses of all checkpoints by unit.
        accuracies (AccuracyTable): Of the same checkpoints, `(M, B)`.
        checkpoints (Mapping[str, Checkpoint]): Run, step, tokens, budget.
        fit (Sequence[str]): Checkpoints of finished runs, with scores on all
            benchmarks at their ends.
        predict (Sequence[str]): Checkpoints of the runs to forecast. Without
            a budget, they end where the finished runs end in the median.
        after (Sequence[float]): Parts of the training after which they are
            forecast; by default at their last checkpoints.
        all_finished (bool): Whether the runs to forecast are finished too,
            and end at their last checkpoints.
        progress (Progress): Wraps the benchmarks of the fit.

    Raises:
        InputError: A run is both fitted to and forecast, fewer than
            `LEAST_RUNS` are fitted to, one of them has a budget that it has
            not reached, or no score on a benchmark at its end, or as in
            `fit_predictor`, `choose_measure` and `known_budgets`.
    """
    models = [*fit, *predict]
    parts = _parts([checkpoints[model] for model in models], len(fit),
                   all_finished)
    salience, held_out = fit_holding_out(
        features,
        accuracies.select(fit), [checkpoints[model].run for model in fit],
        progress=progress)
    new = features.select(predict).values
    by_losses = np.vstack(
        [held_out,
         np.transpose([model.predict(new) for model in salience])])
    scores = accuracies.select(models).values
    sources, log_losses = _losses_by_source(features.select(models))
    runs = [
        _Run(name, end, done / end, by_losses[rows], scores[rows],
             log_losses[rows]) for name, end, rows, done in parts
    ]
    past = [
        run for run, (_, _, rows, _) in zip(runs, parts) if rows[0] < len(fit)
    ]
    _check_ends(past, accuracies.benchmarks)
    asked = [(run, part, run.reached(part)) for run in runs if run not in past
             for part in after or [run.shares[-1]]]
    # Parts between two checkpoints are forecast from the same one.
    places = dict.fromkeys((run, share) for run, _, share in asked)
    known = {
        (run.name, part): share
        for run, part, share in asked if share is not None
    }
    measure = choose_measure([checkpoints[model] for model in models])
    forecasts = [
        EndForecast(run.name, share, run.end, measure, *record)
        for run, share in places if share is not None
        for record in _of_run(run, past, share, accuracies, sources)
    ]
    notes = not_begun([checkpoints[model] for model in predict],
                      [run.name for run in runs])
    notes += [
        RunNote(run.name, part, text) for run, part, share in asked
        for text in _notes(run, past, part, share)
    ]
    forecast = {one.run for one in forecasts}
    notes += _beyond([run for run in runs if run.name in forecast], past,
                     measure)
    return TableForecasts(forecasts, notes, known)


def _parts(described: Sequence[Checkpoint], n_fit: int,
           all_finished: bool) -> list[tuple[str, float, NDArray, NDArray]]:
    """Name, end, rows and what is done there of each run.

    Args:
        described (Sequence[Checkpoint]): Those of finished runs first.
        n_fit (int): How many they are.
        all_finished (bool): Whether the others are finished too.
    """
    rows = rows_by_run(described)
    for name, (of_run, _) in rows.items():
        if of_run.min() < n_fit <= of_run.max():
            raise InputError(f'run {name!r}', 'it fitted to or forecast',
                             'both',
                             'Put all of its checkpoints in one split.')
    ends = [done[-1] for of_run, done in rows.values() if of_run[0] < n_fit]
    if len(ends) < LEAST_RUNS:
        raise InputError('runs to fit to', f'{LEAST_RUNS} or more, finished',
                         str(len(ends)), 'Give the tables of more runs.')
    usual, budgets = float(np.median(ends)), known_budgets(described)
    parts = []
    for name, (of_run, done) in rows.items():
        finished = all_finished or of_run[0] < n_fit
        budget = budgets.get(name, done[-1] if finished else usual)
        if budget < done[-1] or (finished and budget > done[-1]):
            least = '' if finished else ' or more'
            found = (f'{budget:g}' if name in budgets else
                     f'none, where finished runs end at {usual:g} in the '
                     'median')
            raise InputError(
                f'run {name!r}, which has come to {done[-1]:g}',
                f'a budget of {done[-1]:g}{least}', found,
                'Give its budget in the table of checkpoints, and fit to '
                'finished runs alone.')
        parts.append((name, float(budget), of_run, done))
    return parts


def _check_ends(past: Sequence[_Run], benchmarks: Sequence[str]) -> None:
    for run in past:
        for b in np.flatnonzero(np.isnan(run.scores[-1])):
            raise InputError(f'run {run.name!r}',
                             f'a score on {benchmarks[b]!r} at its '
                             'end', 'none',
                             'Leave the run or the benchmark out.')


def _losses_by_source(
        features: FeatureTable) -> tuple[list[str], NDArray[np.float64]]:
    """Sources of the units, and logarithms of mean losses, `(M, S)`.

    A source is what stands before the first slash in the name of a unit.
    """
    sources = [unit.partition('/')[0] for unit in features.columns.units]
    names = sorted(set(sources))
    if not 1 < len(names) <= MOST_SOURCES:
        names, sources = ['all units'], ['all units'] * len(sources)
    means = [
        features.values[:, [source == name for source in sources]].mean(axis=1)
        for name in names
    ]
    return names, np.log(np.maximum(np.stack(means, axis=1), 1e-12))


def _notes(run: _Run, past: Sequence[_Run], part: float,
           share: Optional[float]) -> Iterator[str]:
    """What cannot be forecast or learned from, and why."""
    if share is None:
        there = 'yet' if run.shares[-1] < part else 'so early'
        yield f'nothing is forecast, for want of a checkpoint {there}.'
        return
    late: dict[tuple[str, ...], list[str]] = {}
    few: dict[int, list[str]] = {}
    for method in SOURCES:
        known = run.until(share, method)
        early = _as_early(past, known, method)
        gone = tuple(other.name for other in past if other not in early)
        if known and gone and method != BOTH:
            late.setdefault(gone, []).append(method)
        if known and len(early) < LEAST_RUNS and (method != BOTH or not few):
            few.setdefault(len(early), []).append(method)
    for names, methods in late.items():
        yield without_early(names, ' and '.join(methods),
                            'checkpoint with scores')
    for count, methods in few.items():
        yield (f'nothing is forecast from {" or ".join(methods)}, as fewer '
               f'than {LEAST_RUNS} finished runs ({count}) have scores as '
               'early.')


def _beyond(runs: Sequence[_Run], past: Sequence[_Run],
            measure: str) -> list[RunNote]:
    """Notes on runs that end later than all runs that are finished."""
    last = max(run.end for run in past)
    return [
        RunNote(
            run.name, None, f'the end, {run.end:g} {measure}, lies beyond '
            f'those of all finished runs, {last:g} at most: the forecast '
            'extrapolates, and takes equal parts of trainings for alike.')
        for run in runs if run.end > last
    ]


def _as_early(past: Sequence[_Run], known: Sequence[Levels],
              method: str) -> list[_Run]:
    """The finished runs that can be looked up where a run is by now."""
    return [other for other in past if as_early(other.past(method), known)]


def _of_run(run: _Run, past: Sequence[_Run], share: float,
            accuracies: AccuracyTable,
            sources: Sequence[str]) -> Iterator[_Forecast]:
    """All forecasts of a run at a part of its training that it reached."""
    names, real = accuracies.benchmarks, run.if_finished(run.scores[-1])
    for method in SOURCES:
        known = run.until(share, method)
        history = [other.past(method) for other in past]
        ends = forecast_end(known, history, LEVEL,
                            accuracies.n_items) if known else None
        if ends:
            yield from _records(ACCURACY, names, method, ends, real)
    yield from _baselines(run, past, share, names, real)
    of_losses = [
        PastRun(other.name, other.levels(LOSSES), -other.log_losses[-1])
        for other in past
    ]
    own = [Levels(one.shares, -one.log_losses) for one in (*past, run)]
    ends = forecast_other(own, run.until(share, LOSSES), of_losses, LEVEL)
    if ends:
        value, low, high = ends
        yield from _records(LOSS, sources, LOSSES,
                            Ends(np.exp(-value), np.exp(-high), np.exp(-low)),
                            run.if_finished(np.exp(run.log_losses[-1])))


def _baselines(run: _Run, past: Sequence[_Run], share: float,
               benchmarks: Sequence[str],
               real: NDArray) -> Iterator[_Forecast]:
    """What the run shows now, and the median gain of the earlier runs."""
    [by_losses] = run.until(share, LOSSES)
    values = {NOW: by_losses.values[-1]}
    known = run.until(share, SCORES)
    if known:
        [seen] = known
        values[OBSERVED] = seen.values[-1]
        gains = [
            other.final - other.sources[0].at(seen.shares[-1])
            for other in (one.past(SCORES)
                          for one in _as_early(past, known, SCORES))
        ]
        if gains:
            values[GAIN] = np.clip(seen.values[-1] + np.median(gains, axis=0),
                                   0, 1)
    for method, value in values.items():
        nothing = np.full(len(value), np.nan)
        yield from _records(ACCURACY, benchmarks, method,
                            Ends(value, nothing, nothing), real)


def _records(quantity: str, names: Sequence[str], method: str, ends: Ends,
             real: NDArray) -> Iterator[_Forecast]:
    for name, value, low, high, reached in zip(names, *ends, real):
        yield (quantity, name, method, float(value), float(low), float(high),
               float(reached))
