"""Data of all pictures, and the pictures by their names."""
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from csv_plugin.core.curve import accuracy_of
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.scaling_law import Curve
from csv_plugin.extras.pictures import (CapabilityPoints, capability_picture,
                                        methods_picture, steps_picture,
                                        trajectory_picture)
from csv_plugin.lm.head.training_steps import TrainingSteps
from csv_plugin.triage.result import TrainingEnd
from csv_plugin.triage.runs import Run

FLOOR = np.array(0.2)
#: Names that are formulas, markup, several lines, or have no glyph.
HOSTILE = ('<script>alert(1)</script>', r'$\frac{', '模型\nb',
           '_a\u202e% & "more"', '-->' + 'x' * 60)


def name_of(index: int) -> str:
    return f'core_benchmark_{index}'


def some_points(benchmark: str = 'exam',
                n_models: int = 30,
                n_families: int = 6,
                seed: int = 0) -> CapabilityPoints:
    rng = np.random.default_rng(seed)
    exponents = rng.uniform(-4, 4, n_models)
    return CapabilityPoints(
        benchmark, tuple(f'model-{m}' for m in range(n_models)),
        tuple(f'family {m % n_families}' for m in range(n_models)), exponents,
        np.clip(
            accuracy_of(exponents, FLOOR) + 0.05 * rng.normal(size=n_models),
            0, 1),
        rng.uniform(size=n_models) < 0.6, (-3.0, 2.0), float(FLOOR), 0.25)


def some_predictions(n_benchmarks: int, n_models: int = 12) -> Predictions:
    """Of three methods; the first four models were fitted on."""
    rng = np.random.default_rng(n_benchmarks)
    shape = (n_models, n_benchmarks)
    observed = rng.uniform(0.2, 0.9, shape)
    noise = [rng.normal(size=shape) for _ in range(3)]
    values = np.clip(
        np.stack([
            observed + scale * part
            for scale, part in zip((0.02, 0.1, 0.2), noise)
        ], 2), 0, 1)
    fitted = np.arange(n_models) < 4
    return Predictions(
        tuple(f'model-{m}' for m in range(n_models)),
        tuple(map(name_of, range(n_benchmarks))),
        ('salience', 'mean-loss', 'other'),
        values=values,
        low=np.clip(values - 0.1, 0, 1),
        high=np.clip(values + 0.2, 0, 1),
        extrapolated=np.zeros(values.shape, bool),
        in_sample=np.broadcast_to(fitted[:, None, None], values.shape),
        observed=observed,
        level=0.9)


def some_triage(benchmarks: Sequence[str] = ('exam', 'other'),
                runs: Sequence[str] = ('run-0', 'run-1'),
                tokens: Sequence[float] = (1e9, 3e9, 1e10, 3e10),
                budget: float = 1e12) -> SimpleNamespace:
    """What pictures read of a triage."""
    n = len(tokens)
    rows = [f'{run}@{i}' for run in runs for i in range(n)]
    rise = np.linspace(0.3, 0.7, n)
    values = np.concatenate([rise + 0.01 * r for r in range(len(runs))])
    rise = np.repeat(values[:, None, None], len(benchmarks), axis=1)
    ahead = np.full((len(runs), len(benchmarks), 1), 0.9)

    def table(models: Sequence[str], cube: NDArray, below: float,
              above: float) -> Predictions:
        return Predictions(
            tuple(models),
            tuple(benchmarks), ('predicted', ),
            values=cube,
            low=cube - below,
            high=cube + above,
            extrapolated=np.array(False),
            in_sample=np.array(False),
            observed=np.array(nan),
            level=0.9)

    return SimpleNamespace(
        benchmarks=tuple(benchmarks),
        measure='steps',
        runs=tuple(
            Run(run, tuple(rows[n * r:n * r + n]), np.array(tokens), budget,
                np.zeros((n, len(benchmarks))), np.ones(n))
            for r, run in enumerate(runs)),
        ends=tuple(TrainingEnd(run, tokens[-1], budget) for run in runs),
        predictions=table(rows, rise, .1, .2),
        forecasts=table(runs, ahead, .3, .05))


def some_steps(benchmarks: Sequence[str] = ('exam', 'other'),
               n_models: int = 12,
               n_steps: int = 40) -> TrainingSteps:
    """Steps of a training; the first benchmark stops half-way."""
    rng = np.random.default_rng(0)
    shape = n_steps, len(benchmarks)
    accuracies = rng.uniform(0.3, 0.9, (n_models, shape[1]))
    accuracies[3, 1] = nan
    noise = rng.normal(size=accuracies.shape)
    shrinking = np.linspace(1, 0.1, n_steps)[:, None, None]
    scores = np.exp(2 - accuracies + 0.3 * shrinking * noise)
    scores[n_steps // 2:, :, 0] = nan
    alpha = np.where(np.isnan(scores[:, 0]), nan, -1.0)
    return TrainingSteps(
        tuple(benchmarks), tuple(f'model-{m}' for m in range(n_models)),
        np.array(['training', 'validation',
                  'test'])[np.arange(n_models) % 3], accuracies, scores,
        Curve(alpha, 3.5 + 0 * alpha, np.full(shape, 0.25)),
        np.full(len(benchmarks), n_steps // 2) -
        (np.arange(len(benchmarks)) == 0))


def figures(names: Sequence[str]) -> dict[str, Figure]:
    """Every picture, of benchmarks, families, runs and models so named."""
    n = len(names)
    families = [*names, *map(str, range(15 - n))]
    points = [
        replace(
            some_points(name, 60, seed=b),
            families=tuple(families[m % len(families)] for m in range(60)))
        for b, name in enumerate(names)
    ]
    return {
        'capability': capability_picture(points),
        'methods': methods_picture(
            replace(some_predictions(n), benchmarks=tuple(names))),
        'steps': steps_picture(
            some_steps(names, 15),
            {f'model-{m}': family for m, family in enumerate(families)}),
        'trajectory': trajectory_picture(some_triage(names, names))
    }  # yapf: disable
