"""The study learns nothing from what it forecasts."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.demo import shipped
from csv_plugin.demo.recipes import CHECKPOINTS
from csv_plugin.demo.studies import triage_study
from csv_plugin.demo.studies.triage_study import (FORECAST, HELD_OUT,
                                                  Forecasts, forecast_runs,
                                                  hold_out)
from csv_plugin.demo.studies.zoo_study import ZooStudy
from csv_plugin.lm.salience_training import Training

#: In place of all, for speed.
CUTS = (1, 3)


class Quick(Training):
    """A fit of seconds in place of half a minute."""
    fitted: list[tuple[str, ...]] = []

    def auto(self):
        self.fitted.append(self.models)
        groups = Training.label_token_loss(self)
        assert groups is not None
        return groups


@pytest.fixture(scope='module')
def zoo():
    """Less text, for speed."""
    return ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                         shipped.SCORING_TOKENIZER).sampled(
                             0.15, seed=0)


@pytest.fixture(scope='module')
def found(zoo):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triage_study, 'Training', Quick)
        patch.setattr(triage_study, 'CUTS', CUTS)
        yield hold_out(zoo)


def test_held_out_runs():
    assert HELD_OUT == ('a-l', 'b-l', 'c-l', 'd-xs', 'd-s', 'd-m', 'd-l')


@pytest.mark.slow
def test_no_checkpoint_of_a_held_out_run_is_fitted(found):
    fitted = {model.partition('@')[0] for model in Quick.fitted[0]}
    assert len(Quick.fitted[0]) == 63
    assert fitted == {f'{a}-{b}' for a in 'abc' for b in ('xs', 's', 'm')}


@pytest.mark.slow
def test_scores_of_held_out_runs_change_nothing(zoo, found, monkeypatch):
    """But for the baselines that observe them, and the errors."""
    monkeypatch.setattr(triage_study, 'Training', Quick)
    monkeypatch.setattr(triage_study, 'CUTS', CUTS)
    known = zoo.collection.accuracies
    values = known.values.copy()
    rows = [m.partition('@')[0] in HELD_OUT for m in known.models]
    values[rows] = 1 - values[rows]
    other = hold_out(
        replace(
            zoo,
            collection=replace(
                zoo.collection, accuracies=replace(known, values=values))))
    assert (other.real != found.real).any()
    for method in found.values:
        same = (other.values[method] == found.values[method]).all()
        assert same != ('observed' in method), method


@pytest.mark.slow
def test_later_checkpoints_change_no_forecast(zoo, found, monkeypatch):
    monkeypatch.setattr(triage_study, 'Training', Quick)
    monkeypatch.setattr(triage_study, 'CUTS', CUTS)
    losses = {
        model:
        zoo.collection.losses['c-xs@10'] if model in ('a-l@20',
                                                      'a-l@100') else texts
        for model, texts in zoo.collection.losses.items()
    }
    other = forecast_runs(
        replace(zoo, collection=replace(zoo.collection, losses=losses)),
        ('a-l', ), HELD_OUT)
    one, all_runs = (f.values[FORECAST] for f in (other, found))
    assert one[0, 0] == pytest.approx(all_runs[0, 0])
    assert (one[1, 0] != all_runs[1, 0]).any()


@pytest.mark.slow
def test_baselines(zoo, found):
    scores = zoo.collection.accuracies
    for c, cut in enumerate(CUTS):
        at = scores.select([f'd-l@{CHECKPOINTS[cut - 1]}']).values[0]
        assert (found.values['last observed accuracy'][c, -1] == at).all()
    assert (found.real[-1] == scores.select(['d-l@100']).values[0]).all()
    now = found.values['predicted accuracy now']
    assert (now[0] != now[1]).mean() > 0.5
    assert found.low.shape == (len(CUTS), 7, 5)
    assert ((found.low <= found.values[FORECAST])
            & (found.values[FORECAST] <= found.high)).all()


@pytest.mark.slow
def test_forecasts_beat_standing_still(found):
    """Even with one group of tokens per exam."""
    for cut in range(len(CUTS)):
        [mae, still] = (
            found.errors(method)[cut, 0]
            for method in (FORECAST, 'last observed accuracy'))
        assert mae < 0.8 * still


def test_errors_and_coverage():
    values = np.array([[[0.5, 0.0], [0.7, 0.2]], [[0.6, 0.1], [0.5, 0.1]]])
    real = np.array([[0.6, 0.0], [0.5, 0.1]])
    found = Forecasts(('a', 'b'), ('x', 'y'), real, {'m': values},
                      values - 0.15, values + 0.05)
    assert found.errors('m') == pytest.approx(
        np.array([[0.1, 0.015, 0.5], [0.025, 0.0025, 0.75]]))
    assert found.coverage == pytest.approx([0.5, 1.0])
    assert found.width == pytest.approx([0.2, 0.2])
    twice = Forecasts.concatenate([found, found])
    assert twice.runs == ('a', 'b', 'a', 'b')
    assert twice.values['m'].shape == (2, 4, 2)
