"""The study of known accuracies, on a world where their worth is known."""
import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from tools.studies import known_study
from tools.studies.known_study import Part

RUNS, CHECKPOINTS = 16, 6


@pytest.fixture(scope='module')
def part():
    """Three benchmarks share what losses do not tell of a run."""
    rng = np.random.default_rng(0)
    skill = np.repeat(rng.normal(size=RUNS), CHECKPOINTS)
    skill += np.tile(np.arange(CHECKPOINTS) / 5, RUNS)
    taste = np.repeat(rng.normal(size=RUNS), CHECKPOINTS)
    losses = np.exp(1 - .1 * skill[:, None] + .004 *
                    (rng.normal(size=(len(skill), 2))))
    values = .5 + .05 * skill[:, None] + .05 * taste[:, None] + .01 * (
        rng.normal(size=(len(skill), 4)))
    # The last one is a copy of the first.
    values[:, 3] = values[:, 0]
    models = [f'r{r}@{step}' for r in range(RUNS)
              for step in range(CHECKPOINTS, 0, -1)]  # yapf: disable
    names = 'mmlu_zeroshot', 'b', 'c', 'mmlu_fewshot'
    features = FeatureTable.of_losses(models, ['x', 'y'], losses)
    accuracies = AccuracyTable(
        models,
        names,
        values,
        np.zeros(4),
        np.full(4, 2000),
        outside_means=('c', 'mmlu_fewshot'))
    families = [model.partition('@')[0] for model in models]
    n = 12 * CHECKPOINTS
    predictor = fit_predictor(features, accuracies.select(models[:n]),
                              families[:n])
    return Part(predictor, features.select(models[n:]),
                accuracies.select(models[n:]), families[n:])


def cells_of(part, asked):
    if asked == known_study.OTHERS:
        return known_study.other_benchmarks(part)
    return known_study.checkpoints(part, asked)


@pytest.mark.parametrize(
    'asked_of', [known_study.OTHERS, known_study.BETWEEN, known_study.LATER])
def test_known_accuracies_help_where_they_know_more(part, asked_of):
    cells = cells_of(part, asked_of)
    # Benchmarks that are not main ones do not count.
    asked = ~np.isnan(cells.observed)
    assert asked[:, :2].any() and not asked[:, 2:].any()
    alone, both = np.nanmean((cells.values - cells.observed)**2, axis=(1, 2))
    assert both < .6 * alone
    # Neither is the copy of an accuracy told, nor the accuracy itself.
    assert both > .003**2
    row = known_study.row_of('world', 'asked', cells)
    assert row[2] == str(asked.sum())
    assert float(row[5].split()[0]) < .6
    assert float(row[9]) < float(row[8])


@pytest.mark.parametrize('asked_of, steps', [(known_study.LATER, '456'),
                                             (known_study.BETWEEN, '246')])
def test_checkpoints_that_are_predicted(part, asked_of, steps):
    cells = cells_of(part, asked_of)
    asked = ~np.isnan(cells.observed).all(axis=1)
    assert {
        model.partition('@')[2]
        for model, one in zip(part.features.models, asked) if one
    } == {*steps}
