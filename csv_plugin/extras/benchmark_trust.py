"""Which benchmarks tell pretraining runs apart, and from when on.

Scores of checkpoints are enough. Signal and noise are those of Heineman et
al., "Signal and Noise: A Framework for Reducing Uncertainty in Language Model
Evaluation" (arXiv 2508.13144): the spread of the final scores of different
runs, and how much the score of a run moves between its last checkpoints, both
relative to the mean. The share of pairs in the right order is the decision
accuracy of Magnusson et al., "DataDecide" (arXiv 2504.11393).
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from csv_plugin.core import metrics
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError, Progress
from csv_plugin.core.escaping import markdown, visible
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_models
from csv_plugin.core.salience import (DEFAULT_SOLVER, SOLVERS, SalienceFit,
                                      Task, held_out_predictions)
from csv_plugin.io.files import write_text
from csv_plugin.io.tables import write_csv
from csv_plugin.triage.checkpoints import Checkpoint, rows_by_run

#: Checkpoints at the end of a run whose scores tell its noise.
LAST = 3
#: With fewer runs, there is hardly an order to get right.
LEAST_RUNS = 3
#: Share of the pairs of runs that have to be in the right order.
SURE_ORDER = 0.8
#: Parts of the training are rounded to this, and smaller ones left out.
LEAST_SHARE = 0.001
#: Verdict about a benchmark on which noise decides.
NOT_HERE = 'not predictable here'
#: Parts of the training that the table shows, or those next to them.
SHOWN = (0.05, 0.1, 0.25, 0.5)
_LEGEND = f"""\
signal to noise: largest minus smallest final score of the runs, over the
median standard deviation of a run's last {LAST} scores. rises: share of the
pairs of checkpoints of a run with the higher score later, in percent (50 is
noise). order at x %: share of the pairs of runs whose scores at x % of the
training are in the order of the final ones. by losses: the same of accuracies
predicted from losses by fits to other runs. Runs are told apart from
where on {SURE_ORDER:.0%} of the pairs or more are in order at every
checkpoint."""


class Run(NamedTuple):
    """One run on one benchmark.

    Args:
        name (str): Of the run.
        shares (NDArray): Parts of the run done at its n checkpoints with a
            score, rising up to 1, `(n,)`.
        scores (NDArray): Accuracies there, `(n,)`.
        by_losses (NDArray): Accuracies that the losses predict there,
            `(n,)`; NaN where there are none.
    """
    name: str
    shares: NDArray[np.float64]
    scores: NDArray[np.float64]
    by_losses: NDArray[np.float64]


@dataclass(frozen=True)
class Trust:
    """How far the scores of a benchmark can be trusted.

    Args:
        benchmark (str): Its name.
        runs (tuple[str, ...]): Runs with a score at their last checkpoint.
        signal (float): Largest minus smallest final score, over their mean.
        noise (float): Standard deviation of the scores of a run at its last
            `LAST` checkpoints, median over the runs, over the same mean.
        rising (float): Of all pairs of checkpoints of a run, the share with
            the higher score later, mean over the runs: 1 for scores that
            always rise, 0.5 for noise.
        shares (tuple[float, ...]): Parts of the training, below 1.
        order (tuple[float, ...]): Share of the pairs of runs whose scores
            there are in the order of the final ones; NaN where all of these
            are equal.
        order_by_losses (tuple[float, ...]): The same of accuracies predicted
            from losses, or empty.
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
        """Part of the training from which on scores tell runs apart."""
        return _sure_from(self.shares, self.order)

    @property
    def apart_from_by_losses(self) -> float:
        """The same of accuracies predicted from losses; NaN if never."""
        return _sure_from(self.shares, self.order_by_losses)

    @property
    def verdict(self) -> str:
        """The plain answer."""
        if np.isnan(self.apart_from):
            return NOT_HERE
        return f'tells runs apart from {shown_share(self.apart_from)} on'


def shown_share(share: float, unit: str = '%') -> str:
    """A part of the training in percent, a small one to a tenth of it.

    >>> shown_share(0.254), shown_share(0.004)
    ('25%', '0.4%')
    """
    return f'{100 * share:.{0 if share >= 0.01 else 1}f}{unit}'


def _sure_from(shares: Sequence[float], order: Sequence[float]) -> float:
    """The first share from which on the order is always right, or NaN.

    The last order alone may be right by chance, unless there is no other.
    """
    for i, share in enumerate(shares[:max(1, len(order) - 1)]):
        if min(order[i:], default=0) >= SURE_ORDER:
            return share
    return float('nan')


def trust_benchmarks(models: Sequence[str],
                     benchmarks: Sequence[str],
                     scores: NDArray,
                     checkpoints: Mapping[str, Checkpoint],
                     by_losses: Optional[NDArray] = None) -> tuple[Trust, ...]:
    """Judge benchmarks by the scores of the checkpoints of several runs.

    The last checkpoint of a run counts as its end.

    Args:
        models (Sequence[str]): Names of M checkpoints.
        benchmarks (Sequence[str]): Names of B benchmarks.
        scores (NDArray): Accuracies, `(M, B)`; NaN where it was not run.
        checkpoints (Mapping[str, Checkpoint]): Run and step by model.
        by_losses (Optional[NDArray]): Accuracies that losses predict of
            checkpoints of runs that were not learned from, `(M, B)`.

    Raises:
        InputError: Fewer than `LEAST_RUNS` runs have two checkpoints with
            scores on a benchmark, or the tokens of only some checkpoints
            are known.
    """
    places = {
        run: (rows, done / done[-1])
        for run, (
            rows,
            done) in rows_by_run([checkpoints[model]
                                  for model in models]).items()
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
          by_losses: NDArray) -> list[Run]:
    """The runs with a score at their end and at another checkpoint."""
    runs = []
    for name, (rows, shares) in places.items():
        known = ~np.isnan(scores[rows])
        if known[-1] and known.sum() > 1:
            rows = rows[known]
            runs.append(
                Run(name, shares[known], scores[rows], by_losses[rows]))
    return runs


