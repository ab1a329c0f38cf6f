"""What moves predictions, and what does not; what cannot be fitted to.

A point is .01. Predictions are accuracies and ends of intervals.
"""
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.predictor import Predictor
from tests.tables import small_tables

N, N_NEW, N_UNITS, N_FAMILIES, N_BENCHMARKS = 18, 6, 6, 6, 3
#: A change of the last bits, and one that nobody sees, in accuracy.
BITS, LITTLE = 1e-8, .002


@dataclass(frozen=True, eq=False)
class Small:
    """Losses `(n, K)` and accuracies `(n, B)` of models and of new ones."""
    losses: NDArray
    accuracies: NDArray
    families: tuple[str, ...]
    new: NDArray

    def fit(self) -> Predictor:
        names = [f'm{m}' for m in range(len(self.losses))]
        n_benchmarks = self.accuracies.shape[1]
        table = AccuracyTable(names, [f'b{b}' for b in range(n_benchmarks)],
                              self.accuracies, np.full(n_benchmarks, .25),
                              np.full(n_benchmarks, 500))
        units = [f'u{k}' for k in range(self.losses.shape[1])]
        features = FeatureTable.of_losses(names, units, self.losses)
        return fit_predictor(features, table, self.families)

    def predict(self, predictor: Predictor | None = None) -> NDArray:
        """Accuracies and ends of intervals of new models, `(3, M, B)`."""
        predictor = predictor or self.fit()
        features = FeatureTable(
            tuple(f'n{m}' for m in range(len(self.new))), predictor.columns,
            self.new)
        found = predictor.predict(features)
        return np.stack([found.values, found.low, found.high])[..., 0]


@pytest.fixture(scope='module')
def small() -> Small:
    rng = np.random.default_rng(1)
    n = N + N_NEW
    skill = rng.normal(size=n)
    family = np.arange(n) % N_FAMILIES
    tilt = .05 * rng.normal(size=(N_FAMILIES, N_UNITS))
    rates = rng.uniform(.1, .4, N_UNITS)
    noise = .03 * rng.normal(size=(n, N_UNITS))
    losses = np.exp(1 - skill[:, None] * rates + tilt[family] + noise)
    exponents = np.outer(skill, [.6, 1., 1.5]) - [0, 1, 2]
    exponents += .2 * rng.normal(size=(N_FAMILIES, N_BENCHMARKS))[family]
    values = rng.binomial(500, .25 + .75 / (1 + np.exp(-exponents))) / 500
    values[[2, 7], [0, 1]] = np.nan
    return Small(losses[:N], values[:N], tuple(f'f{k}' for k in family[:N]),
                 losses[N:])


@pytest.fixture(scope='module')
def predictor(small) -> Predictor:
    return small.fit()


@pytest.fixture(scope='module')
def usual(small, predictor) -> NDArray:
    return small.predict(predictor)


def assert_near(found, usual, most):
    assert np.abs(found - usual).max() <= most


@pytest.mark.slow
def test_new_names_of_families_change_nothing(small, usual):
    names = tuple('zyxwvu'[int(name[1:])] for name in small.families)
    assert_near(replace(small, families=names).predict(), usual, BITS)


def test_the_order_changes_nothing(small, usual):
    rng = np.random.default_rng(0)
    rows, columns, benchmarks = map(rng.permutation,
                                    (N, N_UNITS, N_BENCHMARKS))
    other = Small(small.losses[rows][:, columns],
                  small.accuracies[rows][:, benchmarks],
                  tuple(small.families[row] for row in rows),
                  small.new[:, columns])
    assert_near(other.predict(), usual[:, :, benchmarks], BITS)


@pytest.mark.slow
def test_the_unit_of_losses_changes_nothing(small, usual):
    bits = replace(small, losses=3.7 * small.losses, new=3.7 * small.new)
    assert_near(bits.predict(), usual, BITS)


@pytest.mark.slow
def test_a_model_without_scores_changes_nothing(small, usual):
    more = replace(
        small,
        losses=np.vstack([small.losses, .7 * small.losses[:1]]),
        accuracies=np.vstack(
            [small.accuracies,
             np.full((1, N_BENCHMARKS), np.nan)]),
        families=(*small.families, 'other'))
    assert_near(more.predict(), usual, BITS)


