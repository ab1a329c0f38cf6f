"""Trials of the yard, and what its methods and tables say."""
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import trapezoid

from csv_plugin.core.settings import Settings
from tools.studies import settings_study, yard


@pytest.fixture(scope='module')
def models() -> yard.Models:
    """24 models of six families on eight units and three benchmarks."""
    rng = np.random.default_rng(5)
    skill = rng.normal(size=24)
    losses = np.exp(1 - .2 * skill[:, None] + .05 * rng.normal(size=(24, 8)))
    slopes = np.array([1., .6, 1.4])
    accuracies = .25 + .75 / (1 + np.exp(1 - np.outer(skill, slopes)))
    accuracies += rng.normal(0, .01, accuracies.shape)
    accuracies[3, 1] = np.nan
    return yard.Models(losses, accuracies, np.repeat([*'abcdef'], 4),
                       np.full(3, .25), np.array([500, 500, 0]),
                       np.full(8, ''))


def test_the_density_of_an_interval_is_one_in_all() -> None:
    forecast = yard.Forecast(*np.array([.5, .45, .7])[:, None, None])
    places = np.linspace(-20, 20, 400001)[:, None]
    density = np.exp(yard.log_scores(places, forecast))[:, 0]
    assert trapezoid(density, places[:, 0]) == pytest.approx(1, abs=1e-3)


def test_the_ends_of_an_interval_are_quantiles() -> None:
    forecast = yard.Forecast(*np.array([.5, .4, .6])[:, None, None])
    places = np.linspace(.4, .6, 20001)[:, None]
    density = np.exp(yard.log_scores(places, forecast))[:, 0]
    assert trapezoid(density, places[:, 0]) == pytest.approx(.9, abs=1e-3)


def test_figures_are_kept(tmp_path) -> None:
    row = yard.Figures('few models', 'x, 9 models', 'm', 3, -5., 1., .9, 8.,
                       2.)
    yard.write(tmp_path / 'a.csv', [row])
    assert yard.read(tmp_path / 'a.csv') == [row]


def test_the_table_compares_with_the_first_method() -> None:
    row = yard.Figures('few models', 'x', 'base', 3, -5., 1., .9, 8., 2.)
    better = row._replace(method='new', log_error=-5 + np.log(.5), score=1.25)
    cells = yard.table([row, better], 'base').splitlines()[3].split('|')
    assert [cell.strip() for cell in cells[2:6]] == ['new', '1', '0.500',
                                                     '+0.25']  # yapf: disable


def test_the_model_sees_what_the_yard_has(models: yard.Models) -> None:
    """Benchmarks nobody was run on are not fitted, and are NaN."""
    unseen = models.accuracies.copy()
    unseen[:20, 1] = np.nan
    part = replace(models, accuracies=unseen)
    fitted, new = part.take(np.arange(20)), models.take(np.arange(20, 24))
    found = yard.one_model(fitted, new)
    assert np.isnan(found.values[:, 1]).all()
    errors = (found.values - new.accuracies)[:, [0, 2]]
    assert np.abs(errors).mean() < .05
    assert (found.low[:, 0] < found.values[:, 0]).all()
    assert (found.values[:, 0] < found.high[:, 0]).all()


def test_answers_keep_their_benchmark(models: yard.Models) -> None:
    answers = tuple(np.ones((24, n)) for n in (7, 0, 4))
    losses = replace(models, answers=answers).core_losses(np.array([1, 2]))
    assert {
        b: part.shape
        for b, part in losses.answers.items()
    } == {
        1: (24, 4)
    }
    assert models.core_losses(np.arange(3)).answers == {}


def test_settings_are_halved_and_doubled() -> None:
    for name, kind, settings in settings_study.variants(settings_study.NAMES):
        assert settings != Settings(), (name, kind)
    halved = settings_study.changed('units', .5)
    assert np.exp(Settings().units - halved.units) == pytest.approx(2)
    assert settings_study.changed('most_models', .5).most_models == 75


def test_the_table_of_settings_compares_with_the_settings_as_they_are(
) -> None:
    row = yard.Figures('few models', 'x', 'one-model', 3, -5., 1., .9, 8., 2.)
    worse = row._replace(log_error=-5 + np.log(1.2), coverage=.87)
    found = {'one-model': [row], 'half bend': [worse], 'twice bend': [row]}
    last = settings_study.table(['bend'], found).splitlines()[-1]
    assert [cell.strip() for cell in last.split('|')[1:-1]] == [
        '`bend`', '-2.0', '1.200 (0.000), -3.0', '1.000 (0.000), +0.0'
    ]


def test_the_page_has_all_settings() -> None:
    page = Path(__file__).parents[3] / 'docs/appendix/settings.md'
    rows = re.findall(r'^\| `(\w+)` \| ([^|]+) \|', page.read_text('utf-8'),
                      re.M)
    assert sorted(name for name, _ in rows) == sorted(settings_study.NAMES)
    for name, value in rows:
        if name not in ('straight', 'floors'):
            assert float(value) == getattr(Settings(), name), name
