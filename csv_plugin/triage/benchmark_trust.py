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
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from csv_plugin.core import metrics
from csv_plugin.core.conventions import InputError
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
        order_by_size (float): The same of the final scores of the smallest
            run of each family, as an order of the largest ones; NaN with
            fewer than `LEAST_RUNS` families of two sizes.
    """
    benchmark: str
    runs: tuple[str, ...]
    signal: float
    noise: float
    rising: float
    shares: tuple[float, ...]
    order: tuple[float, ...]
    order_by_losses: tuple[float, ...]
    order_by_size: float

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
                     sizes: Optional[Mapping[str, tuple[str, float]]] = None,
                     by_losses: Optional[NDArray] = None) -> tuple[Trust, ...]:
    """Judge benchmarks by the scores of the checkpoints of several runs.

    The last checkpoint of a run counts as its end.

    Args:
        models (Sequence[str]): Names of M checkpoints.
        benchmarks (Sequence[str]): Names of B benchmarks.
        scores (NDArray): Accuracies, `(M, B)`; NaN where it was not run.
        checkpoints (Mapping[str, Checkpoint]): Run and step by model.
        sizes (Optional[Mapping[str, tuple[str, float]]]): Family and size of
            each model; a size may be NaN.
        by_losses (Optional[NDArray]): Accuracies that losses predict of
            checkpoints of runs that were not learned from, `(M, B)`.

    Raises:
        InputError: Fewer than `LEAST_RUNS` runs have two checkpoints with
            scores on a benchmark, or the tokens of only some checkpoints
            are known.
    """
    places = _places(models, checkpoints)
    table = np.full_like(scores, np.nan) if by_losses is None else by_losses
    judged = []
    for b, name in enumerate(benchmarks):
        runs = _runs(places, scores[:, b], table[:, b])
        if len(runs) < LEAST_RUNS:
            raise InputError(
                f'benchmark {name!r}', f'{LEAST_RUNS} runs or more with '
                'scores at their last checkpoint and an earlier one',
                str(len(runs)), 'Leave the benchmark out, or add scores.')
        judged.append(
            _judge(name, runs, by_losses is not None,
                   _family_ends(places, models, sizes or {})))
    return tuple(judged)


def _places(
    models: Sequence[str],
    checkpoints: Mapping[str,
                         Checkpoint]) -> dict[str, tuple[NDArray, NDArray]]:
    """Rows of the checkpoints of each run, and the part of it done there."""
    described = [checkpoints[model] for model in models]
    return {
        run: (rows, done / done[-1])
        for run, (rows, done) in rows_by_run(described).items()
    }


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


def _family_ends(
        places: Mapping[str, tuple[NDArray, NDArray]], models: Sequence[str],
        sizes: Mapping[str, tuple[str, float]]) -> list[tuple[str, str]]:
    """The smallest and the largest run of each family of two sizes."""
    families: dict[str, dict[float, str]] = {}
    for run, (rows, _) in places.items():
        family, size = sizes.get(models[rows[-1]], ('', np.nan))
        if size > 0:
            families.setdefault(family, {})[size] = run
    return [(runs[min(runs)], runs[max(runs)]) for runs in families.values()
            if len(runs) > 1]


def _judge(benchmark: str, runs: Sequence[Run], with_losses: bool,
           family_ends: Sequence[tuple[str, str]]) -> Trust:
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
                 tuple(order_by_losses) if with_losses else (),
                 _order_by_size(runs, family_ends))


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


def _order_by_size(runs: Sequence[Run],
                   family_ends: Sequence[tuple[str, str]]) -> float:
    final = {run.name: run.scores[-1] for run in runs}
    both = [(final[small], final[large]) for small, large in family_ends
            if small in final and large in final]
    if len(both) < LEAST_RUNS:
        return float('nan')
    small_scores, large_scores = np.transpose(both)
    return metrics.pairwise_accuracy(large_scores, small_scores)