@pytest.mark.slow
def test_a_column_given_twice_changes_nothing(small, usual):
    more = replace(
        small,
        losses=np.hstack([small.losses, small.losses[:, :1]]),
        new=np.hstack([small.new, small.new[:, :1]]))
    assert_near(more.predict(), usual, LITTLE)


@pytest.mark.slow
def test_a_model_given_twice_changes_nothing(small, usual):
    more = replace(
        small,
        losses=np.vstack([small.losses, small.losses[3:4]]),
        accuracies=np.vstack([small.accuracies, small.accuracies[3:4]]),
        families=(*small.families, small.families[3]))
    assert_near(more.predict(), usual, LITTLE)


@pytest.mark.slow
@pytest.mark.parametrize('twin', [0, 2])
def test_a_benchmark_given_twice_changes_nothing(small, usual, twin):
    """And is predicted like the first."""
    more = replace(
        small,
        accuracies=np.hstack([small.accuracies, small.accuracies[:, [twin]]]))
    found = more.predict()
    assert_near(found[:, :, :-1], usual, LITTLE)
    assert_near(found[:, :, -1], usual[:, :, twin], LITTLE)


@pytest.mark.slow
def test_a_benchmark_of_noise_changes_little(small, usual):
    noise = np.random.default_rng(0).binomial(500, .25, (N, 1)) / 500
    more = replace(small, accuracies=np.hstack([small.accuracies, noise]))
    predictor = more.fit()
    assert_near(more.predict(predictor)[:, :, :-1], usual, .003)
    assert [part.at_chance
            for part in predictor.benchmarks] == [False, False, False, True]


@pytest.mark.slow
@pytest.mark.parametrize('accuracy', [0., 1.])
def test_a_benchmark_with_one_accuracy_is_marked(small, usual, accuracy):
    same = np.full((N, 1), accuracy)
    more = replace(small, accuracies=np.hstack([small.accuracies, same]))
    predictor = more.fit()
    assert_near(more.predict(predictor)[:, :, :-1], usual, LITTLE)
    assert [part.at_chance
            for part in predictor.benchmarks] == [False, False, False, True]


def test_what_the_fit_says_of_a_benchmark(small, predictor):
    part = predictor.benchmark('b0')
    run = ~np.isnan(small.accuracies[:, 0])
    assert {*part.fit_models} == {f'm{m}' for m in np.flatnonzero(run)}
    rows = [int(name[1:]) for name in predictor.fit_models]
    np.testing.assert_array_equal(predictor.observed, small.accuracies[rows])
    assert [small.families[row] for row in rows] == [*predictor.families]
    errors = (predictor.left_out - predictor.observed)[:, 0]
    assert part.error == pytest.approx(np.sqrt(np.nanmean(errors**2)))
    assert .3 < part.error / part.expected_error < 3
    assert (part.chance, part.n_items, part.main) == (.25, 500, True)
    assert predictor.outliers == {}


@pytest.mark.slow
def test_broken_models_are_named(small):
    losses = small.losses.copy()
    losses[5] *= 2.8
    outliers = replace(small, losses=losses).fit().outliers
    assert [*outliers] == ['m5'] and outliers['m5'] > 3


def test_the_baseline_is_a_curve_of_the_mean_loss():
    tables = small_tables(n_models=12).only('easy', 'hard')
    predictor = fit_mean_loss_predictor(tables.features, tables.accuracies,
                                        tables.groups)
    found = predictor.predict(tables.features)
    order = np.argsort(tables.features.mean_loss)
    assert (np.diff(found.values[order, :, 0], axis=0) < 0).all()
    np.testing.assert_allclose(predictor.weights('easy'), 1)
    errors = np.abs(found.values[:, :, 0] - tables.accuracies.values)
    assert errors.max() < .1
    assert ((found.low < found.values) & (found.values < found.high)).all()
    # Each family is predicted by a curve that never saw it.
    of_one = np.array(predictor.families) == 'family-2'
    rest = tables.accuracies.select(
        [m for m in tables.models if tables.families[m] != 'family-2'])
    without = fit_mean_loss_predictor(
        tables.features, rest, [tables.families[m] for m in rest.models])
    names = np.array(predictor.fit_models)[of_one]
    expected = without.predict(tables.features.select(names)).values[:, :, 0]
    middle = predictor.left_out[of_one]
    np.testing.assert_allclose(middle, expected, atol=.01)


