"""Accuracy against capability score, with the fitted scaling law (Eq. 2)."""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictor import Predictor
from csv_plugin.core.scaling_law import Curve
from csv_plugin.report.pictures import panels
from csv_plugin.report.pictures.style import (GREY, Look, distinct, looks,
                                              picture, plain)

#: Styles of the curve where models were fitted on, and elsewhere.
_FITTED, _BEYOND = 'scaling law', 'beyond the fit'
_LINES = {_FITTED: dict(lw=1.4, ls='-'), _BEYOND: dict(lw=1.0, ls='--')}


@dataclass(frozen=True, eq=False)
class CapabilityPoints:
    """M models on one benchmark.

    Args:
        benchmark (str): Its name.
        models (tuple[str, ...]): M names.
        families (tuple[str, ...]): Family of each.
        scores (NDArray): Capability scores (Eq. 1), `(M,)`.
        accuracies (NDArray): Fractions, NaN where not run, `(M,)`.
        fitted (NDArray): Whether the accuracy was fitted on, `(M,)`.
        fitted_range (tuple[float, float]): Lowest and highest score of all
            models fitted on, not only of these; `(inf, -inf)` of none.
        curve (Curve): Eq. 2.
        chance (float): Accuracy at random guessing, a fraction.
        unit (str): Of the scores.

    Raises:
        InputError: On shapes that differ.
    """
    benchmark: str
    models: tuple[str, ...]
    families: tuple[str, ...]
    scores: NDArray
    accuracies: NDArray
    fitted: NDArray[np.bool_]
    fitted_range: tuple[float, float]
    curve: Curve
    chance: float
    unit: str

    def __post_init__(self) -> None:
        expected = len(self.models)
        for name in ('families', 'scores', 'accuracies', 'fitted'):
            found = np.shape(getattr(self, name))
            if found != (expected, ):
                raise InputError(f'CapabilityPoints.{name}',
                                 f'one of each of {expected} models',
                                 f'shape {found}', 'Give one per model.')

    @property
    def drawn(self) -> NDArray[np.bool_]:
        """Models with a score and an accuracy, `(M,)`."""
        return np.isfinite(self.scores) & np.isfinite(self.accuracies)


def capability_points(predictor: Predictor, features: FeatureTable,
                      observed: AccuracyTable,
                      families: Mapping[str, str]) -> list[CapabilityPoints]:
    """What `capability_picture` draws, one per benchmark of both tables.

    Args:
        predictor (Predictor): Knows the salience vectors and the curves.
        features (FeatureTable): Columns of M models, as of
            `predictor.features` or of the training.
        observed (AccuracyTable): Of these models, in any order.
        families (Mapping[str, str]): Family of each model.

    Raises:
        InputError: If the columns are not those of the predictor, a model
            lacks accuracies or a family, or there is no common benchmark.
    """
    if features.units != predictor.units:
        raise InputError('capability_points', "the predictor's columns",
                         'others', 'Build them with predictor.features().')
    for model in features.models:
        if model not in families:
            raise InputError('families', 'the family of every model',
                             f'none of {model!r}', 'Name its family.')
    table = observed.select(features.models)
    common = [
        b for b in predictor.benchmarks if b.benchmark in table.benchmarks
    ]
    if not common:
        raise InputError('capability_points',
                         'accuracies on a benchmark of the predictor',
                         f'only {list(table.benchmarks)}',
                         'Give scores of its benchmarks.')
    unit = ('unit of the losses'
            if features.scored is None else 'nats per character')
    return [
        CapabilityPoints(
            known.benchmark, features.models,
            tuple(families[model] for model in features.models),
            known.model.score(features.values), table.column(known.benchmark),
            np.isin(features.models, known.fit_models),
            (known.intervals.score_low, known.intervals.score_high),
            Curve(
                float(known.model.alpha), float(known.model.beta),
                float(known.model.floor)), known.chance, unit)
        for known in common
    ]


