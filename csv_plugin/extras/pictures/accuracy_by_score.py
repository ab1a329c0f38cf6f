"""Accuracy against capability score, with the fitted scaling law (Eq. 2)."""
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from csv_plugin.extras.capability_points import CapabilityPoints
from csv_plugin.extras.pictures.style import (GREY, Look, distinct, drawing,
                                              few_ticks, legend_above, looks,
                                              pad, panels, picture, plain,
                                              say_empty, wrapped)

#: Styles of the curve where models were fitted on, and elsewhere.
_FITTED, _BEYOND = 'scaling law', 'beyond the fit'
_LINES: dict[str, dict[str, Any]] = {
    _FITTED: dict(lw=1.4, ls='-'),
    _BEYOND: dict(lw=1.0, ls='--')
}


@picture
def capability_picture(points: Sequence[CapabilityPoints]) -> Figure:
    """Accuracy against capability score, one panel per benchmark.

    Filled points were fitted on, open ones were not. The score is a loss;
    its axis is reversed, so that better models stand to the right.
    """
    figure, (row, ) = panels(len(points))
    look = family_looks(points)
    for axes, part in zip(row, points):
        draw_points(axes, part, look)
        axes.set_title(wrapped(part.benchmark))
    label_axes(figure, points[0].unit)
    legend_above(figure, legend_handles(points, look))
    return figure


def plot_capability(points: CapabilityPoints,
                    ax: Optional[Axes] = None) -> Axes:
    """Accuracy against capability score on one benchmark, with the curve.

    Args:
        points (CapabilityPoints): One of what `capability_points` returns.
        ax (Optional[Axes]): Where to draw, by default in a new figure.

    Returns:
        Axes: Those that were drawn on.
    """
    look = family_looks([points])
    with drawing(ax) as axes:
        draw_points(axes, points, look)
        axes.set(
            title=wrapped(points.benchmark, 40),
            xlabel=score_label(points.unit),
            ylabel='accuracy')
        axes.legend(handles=legend_handles([points], look))
    return axes


def family_looks(points: Iterable[CapabilityPoints]) -> dict[str, Look]:
    """One look per family, the same in all panels."""
    return looks(family for family, _ in dict.fromkeys(
        pair for part in points for pair in zip(part.families, part.models)))


def draw_points(axes: Axes, points: CapabilityPoints,
                look: Mapping[str, Look]) -> None:
    """Draw the chance level, the curve and the models into a panel."""
    drawn = points.drawn
    few_ticks(axes, 'y')
    if not drawn.any():
        axes.invert_xaxis()
        say_empty(axes)
        return
    x, y = points.scores, points.accuracies
    axes.axhline(points.chance, color=GREY, lw=0.9, ls=':', zorder=1)
    _draw_curve(axes, points)
    families = np.array(points.families, dtype=object)
    for family in dict.fromkeys(points.families):
        for fitted in (True, False):
            chosen = drawn & (points.fitted == fitted) & (families == family)
            if chosen.any():
                # Some versions of matplotlib write labels into SVG files.
                axes.plot(x[chosen], y[chosen], label=plain(family),
                          **_marker(look[family], fitted))  # yapf: disable
    low, high = pad(x[drawn])
    axes.set_xlim(high, low)
    axes.set_ylim(*pad(y[drawn], np.array([points.chance])))


def _draw_curve(axes: Axes, points: CapabilityPoints) -> None:
    """Full where models were fitted on, dashed beyond."""
    for name, ends in _curve_ends(points).items():
        score = np.linspace(*ends, 400)
        axes.plot(
            score,
            points.curve.accuracies(score),
            color='black',
            **_LINES[name])


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
    """Name the axes that all panels share."""
    figure.supxlabel(score_label(unit))
    figure.supylabel('accuracy')


def score_label(unit: str) -> str:
    """What the axis of capability scores is called."""
    return f'capability score ({unit}, better to the right)'


def legend_handles(points: Sequence[CapabilityPoints],
                   look: Mapping[str, Look]) -> list[Artist]:
    """The families, then the meaning of fillings and lines."""
    handles = [
        Line2D([], [],
               label=wrapped(family, 40),
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
