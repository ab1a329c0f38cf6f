"""Models whose losses seem to be in another unit of measurement."""
import math

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.comparing import compare
from csv_plugin.core.far_models import far_notes
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.measurement_units import (measurement_factors,
                                               measurement_notes)
from csv_plugin.report.notes import outlier_notes
from csv_plugin.triage.judging import judge_runs

N_MODELS, N_UNITS = 30, 12
FAMILIES = [f'family {m // 3}' for m in range(N_MODELS)]
UNITS = np.arange(N_UNITS)
BITS = 1 / math.log(2)
SKILL = np.linspace(0, 1, N_MODELS)


def losses_of(skill, seed, slopes=np.linspace(.2, .8, N_UNITS)):
    """Losses whose logarithms fall with skill, on some units faster."""
    rng = np.random.default_rng(seed)
    noise = .02 * rng.normal(size=(len(skill), N_UNITS))
    return np.exp(1 - np.outer(skill, slopes) + noise)


FITTED = losses_of(SKILL, 0)
NEW = losses_of(np.linspace(.2, .9, 6), 1)


def predictor(losses=FITTED, families=FAMILIES):
    names = [f'model {m}' for m in range(N_MODELS)]
    units = [f'text {k}' for k in range(N_UNITS)]
    accuracies = .25 + .75 / (1 + np.exp(1 - 3 * SKILL))
    table = AccuracyTable(names, ['exam'], accuracies[:, None], [.25], [500])
    return fit_predictor(
        FeatureTable.of_losses(names, units, losses), table, families)


def new_models(losses):
    names = [f'new {m}' for m in range(len(losses))]
    units = [f'text {k}' for k in range(N_UNITS)]
    return FeatureTable.of_losses(names, units, losses)


def factors_of(losses, fitted=FITTED, families=FAMILIES, units=UNITS):
    """Factors of models that are no training models."""
    _, found = measurement_factors(fitted, families, losses, units, .05)
    return found


def factors_of_training(fitted, families=FAMILIES):
    found, _ = measurement_factors(fitted, families, NEW[:0], UNITS, .05)
    return found


@pytest.mark.parametrize('factor', [BITS, math.log(2), .01])
def test_all_models_in_another_unit_are_found(factor):
    found = factors_of(factor * NEW)
    assert found == pytest.approx(np.full(len(NEW), factor), rel=.1)


def test_models_in_the_same_unit_have_a_factor_of_one():
    # Much better and much worse models, too.
    new = losses_of(np.linspace(-1, 2, 10), 2)
    assert factors_of(new).tolist() == [1] * 10
    assert factors_of_training(FITTED).tolist() == [1] * N_MODELS


def test_a_loss_of_zero_hides_no_other_model():
    new = BITS * NEW
    new[0, 0] = 0
    fitted = FITTED.copy()
    fitted[0, 1] = 0
    fitted[:, 2] = 0
    found = factors_of(new, fitted)
    assert found == pytest.approx(np.full(len(NEW), BITS), rel=.15)


def test_losses_of_zero_count_as_the_median_ratio_of_their_model():
    new = .01 * NEW
    new[:, :4] = 0
    assert factors_of(new) == pytest.approx(np.full(len(NEW), .01), rel=.3)


@pytest.mark.parametrize('n_zero', [1, 3, N_UNITS])
def test_losses_of_zero_are_no_other_unit(n_zero):
    new = NEW.copy()
    new[0, :n_zero] = 0
    fitted = FITTED.copy()
    fitted[4, -n_zero:] = 0
    assert factors_of(new, fitted).tolist() == [1] * len(NEW)
    assert factors_of_training(fitted).tolist() == [1] * N_MODELS


def test_training_models_in_another_unit_are_found():
    """Even if a third of the families are, whose models differ in skill."""
    families = [f'family {m % 10}' for m in range(N_MODELS)]
    odd = np.arange(N_MODELS) % 10 < 3
    fitted = FITTED.copy()
    fitted[odd] *= BITS
    found = factors_of_training(fitted, families)
    assert found[odd] == pytest.approx(np.full(9, BITS), rel=.1)
    assert (found[~odd] == 1).all()
    # Without two models of one family, nothing tells the slopes.
    alone = [f'family {m}' for m in range(N_MODELS)]
    assert (factors_of_training(fitted, alone) == 1).all()


