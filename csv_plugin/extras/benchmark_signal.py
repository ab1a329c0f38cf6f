"""Benchmarks judged by how well, and how early, they order pretraining runs.

Signal and noise are those of Heineman et al., "Signal and Noise: A Framework
for Reducing Uncertainty in Language Model Evaluation" (arXiv 2508.13144). The
share of pairs in the right order is the decision accuracy of Magnusson et al.,
"DataDecide" (arXiv 2504.11393).
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core import metrics
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.escaping import visible
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_models
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import (DEFAULT_SOLVER, SOLVERS, SalienceFit,
                                      Task, held_out_predictions)
from csv_plugin.io.files import write_text
from csv_plugin.io.tables import write_csv
from csv_plugin.report.screen import markdown_table
from csv_plugin.triage.checkpoints import Checkpoint, rows_by_run

#: Checkpoints at the end of a run whose scores give its noise.
LAST = 3
#: Least number of runs.
LEAST_RUNS = 3
#: Share of the pairs of runs that have to be in the right order.
SURE_ORDER = 0.8
#: Shares of the training are rounded to this, and smaller ones left out.
LEAST_SHARE = 0.001
#: Verdict about a benchmark on which noise decides.
NOT_HERE = 'not predictable here'
#: Shares of the training that the table shows, or those next to them.
SHOWN = (0.05, 0.1, 0.25, 0.5)
LEGEND = (
    'signal to noise: largest minus smallest final score of the runs, over '
    f"the median standard deviation of a run's last {LAST} scores. rises: "
    'share of the pairs of checkpoints of a run with the higher score later, '
    'in percent (50 is noise). order at x %: share of the pairs of runs whose '
    'scores at x % of the training are in the order of the final ones. by '
    'losses: the same of accuracies predicted from losses by fits to other '
    f'runs. Runs are told apart from where on {SURE_ORDER:.0%} of the pairs '
    'or more are in order at every checkpoint.')


class _Run(NamedTuple):
    """One run on one benchmark, at its n checkpoints with a score.

    Shares of the run done, rising up to 1; accuracies; and those predicted
    from losses, or NaN.
    """
    name: str
    shares: NDArray[np.float64]
    scores: NDArray[np.float64]
    by_losses: NDArray[np.float64]


@dataclass(frozen=True)
class BenchmarkSignal:
    """Signal, noise and order of the scores of a benchmark.

    Signal and noise are the range of the final scores and the median standard
    deviation of a run's last `LAST` scores, both over the mean final score.
    `rising` is the share of the pairs of checkpoints of a run with the higher
    score later. `order` is, at each share of the training below 1, the share
    of the pairs of runs whose scores there are in the order of the final ones;
    NaN where all of these are equal. `order_by_losses` is the same of
    accuracies predicted from losses, or empty.
    """
    benchmark: str
    runs: tuple[str, ...]
    signal: float
    noise: float
    rising: float
    shares: tuple[float, ...]
    order: tuple[float, ...]
    order_by_losses: tuple[float, ...]

    @property
    def signal_to_noise(self) -> float:
        """Infinite if no score moves at the end, 0 for equal final scores."""
        if not self.signal:
            return 0.0
        return self.signal / self.noise if self.noise else float('inf')

    @property
    def apart_from(self) -> float:
        """Share of the training from which on the order is right, or NaN."""
        return _sure_from(self.shares, self.order)

    @property
    def apart_from_by_losses(self) -> float:
        """The same of accuracies predicted from losses."""
        return _sure_from(self.shares, self.order_by_losses)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if np.isnan(self.apart_from):
            return NOT_HERE
        return f'tells runs apart from {shown_share(self.apart_from)} on'


def shown_share(share: float, unit: str = '%') -> str:
    """Return a share in percent, below 1 % with one decimal."""
    return f'{100 * share:.{0 if share >= 0.01 else 1}f}{unit}'


def _sure_from(shares: Sequence[float], order: Sequence[float]) -> float:
    """The first share from which on the order is always right, or NaN.

    The last order alone may be right by chance, unless there is no other.
    """
    for i, share in enumerate(shares[:max(1, len(order) - 1)]):
        if min(order[i:], default=0) >= SURE_ORDER:
            return share
    return float('nan')


def benchmark_signals(
        models: Sequence[str],
        benchmarks: Sequence[str],
        scores: NDArray,
        checkpoints: Mapping[str, Checkpoint],
        by_losses: Optional[NDArray] = None) -> tuple[BenchmarkSignal, ...]:
    """Judge benchmarks by the scores of the checkpoints of several runs.

    The last checkpoint of a run counts as its end. `scores` are accuracies,
    and `by_losses` those of held-out runs predicted from losses, both `(M,
    B)`; NaN where a checkpoint was not run.

    Raises:
        InputError: Fewer than `LEAST_RUNS` runs have two checkpoints with
            scores on a benchmark, or the tokens of only some checkpoints
            are known.
    """
    by_run = rows_by_run([checkpoints[model] for model in models])
    places = {
        run: (rows, done / done[-1])
        for run, (rows, done) in by_run.items()
    }
    table = np.full_like(scores, np.nan) if by_losses is None else by_losses
    judged = []
    for b, name in enumerate(benchmarks):
        runs = _runs(places, scores[:, b], table[:, b])
        if len(runs) < LEAST_RUNS:
            raise InputError(
                f'benchmark {name!r}', f'{LEAST_RUNS} runs or more with '
                'scores at their last checkpoint and an earlier one',
                str(len(runs)), 'Leave the benchmark out, or add scores.')
        judged.append(_judge(name, runs, by_losses is not None))
    return tuple(judged)


def _runs(places: Mapping[str, tuple[NDArray, NDArray]], scores: NDArray,
          by_losses: NDArray) -> list[_Run]:
    """The runs with a score at their end and at another checkpoint."""
    runs = []
    for name, (rows, shares) in places.items():
        known = ~np.isnan(scores[rows])
        if known[-1] and known.sum() > 1:
            rows = rows[known]
            runs.append(
                _Run(name, shares[known], scores[rows], by_losses[rows]))
    return runs


def _judge(benchmark: str, runs: Sequence[_Run],
           with_losses: bool) -> BenchmarkSignal:
    final = np.array([run.scores[-1] for run in runs])
    mean = final.mean() or 1.0
    moving = [
        run.scores[-LAST:].std() for run in runs if len(run.scores) >= LAST
    ]
    noise = np.median(moving) / mean if moving else np.nan
    shares = _common_shares(runs)
    order, order_by_losses = ([
        metrics.pairwise_accuracy(final, [_at(run, column, s) for run in runs])
        for s in shares
    ] for column in ('scores', 'by_losses'))
    return BenchmarkSignal(
        benchmark, tuple(run.name for run in runs),
        float(np.ptp(final) / mean), float(noise),
        float(np.mean([_rising(run.scores) for run in runs])), tuple(shares),
        tuple(order),
        tuple(order_by_losses) if with_losses else ())


def _common_shares(runs: Sequence[_Run]) -> list[float]:
    """Shares below 1 at which some run, and before which every run, is."""
    first = max(run.shares[0] for run in runs)
    shares = np.unique(np.concatenate([run.shares for run in runs]).round(3))
    # The first steps of a long run are as good as none.
    early = max(round(first, 3), LEAST_SHARE)
    return shares[(shares >= early) & (shares < 1)].tolist()


def _at(run: _Run, column: str, share: float) -> float:
    """Value of a run at a share: that of its latest checkpoint."""
    latest = np.searchsorted(run.shares.round(3), share, side='right') - 1
    return float(getattr(run, column)[latest])


def _rising(scores: NDArray) -> float:
    """Share of the pairs of checkpoints with the higher score later."""
    first, second = np.triu_indices(len(scores), k=1)
    steps = np.sign(scores[second] - scores[first])
    return float((1 + steps).mean() / 2)


def predicted_by_others(features: FeatureTable,
                        accuracies: AccuracyTable,
                        runs: Sequence[str],
                        progress: Progress = iter) -> NDArray[np.float64]:
    """Predict accuracies of checkpoints from losses, by fits to other runs.

    `runs` names the run of each checkpoint; folds divide no run. Returns
    fractions, `(M, B)`, NaN without a score. Raises InputError as
    `fit_predictor` does.
    """
    predicted = np.full(accuracies.values.shape, np.nan)

    def watch(benchmark: str, task: Task, fit: SalienceFit) -> None:
        b = accuracies.benchmarks.index(benchmark)
        known = ~np.isnan(accuracies.values[:, b])
        predicted[known, b] = held_out_predictions(task, fit)

    fit_models(
        features,
        accuracies,
        runs,
        SOLVERS[DEFAULT_SOLVER],
        progress=progress,
        watch=watch)
    return predicted


def signal_rows(rows: Sequence[BenchmarkSignal]) -> list[list[str]]:
    """Return a header and a row per benchmark, the best signal first."""
    shares = _shown(sorted({share for row in rows for share in row.shares}))
    with_losses = any(row.order_by_losses for row in rows)
    kinds = ['order', 'by losses'][:1 + with_losses]
    table = [[
        'benchmark', 'signal to noise', 'rises',
        *(f'{kind} at {shown_share(share)}' for kind in kinds
          for share in shares), 'verdict', *['by losses from'] * with_losses
    ]]
    for row in sorted(
            rows,
            key=lambda row: np.nan_to_num(row.signal_to_noise, nan=-1),
            reverse=True):
        orders = [row.order, row.order_by_losses][:1 + with_losses]
        start = row.apart_from_by_losses
        from_share = '-' if np.isnan(start) else shown_share(start, ' %')
        table.append([
            row.benchmark,
            _number(row.signal_to_noise),
            _number(100 * row.rising),
            *(_number(100 * dict(zip(row.shares, order)).get(share, np.nan))
              for order in orders
              for share in shares), row.verdict, *[from_share] * with_losses
        ])
    return table


def write_signals(folder: Path, rows: Sequence[BenchmarkSignal], title: str,
                  command: str) -> None:
    """Write `benchmarks.md` and `benchmarks.csv`."""
    folder.mkdir(parents=True, exist_ok=True)
    table = markdown_table(signal_rows(rows))
    parts = [f'# {title}', table, LEGEND, indent(visible(command), '    ')]
    write_text(folder / 'benchmarks.md', '\n\n'.join(parts) + '\n')
    names = ('signal', 'noise', 'signal_to_noise', 'rising', 'apart_from',
             'apart_from_by_losses')
    numbers = ([getattr(row, name) for name in names] for row in rows)
    write_csv(
        folder / 'benchmarks.csv', ('benchmark', 'runs', *names, 'verdict'),
        ((row.benchmark, len(row.runs), *(value if np.isfinite(value) else ''
                                          for value in values), row.verdict)
         for row, values in zip(rows, numbers)))


def _shown(shares: Sequence[float]) -> list[float]:
    """The shares next to those of `SHOWN`, each once."""
    if not shares:
        return []
    nearest = [
        min(shares, key=lambda share: abs(np.log(share / wanted)))
        for wanted in SHOWN
    ]
    return list(dict.fromkeys(nearest))


def _number(value: float) -> str:
    return f'{value:.0f}' if np.isfinite(value) else '-'
