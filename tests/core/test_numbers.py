"""Fits, predictions and comparisons of a fixed world, number by number."""
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.comparing import compare
from csv_plugin.core.features import Columns, FeatureTable
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from tests.kept_numbers import check_numbers

CHANCE = np.array([0.25, 0, 0.5, 0.25, 0.2])
BENCHMARKS = 'easy', 'emerging', 'noisy', 'at chance', 'saturated'
N_MODELS, N_FITTED, N_UNITS, N_FAMILIES = 26, 20, 24, 5


def make_world():
    """Models of five families, the largest last, on kinds of benchmarks."""
    rng = np.random.default_rng(3)
    skill = np.linspace(0, 1, N_MODELS) + .05 * rng.normal(size=N_MODELS)
    family = np.arange(N_MODELS) % N_FAMILIES
    tilt = .06 * rng.normal(size=(N_FAMILIES, N_UNITS))
    rates = rng.uniform(.3, 1.2, N_UNITS)
    losses = (2.6 - skill[:, None] * rates + tilt[family] +
              .03 * rng.normal(size=(N_MODELS, N_UNITS)))
    exponents = np.stack([
        5 * (skill - .4), 14 * (skill - .85), 4 * (skill - .5),
        np.full(N_MODELS, -9), 9 * (skill - .1)
    ], axis=1)  # yapf: disable
    accuracies = CHANCE + (1 - CHANCE) / (1 + np.exp(-exponents))
    accuracies += [.01, .004, .04, .004, .004
                   ] * rng.normal(size=accuracies.shape)
    accuracies[4, 0] = accuracies[9, 2] = np.nan
    models = tuple(f'm{m}' for m in range(N_MODELS))
    return SimpleNamespace(
        models=models,
        features=FeatureTable(
            models,
            Columns(
                tuple(f'u{k}' for k in range(N_UNITS)),
                np.full(N_UNITS, 1 / N_UNITS), 'texts'), losses),
        accuracies=AccuracyTable(models, BENCHMARKS, accuracies.clip(0, 1),
                                 CHANCE, np.array([1000, 500, 60, 0, 2000])),
        families={
            model: f'f{k}'
            for model, k in zip(models, family)
        })


WORLD = make_world()
FITTED = WORLD.models[:N_FITTED]

METHODS = {'salience': fit_predictor, 'mean-loss': fit_mean_loss_predictor}


@lru_cache
def fit(method):
    return METHODS[method](WORLD.features, WORLD.accuracies.select(FITTED),
                           [WORLD.families[model] for model in FITTED])


def of_predictor(predictor):
    """What a predictor contains, by benchmark."""
    return {
        part.benchmark: {
            'at_chance': part.at_chance,
            'error': part.error,
            'expected_error': part.expected_error,
            'notes': part.notes,
            'weights': predictor.weights(part.benchmark),
        }
        for part in predictor.benchmarks
    }


@pytest.mark.parametrize('method', METHODS)
def test_fit(method):
    predictor = fit(method)
    check_numbers(
        f'fit_{method}', {
            'predictor':
            of_predictor(predictor),
            'predictions':
            list(
                predictor.predict(WORLD.features.select(
                    WORLD.models[-4:])).records()),
        })


def answers(seed, share):
    """Grades of one model on the items of two benchmarks."""
    rng = np.random.default_rng(seed)
    return {
        name: {
            f'{i}': float(grade)
            for i, grade in enumerate(rng.uniform(size=n) < share)
        }
        for name, n in (('easy', 80), ('noisy', 60))
    }


COMPARISONS = {
    'losses': {},
    'predictor':
    dict(predictor='salience'),
    'same_family':
    dict(predictor='salience', same_family=True),
    'runs':
    dict(predictor='salience', same_recipe=('m20', 'm21', 'm22')),
    'answers':
    dict(answers=(answers(0, .5), answers(1, .6))),
    'all':
    dict(
        predictor='salience',
        same_recipe=('m20', 'm21'),
        answers=(answers(0, .5), answers(1, .6)),
        level=.9,
        margin=.02,
        decided_by='easy'),
}


@pytest.mark.parametrize('name', COMPARISONS)
def test_comparison(name):
    arguments = dict(COMPARISONS[name])
    if 'predictor' in arguments:
        arguments['predictor'] = fit(arguments['predictor'])
    if 'same_recipe' in arguments:
        arguments['same_recipe'] = [
            WORLD.features.select([run]) for run in arguments['same_recipe']
        ]
    a, b = (WORLD.features.select([model]) for model in ('m23', 'm25'))
    check_numbers(f'compare_{name}', compare(a, b, **arguments).to_dict())
