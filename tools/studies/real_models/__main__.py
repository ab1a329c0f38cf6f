"""How well losses predict real models: the table of the documentation.

    OMP_NUM_THREADS=1 python -m tools.studies.real_models

Each family is predicted by fits to the two others, and each kind of
degradation by fits to the four others and the undegraded models. Figures are
the mean absolute error and the mean width of 90 % intervals in points, their
coverage, and Spearman's rank correlation of the models left out together, a
mean over benchmarks. The last line divides mean squared errors, geometric
means over benchmarks.
"""
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.core import metrics
from tools.studies.common import parser_of
from tools.studies.full_collections import groups_out
from tools.studies.real_models import ANSWERS, LOSSES, RealModels
from tools.studies.trials import Forecast, Method, Models, mean_loss, salience

WIKIPEDIA = 'wikipedia'
#: Losses by which a method predicts, given the family of each model.
Ways = dict[str, tuple[Method, Callable[[Sequence[str]], Models]]]


def ways(real: RealModels) -> Ways:
    """Methods by name, with the losses that they see."""
    of_texts = real.unit_kinds == LOSSES
    texts = real.losses[:, of_texts]
    wikipedia = real.losses[:, of_texts & (real.sources == WIKIPEDIA)]
    own = [real.answers(name) for name in real.accuracies.benchmarks]
    # One column for each benchmark.
    labels = np.stack([part.mean(axis=1) for part in own], axis=1)

    def models(losses: NDArray) -> Callable[[Sequence[str]], Models]:
        return lambda families: real.models(losses, families)

    def with_answers(families: Sequence[str]) -> Models:
        return replace(real.texts(families), answers=tuple(own))

    return {
        'constant': (constant, models(texts)),
        'loss on Wikipedia':
        (mean_loss, models(wikipedia.mean(axis=1, keepdims=True))),
        'mean loss': (mean_loss, models(texts.mean(axis=1, keepdims=True))),
        'label-token loss': (by_benchmark, models(labels)),
        'texts': (salience, models(texts)),
        'texts and own answers': (salience, with_answers),
        'answers alone':
        (salience, models(real.losses[:, real.unit_kinds == ANSWERS])),
    }


def constant(fitted: Models, predicted: Models) -> Forecast:
    """The mean accuracy of the fitted models, and 90 % of theirs."""
    low, high = np.quantile(fitted.accuracies, [.05, .95], axis=0)
    rows = [fitted.accuracies.mean(axis=0), low, high]
    return Forecast(*(np.tile(row, (len(predicted.losses), 1))
                      for row in rows))


def by_benchmark(fitted: Models, predicted: Models) -> Forecast:
    """The baseline, each benchmark by the column of the same place."""
    parts = [
        mean_loss(_only(fitted, b), _only(predicted, b))
        for b in range(len(fitted.chance))
    ]
    return Forecast(*(np.hstack(part) for part in zip(*parts)))


def _only(models: Models, b: int) -> Models:
    """One benchmark and one column."""
    return replace(
        models.columns(np.array([b])),
        accuracies=models.accuracies[:, [b]],
        chance=models.chance[[b]],
        n_items=models.n_items[[b]])


def cells(observed: NDArray, forecast: Forecast,
          sizes: Sequence[int]) -> tuple[list[str], float]:
    """Cells of a row, and the mean squared error.

    `sizes` are the numbers of models that are left out together.
    """
    values, low, high = forecast
    ends = np.cumsum(sizes)[:-1]
    known = []
    for part, found in zip(np.split(observed, ends), np.split(values, ends)):
        for truth, guess in zip(part.T, found.T):
            rank = metrics.spearman(truth, guess)
            if not np.isnan(rank):
                known.append(rank)
    inside = (low <= observed) & (observed <= high)
    mse = ((values - observed)**2).mean(axis=0)
    return [
        f'{100 * np.abs(values - observed).mean():.2f}',
        f'{100 * inside.mean():.0f}',
        f'{100 * (high - low).mean():.1f}',
        f'{np.mean(known):.2f}' if known else '-',
    ], float(np.exp(np.log(mse).mean()))


def main() -> None:
    parser_of(__doc__).parse_args()
    real = RealModels.read()
    groups = {'families': real.families, 'degradations': real.kinds}
    rows, errors = [], {}
    for name, (method, models_of) in tqdm(ways(real).items()):
        row = [name]
        for what, group in groups.items():
            trial = groups_out(what, models_of(group), np.array(group))
            sizes = [int(predicted.sum()) for _, predicted in trial.fits]
            found, mse = cells(trial.observed(), trial.forecast(method), sizes)
            row += found
            errors[name, what] = mse
        rows.append(row)
    header = ['method']
    for what in groups:
        for figure in ('error', 'coverage, %', 'width', 'ranks'):
            header.append(f'{what}: {figure}')
    print(tabulate(rows, header, 'pipe', disable_numparse=True))
    for what in groups:
        own = errors['texts and own answers', what]
        ratio = own / errors['mean loss', what]
        print(f'\nMSE of texts and own answers over that of the mean loss, '
              f'{what} left out: {ratio:.2f}')


if __name__ == '__main__':
    main()
