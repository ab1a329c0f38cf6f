"""What the model of accuracies sees of losses."""
from dataclasses import replace

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from csv_plugin.core.families import family_numbers
from csv_plugin.core.settings import Settings
from csv_plugin.core.standardised import (AnswerStandardiser, Standardiser,
                                          UnitLosses, middle_and_width,
                                          noise_of_units, typical_losses)
from tests.core.worlds import FAMILIES, KINDS, N_MODELS, N_UNITS, plain

SETTINGS = Settings()
#: Whether values are logarithms.
FORMS = True, False
NUMBERS = family_numbers(FAMILIES)


def placed(losses, logarithms):
    return Standardiser(losses, logarithms,
                        SETTINGS).standardise(losses, NUMBERS)


def test_typical_losses_are_medians_of_losses_above_zero():
    losses = np.array([[3., 1, 0, 0], [5, 2, 4, 0], [1, 8, 2, 0], [9, 6, 0, 0],
                       [7, 0, 9, 0]])
    found = typical_losses(losses.copy())
    assert found.tolist() == [5, 4, 4, 1]


@pytest.mark.parametrize('logarithms', FORMS)
@pytest.mark.parametrize('kind', ['plain', 'sources'])
def test_units_of_losses_change_nothing(kind, logarithms):
    losses = KINDS[kind]()
    first = placed(losses, logarithms)
    second = placed(replace(losses, table=3.7 * losses.table), logarithms)
    np.testing.assert_array_equal(first.mean_losses, second.mean_losses)
    np.testing.assert_array_equal(first.unit_deviations,
                                  second.unit_deviations)


@pytest.mark.parametrize('logarithms', FORMS)
def test_better_models_have_lower_mean_losses(logarithms):
    losses = plain()
    standardiser = Standardiser(losses, logarithms, SETTINGS)
    better = standardiser.standardise(
        replace(losses, table=.8 * losses.table), NUMBERS)
    assert (better.mean_losses
            < standardiser.standardise(losses, NUMBERS).mean_losses).all()


@pytest.mark.parametrize('logarithms', FORMS)
def test_a_broken_model_does_not_set_the_scale(logarithms):
    """However far off it is, others are as far apart, or half as far."""
    losses = plain()
    broken = losses.table.copy()
    usual = np.ptp(placed(losses, logarithms).mean_losses[:, 0])
    for loss in (1e2, 1e4):
        broken[0] = loss
        found = placed(replace(losses, table=broken), logarithms)
        assert .4 < np.ptp(found.mean_losses[1:, 0]) / usual < 1.1
        assert found.mean_losses[0, 0] > SETTINGS.sound


