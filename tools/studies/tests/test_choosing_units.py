"""Units that tell what all tell: which are found, and their errors."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import Columns, FeatureTable
from tests.tables import CHANCE, Tables, small_tables
from tools.studies.choosing_units import (_ablest, _Factors, _held_out_rest,
                                          _most_telling, choose_units)

#: Units that measure the first skill, and those that measure the second.
FIRST = tuple(f'u{k}' for k in range(10, 15))
SECOND = tuple(f'u{k}' for k in range(15, 20))


def skill_tables(n_models: int, n_units: int) -> Tables:
    """Two skills, each measured by five units; the rest is noise."""
    rng = np.random.default_rng(0)
    skills = rng.normal(size=(n_models, 2))
    values = 3 + 0.5 * rng.normal(size=(n_models, n_units))
    for skill, units in enumerate((slice(10, 15), slice(15, 20))):
        noise = 0.02 * rng.normal(size=(n_models, 5))
        values[:, units] = 3 - 0.5 * skills[:, [skill]] + noise
    models = tuple(f'm{m}' for m in range(n_models))
    columns = Columns(
        tuple(f'u{k}' for k in range(n_units)), np.full(n_units, 1 / n_units),
        'texts')
    accuracies = AccuracyTable(models, ('first', 'second'),
                               CHANCE + (1 - CHANCE) / (1 + np.exp(-skills)),
                               np.full(2, CHANCE), np.zeros(2, dtype=int))
    families = {model: f'family-{m // 5}' for m, model in enumerate(models)}
    return Tables(FeatureTable(models, columns, values), accuracies, families)


@pytest.fixture(scope='module')
def world() -> Tables:
    return skill_tables(40, 60)


def choose(tables: Tables, n: int, **more) -> tuple[str, ...]:
    return choose_units(tables.features, tables.accuracies, tables.families, n,
                        **more)


def test_each_skill_is_measured(world):
    """Though the second best unit measures the same as the best."""
    first, second = choose(world, 2)
    assert first in FIRST and second in SECOND


def test_the_noise_of_a_unit_is_its_error_on_other_families():
    factor, values = np.arange(6.)**2, np.array([1., 4, 2, 8, 5, 7])
    folds = np.array([0, 0, 1, 1, 2, 2])
    rest = _held_out_rest(values[:, None], factor[:, None], folds)
    for fold in range(3):
        out = folds == fold
        line = np.polyfit(factor[~out], values[~out], 1)
        np.testing.assert_allclose(rest[out, 0],
                                   values[out] - np.polyval(line, factor[out]))


def test_units_compete_by_their_signal_in_deviations_of_their_noise():
    factors = _Factors(
        np.zeros((0, 1)), np.array([[1.], [3.]]), np.array([1., 4.]))
    assert _ablest(factors, np.array([[-1.]]), 1).tolist() == [1]


def test_each_choice_lowers_the_expected_errors_most():
    """Against the conditional covariance of factors, written out."""
    rng = np.random.default_rng(0)
    loadings, noise = rng.normal(size=(12, 3)), rng.uniform(.1, 2, 12)
    slopes, errors = rng.normal(size=(3, 4)), rng.uniform(.1, 1, 4)

    def expected(units):
        told = loadings[units].T / noise[units] @ loadings[units]
        covariance = np.linalg.inv(np.eye(3) + told)
        left = np.einsum('rb,rs,sb->b', slopes, covariance, slopes)
        return np.log(errors + left).sum()

    chosen = []
    for _ in range(5):
        chosen.append(
            min((k for k in range(12) if k not in chosen),
                key=lambda k: expected([*chosen, k])))
    found = _most_telling(
        _Factors(np.zeros((0, 3)), loadings, noise), slopes, errors, 5)
    assert found.tolist() == chosen


def test_missing_accuracies(world):
    values = world.accuracies.values.copy()
    values[::8, 0] = values[1::8, 1] = np.nan
    holes = replace(world, accuracies=replace(world.accuracies, values=values))
    assert set(choose(holes, 6)) <= {*FIRST, *SECOND}


def test_all_units(world):
    """As many as there are, with more units than models and with fewer."""
    assert choose(world, 60) == world.features.columns.units
    tables = small_tables()
    assert choose(tables, 4) == tables.features.columns.units


def test_one_family(world):
    one = replace(world, families=dict.fromkeys(world.families, 'one'))
    assert len(set(choose(one, 10))) == 10


@pytest.mark.parametrize('n', [0, 5])
def test_number_out_of_range(n):
    with pytest.raises(InputError, match='1 to 4'):
        choose(small_tables(), n)


def test_nothing_can_be_learned():
    with pytest.raises(InputError, match='a benchmark to choose units by'):
        choose(small_tables().only('chance', 'same', 'pair', 'none'), 2)


def test_a_family_is_missing(world):
    with pytest.raises(InputError, match="every model, found none of 'm0'"):
        choose_units(world.features, world.accuracies, {}, 2)
