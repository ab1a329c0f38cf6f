"""From losses and accuracies to predictors of token losses."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import answer_mask, mean_token_loss
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.salience import Auto
from csv_plugin.core.scaling_law import fit_curve
from csv_plugin.core.training import JoinedColumns, loss_blocks
from tests.core.training_worlds import (CHARACTERS, FAMILIES, FITTED, MODELS,
                                        OTHERS, TEXTS, make_training,
                                        make_training_world, table_of)

WORLD = DUMPS, ACCURACIES = make_training_world(CHARACTERS)
TRAINING = make_training(CHARACTERS, WORLD)
BLOCKS = loss_blocks(TRAINING.losses, TEXTS, CHARACTERS)


@pytest.fixture(scope='module')
def predictor():
    return TRAINING.fit(BLOCKS)


def predicted(predictor, models=OTHERS):
    return predictor.predict(DUMPS.select(models)).values[:, 0, 0]


def test_it_is_auto_among_the_blocks(predictor):
    source = JoinedColumns(BLOCKS)
    expected = fit_predictor(
        source.features(TRAINING.losses),
        ACCURACIES.select(FITTED), [FAMILIES[model] for model in FITTED],
        Auto(source.solvers('')),
        labels={'sums': source.columns.units.index('groups: sums/answer')})
    assert [w.name for w in expected.benchmarks[0].witnesses
            ] == ['mean loss', 'label-token loss']
    assert predictor.benchmarks[0].solver == expected.benchmarks[0].solver
    assert predictor.benchmarks[0].fit_models == FITTED
    predictions = predictor.predict(DUMPS)
    reference = expected.predict(
        source.features(table_of(CHARACTERS, DUMPS, MODELS)))
    for part in ('values', 'low', 'high'):
        np.testing.assert_allclose(
            getattr(predictions, part), getattr(reference, part), atol=1e-9)
    for part in ('extrapolated', 'in_sample', 'alarm'):
        np.testing.assert_array_equal(
            getattr(predictions, part), getattr(reference, part))
    assert predictions.in_sample[:, 0, 0].tolist() == [
        model in FITTED for model in MODELS
    ]


def test_the_seed_deals_the_families():
    """With more families than are held out one by one."""
    families = {model: f'g{m % 9}' for m, model in enumerate(MODELS)}
    errors = [
        replace(TRAINING, families=families,
                seed=seed).fit(BLOCKS[1:]).benchmarks[0].cv_mse
        for seed in (0, 1, 0)
    ]
    assert errors[0] == errors[2] != errors[1]


@pytest.mark.slow
def test_who_watches_sees_the_path():
    seen = {}
    predictor = TRAINING.fit(
        BLOCKS, watch=lambda name, task, fit: seen.update({name: (task, fit)}))
    (name, (task, fit)), = seen.items()
    benchmark, = predictor.benchmarks
    assert (name, fit.solver, fit.penalty) == ('sums', benchmark.solver,
                                               benchmark.penalty)
    assert fit.path is not None and fit.penalty in fit.path.penalties
    np.testing.assert_allclose(
        fit.model.predict(task.values),
        predicted(predictor, FITTED),
        atol=1e-9)


def test_who_waits_sees_the_benchmarks():
    seen = []
    TRAINING.fit(BLOCKS[1:], lambda names: seen.extend(names) or names)
    assert seen == ['sums', 'sums']


def test_it_sees_no_accuracy_of_other_models():
    values = ACCURACIES.values.copy()
    values[len(FITTED):] = np.nan
    blind = replace(TRAINING, accuracies=replace(ACCURACIES, values=values))
    np.testing.assert_array_equal(
        predicted(blind.fit(BLOCKS[1:])), predicted(TRAINING.fit(BLOCKS[1:])))


def test_it_finds_the_tokens_that_matter(predictor):
    real = ACCURACIES.select(OTHERS).values[:, 0]
    errors = [
        np.abs(predicted(part) - real).mean()
        for part in (predictor, TRAINING.all_token_loss())
    ]
    assert errors[0] < .5 * errors[1]
    weights = predictor.token_weights('sums')
    assert np.abs(weights).argmax() in np.flatnonzero(
        CHARACTERS.spans[0].starts >= 15)


def test_the_baseline_is_the_mean_loss():
    baseline = TRAINING.all_token_loss()
    assert baseline.columns.units == ('all tokens', )
    assert baseline.benchmarks[0].solver == 'uniform'
    assert baseline.benchmarks[0].fit_models == FITTED
    np.testing.assert_allclose(baseline.token_weights('sums'), 1)


def test_the_baseline_that_sees_no_loss():
    mean = ACCURACIES.select(FITTED).values.mean()
    np.testing.assert_allclose(predicted(TRAINING.constant()), mean)


def test_the_baseline_of_the_own_answers():
    baseline = TRAINING.label_token_loss()
    assert baseline.names == ('sums', )
    assert baseline.benchmarks[0].solver == 'label-token loss'
    own = answer_mask(TEXTS, CHARACTERS.spans)
    own[len(CHARACTERS.spans[0]):] = False
    weights = baseline.token_weights('sums')
    np.testing.assert_array_equal(weights > 0, own)
    assert np.ptp(weights[own]) == pytest.approx(0)
    loss = mean_token_loss(TRAINING.losses, own)
    curve, _ = fit_curve(loss, ACCURACIES.select(FITTED).values[:, 0], 0.)
    np.testing.assert_allclose(
        predicted(baseline, FITTED), curve.accuracies(loss), atol=1e-6)


def test_all_baselines_by_name():
    baselines = TRAINING.baselines()
    assert {
        name: predictor.benchmarks[0].solver
        for name, predictor in baselines.items()
    } == {
        'uniform': 'uniform',
        'constant': 'constant',
        'label-token': 'label-token loss'
    }
    renamed = replace(
        TRAINING, accuracies=replace(ACCURACIES, benchmarks=('exam', )))
    assert list(renamed.baselines()) == ['uniform', 'constant']


@pytest.mark.slow
def test_losses_on_other_texts_are_refused():
    elsewhere = replace(TRAINING.losses, fingerprint='other')
    training = replace(TRAINING, losses=elsewhere)
    with pytest.raises(InputError, match='target tokens of the texts other'):
        training.fit(loss_blocks(elsewhere, TEXTS, CHARACTERS))
    with pytest.raises(InputError, match='target tokens of the texts other'):
        training.all_token_loss()
