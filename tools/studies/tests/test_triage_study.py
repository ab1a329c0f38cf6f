"""The study learns nothing from the runs that it forecasts."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.lm.methods import Trained
from tools.studies import triage_study
from tools.studies.tests.small_zoo import small_zoo
from tools.studies.triage_study import (FORECAST, HELD_OUT, TRAINING,
                                        Forecasts, forecast_runs, hold_out)
from tools.studies.zoo.recipes import CHECKPOINTS

#: In place of all, for speed.
CUTS = (1, 3)


class Quick:
    """A fit of seconds in place of half a minute."""
    fitted: list[tuple[str, ...]] = []

    def train(self, training, states):
        self.fitted.append(training.losses.models)
        return Trained(training.label_token_loss(), None)


@pytest.fixture(scope='module')
def zoo():
    return small_zoo()


@pytest.fixture(scope='module', autouse=True)
def quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triage_study, 'train_auto', Quick().train)
        patch.setattr(triage_study, 'CUTS', CUTS)
        yield


@pytest.fixture(scope='module')
def forecasts(zoo, quick):
    return hold_out(zoo)


def test_held_out_runs():
    unseen = {f'{a}-{b}' for a in 'dh' for b in ('xs', 's', 'm', 'l')}
    assert {*HELD_OUT} == unseen | {f'{a}-l' for a in 'abcefg'}
    assert not {*HELD_OUT} & {*TRAINING}


@pytest.mark.slow
def test_no_checkpoint_of_a_held_out_run_is_fitted(forecasts):
    fitted = {model.partition('@')[0] for model in Quick.fitted[0]}
    assert len(Quick.fitted[0]) == 7 * len(fitted)
    assert fitted == {
        *(f'{a}-{b}' for a in 'abcefg' for b in ('xs', 's', 'm')),
        *(f'{a}-{b}' for a in ('a2', 'c2') for b in ('s', 'm'))
    }


@pytest.mark.slow
def test_accuracies_of_held_out_runs_change_no_forecast(zoo, forecasts):
    """They change the baselines that observe them, and the errors."""
    accuracies = zoo.collection.accuracies
    values = accuracies.values.copy()
    rows = [m.partition('@')[0] in HELD_OUT for m in accuracies.models]
    values[rows] = 1 - values[rows]
    changed = hold_out(
        replace(
            zoo,
            collection=replace(
                zoo.collection, accuracies=replace(accuracies,
                                                   values=values))))
    assert (changed.real != forecasts.real).any()
    for method in forecasts.values:
        same = (changed.values[method] == forecasts.values[method]).all()
        assert same != ('observed' in method), method


@pytest.mark.slow
def test_later_checkpoints_change_no_forecast(zoo, forecasts):
    losses = zoo.collection.losses
    other = {name: losses['c-xs@10'] for name in ('a-l@35', 'a-l@100')}
    collection = replace(
        zoo.collection, losses=ModelLosses(losses.texts, {
            **losses,
            **other
        }))
    changed = forecast_runs(
        replace(zoo, collection=collection), ('a-l', ), HELD_OUT)
    alone, together = (
        part.values[FORECAST][:, 0] for part in (changed, forecasts))
    assert alone[0] == pytest.approx(together[0])
    assert (alone[1] != together[1]).any()


@pytest.mark.slow
def test_baselines(zoo, forecasts):
    accuracies = zoo.collection.accuracies
    observed = forecasts.values['last observed accuracy']
    for c, cut in enumerate(CUTS):
        last = accuracies.select([f'h-l@{CHECKPOINTS[cut - 1]}']).values[0]
        assert (observed[c, -1] == last).all()
    final = accuracies.select(['h-l@100']).values[0]
    assert (forecasts.real[-1] == final).all()
    now = forecasts.values['predicted accuracy now']
    assert (now[0] != now[1]).mean() > 0.5
    assert forecasts.low.shape == (len(CUTS), 14, 5)
    assert ((forecasts.low <= forecasts.values[FORECAST])
            & (forecasts.values[FORECAST] <= forecasts.high)).all()


@pytest.mark.slow
def test_forecasts_beat_standing_still(forecasts):
    """Even with one group of tokens per exam."""
    for cut in range(len(CUTS)):
        mae, still = (
            forecasts.errors_by_run(method)[cut].mean()
            for method in (FORECAST, 'last observed accuracy'))
        assert mae < 0.8 * still


def test_errors_and_coverage():
    values = np.array([[[0.5, 0.0], [0.7, 0.2]], [[0.6, 0.1], [0.5, 0.1]]])
    real = np.array([[0.6, 0.0], [0.5, 0.1]])
    forecasts = Forecasts(('a', 'b'), ('x', 'y'), real, {'m': values},
                          values - 0.15, values + 0.05)
    assert forecasts.errors('m') == pytest.approx(
        np.array([[0.015, 0.5], [0.0025, 0.75]]))
    assert forecasts.errors_by_run('m') == pytest.approx(
        np.array([[0.05, 0.15], [0.05, 0.0]]))
    assert forecasts.coverage == pytest.approx(
        np.array([[0.5, 0.5], [1.0, 1.0]]))
    assert forecasts.width == pytest.approx([0.2, 0.2])
    twice = Forecasts.concatenate([forecasts, forecasts])
    assert twice.runs == ('a', 'b', 'a', 'b')
    assert twice.values['m'].shape == (2, 4, 2)