def _judge(benchmark: str, runs: Sequence[Run], with_losses: bool) -> Trust:
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
    return Trust(benchmark, tuple(run.name for run in runs),
                 float(np.ptp(final) / mean), float(noise),
                 float(np.mean([_rising(run.scores) for run in runs])),
                 tuple(shares), tuple(order),
                 tuple(order_by_losses) if with_losses else ())


def _common_shares(runs: Sequence[Run]) -> list[float]:
    """Shares below 1 at which some run, and before which every run, is."""
    first = max(run.shares[0] for run in runs)
    shares = np.unique(np.concatenate([run.shares for run in runs]).round(3))
    # The first steps of a long run are as good as none.
    early = max(round(first, 3), LEAST_SHARE)
    return shares[(shares >= early) & (shares < 1)].tolist()


def _at(run: Run, column: str, share: float) -> float:
    """What was known of a run at a share: its latest checkpoint."""
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
    """What losses predict of checkpoints, by fits to other runs.

    Args:
        features (FeatureTable): Losses of the checkpoints.
        accuracies (AccuracyTable): Of the M checkpoints to fit to, `(M, B)`.
        runs (Sequence[str]): Run of each of them; folds divide no run.
        progress (Progress): Wraps the benchmarks.

    Returns:
        NDArray: Shape `(M, B)`; NaN without a score.

    Raises:
        InputError: As in `fit_predictor`.
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


def trust_table(rows: Sequence[Trust]) -> str:
    """One row for each benchmark, the largest signal to noise first.

    Args:
        rows (Sequence[Trust]): At least one.

    Returns:
        str: A Markdown table.
    """
    shares = _shown(sorted({share for row in rows for share in row.shares}))
    with_losses = any(row.order_by_losses for row in rows)
    header = [
        'benchmark', 'signal to noise', 'rises',
        *(f'order at {shown_share(share)}'
          for share in shares), *(f'by losses at {shown_share(share)}'
                                  for share in shares if with_losses),
        'verdict', *(['by losses from'] if with_losses else [])
    ]
    cells = [[
        markdown(row.benchmark), _number(row.signal_to_noise),
        _number(100 * row.rising),
        *(_number(100 * _at_share(row, row.order, share)) for share in shares),
        *(_number(100 * _at_share(row, row.order_by_losses, share))
          for share in shares if with_losses), row.verdict,
        *([_from(row.apart_from_by_losses)] if with_losses else [])
    ] for row in sorted(rows, key=lambda row: -np.nan_to_num(
        row.signal_to_noise, nan=-1))]  # yapf: disable
    words = {'benchmark', 'verdict'}
    return tabulate(
        cells,
        header,
        tablefmt='pipe',
        disable_numparse=True,
        colalign=['left' if name in words else 'right' for name in header])


def write_trust(folder: Path, rows: Sequence[Trust], title: str,
                command: str) -> list[Path]:
    """Write `benchmarks.md`, `benchmarks.csv` and `order.csv`.

    Args:
        folder (Path): Created if it does not exist.
        rows (Sequence[Trust]): At least one.
        title (str): What was judged.
        command (str): The line that was typed.

    Returns:
        list[Path]: The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        f'# {title}',
        trust_table(rows), _LEGEND,
        indent(visible(command), '    ')
    ]
    write_text(folder / 'benchmarks.md', '\n\n'.join(parts) + '\n')
    records = [record(row) for row in rows]
    write_csv(folder / 'benchmarks.csv', list(records[0]),
              [['' if v is None else v for v in one.values()]
               for one in records])  # yapf: disable
    write_csv(folder / 'order.csv',
              ('benchmark', 'share', 'order', 'order_by_losses'),
              [(row.benchmark, share, row.order[i],
                row.order_by_losses[i] if row.order_by_losses else '')
               for row in rows for i, share in enumerate(row.shares)])
    return [
        folder / name
        for name in ('benchmarks.md', 'benchmarks.csv', 'order.csv')
    ]


def record(row: Trust) -> dict[str, Any]:
    """One benchmark as plain values; None where there is no number."""
    numbers = {
        'signal': row.signal,
        'noise': row.noise,
        'signal_to_noise': row.signal_to_noise,
        'rising': row.rising,
        'apart_from': row.apart_from,
        'apart_from_by_losses': row.apart_from_by_losses
    }
    plain: dict[str, Optional[float]] = {
        name: value if np.isfinite(value) else None
        for name, value in numbers.items()
    }
    return {
        'benchmark': row.benchmark,
        'runs': len(row.runs),
        **plain, 'verdict': row.verdict
    }


def _shown(shares: Sequence[float]) -> list[float]:
    """The shares next to those of `SHOWN`, each once."""
    if not shares:
        return []
    nearest = [
        min(shares, key=lambda share: abs(np.log(share / wanted)))
        for wanted in SHOWN
    ]
    return list(dict.fromkeys(nearest))


def _at_share(row: Trust, order: Sequence[float], share: float) -> float:
    """An order at a share, NaN where the benchmark has no score there."""
    return order[row.shares.index(share)] if share in row.shares else np.nan


def _number(value: float) -> str:
    return f'{value:.0f}' if np.isfinite(value) else '-'


def _from(share: float) -> str:
    return shown_share(share, ' %') if np.isfinite(share) else '-'