@pytest.mark.parametrize('fit', [fit_predictor, fit_mean_loss_predictor])
def test_fewer_than_three_models_are_refused(fit):
    tables = small_tables(n_models=6).only('easy')
    few = tables.accuracies.select(tables.models[:2])
    message = '3 models or more with losses and an accuracy, found 2'
    with pytest.raises(InputError, match=message):
        fit(tables.features, few, tables.groups[:2])
    holes = tables.accuracies.values.copy()
    holes[2:] = np.nan
    with pytest.raises(InputError, match=message):
        fit(tables.features, replace(tables.accuracies, values=holes),
            tables.groups)
    three = tables.accuracies.select(tables.models[:3])
    found = fit(tables.features, three, tables.groups[:3])
    assert np.isfinite(found.predict(tables.features).values).all()


def test_the_same_model_three_times_is_one_model():
    tables = small_tables(n_models=6).only('easy')
    same = replace(
        tables.features, values=np.repeat(tables.features.values[:1], 6, 0))
    accuracies = replace(tables.accuracies, values=np.full((6, 1), .5))
    with pytest.raises(InputError, match='3 models or more'):
        fit_predictor(same, accuracies, ['a'] * 6)


def test_the_same_model_in_two_families_is_refused():
    tables = small_tables(n_models=6).only('easy')
    values, accuracies = (
        part.values.copy() for part in (tables.features, tables.accuracies))
    values[5], accuracies[5] = values[0], accuracies[0]
    with pytest.raises(InputError, match="one family.*'a' and 'b'"):
        fit_predictor(
            replace(tables.features, values=values),
            replace(tables.accuracies, values=accuracies), [*'aaaabb'])


def test_negative_losses_are_refused():
    tables = small_tables(n_models=6).only('easy')
    wrong = replace(tables.features, values=-tables.features.values)
    with pytest.raises(InputError, match='0 or more, found -.*change the sig'):
        fit_predictor(wrong, tables.accuracies, tables.groups)


def test_a_loss_of_zero_is_a_loss():
    tables = small_tables(n_models=12).only('easy')
    values = tables.features.values.copy()
    values[0, 0] = 0
    features = replace(tables.features, values=values)
    fitted = fit_predictor(features, tables.accuracies, tables.groups)
    assert np.isfinite(fitted.predict(features).values).all()


def test_one_family_is_enough():
    tables = small_tables(n_models=8, n_families=1).only('easy')
    predictor = fit_predictor(tables.features, tables.accuracies,
                              tables.groups)
    found = predictor.predict(tables.features)
    assert np.isfinite([found.values, found.low, found.high]).all()


@pytest.mark.parametrize('n_families', [1, 2])
def test_errors_are_known_with_two_families(n_families):
    """Each is predicted by a fit to the other."""
    tables = small_tables(n_models=8, n_families=n_families).only('easy')
    predictor = fit_mean_loss_predictor(tables.features, tables.accuracies,
                                        tables.groups)
    easy = predictor.benchmark('easy')
    errors = [easy.error, easy.expected_error]
    assert np.isfinite(errors).tolist() == [n_families == 2] * 2


def test_losses_may_not_be_negative():
    """The baseline takes other features, too."""
    tables = small_tables().only('easy')
    values = tables.features.values.copy()
    values[3, 1] = -.1
    features = replace(tables.features, values=values)
    with pytest.raises(InputError, match='0 or more, found -0.1'):
        fit_predictor(features, tables.accuracies, tables.groups)
    fit_mean_loss_predictor(features, tables.accuracies, tables.groups)
