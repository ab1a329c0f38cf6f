"""How many models, of how many families, a predictor needs.

Predictors are fitted to more and more models of all families, or to a fixed
number of models of more and more families, and predict families that none of
the fitted models belongs to.
"""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from tabulate import tabulate

from csv_plugin.core import metrics
from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.progress import Progress
from csv_plugin.core.salience import Ridge, Solver, Uniform
from csv_plugin.io.model_tables import ModelTables
from tools.studies.errors_by_models import ModelsStudyRow

#: The solver under study and the baseline beside it.
METHODS: dict[str, Solver] = {'ridge': Ridge(), 'mean loss': Uniform()}
#: Numbers of models of all families.
NUMBERS = (6, 9, 12, 24, 48)
#: Number of models of some families, as many of each.
FIXED = 12
#: Numbers of families that these models come from.
FAMILIES = (4, 6, 12)
#: Share of the models that are predicted: whole families, until it is reached.
PREDICTED = 0.25


@dataclass(frozen=True)
class Draw:
    """Models to fit to and models to predict, which share no family.

    Args:
        series (str): As in `ModelsStudyRow`.
        seed (int): Of the draw.
        fitted (tuple[str, ...]): Models to fit to.
        predicted (tuple[str, ...]): Models to predict.
    """
    series: str
    seed: int
    fitted: tuple[str, ...]
    predicted: tuple[str, ...]


def draws(families: Mapping[str, str], seeds: Sequence[int]) -> list[Draw]:
    """All draws of a study.

    With one seed the predicted families are the same, and draws of more
    models of all families hold those of fewer.

    Args:
        families (Mapping[str, str]): Family of each model.
        seeds (Sequence[int]): One draw of every number of models and of
            families each.

    Raises:
        InputError: There are too few models or families.
    """
    return [draw for seed in seeds for draw in _draws(families, seed)]


def _draws(families: Mapping[str, str], seed: int) -> Iterator[Draw]:
    rng = Random(seed)
    predicted = _whole_families(families, PREDICTED * len(families), rng)
    rest = [model for model in families if model not in predicted]
    rest = rng.sample(rest, len(rest))
    if len(rest) < max(NUMBERS):
        raise InputError('models', f'{max(NUMBERS)} to fit to', str(len(rest)),
                         'Give the losses of more models.')
    for number in NUMBERS:
        yield Draw('models', seed, tuple(rest[:number]), predicted)
    for number in FAMILIES:
        fitted = _some_of_each(families, rest, number, FIXED // number, rng)
        yield Draw('families', seed, fitted, predicted)


def _whole_families(families: Mapping[str, str], least: float,
                    rng: Random) -> tuple[str, ...]:
    """Models of random families: all of each, and at least so many."""
    names = list(dict.fromkeys(families.values()))
    models: list[str] = []
    for name in rng.sample(names, len(names)):
        if len(models) >= least:
            break
        models += [model for model in families if families[model] == name]
    return tuple(models)


def _some_of_each(families: Mapping[str, str], models: Sequence[str],
                  n_families: int, n_each: int,
                  rng: Random) -> tuple[str, ...]:
    """The first models of each of some families that have so many."""
    members: dict[str, list[str]] = {}
    for model in models:
        members.setdefault(families[model], []).append(model)
    large = [name for name, part in members.items() if len(part) >= n_each]
    if len(large) < n_families:
        raise InputError('families',
                         f'{n_families} of {n_each} models or more',
                         str(len(large)), 'Give the losses of more models.')
    return tuple(
        model for name in rng.sample(large, n_families)
        for model in members[name][:n_each])


def models_study(tables: ModelTables,
                 drawn: Sequence[Draw],
                 progress: Progress = iter) -> list[ModelsStudyRow]:
    """Errors on families left out, by draw and method.

    Args:
        tables (ModelTables): Losses, accuracies and families.
        drawn (Sequence[Draw]): Models to fit to and to predict, in turn.
        progress (Progress): Wraps the draws.

    Returns:
        list[ModelsStudyRow]: Means over the main benchmarks.
    """
    return [
        _row(tables, draw, method) for draw in progress(drawn)
        for method in METHODS
    ]


def _row(tables: ModelTables, draw: Draw, method: str) -> ModelsStudyRow:
    groups = [tables.families[model] for model in draw.fitted]
    predictor = fit_predictor(
        tables.features,
        tables.accuracies.select(draw.fitted, tables.accuracies.main), groups,
        METHODS[method])
    features = tables.features.select(draw.predicted)
    predictions = predictor.predict(features).with_real(tables.accuracies)
    return ModelsStudyRow(draw.series, len(draw.fitted), len(set(groups)),
                          draw.seed, method, *_errors(predictions))


def _errors(predictions: Predictions) -> tuple[float, float, float]:
    """Mean absolute error, width and coverage, means over benchmarks."""
    benchmarks = range(len(predictions.benchmarks))
    values, low, high = (
        part[:, :, 0]
        for part in (predictions.values, predictions.low, predictions.high))
    errors = [
        metrics.mae(predictions.real[:, b], values[:, b]) for b in benchmarks
    ]
    widths = [metrics.mean_width(low[:, b], high[:, b]) for b in benchmarks]
    held = [
        metrics.coverage(predictions.real[:, b], low[:, b], high[:, b])
        for b in benchmarks
    ]
    return (float(np.nanmean(errors)), float(np.mean(widths)),
            float(np.nanmean(held)))


def table(rows: Sequence[ModelsStudyRow]) -> str:
    """Errors and widths in points, in Markdown: medians (and quantiles).

    The share of intervals that hold the accuracy is a mean over the draws.

    Args:
        rows (Sequence[ModelsStudyRow]): From `models_study`.
    """
    methods = list(dict.fromkeys(row.method for row in rows))
    cells: dict[tuple, dict[str, list[ModelsStudyRow]]] = {}
    for row in rows:
        families = 'all' if row.series == 'models' else row.n_families
        cells.setdefault((row.n_models, families),
                         {}).setdefault(row.method, []).append(row)
    header = ['models', 'families', *(f'{name}: error' for name in methods)]
    header += [f'{methods[0]}: width of intervals', 'hold']
    lines = [[
        *key, *(_cell([row.mae for row in part[name]]) for name in methods),
        _cell([row.width for row in part[methods[0]]]),
        f'{np.mean([row.coverage for row in part[methods[0]]]):.2f}'
    ] for key, part in cells.items()]
    return tabulate(lines, header, tablefmt='pipe', disable_numparse=True,
                    colalign=['right'] * len(header))  # yapf: disable


def _cell(values: Sequence[float]) -> str:
    low, middle, high = 100 * np.quantile(values, [0.1, 0.5, 0.9])
    return f'{middle:.1f} ({low:.1f}-{high:.1f})'
