"""Render the page of a run as one HTML file that loads no other files."""
import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Optional

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from csv_plugin.core.escaping import visible
from csv_plugin.core.formatting import counted, interval, percent
from csv_plugin.core.overall import MEAN_ERROR, Overall
from csv_plugin.core.predictions import (FAR_MEANING, LITTLE_MEANING,
                                         SAYS_LITTLE, WHY_NOT_YET, Miss,
                                         Missing, Predictions)
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.texts import TextSet
from csv_plugin.extras.heat_maps import HeatMap, full_weight, strongest_maps
from csv_plugin.io.files import FilePath, write_text
from csv_plugin.report.leaderboard_tables import mean_cells, rank_cells
from csv_plugin.report.leaderboards import Leaderboard
from csv_plugin.report.notes import why_outside_means
from csv_plugin.report.study_tables import fit_errors, fit_legend

#: Number of shades for weights from 0 to full colour. Each shade is a class in
#: the style sheet.
N_LEVELS = 8


@dataclass(frozen=True, eq=False)
class HeatSection:
    """Texts coloured by the salience weights of one benchmark.

    Weights whose absolute value is at least `full` have the full colour.
    """
    benchmark: str
    full: float
    maps: list[HeatMap]

    def level(self, weight: float) -> str:
        """Return the style class of a weight.

        It is p1 to p8 for positive and n1 to n8 for negative weights, and ''
        for 0 and NaN.
        """
        if math.isnan(weight) or weight == 0:
            return ''
        sign = 'p' if weight > 0 else 'n'
        share = min(abs(weight) / self.full, 1)
        level = math.ceil(N_LEVELS * share)
        return f'{sign}{level}'


