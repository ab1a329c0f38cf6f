"""Draw accuracy against the exponent that losses predict.

The exponent is the exponent of Eq. 2, whose curve is drawn too.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.arrays import Booleans
from csv_plugin.core.conventions import InputError, families_of_models
from csv_plugin.core.curve import accuracy_of
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.predictor import Losses, Predictor
from csv_plugin.extras.pictures.style import (GREY, Look, Looks, Style,
                                              draw_models, explain, handle,
                                              looks, model_handles, pad,
                                              panels, picture, show_empty,
                                              wrapped)

#: Names, in the legend, of the curve within the exponents of the training
#: models and beyond them.
_FITTED, _BEYOND = 'curve (Eq. 2)', 'beyond the fit'
#: Line styles of these two parts of the curve, and of the chance level.
_LINES: dict[str, Style] = {
    _FITTED: dict(color='black', lw=1.4, ls='-'),
    _BEYOND: dict(color='black', lw=1.0, ls='--')
}
_CHANCE: Style = dict(color=GREY, lw=0.9, ls=':')


@dataclass(frozen=True, eq=False)
class CapabilityPoints:
    """The data of one panel: M models on one benchmark.

    `exponents`, `(M,)`, are the exponents of Eq. 2 that the losses predict.
    `accuracies`, `(M,)`, are the observed accuracies as fractions, NaN where a
    model was not run. `fitted`, `(M,)`, is true for training models.
    `fitted_range` has the lowest and highest exponent of all training models,
    including training models that are not among the M models. `floor` is the
    lower limit of the curve, the accuracy of a model that knows nothing.
    """
    benchmark: str
    models: tuple[str, ...]
    families: tuple[str, ...]
    exponents: NDArray
    accuracies: NDArray
    fitted: Booleans
    fitted_range: tuple[float, float]
    floor: float
    chance: float

    @property
    def drawn(self) -> Booleans:
        """Whether each model has an exponent and an accuracy, `(M,)`."""
        return np.isfinite(self.exponents) & np.isfinite(self.accuracies)


def capability_points(predictor: Predictor, losses: Losses,
                      observed: AccuracyTable,
                      families: Mapping[str, str]) -> list[CapabilityPoints]:
    """Return what `capability_picture` draws, one element per benchmark.

    The benchmarks are those that both the predictor and `observed` have.
    Losses, accuracies and families belong to the same models, in any order.

    Raises:
        InputError: `Predictor.features` refuses the losses, or a model has no
            accuracies or no family, or predictor and `observed` have no
            common benchmark.
    """
    features = predictor.features(losses)
    own_families = families_of_models(families, features.models)
    table = observed.select(features.models)
    common = [name for name in predictor.names if name in table.benchmarks]
    if not common:
        raise InputError('capability_points',
                         'accuracies on a benchmark of the predictor',
                         f'only {list(table.benchmarks)}',
                         'Give accuracies on benchmarks of the predictor.')
    exponents = predictor.joint(features).mean  # (M, benchmarks)
    fit_models = predictor.fit_models
    training = FeatureTable(fit_models, features.columns, predictor.fit.losses)
    fitted_exponents = predictor.joint(training).mean
    points = []
    for name in common:
        part = predictor.benchmark(name)
        b = predictor.names.index(name)
        was_run = np.isin(fit_models, part.fit_models)
        of_fitted = fitted_exponents[was_run, b]
        lowest = float(of_fitted.min())
        highest = float(of_fitted.max())
        points.append(
            CapabilityPoints(
                benchmark=name,
                models=features.models,
                families=tuple(own_families),
                exponents=exponents[:, b],
                accuracies=table.column(name),
                fitted=np.isin(features.models, part.fit_models),
                fitted_range=(lowest, highest),
                floor=float(predictor.model.floor[b]),
                chance=part.chance))
    return points


@picture
def capability_picture(points: Sequence[CapabilityPoints]) -> Figure:
    """Draw accuracy against the predicted exponent, a panel per benchmark.

    Filled points are training models, open points are held-out models.
    Better models are further to the right. Titles give the mean absolute
    distance of held-out models from the curve, in percentage points.
    """
    families: list[str] = []
    for part in points:
        families += part.families
    look = looks(families)
    figure, (row, ) = panels(len(points))
    for axes, part in zip(row, points):
        _draw_points(axes, part, look)
        axes.set_title(f'{wrapped(part.benchmark)}{_distance(part)}')
    explain(
        figure,
        'exponent of the curve, predicted by the losses (better to the '
        'right)', 'accuracy, %', _handles(look))
    return figure


def _distance(points: CapabilityPoints) -> str:
    """Return the second line of a title, with the line break before it.

    It gives the mean absolute distance of held-out models from the curve. The
    result is empty if no held-out model is drawn.
    """
    held_out = points.drawn & ~points.fitted
    if not held_out.any():
        return ''
    floor = np.array(points.floor)
    on_curve = accuracy_of(points.exponents, floor)
    distances = np.abs(on_curve - points.accuracies)
    error = distances[held_out].mean()
    return f'\nheld out: {100 * error:.1f} points off'


def _draw_points(axes: Axes, points: CapabilityPoints, look: Looks) -> None:
    """Draw the models of one panel, the curve and the chance level."""
    drawn = points.drawn
    if not drawn.any():
        show_empty(axes)
        return
    x = points.exponents[drawn]
    y = 100 * points.accuracies[drawn]
    floor = np.array(points.floor)
    chance = 100 * points.chance
    axes.axhline(chance, zorder=1, **_CHANCE)
    for name, limits in _curve_limits(points).items():
        exponents = np.linspace(*limits, 400)
        accuracies = accuracy_of(exponents, floor)
        axes.plot(exponents, 100 * accuracies, **_LINES[name])
    families = np.array(points.families, dtype=object)[drawn]
    fitted = points.fitted[drawn]
    draw_models(axes, x, y, families, fitted, look, _marker)
    y_limits = pad(y, np.array([chance]))
    axes.set(xlim=pad(x), ylim=y_limits)


def _curve_limits(points: CapabilityPoints) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest exponent of each part of the curve.

    The keys are `_FITTED` and `_BEYOND`; a part that is empty has no entry.
    """
    limits = pad(points.exponents[points.drawn])
    low, high = np.clip(points.fitted_range, *limits)
    lines = {}
    if low < high:
        lines[_FITTED] = float(low), float(high)
    if (low, high) != limits:
        lines[_BEYOND] = limits
    return lines


def _marker(look: Look, fitted: bool) -> Style:
    """Return the style of a point: filled for training models, else open."""
    if fitted:
        return look.points | dict(markersize=5.5, zorder=3)
    return dict(
        color=look.colour,
        ls='',
        marker=look.marker,
        markerfacecolor='white',
        markeredgewidth=1.1,
        zorder=4)


def _handles(look: Looks) -> Sequence[Artist]:
    """Return the legend: the families, then what fillings and lines mean."""
    handles = model_handles(look, _marker, 'held out')
    for name, style in _LINES.items():
        handles.append(handle(name, **style))
    handles.append(handle('chance level', **_CHANCE))
    return handles
