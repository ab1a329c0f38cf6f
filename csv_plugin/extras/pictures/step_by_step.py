"""Draw accuracies and errors at steps of Algorithm 2 (the paper's Fig. 6)."""
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from csv_plugin.core.arrays import Floats
from csv_plugin.extras.pictures.style import (COLOURS, Look, Looks, Style,
                                              draw_models, explain, handle,
                                              looks, model_handles, pad,
                                              panels, picture, wrapped)
from csv_plugin.lm.head.training_steps import (TEST, TRAINING, VALIDATION,
                                               TrainingSteps)

#: Line styles of the errors on the models of each split.
_ERRORS: dict[str, Style] = {
    TRAINING: dict(color=COLOURS[0], ls='-', lw=1.4),
    VALIDATION: dict(color=COLOURS[1], ls='--', lw=1.4),
    TEST: dict(color=COLOURS[2], ls='-.', lw=1.4)
}
#: Line style of the fitted curve.
_CURVE: Style = dict(color='black', lw=1.2)
#: Line style of the step that was chosen.
_CHOSEN: Style = dict(color='black', lw=0.9, ls=':')


@picture
def steps_picture(steps: TrainingSteps, families: Mapping[str, str]) -> Figure:
    """Draw accuracy against capability score at three steps, then the errors.

    There is one row per benchmark. Its first three panels show step 0, the
    step after a tenth of the way to the chosen step, and the chosen step,
    which has the smallest error on the validation models. Filled points are
    training models, open points are other models; better models are further to
    the right. The fourth panel shows the root mean squared error on each split
    at every step. Titles give the error on the test models, or on the
    validation models if there are no test models.
    """
    families_of_models = [families[model] for model in steps.models]
    look = looks(families_of_models)
    judged = VALIDATION
    if TEST in steps.splits:
        judged = TEST
    panel_size = (2.3, 2.1)
    figure, rows = panels(4, len(steps.benchmarks), panel_size)
    for b, row in enumerate(rows):
        best = int(steps.best_step[b])
        shown_steps = 0, best // 10, best
        errors = _errors(steps, judged, b)
        *panels_of_steps, panel_of_errors = row
        for axes, step in zip(panels_of_steps, shown_steps):
            _draw_models(axes, steps, step, b, families_of_models, look)
            error = errors[step]
            axes.set_title(f'step {step}: off by\n{error:.1f} points')
        name = wrapped(steps.benchmarks[b])
        row[0].set_ylabel(name, fontweight='bold')
        _draw_errors(panel_of_errors, steps, b)
        panel_of_errors.set_title('error by step,\npoints')
    # The last row has the label of the horizontal axis, for all rows.
    panel_of_errors.set_xlabel('step')
    explain(figure,
            'capability score, nats per character (better to the right)',
            'accuracy, %', _handles(look, steps))
    return figure


def _errors(steps: TrainingSteps, split: str, b: int) -> Floats:
    """Return the root mean squared error at each of S steps, `(S,)`.

    It is the error on the models of a split on benchmark `b`, in points.
    """
    mse = steps.mse(split)[:, b]
    return 100 * np.sqrt(mse)


def _draw_models(axes: Axes, steps: TrainingSteps, step: int, b: int,
                 families: Sequence[str], look: Looks) -> None:
    """Draw the models at one step, and the curve that was fitted to them.

    `families` has the family of each model.
    """
    scores = steps.scores[step, :, b]
    percents = 100 * steps.accuracies[:, b]
    fitted = steps.splits == TRAINING
    of_models = np.array(families, object)
    draw_models(axes, scores, percents, of_models, fitted, look, _marker)
    # Scores are weighted sums of losses with positive weights, so that they
    # have a logarithm.
    was_run = ~np.isnan(percents)
    logs = np.log(scores[was_run])
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
    """Draw the errors of each split on benchmark `b` at every step."""
    for split, style in _ERRORS.items():
        errors = _errors(steps, split, b)
        if np.isfinite(errors).any():
            axes.plot(errors, **style)
    axes.axvline(steps.best_step[b], **_CHOSEN)
    # The axis is linear up to step 1, and logarithmic beyond.
    axes.set_xscale('symlog', linthresh=1)
    axes.xaxis.set_major_formatter('{x:g}')
    axes.set_xlim(0, len(steps.scores))
    axes.set_ylim(0, None)


def _marker(look: Look, fitted: bool) -> Style:
    """Return the style of a point: filled for fitted models, else open."""
    marker = look.points
    marker['markersize'] = 4
    if not fitted:
        marker |= dict(
            markerfacecolor='white',
            markeredgecolor=look.colour,
            markeredgewidth=1,
            zorder=3)
    return marker


def _handles(look: Looks, steps: TrainingSteps) -> list[Artist]:
    """Return the legend: families, then what fillings and lines mean."""
    handles = model_handles(look, _marker, 'other models')
    handles.append(handle('curve (Eq. 2)', **_CURVE))
    for split, style in _ERRORS.items():
        if split in steps.splits:
            label = f'error of {split} models'
            handles.append(handle(label, **style))
    handles.append(handle('chosen step', **_CHOSEN))
    return handles
