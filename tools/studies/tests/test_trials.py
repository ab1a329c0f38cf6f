"""Collections, methods and figures of trials; tables of protocols."""
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import trapezoid

import csv_plugin as cp
from csv_plugin.core.settings import Settings
from tools.studies import (full_collections, settings_study, study_models,
                           trials, yard)
from tools.studies.real_models import RealModels
from tools.studies.real_models.__main__ import cells, constant


@pytest.fixture(scope='module')
def models() -> trials.Models:
    """24 models of twelve families on eight units and three benchmarks."""
    rng = np.random.default_rng(5)
    skill = rng.normal(size=24)
    losses = np.exp(1 - .2 * skill[:, None] + .05 * rng.normal(size=(24, 8)))
    slopes = np.array([1., .6, 1.4])
    accuracies = .25 + .75 / (1 + np.exp(1 - np.outer(skill, slopes)))
    accuracies += rng.normal(0, .01, accuracies.shape)
    accuracies[3, 1] = np.nan
    return trials.Models(
        losses, accuracies,
        np.repeat([*'abcdefghijkl'], [6, 4, 3, 2, 2, *[1] * 7]),
        np.array(['train'] * 12 + ['validation'] * 4 + ['test'] * 8),
        np.full(3, .25), np.array([500, 500, 0]), np.full(8, ''))


def test_an_interval_stands_for_a_density() -> None:
    """It is one in all, and .9 between the ends."""
    forecast = trials.Forecast(*np.array([.5, .4, .7])[:, None, None])
    for ends, area in (((-20, 20), 1), ((.4, .7), .9)):
        places = np.linspace(*ends, 400001)[:, None]
        density = np.exp(trials.log_scores(places, forecast))[:, 0]
        assert trapezoid(density, places[:, 0]) == pytest.approx(
            area, abs=1e-3)


def test_figures_of_a_protocol(models, tmp_path) -> None:
    """Each model is predicted once, from other families, and figures kept."""
    trial = full_collections.families_out('x', models)
    sizes = []
    for fitted, predicted in trial.fits:
        assert (fitted ^ predicted).all()
        assert not {*models.families[fitted]} & {*models.families[predicted]}
        sizes.append(predicted.sum())
    # The largest family has six models, and the groups share the others.
    assert sorted(sizes) == [2, 2, 2, 2, 3, 3, 4, 6]
    ours, baseline = (
        trials.run([trial], method, tmp_path / f'{method}.csv')
        for method in trials.METHODS)
    assert ours[0].cells == 71
    assert .6 < ours[0].coverage <= 1 and ours[0].mae < 8
    again = trials.run([trial], 'salience', tmp_path / 'salience.csv')
    assert again[0].log_error == pytest.approx(ours[0].log_error)
    ratio = np.exp(ours[0].log_error - baseline[0].log_error)
    last = full_collections.table(ours, baseline).splitlines()[-1]
    assert last.split('|')[4].strip() == f'{ratio:.2f}'
    row = yard.table(ours, baseline).splitlines()[-1]
    assert row.split('|')[3].strip() == f'{ratio:.3f}'


def test_benchmarks_that_nobody_was_run_on_are_not_predicted(models) -> None:
    unseen = models.accuracies.copy()
    unseen[:20, 1] = np.nan
    part = replace(models, accuracies=unseen)
    found = trials.salience(
        part.take(np.arange(20)), models.take(np.arange(20, 24)))
    assert np.isnan(found.values[:, 1]).all()
    assert np.isfinite(found.values[:, [0, 2]]).all()


def test_splits_without_models_are_refused(models) -> None:
    with pytest.raises(cp.InputError, match="'val'"):
        full_collections.by_split('x', models, ['val'], 'test')


def test_the_page_has_all_settings_and_each_is_changed() -> None:
    page = Path(__file__).parents[3] / 'docs/appendix/settings.md'
    rows = re.findall(r'^\| `(\w+)` \| ([^|]+) \|', page.read_text('utf-8'),
                      re.M)
    assert sorted(name for name, _ in rows) == sorted(settings_study.NAMES)
    for name, value in rows:
        assert settings_study.changed(name, .5) != Settings()
        if name not in ('straight', 'floors'):
            assert float(value) == getattr(Settings(), name), name


def test_settings_are_compared_with_the_settings_as_they_are() -> None:
    row = trials.Figures('yard', 'x', 'a', 3, -5., 4., 1., .9, 8., 2.)
    worse = row._replace(log_error=-5 + np.log(1.2), coverage=.87)
    assert settings_study.cell([worse], [row]) == '1.200 (0.000), -3.0'


def test_real_models_as_they_are_are_always_fitted_to() -> None:
    real = RealModels.read()
    kinds = np.array(real.kinds)
    trial = full_collections.groups_out('x',
                                        real.models(real.losses, real.kinds),
                                        kinds)
    assert len(trial.fits) == 5
    for fitted, predicted in trial.fits:
        assert fitted[kinds == ''].all()
        assert len({*kinds[predicted]}) == 1
    sizes = [predicted.sum() for _, predicted in trial.fits]
    found, _ = cells(trial.observed(), trial.forecast(constant), sizes)
    assert found == ['6.21', '86', '21.6', '-']


def test_predicted_families_are_fitted_to_in_no_draw() -> None:
    families = np.array([f'f{i % 20}' for i in range(90)])
    none = np.zeros((90, 1))
    whole = trials.Models(none, none, families, families, np.zeros(1),
                          np.zeros(1), np.array(['']))
    drawn = [*study_models.draws(whole, 0)]
    assert [len(trial.fits[0][0]) for trial in drawn
            ] == [*study_models.NUMBERS, *[study_models.FIXED] * 3]
    for trial, n in zip(drawn[-3:], study_models.FAMILIES):
        [(fitted, predicted)] = trial.fits
        assert len({*families[fitted]}) == n
        assert not {*families[fitted]} & {*families[predicted]}