@picture
def capability_picture(points: Sequence[CapabilityPoints]) -> Figure:
    """Accuracy against capability score, one panel per benchmark.

    Filled points were fitted on, open ones were not. The score is a loss;
    its axis is reversed, so that better models stand to the right.

    Raises:
        InputError: If there is no benchmark.
    """
    if not points:
        raise InputError('capability_picture', 'one benchmark or more', 'none',
                         'Give points of benchmarks.')
    figure, (row, ) = panels.panels(len(points))
    look = family_looks(points)
    for axes, one in zip(row, points):
        draw_points(axes, one, look)
        axes.set_title(panels.wrapped(one.benchmark))
    label_axes(figure, points[0].unit)
    panels.legend_above(figure, legend_handles(points, look))
    return figure


def family_looks(points: Iterable[CapabilityPoints]) -> dict[str, Look]:
    """One look per family, the same in all panels."""
    return looks(family for family, _ in dict.fromkeys(
        pair for one in points for pair in zip(one.families, one.models)))


def draw_points(axes: Axes, points: CapabilityPoints,
                look: Mapping[str, Look]) -> None:
    """One panel: chance level, curve, models."""
    drawn = points.drawn
    panels.few_ticks(axes)
    if not drawn.any():
        axes.invert_xaxis()
        panels.say_empty(axes)
        return
    x, y = points.scores, points.accuracies
    axes.axhline(points.chance, color=GREY, lw=0.9, ls=':', zorder=1)
    _draw_curve(axes, points)
    families = np.array(points.families, dtype=object)
    for family in dict.fromkeys(points.families):
        for fitted in (True, False):
            chosen = drawn & (points.fitted == fitted) & (families == family)
            if chosen.any():
                # Some versions of matplotlib write labels into files.
                axes.plot(x[chosen], y[chosen], label=plain(family),
                          **_marker(look[family], fitted))  # yapf: disable
    low, high = panels.pad(x[drawn])
    axes.set_xlim(high, low)
    axes.set_ylim(*panels.pad(y[drawn], np.array([points.chance])))


def _draw_curve(axes: Axes, points: CapabilityPoints) -> None:
    """Full where models were fitted on, dashed beyond."""
    for name, ends in _curve_ends(points).items():
        score = np.linspace(*ends, 400)
        axes.plot(score, points.curve(score), color='black', **_LINES[name])


def _curve_ends(points: CapabilityPoints) -> dict[str, tuple[float, float]]:
    """Scores between which each of `_LINES` is drawn, if it is."""
    ends = panels.pad(points.scores[points.drawn])
    low, high = np.clip(points.fitted_range, *ends)
    found = {}
    if low < high:
        found[_FITTED] = low, high
    if (low, high) != ends:
        found[_BEYOND] = ends
    return found


def _marker(look: Look, fitted: bool) -> dict:
    return dict(
        color=look.colour,
        ls='',
        marker=look.marker,
        markerfacecolor=look.colour if fitted else 'white',
        markeredgewidth=0.3 if fitted else 1.1,
        markersize=5.5 if fitted else 5,
        markeredgecolor='white' if fitted else look.colour,
        zorder=3 if fitted else 4)


def label_axes(figure: Figure, unit: str) -> None:
    """What the axes of all panels are."""
    figure.supxlabel(f'capability score ({unit}, better to the right)')
    figure.supylabel('accuracy')


def legend_handles(points: Sequence[CapabilityPoints],
                   look: Mapping[str, Look]) -> list[Artist]:
    """Families, then what fillings and lines mean."""
    handles = [
        Line2D([], [],
               label=panels.wrapped(family, 40),
               **_marker(look[family], True)) for family in distinct(look)
    ]
    black = Look('black', 'o')
    fitted = np.concatenate([p.fitted[p.drawn] for p in points])
    if fitted.any():
        handles.append(
            Line2D([], [], label='fitted on', **_marker(black, True)))
    if not fitted.all():
        handles.append(
            Line2D([], [], label='held out', **_marker(black, False)))
    lines = {name for p in points if p.drawn.any() for name in _curve_ends(p)}
    return [
        *handles, *(Line2D([], [], color='black', label=name, **style)
                    for name, style in _LINES.items() if name in lines),
        Line2D([], [], color=GREY, lw=0.9, ls=':', label='chance level')
    ]