#: The heat maps of each benchmark, or why there are none.
HeatMaps = list[HeatSection] | Missing
#: The predictor's label, the model and the benchmark of a prediction.
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, with a heading and a caption that explains it."""
    title: str
    caption: str
    svg: str


@dataclass(frozen=True, eq=False)
class PredictorFile:
    """A predictor, the path of its file, and its label on the page."""
    label: str
    path: str
    predictor: Predictor


@dataclass(frozen=True, eq=False)
class Page:
    """The contents of the page.

    `misses` are the observed accuracies and means outside the main predictor's
    intervals, the farthest first. `heat_maps` has an element per benchmark,
    or is the reason why there are no heat maps. `families` maps models to
    their families; a model whose family is unknown has no entry.
    """
    title: str
    board: Leaderboard
    misses: Sequence[Miss]
    predictors: Sequence[PredictorFile]
    heat_maps: HeatMaps
    families: Mapping[str, str]
    pictures: Sequence[Picture] = ()


def render(page: Page) -> str:
    """Return the page as one HTML document.

    All text is escaped. The page's Content-Security-Policy allows no scripts,
    no style sheet but the one in the page, and pictures only as data: URIs.
    """
    environment = Environment(
        loader=PackageLoader('csv_plugin.extras.page'),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True)
    environment.filters.update(
        percent=percent,
        points=points,
        signed=partial(points, sign='+'),
        interval=partial(_interval, page.board.predictions.chance),
        data_uri=_data_uri)
    environment.tests['missing'] = lambda value: isinstance(value, Missing)
    assert environment.loader is not None
    sheet, *_ = environment.loader.get_source(environment, 'page.css')
    # Jinja does not escape a `Markup`: the style sheet must stay as it is.
    style = Markup(sheet)
    predictions = page.board.predictions
    overall = page.board.overall
    marks = _marks(predictions)
    comparisons = [_errors(predictions, name) for name in predictions.methods]
    rows = {}
    for row in page.board.rows():
        cell = row['predictor'], row['model'], row['benchmark']
        rows[cell] = row
    means = {}
    ranks = {}
    for label in overall.methods:
        means[label] = mean_cells(overall, label)
        ranks[label] = rank_cells(overall, label)
    # The list of heat maps is empty if the predictor has no tokens.
    has_tokens = page.heat_maps != []
    template = environment.get_template('page.jinja')
    return template.render(
        page=page,
        predictions=predictions,
        has_observed=predictions.has_observed(),
        has_observed_means=bool(np.isfinite(overall.observed).any()),
        rows=rows,
        marks=marks,
        meanings=_meanings(predictions, marks),
        far=FAR_MEANING,
        outside=_outside(predictions),
        finding=_finding(predictions, comparisons[0]),
        overall=overall if overall.has_means else None,
        outside_means=why_outside_means(predictions, overall),
        mean_cells=means,
        rank_cells=ranks,
        has_ranges=any('-' in cell.strip('-') for cells in ranks.values()
                       for cell in cells),
        mean_bars=_mean_bars(overall),
        order=overall.best_first(),
        blocks=_blocks(predictions),
        has_tokens=has_tokens,
        comparisons=comparisons,
        is_judged=any(errors['n_cells'] for errors in comparisons),
        style=style,
        style_hash=_hash(style),
        levels=range(N_LEVELS, 0, -1),
        fit_errors=fit_errors,
        mean_error=MEAN_ERROR,
        fit_legend=fit_legend)


def write_page(path: FilePath, page: Page) -> None:
    """Write the page to a file, completely or not at all."""
    write_text(path, render(page))


def points(number: Optional[float], sign: str = '-') -> str:
    """Return a number with one decimal; '–' for None and NaN.

    Negative numbers have a typographic minus sign.

    >>> points(-3.25), points(3.25, sign='+'), points(-0.04), points(None)
    ('−3.2', '+3.2', '0.0', '–')
    """
    if number is None or math.isnan(number):
        return '–'
    # Adding 0 turns -0.0 into 0.0.
    rounded = round(number, 1) + 0.0
    text = f'{rounded:{sign}.1f}'
    return text.replace('-', '−')


def _finding(predictions: Predictions, errors: Mapping[str, Any]) -> str:
    """Return the title of the page.

    It states the numbers of models and benchmarks, and the mean absolute error
    on held-out models. Without observed accuracies, it states the mean width
    of the intervals instead. If there are predictions that are not
    `in_sample`, only their intervals count. Known accuracies never count.
    """
    label = errors['label']
    cells = predictions.held_out(label)
    if not errors['n_cells']:
        cells = np.ones_like(cells)
    n_models = int(cells.any(axis=1).sum())
    n_benchmarks = int(cells.any(axis=0).sum())
    models = counted(n_models, 'model')
    benchmarks = counted(n_benchmarks, 'benchmark')
    found = f'{models} on {benchmarks}'
    if errors['n_cells']:
        found += f': {MEAN_ERROR} {points(100 * errors["overall"])} points'
    else:
        p = predictions.methods.index(label)
        widths = predictions.high[:, :, p] - predictions.low[:, :, p]
        # The interval of a known accuracy has no width.
        counts = widths > 0
        is_new = counts & ~predictions.in_sample[:, :, p]
        if is_new.any():
            counts = is_new
        if counts.any():
            mean_width = float(widths[counts].mean())
            width = points(percent(mean_width))
            found += (f': {predictions.level:.0%} intervals are {width} '
                      'points wide on average')
    if errors['n_judged']:
        found += f', {errors["n_inside"]} of {errors["n_judged"]} inside'
    return found


def _blocks(predictions: Predictions) -> list[Sequence[str]]:
    """Divide benchmarks into groups, one for each table of the page.

    The tables have about equal widths. They fit a page of 1280 pixels unless
    names are long.
    """
    benchmarks = predictions.benchmarks
    # With observed accuracies, a benchmark has three columns.
    most = 4 if predictions.has_observed() else 5
    n_blocks = -(-len(benchmarks) // most)
    length = -(-len(benchmarks) // n_blocks)
    blocks: list[Sequence[str]] = []
    for first in range(0, len(benchmarks), length):
        blocks.append(benchmarks[first:first + length])
    return blocks


def _mean_bars(overall: Overall) -> list[dict[str, Optional[float]]]:
    """Return the numbers of each model's bar in the table of means.

    Each element has the observed mean, the mean that the first method
    predicts, and the lower and upper limit of its interval, in percent. None
    stands for unknown numbers.
    """
    unknown = np.full(len(overall.observed), np.nan)
    columns = {
        'observed': overall.observed,
        'predicted': unknown,
        'low': unknown,
        'high': unknown,
    }
    if overall.methods:
        columns['predicted'] = overall.values[:, 0]
        view = overall.views.get(overall.methods[0])
        if view is not None:
            columns['low'] = view.low
            columns['high'] = view.high
    bars = []
    for numbers in zip(*columns.values()):
        bar: dict[str, Optional[float]] = {}
        for name, value in zip(columns, numbers):
            bar[name] = None if math.isnan(value) else percent(value)
        bars.append(bar)
    return bars


def _marks(predictions: Predictions) -> dict[Key, str]:
    """Return the marks of predictions, such as an asterisk, by their keys."""
    marks = {}
    for label in predictions.methods:
        for name in predictions.benchmarks:
            of_models = predictions.marks(name, label)
            for model, mark in zip(predictions.models, of_models):
                marks[label, model, name] = mark
    return marks


def _meanings(
        predictions: Predictions,
        marks: Mapping[tuple[str, str, str],
                       str]) -> dict[str, dict[str, str]]:
    """Return the meanings of the marks that a predictor's table has.

    They are by predictor and mark.
    """
    meanings = {
        '*': 'a training model, or its own accuracy is known',
        '>': 'far from the training models',
        '+': 'made from losses and from known accuracies',
        '?': f'not predictable yet, because {WHY_NOT_YET}',
        SAYS_LITTLE:
        LITTLE_MEANING.removeprefix(f'{SAYS_LITTLE} ').rstrip('.'),
    }
    found: dict[str, dict[str, str]] = {}
    for label in predictions.methods:
        shown = ''.join(mark for cell, mark in marks.items()
                        if cell[0] == label)
        found[label] = {
            mark: meaning
            for mark, meaning in meanings.items() if mark in shown
        }
    return found


def _outside(predictions: Predictions) -> set[tuple[str, str, str]]:
    """Return the held-out accuracies that are outside their intervals.

    Each is named by predictor, model and benchmark.
    """
    cells = set()
    for label in predictions.methods:
        outside = predictions.held_out(label) & ~predictions.covered(label)
        for m, b in np.argwhere(outside):
            model = predictions.models[m]
            benchmark = predictions.benchmarks[b]
            cells.add((label, model, benchmark))
    return cells


def _interval(chance: Mapping[str, float], row: Mapping[str, Any]) -> str:
    """Return the interval of a prediction in percent, with an en dash."""
    level = chance.get(row['benchmark'], 0.0)
    low = row['low'] / 100
    high = row['high'] / 100
    limits = interval(low, high, level)
    return limits.replace('-', '–')


def _shown(value: Any) -> Any:
    """Return a template's value with symbols for invisible characters."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def _hash(source: str) -> str:
    """Return a style sheet's hash as a Content-Security-Policy names it."""
    digest = hashlib.sha256(source.encode('utf-8')).digest()
    encoded = base64.b64encode(digest).decode('ascii')
    return f'sha256-{encoded}'


