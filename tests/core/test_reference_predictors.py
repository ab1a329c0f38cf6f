"""References against a literal version, and what raises the flag."""
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from csv_plugin.core.fitting import Fitted, fit_predictor, learn_references
from csv_plugin.core.reference_predictors import (LABEL_TOKEN_LOSS, MEAN_LOSS,
                                                  ReferencePredictor,
                                                  beyond_all, disagreement,
                                                  widened)
from csv_plugin.core.salience import Constant, Ridge, Uniform, fold_masks
from csv_plugin.core.salience.choice import OnColumns
from csv_plugin.core.salience_model import SalienceModel, side
from csv_plugin.core.scaling_law import Curve, fit_curve
from tests.core.worlds import make_world
from tests.tables import small_tables

TASK = make_world(40, 8, (3, 0, 0, 1), noise=.02).task
MASKS = fold_masks(TASK.families, 0)
LABEL = np.array([0., 0., 1., 0.])


def learned(task=TASK, solver=Ridge(), **measures):
    fit = solver.fit(task, fold_masks(task.families, 0))
    return fit, learn_references(Fitted(task, fit), measures)


def literal_limit(fit, coefficients):
    """Model by model, with a curve fitted anew without each fold."""
    score = TASK.values @ coefficients
    squares = []
    for m, losses in enumerate(TASK.values):
        own, other = [], []
        for fold, mask in enumerate(MASKS):
            if not mask[m]:
                curve, _ = fit_curve(score[mask], TASK.accuracy[mask],
                                     TASK.chance)
                other.append(curve.alpha * (score[m] - curve.beta))
                own.append(fit.folds[fold].exponents(losses[None])[0])
        mean = float(np.mean(other))
        squares.append(((np.mean(own) - mean) / (1 + abs(mean)))**2)
    return stats.t.ppf(.975, 7) * math.sqrt(np.mean(squares))


def test_the_last_bits_of_a_score_do_not_matter():
    scores = np.array([-1.1, -1 - 1e-10, 0, 1 + 1e-10, 1.1])
    assert side(scores, -1., 1.).tolist() == [-1, 0, 0, 0, 1]


@pytest.mark.parametrize('name, coefficients', [(MEAN_LOSS, TASK.uniform),
                                                (LABEL_TOKEN_LOSS, LABEL)])
def test_literal_limit(name, coefficients):
    fit, references = learned(**{LABEL_TOKEN_LOSS: LABEL})
    assert [w.name for w in references] == [MEAN_LOSS, LABEL_TOKEN_LOSS]
    reference = references[name == LABEL_TOKEN_LOSS]
    assert reference.limit == pytest.approx(
        literal_limit(fit, coefficients), rel=1e-3)
    score = TASK.values @ coefficients
    curve, _ = fit_curve(score, TASK.accuracy, TASK.chance)
    np.testing.assert_allclose(
        reference.model.predict(TASK.values),
        curve.accuracies(score),
        atol=1e-4)
    assert (reference.score_low, reference.score_high) == pytest.approx(
        (score.min(), score.max()))


def test_no_reference_of_what_was_fitted_or_of_nothing():
    assert [w.name for w in learned(solver=Uniform())[1]] == []
    assert [w.name
            for w in learned(solver=Uniform(), other=LABEL)[1]] == ['other']
    assert learned(solver=Constant())[1] == ()
    assert learned(replace(TASK, families=np.full(40, 'f')))[1] == ()
    flat = TASK.on(TASK.values * [1, 1, 0, 1], TASK.uniform)
    assert [w.name for w in learned(flat, other=LABEL)[1]] == [MEAN_LOSS]


def moved(model, factors):
    return (TASK.values[model] * factors)[None]


def said_of(values):
    fit, (reference, ) = learned()
    fitted, scores = fit.model.scores(TASK.values), fit.model.scores(values)
    return reference.disagreements(
        values, fit.model.exponents(values), fit.model.predict(values),
        beyond_all(fit.model, scores, fitted.min(), fitted.max()))


BEST = int(TASK.accuracy.argmax())


def test_the_flag_is_raised_where_losses_part_as_they_never_did():
    # The mean loss stays that of the best model.
    other = TASK.values[BEST] * [1, 0, 0, 0]
    shift = other.sum() / (TASK.values[BEST].sum() - other.sum())
    parted = moved(BEST, [2, 1 - shift, 1 - shift, 1 - shift])
    _, (reference, ) = learned()
    said = said_of(parted)
    assert said == reference.model.predict(parted)
    assert said == pytest.approx(reference.model.predict(moved(BEST, 1))[0])


