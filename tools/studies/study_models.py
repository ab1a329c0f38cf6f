"""Errors on families left out, by number of models and of their families.

The table of docs/appendix/public_models.md, from tables as docs/formats.md
describes them:

    T=../shared/real
    python -m tools.studies.study_models --losses $T/losses.csv \\
        --scores $T/scores.csv --models $T/models.csv \\
        --benchmarks $T/benchmarks.csv --out outputs/models_study

Predictors are fitted to more and more models of all families, or to `FIXED`
models of more and more families, and predict families that none of the fitted
models belongs to.
"""
import sys
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tabulate import tabulate
from tqdm import tqdm

from csv_plugin.cli.arguments import exit_code
from csv_plugin.cli.options import TABLES, add_shared
from csv_plugin.core import metrics
from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.extras.pictures import save
from csv_plugin.extras.pictures.style import Look, look, panels, picture
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import write_csv
from tools.studies.options import add_number, parser_of, tables_of

#: The default of the package and the baseline beside it.
METHODS = {'salience': fit_predictor, 'mean loss': fit_mean_loss_predictor}
#: Numbers of models of all families.
NUMBERS = (6, 9, 12, 24, 48)
#: Number of models of some families, as many of each.
FIXED = 12
#: Numbers of families that these models come from.
FAMILIES = (4, 6, 12)
#: Share of the models that are predicted: whole families, until it is reached.
PREDICTED = 0.25


class Draw(NamedTuple):
    """Models to fit to and models to predict, which share no family."""
    series: str
    seed: int
    fitted: tuple[str, ...]
    predicted: tuple[str, ...]


class Row(NamedTuple):
    """The error of one method with one draw, means over benchmarks.

    Mean absolute error, width and coverage of the 90 % intervals: fractions.
    """
    series: str
    n_models: int
    n_families: int
    draw: int
    method: str
    mae: float
    width: float
    coverage: float


def draws(families: Mapping[str, str], seed: int) -> Iterator[Draw]:
    """Draws of every number of models and of families, by one seed.

    The predicted families are the same, and draws of more models of all
    families contain those of fewer.
    """
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


def row(tables: ModelTables, draw: Draw, method: str) -> Row:
    """Errors of one method on the main benchmarks."""
    groups = [tables.families[model] for model in draw.fitted]
    predictor = METHODS[method](tables.features,
                                tables.accuracies.select(
                                    draw.fitted, tables.accuracies.main),
                                groups)
    predictions = predictor.predict(tables.features.select(
        draw.predicted)).with_observed(tables.accuracies)
    cubes = [
        part[:, :, 0].T
        for part in (predictions.values, predictions.low, predictions.high)
    ]
    errors, widths, held = np.transpose([
        (metrics.mae(real, value), metrics.mean_width(low, high),
         metrics.coverage(real, low, high))
        for real, value, low, high in zip(predictions.observed.T, *cubes)
    ])
    return Row(draw.series, len(draw.fitted), len(set(groups)), draw.seed,
               method, float(np.nanmean(errors)), float(np.mean(widths)),
               float(np.nanmean(held)))


def table(rows: Sequence[Row]) -> str:
    """Errors and widths in points, in Markdown: medians (and quantiles).

    The coverage is a mean over the draws.
    """
    cells: dict[tuple, dict[str, list[Row]]] = {}
    for one in rows:
        families = 'all' if one.series == 'models' else one.n_families
        cells.setdefault((one.n_models, families),
                         {}).setdefault(one.method, []).append(one)
    first, *_ = METHODS
    header = ['models', 'families', *(f'{name}: error' for name in METHODS)]
    header += [f'{first}: width of intervals', 'hold']
    lines = [[
        *key, *(_cell([one.mae for one in part[name]]) for name in METHODS),
        _cell([one.width for one in part[first]]),
        f'{np.mean([one.coverage for one in part[first]]):.2f}'
    ] for key, part in cells.items()]
    return tabulate(lines, header, tablefmt='pipe', disable_numparse=True,
                    colalign=['right'] * len(header))  # yapf: disable


def _cell(values: Sequence[float]) -> str:
    low, middle, high = 100 * np.quantile(values, [0.1, 0.5, 0.9])
    return f'{middle:.1f} ({low:.1f}-{high:.1f})'


@picture
def models_picture(rows: Sequence[Row]) -> Figure:
    """Errors by number of models, with the finding as its title.

    Lines are medians over draws, bars go from the 10 % to the 90 % quantile.
    """
    part = [one for one in rows if one.series == 'models']
    figure, [[axes]] = panels(1, size=(4.5, 3))
    for i, method in enumerate(METHODS):
        _draw(axes, [one for one in part if one.method == method],
              0.1 * (i - (len(METHODS) - 1) / 2), method, look(i))
    axes.set(
        ylim=(0, None),
        xlabel='training models',
        ylabel='mean absolute error, points')
    axes.set_title(_finding(part), loc='left', fontweight='bold')
    return figure


def _finding(rows: Sequence[Row]) -> str:
    """Errors of the first method with few and with many models."""
    method, *_ = METHODS
    numbers = sorted({one.n_models for one in rows})
    few, many = (100 * np.median([
        one.mae
        for one in rows if one.method == method and one.n_models == number
    ]) for number in (numbers[0], numbers[-2]))
    return (f'{few:.1f} points from {numbers[0]} models, {many:.1f} from '
            f'{numbers[-2]}')


def _draw(axes: Axes, rows: Sequence[Row], shift: float, method: str,
          own: Look) -> None:
    numbers = sorted({one.n_models for one in rows})
    low, middle, high = np.transpose([
        np.quantile([100 * one.mae for one in rows if one.n_models == number],
                    [0.1, 0.5, 0.9]) for number in numbers
    ])
    places = np.arange(len(numbers)) + shift
    axes.vlines(places, low, high, color=own.colour, lw=1, alpha=0.6)
    axes.plot(places, middle, color=own.colour, ls=own.line,
              marker=own.marker, markeredgecolor='white',
              markeredgewidth=0.4)  # yapf: disable
    axes.text(places[-2] + 0.1, middle[-2] + 0.15, method, color=own.colour)
    axes.set_xticks(range(len(numbers)), list(map(str, numbers)))


def run(argv: Sequence[str] | None) -> None:
    parser = parser_of(__doc__)
    add_shared(parser, *TABLES)
    add_number(parser, '--draws', 10, 'draws of the models to predict')
    add_shared(parser, '--out')
    args = parser.parse_args(argv)
    tables = tables_of(args)
    families = {name: tables.families[name] for name in tables.features.models}
    drawn = [
        draw for seed in range(args.draws) for draw in draws(families, seed)
    ]
    rows = [
        row(tables, draw, method) for draw in tqdm(drawn, desc='draws')
        for method in METHODS
    ]
    args.out.mkdir(parents=True, exist_ok=True)
    write_csv(args.out / 'models.csv', Row._fields, rows)
    save(models_picture(rows), args.out / 'models.png')
    print(table(rows))


def main(argv: Sequence[str] | None = None) -> int:
    return exit_code(run, argv)


if __name__ == '__main__':
    sys.exit(main())