def test_most_models_may_have_one_mean_loss():
    table = plain().table.copy()
    table[:N_MODELS * 3 // 5] = table[0]
    found = placed(replace(plain(), table=table), False)
    assert np.abs(found.mean_losses[:, 0]).max() < 10


@pytest.mark.parametrize('kind', ['plain', 'sources'])
def test_groups_are_sources_or_units_that_go_together(kind):
    standardiser = Standardiser(KINDS[kind](), True, SETTINGS)
    np.testing.assert_allclose(standardiser.groups.sum(axis=0), 1)
    members = [tuple(np.flatnonzero(group)) for group in standardiser.groups.T]
    assert (0, 1, 2, 3) in members and (4, 5, 6, 7) in members
    assert (len(members) == 2) == (kind == 'sources')


def test_one_unit_is_enough():
    one = UnitLosses.of(plain().units[:, :1])
    place = placed(one, True)
    assert place.mean_losses.shape == (N_MODELS, 1)
    assert not place.unit_deviations.any()


def test_noise_of_units_is_what_they_do_not_share():
    rng = np.random.default_rng(0)
    noise, slopes = np.tile([.5, 1., 2.], 10), np.repeat([1., 2.], 15)
    factor = rng.normal(size=(2000, 1))
    values = factor * slopes + noise * rng.normal(size=(2000, 30))
    expected = np.hypot(noise, .3 * values.std(axis=0))
    np.testing.assert_allclose(noise_of_units(values, .3), expected, rtol=.06)


def test_own_answers_are_seen_by_token():
    losses = np.random.default_rng(0).uniform(.1, 3, (12, 5))
    standardiser = AnswerStandardiser(losses, .1)
    means, deviations = standardiser.standardise(losses)
    np.testing.assert_allclose(deviations.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose((deviations**2).sum(axis=1).mean(), 1)
    lower, _ = standardiser.standardise(.5 * losses)
    assert (lower < means).all()


def test_models_are_taken_in_all_their_parts():
    losses = KINDS['answers']()
    rows = np.array([5, 2])
    place = Standardiser(losses, True, SETTINGS).standardise(losses, NUMBERS)
    part = Standardiser(losses, True, SETTINGS).standardise(
        losses.take(rows), NUMBERS[rows])
    taken = place.take(rows)
    assert len(taken) == 2
    np.testing.assert_allclose(taken.mean_losses, part.mean_losses)
    np.testing.assert_allclose(taken.unit_deviations, part.unit_deviations)
    np.testing.assert_array_equal(taken.families, part.families)
    for b in (0, 2):
        np.testing.assert_allclose(taken.answer_deviations[b],
                                   part.answer_deviations[b])
    assert losses.take(rows).units.shape == (2, N_UNITS)


@pytest.mark.parametrize('logarithms', FORMS)
@pytest.mark.parametrize('n_zero', [13, N_MODELS])
def test_units_that_most_models_know_by_heart(logarithms, n_zero):
    """Their losses are 0."""
    units = plain().units.copy()
    units[:n_zero, 2] = 0
    losses = replace(plain(), table=units)
    standardiser = Standardiser(losses, logarithms, SETTINGS)
    place = standardiser.standardise(losses, NUMBERS)
    assert np.isfinite(place.mean_losses).all() and np.isfinite(
        place.unit_deviations).all()
    assert standardiser.slope(units[0])[2] == 0
    assert np.isfinite(standardiser.slope(units[0])).all()


# ---- the formulas, written out


def with_absurd_models() -> UnitLosses:
    """Losses of 22 usual models, a far better one and a far worse one."""
    table = plain().table**.3
    table[0] *= .1
    table[1] *= 10
    table[5, 3] = .01
    answers = KINDS['answers']().answers
    # The units are not the first columns of the table.
    wide = np.column_stack([table[:, :2], table])
    sources = np.array(['web', 'books', 'web', 'web', 'code', 'code', 'code',
                        'books'])  # yapf: disable
    return UnitLosses(wide, np.arange(2, 2 + N_UNITS), sources, answers)


def standardised(values, fitted):
    """Values minus their median, divided by their width."""
    middle, width = middle_and_width(values[fitted])
    return (values - middle) / width


def deviations(values, fitted):
    """Deviations from the means, of a typical length of 1."""
    away = values - values[fitted].mean(axis=0)
    away -= away.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(away[fitted], axis=1)
    return away / np.sqrt(np.mean(lengths**2))


@pytest.mark.parametrize('logarithms', FORMS)
def test_losses_are_standardised_as_by_the_formulas(logarithms):
    losses = with_absurd_models()
    usual = np.arange(N_MODELS) > 1
    values = losses.table[:, 2:] / np.median(losses.table[:, 2:], axis=0)
    values = np.maximum(values, SETTINGS.least)
    if logarithms:
        values = np.log(values)
    values /= noise_of_units(values[usual], SETTINGS.least_noise)
    everyone = np.full(N_MODELS, True)
    columns = [standardised(values.mean(axis=1), everyone)]
    assert ((np.abs(columns[0]) < SETTINGS.sound) == usual).all()
    for source in ('books', 'code', 'web'):
        of_source = values[:, losses.sources == source].mean(axis=1)
        columns.append(standardised(of_source, usual))
    own = {}
    for b, of_benchmark in losses.answers.items():
        of_tokens = np.log(1 + of_benchmark / SETTINGS.knee)
        columns.append(standardised(of_tokens.mean(axis=1), usual))
        own[b] = deviations(of_tokens, usual)
    found = placed(losses, logarithms)
    near = dict(rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.mean_losses, np.transpose(columns),
                               **near)
    np.testing.assert_allclose(found.unit_deviations,
                               deviations(values, usual), **near)
    assert [*found.answer_deviations] == [*own] == [0, 2]
    assert found.standardiser.columns_of_answers == {0: 4, 2: 5}
    for b, expected in own.items():
        np.testing.assert_allclose(found.answer_deviations[b], expected,
                                   **near)
    # The largest mean loss of a sound model.
    followed = found.mean_losses[:, [0]].T
    worst = found.mean_losses[usual, 0].max()
    assert found.worst_losses(followed) == [worst]


def test_widths_by_hand():
    values = np.array([
        [0, 1, 2, 3, 4.],  # Quartiles as far apart as of a normal sample.
        [-5, 0, 1, 2, 7],  # Half of the standard deviation.
        [-10, 0, 1, 2, 12],  # At most 1.5 times the distance of quartiles.
        [0, 1, 1, 1, 5],  # Equal quartiles: the standard deviation.
    ])
    middle, width = middle_and_width(values.T)
    assert middle.tolist() == [2, 1, 1, 1]
    expected = [2 / 1.35, np.sqrt(74 / 5) / 2, 3, np.sqrt(15.2 / 5)]
    np.testing.assert_allclose(width, expected)


def test_noise_of_units_is_that_of_one_factor():
    """It belongs to the first generalised eigenvector of the covariance."""
    rng = np.random.default_rng(1)
    noise, slopes = rng.uniform(.3, 1, 12), rng.uniform(1, 2, 12)
    values = rng.normal(size=(40, 1)) * slopes
    values += noise * rng.normal(size=(40, 12))
    covariance = np.cov(values.T, bias=True)
    variance = np.diag(covariance)
    found = noise_of_units(values.copy(), .3)
    eigenvalues, vectors = np.linalg.eig(covariance / found[:, None]**2)
    weights = vectors[:, np.argmax(eigenvalues.real)].real
    loadings = covariance @ weights / np.sqrt(weights @ covariance @ weights)
    unexplained = variance - loadings**2
    assert (unexplained > 0).all()
    np.testing.assert_allclose(found**2, unexplained + .3**2 * variance, 1e-4)


@pytest.mark.parametrize('n_units', [N_UNITS, 1100])
def test_groups_are_the_clusters_of_ward(n_units):
    """Of at most 1,000 units; clusters of a tenth of them or more."""
    rng = np.random.default_rng(2)
    units = plain().units
    if n_units > N_UNITS:
        units = np.exp(.2 * rng.normal(size=(9, n_units)))
    scale = Standardiser(UnitLosses.of(units), True, SETTINGS)
    part = np.unique(np.linspace(0, n_units - 1, 1000).round().astype(int))
    values = np.log(units / scale.typical) * scale.reliability
    away = deviations(values, np.full(len(units), True))[:, part]
    # The mean of each unit over models is 0 up to one constant.
    away /= away.std(axis=0)
    tree = linkage(away.T, 'ward')
    expected = set()
    for n_clusters in range(2, len(part)):
        labels = fcluster(tree, n_clusters, 'maxclust')
        for label, size in zip(*np.unique(labels, return_counts=True)):
            if size >= max(2, .1 * len(part)):
                expected.add(tuple(part[labels == label]))
        if np.bincount(labels).max() < .1 * len(part):
            break
    found = [tuple(np.flatnonzero(group)) for group in scale.groups.T]
    assert len(found) == len(expected) > 3
    assert {*found} == expected
    for members, weights in zip(found, scale.groups.T):
        np.testing.assert_allclose(weights[list(members)], 1 / len(members))


def test_as_many_equal_units_as_models_are_clustered_without_a_warning():
    """Their deviations are a square matrix of zeros; a warning is an error."""
    losses = UnitLosses.of(np.full((3, 3), 2.))
    standardiser = Standardiser(losses, True, SETTINGS)
    assert standardiser.groups.shape == (3, 1)