def test_extrapolation_is_no_disagreement():
    """Worse than all models in every loss, or better than all."""
    for factor in (.25, .5, .8, 1.5, 3, 10, 100):
        assert np.isnan(said_of(moved(BEST, factor))), factor


def test_few_points_are_no_disagreement():
    model = SalienceModel(np.ones(1), Curve(-1., 0., .25))
    reference = ReferencePredictor('w', model, .1, -9., 9.)
    values, inside = np.array([[6.], [2.]]), np.zeros(2)
    exponents = -values[:, 0] - 3
    predicted = model.curve.accuracies(values[:, 0] + 3)
    said = reference.disagreements(values, exponents, predicted, inside)
    # At the floor both say the same, whatever their exponents.
    assert np.isnan(said[0]) and said[1] == model.predict(values)[1]
    assert disagreement(exponents, -values[:, 0]).min() > reference.limit


@pytest.mark.parametrize('value, beyond, rings', [
    (2., 0, True), (2., 1, True), (2., -1, True), (5., 0, True),
    (5., 1, True), (5., -1, False), (-5., 1, False), (-5., -1, True)
])  # yapf: disable
def test_better_or_worse_than_all_by_both_is_no_disagreement(
        value, beyond, rings):
    """The score is a loss, and fitted models had -4 to 4."""
    model = SalienceModel(np.ones(1), Curve(-.1, 0., 0.))
    reference = ReferencePredictor('w', model, .5, -4., 4.)
    values, exponents = np.array([[value]]), np.array([3.])
    said = reference.disagreements(values, exponents, np.array([.95]),
                                   np.array([beyond]))
    assert np.isnan(said[0]) != rings


def test_intervals_hold_what_all_references_say():
    low, mid, high = np.full(3, .3), np.full(3, .4), np.full(3, .6)
    said = np.array([[np.nan, .7, .3], [np.nan, .1, .2]])
    first, last = widened(low, mid, high, said)
    np.testing.assert_allclose(first, [.3, 0, .1])
    np.testing.assert_allclose(last, [.6, .9, .6])


def test_a_predictor_widens_and_marks():
    tables = small_tables().only('easy')
    arguments = (tables.features, tables.accuracies, tables.groups, Ridge())
    # Without a label-token loss there are no references.
    assert not fit_predictor(*arguments).benchmarks[0].references
    predictor = fit_predictor(*arguments, labels={'easy': 3})
    part = predictor.benchmarks[0]
    strict = replace(
        part, references=(replace(part.references[0], limit=0.), ))
    mute = replace(part, references=())
    strictly, quiet = (
        replace(predictor, benchmarks=(one, )).predict(tables.features)
        for one in (strict, mute))
    assert not quiet.disagrees.any()
    assert '!' not in ''.join([*quiet.cells('easy'), *quiet.legend()])
    reference = part.references[0].model.predict(tables.features.values)
    disagrees = np.abs(reference - quiet.values[:, 0, 0]) > .02
    assert 0 < disagrees.sum() < len(disagrees)
    np.testing.assert_array_equal(strictly.disagrees[:, 0, 0], disagrees)
    for m, model in enumerate(strictly.models):
        cell = strictly.at(model, 'easy')
        assert cell.disagrees == ('!' in strictly.cells('easy')[m])
        before = quiet.at(model, 'easy')
        assert cell.low <= min(before.low,
                               reference[m] if cell.disagrees else 1)
        assert cell.high >= max(before.high,
                                reference[m] if cell.disagrees else 0)
        if not cell.disagrees:
            assert (cell.low, cell.high) == (before.low, before.high)
    assert any(line.startswith('! ') for line in strictly.legend())


def test_a_measure_that_was_learned_by_other_columns_is_no_reference():
    twice = np.hstack([TASK.values, TASK.values[:, 2:3]])
    task = TASK.on(twice, np.append(TASK.uniform, 0))
    solver = OnColumns('second', Uniform(), np.array([4]), np.ones(1))
    fit = solver.fit(task, fold_masks(task.families, 0))
    label = np.append(LABEL, 0)
    assert [
        w.name for w in learn_references(Fitted(task, fit), {'label': label})
    ] == [MEAN_LOSS]
