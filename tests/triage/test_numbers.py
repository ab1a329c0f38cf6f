"""Triage and forecasts of fixed runs, number by number."""
import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.checkpoints import describe_checkpoints
from csv_plugin.triage.judging import judge, judge_sizes
from csv_plugin.triage.sizes import targets_of
from tests.kept_numbers import check_numbers

SHARES = (.05, .1, .2, .35, .5, .7, 1)
#: Parameters in billions and tokens of earlier runs, by run.
EARLIER = {
    f'old{i}': (.1 * 2**i, 2e10 * 3**(i % 3)) for i in range(6)
}  # yapf: disable
NEW = {'good': (3, 1e11), 'middle': (1.2, 8e10), 'bad': (.2, 4e10)}
FLOORS = np.array([.25, 0, .5])


def losses_of(params_b, tokens, rng):
    """Four units; those of the last checkpoints have fallen furthest."""
    scales = np.array([.5, .8, .3, .6])
    law = 1.2 + scales * params_b**-.2 + 30 * scales * tokens**-.15
    return law + .01 * rng.normal(size=4)


@pytest.fixture(scope='module')
def world():
    """Checkpoints of all runs, and the predictor of three benchmarks."""
    rng = np.random.default_rng(5)
    models = {
        f'{run}@{round(1000 * share)}':
        ModelInfo(run[:3], '', params, share * tokens)
        for run, (params, tokens) in (EARLIER | NEW).items()
        for share in SHARES
    }
    features = FeatureTable.of_losses(
        tuple(models), list('abcd'),
        [losses_of(row.params_b, row.tokens, rng) for row in models.values()])
    fitted = [name for name in models if name.startswith('old')]
    middles = np.array([2.2, 1.9, 2.5])
    scores = features.select(fitted).values[:, :3]
    accuracies = FLOORS + (1 - FLOORS) / (1 + np.exp(5 * (scores - middles)))
    accuracies += .01 * rng.normal(size=accuracies.shape)
    table = AccuracyTable(
        tuple(fitted), ('easy', 'hard', 'two'), accuracies.clip(0, 1), FLOORS,
        np.array([500, 200, 0]))
    predictor = fit_predictor(features, table,
                              [name.split('@')[0] for name in fitted])
    return models, features, predictor


@pytest.mark.parametrize('n_steps, budget', [(7, np.nan), (4, np.nan),
                                             (3, 800)])
def test_triage(world, n_steps, budget):
    """Runs at their end, in the middle, and with a budget of their own."""
    models, features, predictor = world
    new = [
        name for run in NEW for name in models
        if name.startswith(f'{run}@') and int(name.split('@')[1]) <= 1000 *
        SHARES[n_steps - 1]
    ]
    earlier = [name for name in models if name.startswith('old')]
    triage = judge(predictor, features, describe_checkpoints(new),
                   describe_checkpoints(earlier), budget)
    check_numbers(f'triage_{n_steps}', triage.to_dict())


def test_forecast_by_size(world):
    models, features, predictor = world
    fitted = {
        name: row
        for name, row in models.items() if name.startswith('old')
    }
    triage = judge_sizes(predictor, features, fitted,
                         targets_of(fitted, 7, 2e12))
    check_numbers('forecast', triage.to_dict())
