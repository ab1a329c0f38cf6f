"""The result of a triage of pretraining runs, and its tables."""
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core.arrays import Floats
from csv_plugin.core.comparing import MARGIN
from csv_plugin.core.comparison import MEAN
from csv_plugin.core.formatting import (counted, number, or_none,
                                        possible_ranks, predicted_cell)
from csv_plugin.core.joint import Joint
from csv_plugin.core.overall import RankRanges, rank_ranges
from csv_plugin.core.predictions import MARKS, Predictions
from csv_plugin.core.text_tables import text_table, wrapped
from csv_plugin.triage.runs import Run, amount_of_training

#: The verdict is 'stop' if the probability that a run ends within `MARGIN` of
#: its best rival is smaller than this.
LEAST_PROBABILITY = 0.05
#: The rivals of a run, which it is ranked among, are all runs whose budget is
#: at most this many times its own budget.
LONGER = 1.05
#: Verdicts about a run. `NOT_BEGUN` is for a size that is not trained yet.
GO_ON = 'go on'
STOP = 'stop'
FINISHED = 'finished'
NOT_BEGUN = 'not begun'

#: Columns of `checkpoints.csv` and of `forecasts.csv`.
CHECKPOINT_FIELDS = ('run', 'checkpoint', 'tokens', 'share', 'benchmark',
                     'predicted', 'low', 'high', *MARKS)
FORECAST_FIELDS = ('run', 'benchmark', 'tokens', 'share', 'budget', 'forecast',
                   'low', 'high', *MARKS, 'best_rank', 'worst_rank',
                   'probability_best', 'verdict')


class TrainingEnd(NamedTuple):
    """The end of a run, or of a size that was not trained yet.

    `tokens` is the number of tokens (or steps) trained so far, 0 for a size.
    `budget` is the number of tokens (or steps) at the end.
    """
    name: str
    tokens: float
    budget: float

    @property
    def share(self) -> float:
        """The share of the budget that was trained so far."""
        return self.tokens / self.budget


