"""Accuracy against capability score, with the fitted scaling law (Eq. 2)."""
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from csv_plugin.extras.capability_points import CapabilityPoints
from csv_plugin.extras.pictures.style import (GREY, Look, distinct, drawing,
                                              explain, few_ticks, handle,
                                              is_leftmost, looks, pad, panels,
                                              picture, plain, show_empty,
                                              wrapped)

#: Styles of the curve where models were fitted on, and elsewhere.
_FITTED, _BEYOND = 'scaling law', 'beyond the fit'
_LINES: dict[str, dict[str, Any]] = {
    _FITTED: dict(color='black', lw=1.4, ls='-'),
    _BEYOND: dict(color='black', lw=1.0, ls='--')
}
_CHANCE: dict[str, Any] = dict(color=GREY, lw=0.9, ls=':')


@picture
def capability_picture(points: Sequence[CapabilityPoints]) -> Figure:
    """Accuracy against capability score, one panel per benchmark.

    Filled points were fitted on, open ones were not. The score is a loss;
    its axis is reversed, so that better models stand to the right.
    """
    figure, (row, ) = panels(len(points))
    look = _family_looks(points)
    for axes, part in zip(row, points):
        _draw_points(axes, part, look)
        axes.set_title(wrapped(part.benchmark))
    explain(figure, _score_label(points[0].unit), 'accuracy',
            _handles(points, look))
    return figure


@picture
def convergence_picture(
        steps: Sequence[tuple[str, Sequence[CapabilityPoints]]]) -> Figure:
    """Points and curves at several steps of a training, top to bottom.

    Args:
        steps (Sequence): Name and points of each step; all steps have the
            same benchmarks in one order.
    """
    everything = [part for _, points in steps for part in points]
    look = _family_looks(everything)
    figure, rows = panels(len(steps[0][1]), len(steps))
    for i, (row, (name, points)) in enumerate(zip(rows, steps)):
        for b, (axes, part) in enumerate(zip(row, points)):
            _draw_points(axes, part, look)
            if i == 0:
                axes.set_title(wrapped(part.benchmark))
            if is_leftmost(b, len(points)):
                axes.set_ylabel(wrapped(name), fontweight='bold')
    explain(figure, _score_label(everything[0].unit), 'accuracy',
            _handles(everything, look))
    return figure


def plot_capability(points: CapabilityPoints,
                    ax: Optional[Axes] = None) -> Axes:
    """Draw accuracy against capability score on one benchmark, with the curve.

    Args:
        points (CapabilityPoints): One of what `capability_points` returns.
        ax (Optional[Axes]): Where to draw, by default in a new figure.

    Returns:
        Axes: The axes that were drawn on.
    """
    look = _family_looks([points])
    with drawing(ax) as axes:
        _draw_points(axes, points, look)
        axes.set(
            title=wrapped(points.benchmark, 40),
            xlabel=_score_label(points.unit),
            ylabel='accuracy')
        axes.legend(handles=_handles([points], look))
    return axes


def _family_looks(points: Iterable[CapabilityPoints]) -> dict[str, Look]:
    """One look per family, the same in all panels."""
    return looks(family for family, _ in dict.fromkeys(
        pair for part in points for pair in zip(part.families, part.models)))


def _draw_points(axes: Axes, points: CapabilityPoints,
                 look: Mapping[str, Look]) -> None:
    """Draw the chance level, the curve and the models into a panel."""
    drawn = points.drawn
    few_ticks(axes, 'y')
    if not drawn.any():
        axes.invert_xaxis()
        show_empty(axes)
        return
    x, y = points.scores, points.accuracies
    axes.axhline(points.chance, zorder=1, **_CHANCE)
    for name, ends in _curve_ends(points).items():
        score = np.linspace(*ends, 400)
        axes.plot(score, points.curve.accuracies(score), **_LINES[name])
    families = np.array(points.families, dtype=object)
    for family in dict.fromkeys(points.families):
        for fitted in (True, False):
            chosen = drawn & (points.fitted == fitted) & (families == family)
            if chosen.any():
                # Some versions of matplotlib write labels into SVG files.
                axes.plot(
                    x[chosen],
                    y[chosen],
                    label=plain(family),
                    **_marker(look[family], fitted))
    low, high = pad(x[drawn])
    axes.set_xlim(high, low)
    axes.set_ylim(*pad(y[drawn], np.array([points.chance])))


def _curve_ends(points: CapabilityPoints) -> dict[str, tuple[float, float]]:
    """Scores between which each of `_LINES` is drawn, if it is."""
    ends = pad(points.scores[points.drawn])
    low, high = np.clip(points.fitted_range, *ends)
    lines = {}
    if low < high:
        lines[_FITTED] = float(low), float(high)
    if (low, high) != ends:
        lines[_BEYOND] = ends
    return lines


def _marker(look: Look, fitted: bool) -> dict[str, Any]:
    if fitted:
        return look.points | dict(markersize=5.5, zorder=3)
    return dict(
        color=look.colour,
        ls='',
        marker=look.marker,
        markerfacecolor='white',
        markeredgewidth=1.1,
        zorder=4)


def _score_label(unit: str) -> str:
    return f'capability score ({unit}, better to the right)'


def _handles(points: Sequence[CapabilityPoints],
             look: Mapping[str, Look]) -> list[Artist]:
    """The families, then the meaning of fillings and lines."""
    handles: list[Artist] = [
        handle(wrapped(family, 40), **_marker(look[family], True))
        for family in distinct(look)
    ]
    black = Look('black', 'o')
    fitted = np.concatenate([p.fitted[p.drawn] for p in points])
    if fitted.any():
        handles.append(handle('fitted on', **_marker(black, True)))
    if not fitted.all():
        handles.append(handle('held out', **_marker(black, False)))
    lines = {name for p in points if p.drawn.any() for name in _curve_ends(p)}
    return [
        *handles, *(handle(name, **style)
                    for name, style in _LINES.items() if name in lines),
        handle('chance level', **_CHANCE)
    ]