@pytest.mark.slow
def test_a_fit_names_training_models_in_another_unit():
    losses = FITTED.copy()
    losses[4] *= BITS
    families = [f'family {m % 10}' for m in range(N_MODELS)]
    note, *_ = outlier_notes(predictor(losses, families))
    assert note.startswith('model 4 (1.5)')
    assert 'than those of other training models' in note
    assert outlier_notes(predictor(FITTED, families)) == []


def test_many_models_in_another_unit_are_counted():
    """Each that is named has its factor."""
    names = [f'model {m}' for m in range(N_MODELS)]
    note, = measurement_notes(names, np.full(N_MODELS, BITS))
    assert note.startswith('model 0 (1.44), model 1 (1.44), ')
    assert f'model 7 (1.44) and {N_MODELS - 8} more: all losses' in note


def test_no_models_have_no_factors():
    found = factors_of(NEW[:0])
    assert found.shape == (0, )


def test_eight_training_models_are_enough():
    some = slice(None, None, 4)
    found = factors_of(BITS * NEW, FITTED[some], FAMILIES[some])
    assert len(FITTED[some]) == 8
    assert found == pytest.approx(np.full(len(NEW), BITS), rel=.15)


def test_six_columns_are_enough():
    some = UNITS[::2]
    found = factors_of(BITS * NEW, units=some)
    assert len(some) == 6
    assert found == pytest.approx(np.full(len(NEW), BITS), rel=.15)


def test_nothing_is_said_where_nothing_can_be_told():
    few_units = factors_of(BITS * NEW, units=UNITS[:5])
    few_models = factors_of(BITS * NEW, FITTED[:7], FAMILIES[:7])
    # If all units fall alike, a worse model looks like another unit.
    slopes = np.full(N_UNITS, .5)
    alike = losses_of(SKILL, 0, slopes)
    new = losses_of(SKILL[:6], 1, slopes)
    same_slopes = factors_of(BITS * new, alike)
    negative = factors_of(-NEW)
    one_family = factors_of(BITS * NEW, families=['a'] * N_MODELS)
    for found in (few_units, few_models, same_slopes, negative, one_family):
        assert found.tolist() == [1] * len(NEW)


@pytest.mark.slow
def test_predictions_are_marked_and_a_note_names_the_model():
    losses = NEW.copy()
    losses[4] *= BITS
    found = predictor().predict(new_models(losses))
    assert found.extrapolated[4].all()
    note, = far_notes(found)
    assert note.startswith('new 4 (1.4')
    assert 'another unit' in note


@pytest.mark.slow
def test_a_comparison_names_the_model():
    fitted = predictor()
    two = new_models(np.array([NEW[0], BITS * NEW[5]]))
    a, b = (two.select((name, )) for name in two.models)
    notes = compare(a, b, predictor=fitted).notes
    assert any(note.startswith('B (1.4') for note in notes)


@pytest.mark.slow
def test_triage_names_the_checkpoint():
    losses = new_models(np.array([NEW[0], BITS * NEW[5]]))
    points = FeatureTable(('run@10', 'run@20'), losses.columns, losses.values)
    notes = judge_runs(predictor(), points).notes
    assert any(note.startswith('run@20 (1.4') for note in notes)


@pytest.mark.slow
def test_ends_of_runs_are_not_measured():
    """The end of a run in bits is forecast; its checkpoint has the note."""
    skills = np.array([.2, .3, .5, .25, .35, .55, .3, .4])
    losses = losses_of(skills, 3)
    losses[-2:] *= BITS
    table = new_models(losses)
    past = [f'{run}@{step}' for run in 'ab' for step in (10, 50, 100)]
    features = FeatureTable((*past, 'c@10', 'c@50'), table.columns,
                            table.values)
    notes = judge_runs(predictor(), features.select(['c@10', 'c@50']),
                       features.select(past)).notes
    note, = [note for note in notes if 'in another unit' in note]
    assert note.startswith('c@10 (1.4') and 'end of' not in note