@dataclass(frozen=True, eq=False)
class Triage:
    """Predictions of checkpoints, and forecasts of E ends, on B benchmarks.

    An end is the end of a run, or of the training of a size.

    Attributes:
        measure: The unit of training: 'tokens', or 'steps' if no tokens are
            known.
        runs: The runs, sorted by name; empty for sizes.
        predictions: Predictions of all checkpoints of the runs.
        ends: The ends that are forecast, the largest mean accuracy first.
        forecasts: Accuracies at these ends. For a finished run, they are the
            predictions of its last checkpoint.
        means: Mean accuracies at the ends, and the lower and upper limits of
            their intervals, fractions, `(3, E)`. Means are over the main
            benchmarks that are predictable, NaN if there are none.
        orders: Ranks of the ends on each benchmark and, as 'mean', by mean
            accuracy. An end is ranked among the ends whose budget is at most
            `LONGER` times its own. Ranks are NaN on benchmarks that are not
            predictable yet, and for an end without rivals.
        best_of_all: The probability of each end to have the largest mean
            accuracy of all ends, whatever their budgets, `(E,)`; NaN for a
            lone end, and without means.
        verdicts: A verdict such as 'go on' for each end, by mean accuracy.
        joint: The joint distribution of the accuracies at the ends.
        notes: Remarks for users.
        not_forecast: Names of runs (or sizes) without a forecast, and why.
    """
    measure: str
    runs: tuple[Run, ...]
    predictions: Predictions
    ends: tuple[TrainingEnd, ...]
    forecasts: Predictions
    means: Floats
    orders: Mapping[str, RankRanges]
    best_of_all: Floats
    verdicts: tuple[str, ...]
    joint: Joint
    notes: tuple[str, ...]
    not_forecast: Mapping[str, str]

    @classmethod
    def of(
        cls,
        measure: str,
        runs: Sequence[Run],
        predictions: Predictions,
        ends: Sequence[TrainingEnd],
        forecasts: Predictions,
        joint: Joint,
        notes: Sequence[str],
        not_forecast: Mapping[str, str] = MappingProxyType({})
    ) -> 'Triage':  # yapf: disable
        """Sort ends by their means, rank them, and judge the runs.

        Arguments are as in the class, but `ends` are in the order of the
        models of `joint`, and `forecasts` may have more models. Ranks and
        verdicts are computed from random draws of the joint distribution.
        """
        level = predictions.level
        n_ends = len(ends)
        in_mean = _in_mean(forecasts)
        means = np.full((3, n_ends), np.nan)
        if in_mean:
            benchmarks = np.array(in_mean)
            means = np.array(joint.means(benchmarks, level))
        best_first = np.argsort(-means[0], kind='stable')
        means = means[:, best_first]
        ends = [ends[row] for row in best_first]
        forecasts = forecasts.select([end.name for end in ends])
        joint = joint.take(best_first)
        draws = _draws_by_name(joint, forecasts) if ends else {}
        draws_of_mean = draws.get(MEAN)
        budgets = np.array([end.budget for end in ends])
        orders = {}
        for name in (*forecasts.benchmarks, MEAN):
            orders[name] = _ranked(draws.get(name), budgets, level)
        best_of_all = np.full(n_ends, np.nan)
        if draws_of_mean is not None:
            best_of_all = rank_ranges(draws_of_mean, level).best
        verdicts = _verdicts(ends, budgets, draws_of_mean)
        return cls(
            measure=measure,
            runs=tuple(runs),
            predictions=predictions,
            ends=tuple(ends),
            forecasts=forecasts,
            means=means,
            orders=orders,
            best_of_all=best_of_all,
            verdicts=verdicts,
            joint=joint,
            notes=tuple(notes),
            not_forecast=not_forecast)

    def __repr__(self) -> str:
        checkpoints = counted(len(self.predictions.models), 'checkpoint')
        runs = counted(len(self.runs), 'run')
        forecasts = counted(len(self.ends), 'forecast')
        benchmarks = counted(len(self.benchmarks), 'benchmark')
        return f'Triage({checkpoints} of {runs}, {forecasts} on {benchmarks})'

    def __str__(self) -> str:
        """Return the tables, each below its heading, and the legend."""
        parts = []
        for heading, rows in self.tables():
            parts += [heading, text_table(rows)]
        parts.append(wrapped(self.legend()))
        return '\n\n'.join(parts)

    def among(self, names: Collection[str]) -> 'Triage':
        """Return a triage of these ends alone, ranked among themselves."""
        not_forecast = {}
        for name, reason in self.not_forecast.items():
            if name in names:
                not_forecast[name] = reason
        rows = []
        ends = []
        for row, end in enumerate(self.ends):
            if end.name in names:
                rows.append(row)
                ends.append(end)
        joint = self.joint.take(np.array(rows, int))
        return Triage.of(
            measure=self.measure,
            runs=self.runs,
            predictions=self.predictions,
            ends=ends,
            forecasts=self.forecasts,
            joint=joint,
            notes=self.notes,
            not_forecast=not_forecast)

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Names of the B benchmarks."""
        return self.predictions.benchmarks

    @property
    def is_ranked(self) -> bool:
        """True if at least one end is ranked by its mean accuracy."""
        order = self.orders[MEAN]
        has_rank = np.isfinite(order.first)
        return bool(has_rank.any())

    # ---- rows to read

    def legend(self) -> list[str]:
        """Return lines that explain the cells of tables and their marks."""
        lines = self.budget_lines()
        lines += self.predictions.legend() + self.forecasts.legend()
        return list(dict.fromkeys(lines))

    def budget_lines(self) -> list[str]:
        """Return a line with the budgets of the runs and their sources.

        There is no line if no budget is known.
        """
        runs_by_budget: dict[str, list[str]] = {}
        for run in self.runs:
            if not np.isnan(run.budget):
                length = amount_of_training(run.budget, self.measure)
                budget = f'{length} {self.measure} ({run.budget_source})'
                of_budget = runs_by_budget.setdefault(budget, [])
                of_budget.append(run.name)
        parts = []
        for budget, names in runs_by_budget.items():
            if len(names) < len(self.runs):
                budget += f' for {", ".join(names)}'
            parts.append(budget)
        if not parts:
            return []
        return [f'Budget: {"; ".join(parts)}.']

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return the tables of checkpoints and of ends, with their headings.

        A table is left out where it would be empty.
        """
        tables = []
        if self.runs:
            checkpoints = counted(len(self.predictions.models), 'checkpoint')
            of_runs = counted(len(self.runs), 'run')
            heading = f'Predicted at {checkpoints} of {of_runs}'
            rows = self.checkpoint_rows()
            tables.append((heading, rows))
        if self.ends:
            heading = 'Forecast at the end of the training'
            if self.is_ranked:
                heading += ', largest mean first'
            rows = self.forecast_rows()
            tables.append((heading, rows))
        return tables

    def checkpoint_rows(self) -> list[list[str]]:
        """Return a header, and for each checkpoint a row of texts."""
        cells = _cells_by_model(self.predictions)
        rows = [['checkpoint', self.measure, 'of budget', *self.benchmarks]]
        for run in self.runs:
            points = zip(run.checkpoints, run.tokens, run.shares)
            for name, tokens, share in points:
                amount = amount_of_training(tokens, self.measure)
                row = [name, amount, _percent(share)]
                row += cells[name]
                rows.append(row)
        return rows

    def forecast_rows(self) -> list[list[str]]:
        """Return a header, and a row of texts for each end.

        The end with the largest mean accuracy comes first, and runs without a
        forecast come last. Ranks and verdicts are left out if no end is
        ranked. As in leaderboards, the only mark of a mean is `*`, if the
        accuracy on one of its benchmarks is known.
        """
        in_mean = _in_mean(self.forecasts)
        mean = f'{MEAN} of {len(in_mean)}' if len(in_mean) else MEAN
        header = ['run', 'from', mean]
        if self.is_ranked:
            header += ['rank', 'best', 'verdict']
        rows = [[*header, *self.benchmarks]]
        cells = _cells_by_model(self.forecasts)
        chance = self._chance_of_mean()
        order = self.orders[MEAN]
        means = self.means.T.tolist()
        of_mean = self.forecasts.in_sample[:, in_mean]
        is_known = of_mean.any(axis=(1, 2))
        for e, end in enumerate(self.ends):
            value, low, high = means[e]
            mark = '*' if is_known[e] else ''
            share = _percent(end.share)
            mean = predicted_cell(value, low, high, chance, mark)
            row = [end.name, share, mean]
            if self.is_ranked:
                ranks = possible_ranks(order.first[e], order.last[e])
                probability = _percent(order.best[e])
                row += [ranks, probability, self.verdicts[e]]
            row += cells[end.name]
            rows.append(row)
        shares = {run.name: run.shares[-1] for run in self.runs}
        for name in self.not_forecast:
            share = shares.get(name, np.nan)
            empty = ['-'] * (len(rows[0]) - 2)
            rows.append([name, _percent(share), *empty])
        return rows

    def _chance_of_mean(self) -> float:
        """Return the accuracy of random guessing, as a mean over benchmarks.

        The mean is over the same benchmarks as the mean accuracies.
        """
        in_mean = _in_mean(self.forecasts)
        if not in_mean:
            return 0.0
        chance = []
        levels = self.forecasts.chance
        for b in in_mean:
            name = self.benchmarks[b]
            chance.append(levels.get(name, 0.0))
        return float(np.mean(chance))

    # ---- records

    def checkpoint_records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of `checkpoints.csv`, by checkpoint and benchmark.

        Accuracies are fractions; unknown values are None.
        """
        # The first values of each checkpoint's rows.
        described = {}
        for run in self.runs:
            points = zip(run.checkpoints, run.tokens, run.shares)
            for name, tokens, share in points:
                described[name] = {
                    'run': run.name,
                    'checkpoint': name,
                    'tokens': float(tokens),
                    'share': or_none(share),
                }
        for record in self.predictions.records():
            model = record['model']
            yield {
                **described[model],
                'benchmark': record['benchmark'],
                **_numbers(record, 'predicted'),
            }

    def forecast_records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of `forecasts.csv`, by benchmark and end.

        Ends are in the order of their mean accuracies, the largest first.
        All rows of an end have the same verdict, which is by mean accuracy.
        Accuracies are fractions; unknown values are None.
        """
        # Records by end and benchmark.
        predicted: dict[tuple[str, str], Mapping[str, Any]] = {}
        for record in self.forecasts.records():
            key = record['model'], record['benchmark']
            predicted[key] = record
        for end, limits in zip(self.ends, self.means.T):
            value, low, high = limits
            key = end.name, MEAN
            predicted[key] = {
                'predicted': or_none(value),
                'low': or_none(low),
                'high': or_none(high)
            }
        for benchmark, order in self.orders.items():
            for e, end in enumerate(self.ends):
                key = end.name, benchmark
                numbers = predicted[key]
                yield {
                    'run': end.name,
                    'benchmark': benchmark,
                    'tokens': end.tokens,
                    'share': end.share,
                    'budget': end.budget,
                    **_numbers(numbers, 'forecast'),
                    'best_rank': or_none(order.first[e], int),
                    'worst_rank': or_none(order.last[e], int),
                    'probability_best': or_none(order.best[e]),
                    'verdict': self.verdicts[e],
                }  # yapf: disable

    def budget_records(self) -> list[dict[str, Any]]:
        """Return the budget of each run and its source, None if unknown."""
        records: list[dict[str, Any]] = []
        for run in self.runs:
            record: dict[str, Any] = {
                'run': run.name,
                'budget': None,
                'source': None
            }
            if not np.isnan(run.budget):
                record['budget'] = run.budget
                record['source'] = run.budget_source
            records.append(record)
        return records

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `triage.json`."""
        best_of_all = {}
        for end, probability in zip(self.ends, self.best_of_all.tolist()):
            best_of_all[end.name] = or_none(probability)
        return {
            'measure': self.measure,
            'level': self.predictions.level,
            'budgets': self.budget_records(),
            'checkpoints': list(self.checkpoint_records()),
            'forecasts': list(self.forecast_records()),
            'best_of_all': best_of_all,
            'not_forecast': dict(self.not_forecast),
            'notes': list(self.notes),
        }


def _in_mean(forecasts: Predictions) -> list[int]:
    """Return the indices of the benchmarks that mean accuracies are over.

    They are the main benchmarks, or all benchmarks if there are no main ones,
    without the benchmarks that are not predictable yet.
    """
    found = []
    for name in forecasts.main or forecasts.benchmarks:
        if name not in forecasts.not_yet:
            found.append(forecasts.benchmarks.index(name))
    return found


def _draws_by_name(joint: Joint, forecasts: Predictions) -> dict[str, NDArray]:
    """Return random draws of accuracies at E ends, `(n, E)`, by benchmark.

    The draws of mean accuracies have the name `MEAN`. Benchmarks that are not
    predictable yet are left out, and so is the mean over no benchmark.
    """
    draws = joint.draws()  # (n, E, B)
    found = {}
    for b, name in enumerate(forecasts.benchmarks):
        if name not in forecasts.not_yet:
            found[name] = draws[:, :, b]
    in_mean = _in_mean(forecasts)
    if in_mean:
        found[MEAN] = draws[:, :, in_mean].mean(axis=2)
    return found


def _ranked(draws: Optional[NDArray], budgets: NDArray,
            level: float) -> RankRanges:
    """Rank E ends, each among its rivals.

    `draws`, `(n, E)`, are n random draws of the accuracies of the ends. They
    are None on a benchmark that is not predictable yet, and for a mean over no
    benchmark; then ranks are NaN. `budgets` are `(E,)`.
    """
    found = RankRanges.unknown(len(budgets))
    if draws is None:
        return found
    for budget in np.unique(budgets):
        rivals = _rivals(budgets, budget)
        of_rivals = draws[:, rivals]
        ranges = rank_ranges(of_rivals, level)
        # Keep only the ranks of the ends with this budget. Rivals with smaller
        # budgets have fewer rivals themselves, so their ranks differ.
        is_ranked = budgets[rivals] == budget
        rows = rivals[is_ranked]
        for all_ranks, ranks in zip(found, ranges):
            all_ranks[rows] = ranks[is_ranked]
    return found


def _rivals(budgets: NDArray, budget: float) -> NDArray[np.intp]:
    """Return the indices of the rivals of an end with this budget."""
    return np.flatnonzero(budgets <= LONGER * budget)


def _verdicts(ends: Sequence[TrainingEnd], budgets: NDArray,
              draws: Optional[NDArray]) -> tuple[str, ...]:
    """Return a verdict for each end.

    `draws`, `(n, E)`, are n random draws of the mean accuracies of the ends;
    `draws` is None if there is no mean.
    """
    verdicts = []
    for e, end in enumerate(ends):
        if not end.tokens:
            verdicts.append(NOT_BEGUN)
        elif end.tokens == end.budget:
            verdicts.append(FINISHED)
        elif draws is None:
            verdicts.append(GO_ON)
        else:
            rivals = _rivals(budgets, end.budget)
            of_rivals = draws[:, rivals]
            highest = of_rivals.max(axis=1)
            is_near = draws[:, e] >= highest - MARGIN
            probability = is_near.mean()
            is_hopeless = probability < LEAST_PROBABILITY
            verdicts.append(STOP if is_hopeless else GO_ON)
    return tuple(verdicts)


def _numbers(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an accuracy, its interval and its flags, which are 0 or 1.

    `record` is as in `Predictions.records`. The accuracy gets the key `name`.
    An unknown flag is None.
    """
    found = {
        name: record['predicted'],
        'low': record['low'],
        'high': record['high']
    }
    for flag in MARKS:
        value = record.get(flag)
        if value is not None:
            value = int(value)
        found[flag] = value
    return found


def _cells_by_model(predictions: Predictions) -> dict[str, tuple[str, ...]]:
    """Return the cells of each model, one for each benchmark."""
    columns = map(predictions.cells, predictions.benchmarks)
    rows = zip(*columns)
    return dict(zip(predictions.models, rows))


def _percent(fraction: float) -> str:
    """Return a fraction as a cell in whole percent; '-' for NaN."""
    return number(fraction, '.0%')