def _data_uri(svg: str) -> str:
    """Return an SVG picture as a data: URI, for an image of the page."""
    # As an image, an SVG can neither run scripts nor style the page.
    encoded = base64.b64encode(svg.encode('utf-8'))
    content = encoded.decode('ascii')
    return f'data:image/svg+xml;base64,{content}'


def _errors(predictions: Predictions, label: str) -> dict[str, Any]:
    """Return the errors of one predictor on held-out models.

    `overall` and `by_benchmark` are mean absolute differences from the
    observed accuracies, as fractions, NaN if no model was held out. `n_cells`
    is the number of predictions that were compared. `n_judged` is the number
    of these predictions whose interval excludes some accuracies, and
    `n_inside` is how many of the `n_judged` intervals contain the observed
    accuracy.
    """
    held_out = predictions.held_out(label)
    judged = held_out & ~predictions.rules_nothing_out(label)
    inside = judged & predictions.covered(label)
    differences = predictions.difference(label)
    sizes = np.abs(differences)[held_out]
    overall = math.nan
    if len(sizes):
        overall = sizes.mean()
    means = predictions.mean_difference(label)
    return dict(
        label=label,
        overall=overall,
        by_benchmark=dict(zip(predictions.benchmarks, means)),
        n_inside=int(inside.sum()),
        n_judged=int(judged.sum()),
        n_cells=len(sizes))


def heat_sections(predictor: Predictor, texts: Optional[TextSet]) -> HeatMaps:
    """Return the heat maps of every benchmark.

    Without `texts`, return the reason why there are none. The list is empty
    if the predictor was fitted to a table of losses, which has no tokens.
    """
    if predictor.targets is None:
        return []
    if texts is None:
        return Missing('A predictor holds no texts: give the validation set '
                       'with --texts to see its weights.')
    # Number of texts that are shown for each benchmark.
    n_texts = 3
    sections = []
    for name in predictor.names:
        full = full_weight(predictor.token_weights(name))
        maps = strongest_maps(predictor, name, texts, n_texts)
        sections.append(HeatSection(name, full, maps))
    return sections
