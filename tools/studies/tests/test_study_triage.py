"""The study learns nothing from the runs that it forecasts."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.io.model_tables import ModelTables
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.checkpoints import describe_checkpoints
from tools.studies.study_triage import (FORECAST, GAIN, HELD_OUT, KNOWN, NOW,
                                        OBSERVED, Forecasts, forecast_runs,
                                        of_tables)

STEPS = (10, 20, 50, 100)
AFTER = (0.1, 0.2)


def tables(**changed) -> ModelTables:
    """Eight runs that gain the more the better they are."""
    rng = np.random.default_rng(0)
    models = tuple(f'{run}@{step}' for run in 'abcdefgh' for step in STEPS)
    skill = np.outer(np.arange(2, 10) / 8, np.log(STEPS)).ravel() / 5
    losses = 2 - skill[:, None] + 0.01 * rng.normal(size=(len(models), 4))
    scores = 0.25 + np.outer(skill, [0.5, 0.3])
    for name, value in changed.items():
        scores[[model[0] == name for model in models]] = value
    return ModelTables(
        FeatureTable(models, Columns(tuple('tuvw'), np.full(4, 0.25), 'x'),
                     losses),
        AccuracyTable(models, ('easy', 'hard'), scores, np.full(2, 0.25),
                      np.array([1000, 1000])),
        {model: ModelInfo(model[0], '', np.nan)
         for model in models})  # yapf: disable


def forecasts(given: ModelTables) -> Forecasts:
    models = given.features.models
    parts = ([model for model in models if (model[0] in 'gh') == new]
             for new in (False, True))
    return forecast_runs(
        of_tables(given, describe_checkpoints(models), *parts), AFTER)


@pytest.fixture(scope='module')
def found():
    return forecasts(tables())


def test_held_out_runs():
    unseen = {f'{a}-{b}' for a in 'dh' for b in ('xs', 's', 'm', 'l')}
    assert {*HELD_OUT} == unseen | {f'{a}-l' for a in 'abcefg'}


def test_scores_of_a_run_change_only_what_observes_them(found):
    changed = forecasts(tables(h=0.4))
    assert found.runs == ('g', 'h') and (changed.real[1] == 0.4).all()
    for method, ends in found.ends.items():
        same = np.array_equal(changed.ends[method], ends, equal_nan=True)
        assert same != (method in (OBSERVED, GAIN, KNOWN)), method


def test_later_checkpoints_change_nothing(found):
    given = tables()
    values = given.features.values.copy()
    late = [name.endswith(('@50', '@100')) and name[0] in 'gh'
            for name in given.features.models]  # yapf: disable
    values[late] *= 1.5
    changed = forecasts(
        replace(given, features=replace(given.features, values=values)))
    for method, ends in found.ends.items():
        np.testing.assert_array_equal(changed.ends[method], ends)


def test_baselines(found):
    scores = tables().accuracies
    last = scores.select(['h@20']).values[0]
    assert found.ends[OBSERVED][1, 0, 1] == pytest.approx(last)
    gains = [
        scores.select([f'{run}@100']).values -
        scores.select([f'{run}@20']).values for run in 'abcdef'
    ]
    gained = last + np.median(gains, axis=0)[0]
    assert found.ends[GAIN][1, 0, 1] == pytest.approx(gained)
    assert found.real[1] == pytest.approx(scores.select(['h@100']).values[0])


def test_forecasts_are_nearer_to_the_ends(found):
    errors = {
        method: found.errors(method).mean()
        for method in (NOW, FORECAST, KNOWN)
    }
    assert errors[FORECAST] < .7 * errors[NOW]
    assert errors[KNOWN] < .7 * errors[NOW]
    # Predictions now have no intervals: they are none of the ends.
    assert np.isnan(found.width(NOW)).all()
    assert (found.width(FORECAST) > 0).all()


def test_measures():
    values = np.array([[[0.5, 0.0], [0.7, 0.2]], [[0.6, 0.1], [0.5, 0.1]]])
    real = np.array([[0.6, 0.0], [0.5, 0.1]])
    one = Forecasts(
        ('a', 'b'), ('x', 'y'), real,
        {'m': np.stack([values, values - 0.15, values + 0.05], axis=1)})
    assert one.errors('m') == pytest.approx(np.abs(values - real))
    assert one.in_order('m') == pytest.approx([0.5, 0.75])
    assert one.coverage('m') == pytest.approx(
        np.array([[0.5, 0.5], [1.0, 1.0]]))
    assert one.width('m') == pytest.approx([0.2, 0.2])
