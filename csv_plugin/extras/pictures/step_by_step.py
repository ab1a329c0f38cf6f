"""Draws accuracies and errors at steps of Algorithm 2 (the paper's Fig. 6)."""
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from csv_plugin.core.arrays import Floats
from csv_plugin.core.escaping import one_line
from csv_plugin.extras.pictures.style import (COLOURS, Look, explain, handle,
                                              looks, pad, panels, picture,
                                              wrapped)
from csv_plugin.lm.head.training_steps import (TEST, TRAINING, VALIDATION,
                                               TrainingSteps)

#: How errors on the models of each split are drawn.
_ERRORS: dict[str, dict[str, Any]] = {
    TRAINING: dict(color=COLOURS[0], ls='-', lw=1.4),
    VALIDATION: dict(color=COLOURS[1], ls='--', lw=1.4),
    TEST: dict(color=COLOURS[2], ls='-.', lw=1.4)
}
_CURVE: dict[str, Any] = dict(color='black', lw=1.2)
_CHOSEN: dict[str, Any] = dict(color='black', lw=0.9, ls=':')


@picture
def steps_picture(steps: TrainingSteps, families: Mapping[str, str]) -> Figure:
    """Draw accuracy against capability score at three steps, then the errors.

    There is one row per benchmark. Its first three panels are the first step,
    the step after a tenth of the way to the chosen one, and the step that was
    chosen by the error on the validation models. Filled points are training
    models, open points are other models; better models are further to the
    right. The fourth panel has the root mean squared errors of each split at
    every step. Titles give the error of the test models, or of the validation
    models if there are no test models.
    """
    look = looks(families[model] for model in steps.models)
    judged = TEST if TEST in steps.splits else VALIDATION
    panel_size = (2.3, 2.1)
    figure, rows = panels(4, len(steps.benchmarks), panel_size)
    for b, row in enumerate(rows):
        best = int(steps.best_step[b])
        shown_steps = 0, best // 10, best
        errors = _errors(steps, judged, b)
        *panels_of_steps, panel_of_errors = row
        for axes, step in zip(panels_of_steps, shown_steps):
            _draw_models(axes, steps, step, b, families, look)
            axes.set_title(f'step {step}: off by\n{errors[step]:.1f} points')
        name = wrapped(steps.benchmarks[b])
        row[0].set_ylabel(name, fontweight='bold')
        _draw_errors(panel_of_errors, steps, b)
        panel_of_errors.set_title('error by step,\npoints')
    # The panel of the last row names the axis for all rows.
    panel_of_errors.set_xlabel('step')
    explain(figure,
            'capability score, nats per character (better to the right)',
            'accuracy, %', _handles(look, steps))
    return figure


def _errors(steps: TrainingSteps, split: str, b: int) -> Floats:
    """Return the root mean squared error at each step, in points, `(S,)`.

    It is that of the models of a split on benchmark `b`.
    """
    mse = steps.mse(split)[:, b]
    return 100 * np.sqrt(mse)


def _draw_models(axes: Axes, steps: TrainingSteps, step: int, b: int,
                 families: Mapping[str, str], look: Mapping[str,
                                                            Look]) -> None:
    """Draw the models at one step, and the curve that was fitted to them."""
    scores = steps.scores[step, :, b]
    percents = 100 * steps.accuracies[:, b]
    family_names = [families[model] for model in steps.models]
    of_model = np.array(family_names, object)
    fitted = steps.splits == TRAINING
    for family in dict.fromkeys(family_names):
        of_family = of_model == family
        for is_fitted in (True, False):
            chosen = of_family & (fitted == is_fitted)
            if chosen.any():
                axes.plot(
                    scores[chosen],
                    percents[chosen],
                    label=one_line(family),
                    **_marker(look[family], is_fitted))
    # Scores are weighted sums of losses with positive weights, so that they
    # have a logarithm.
    logs = np.log(scores[~np.isnan(percents)])
    low, high = np.exp(pad(logs))
    grid = np.geomspace(low, high, 200)
    curve = steps.curve[step, b]
    axes.plot(grid, 100 * curve.accuracies(grid), **_CURVE)
    axes.set(xscale='log', xlim=(high, low), ylim=pad(percents))
    ticks = LogLocator(subs=(1, 2, 5), numticks=4)
    axes.xaxis.set_major_locator(ticks)
    axes.xaxis.set_major_formatter('{x:g}')
    axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_errors(axes: Axes, steps: TrainingSteps, b: int) -> None:
    for split, settings in _ERRORS.items():
        errors = _errors(steps, split, b)
        if np.isfinite(errors).any():
            axes.plot(errors, **settings)
    axes.axvline(steps.best_step[b], **_CHOSEN)
    # The axis is linear up to step 1, and logarithmic beyond.
    axes.set_xscale('symlog', linthresh=1)
    axes.xaxis.set_major_formatter('{x:g}')
    axes.set_xlim(0, len(steps.scores))
    axes.set_ylim(0, None)


def _marker(look: Look, fitted: bool) -> dict[str, Any]:
    marker = look.points
    marker['markersize'] = 4
    if not fitted:
        marker |= dict(
            markerfacecolor='white',
            markeredgecolor=look.colour,
            markeredgewidth=1,
            zorder=3)
    return marker


def _handles(look: Mapping[str, Look], steps: TrainingSteps) -> list[Artist]:
    """Return the legend: families, fillings of points, and lines."""
    black = Look('black', 'o')
    handles: list[Artist] = []
    for family, own in look.items():
        handles.append(handle(wrapped(family, 40), **_marker(own, True)))
    handles.append(handle('training models', **_marker(black, True)))
    handles.append(handle('other models', **_marker(black, False)))
    handles.append(handle('curve (Eq. 2)', **_CURVE))
    for split, settings in _ERRORS.items():
        if split in steps.splits:
            handles.append(handle(f'error of {split} models', **settings))
    handles.append(handle('chosen step', **_CHOSEN))
    return handles
