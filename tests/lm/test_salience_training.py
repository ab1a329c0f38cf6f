"""From losses, scores and hidden states to a predictor of token losses."""
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csc_array

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.baselines import label_token_loss
from csv_plugin.core.blocks import join_blocks
from csv_plugin.core.condensing import condensed
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import answer_mask
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.salience import Auto
from csv_plugin.core.scaling_law import fit_sigmoid
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.collection import Collection
from csv_plugin.io.predictors import load_predictor, save_predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.lm.feature_blocks import (feature_blocks, target_tokens,
                                          token_states)
from csv_plugin.lm.salience_training import Training
from tests.lm.models import make, tokenizer

TEXTS = TextSet((Text('a', 'How many pears? 7.', 'sums', (16, 17)),
                 Text('b', 'Where? In 石桥.', 'facts', (10, 12)),
                 Text('c', 'No answer here.', 'facts')))  # yapf: disable
N_MODELS, N_FITTED = 15, 12
MODELS = tuple(f'm{m}' for m in range(N_MODELS))
FITTED, OTHERS = MODELS[:N_FITTED], MODELS[N_FITTED:]


@pytest.fixture(scope='module')
def targets():
    return target_tokens(tokenizer(), TEXTS)


@pytest.fixture(scope='module')
def states():
    return token_states(make('llama'), tokenizer(), TEXTS)


@pytest.fixture(scope='module')
def collection(targets):
    """Only the losses on the answer of 'a' fall with the skill in sums."""
    rng = np.random.default_rng(0)
    skills = rng.normal(size=N_MODELS)
    losses = {
        model:
        tuple(
            TokenLosses(
                text.text_id,
                2 + .1 * rng.normal(size=len(spans)) -
                (.4 * skill * (spans.starts >= 15) if i == 0 else 0),
                spans,
                len(text.text),
                sha256=text.sha256)
            for i, (text, spans) in enumerate(zip(TEXTS, targets.spans)))
        for model, skill in zip(MODELS, skills)
    }
    info = {
        model:
        ModelInfo(f'f{m % 3}', 'train' if model in FITTED else 'test', np.nan)
        for m, model in enumerate(MODELS)
    }
    accuracies = AccuracyTable(MODELS, ('sums', ),
                               1 / (1 + np.exp(-skills[:, None])), np.zeros(1),
                               np.full(1, 100))
    return Collection(TEXTS, losses, accuracies, info)


@pytest.fixture(scope='module')
def predictor(collection, targets, states):
    return Training(collection, targets, FITTED, states).auto()


def predicted(predictor, collection, models=OTHERS):
    return predictor.predict_losses(
        collection.losses_of(models), TEXTS.fingerprint)


def whole(collection, targets, states, pick):
    """A predictor of features, and what `pick` makes its solver of."""
    table = targets.table(collection.losses_of(FITTED))
    columns, solvers = join_blocks(
        feature_blocks(table, TEXTS, targets, states))
    predictor = fit_predictor(
        columns.features(table), collection.accuracies.select(FITTED),
        [collection.info[model].family for model in FITTED], pick(solvers),
        TEXTS.fingerprint)
    return predictor, columns


def assert_condensed(predictor, collection, targets, expected, columns):
    assert len(predictor.units) < len(expected.units)
    found = predicted(predictor, collection, MODELS)
    table = targets.table(collection.losses_of(MODELS))
    wanted = expected.predict(columns.features(table), TEXTS.fingerprint)
    for part in ('values', 'low', 'high'):
        np.testing.assert_allclose(
            getattr(found, part), getattr(wanted, part), atol=1e-9)
    for part in ('extrapolated', 'in_sample'):
        np.testing.assert_array_equal(
            getattr(found, part), getattr(wanted, part))


def test_it_is_auto_among_all_blocks(collection, targets, states, predictor):
    expected, columns = whole(collection, targets, states, Auto)
    known, = predictor.benchmarks
    assert known.solver == expected.benchmarks[0].solver != 'uniform'
    assert known.fit_models == FITTED
    assert_condensed(predictor, collection, targets, expected, columns)
    found = predicted(predictor, collection, MODELS)
    assert found.in_sample[:, 0].tolist() == [m in FITTED for m in MODELS]


@pytest.mark.parametrize('name', ['states', 'answer states'])
def test_scores_of_states_travel_as_columns(collection, targets, states, name):
    """One column a score in place of one a direction."""
    expected, columns = whole(
        collection, targets, states,
        lambda solvers: next(solver for solver in solvers
                             if solver.name == f'{name} ridge'))
    known, = expected.benchmarks
    assert known.penalty < np.inf
    narrow = condensed(expected, targets, columns)
    n_scores = 1 + len(known.intervals.folds.coefficients)
    assert narrow.units[-n_scores:] == tuple(f'sums: score {i}'
                                             for i in range(n_scores))
    assert_condensed(narrow, collection, targets, expected, columns)
    # The weights, token by token: the share of the loss and h_t . c.
    weights = narrow.token_weights('sums')
    per_nat = columns.combine(
        csc_array(
            np.stack([known.model.coefficients, expected.uniform], axis=1)))
    top, bottom = per_nat.toarray().T
    np.testing.assert_allclose(weights, top / bottom, atol=1e-9)
    part = answer_mask(TEXTS, targets.spans)
    if name == 'states':
        part[:] = True
    np.testing.assert_array_equal(np.abs(weights) > 1e-12, part)


def test_who_watches_sees_the_path(collection, targets, states):
    seen = {}
    made = Training(collection, targets, FITTED, states).auto(
        watch=lambda name, task, fit: seen.update({name: (task, fit)}))
    (name, (task, fit)), = seen.items()
    known, = made.benchmarks
    assert (name, fit.solver, fit.penalty) == ('sums', known.solver,
                                               known.penalty)
    assert fit.path is not None and fit.penalty in fit.path.penalties
    np.testing.assert_allclose(
        fit.model.predict(task.values),
        predicted(made, collection, FITTED).values[:, 0],
        atol=1e-9)


def test_it_sees_nothing_of_other_models(collection, targets, predictor,
                                         states):
    accuracies = collection.accuracies.values.copy()
    accuracies[N_FITTED:] = np.nan
    losses = {
        model:
        tuple(
            replace(text, losses=np.full(len(text.spans), np.nan)) if model in
            OTHERS else text for text in texts)
        for model, texts in collection.losses.items()
    }
    blind = replace(
        collection,
        losses=losses,
        accuracies=replace(collection.accuracies, values=accuracies))
    again = Training(blind, targets, FITTED, states).auto()
    np.testing.assert_array_equal(
        predicted(again, collection).values,
        predicted(predictor, collection).values)


def test_it_finds_the_tokens_that_matter(collection, targets, predictor):
    baseline = Training(collection, targets, FITTED).all_token_loss()
    real = collection.accuracies.select(OTHERS).values
    errors = [
        np.abs(predicted(one, collection).values - real).mean()
        for one in (predictor, baseline)
    ]
    assert errors[0] < .5 * errors[1]


def test_without_a_scoring_lm(collection, targets, tmp_path):
    """And its file is all that a prediction needs."""
    seen = []
    made = Training(collection, targets,
                    FITTED).auto(lambda names: seen.extend(names) or names)
    assert seen == ['sums']
    weights = made.token_weights('sums')
    assert np.abs(weights).argmax() in np.flatnonzero(
        targets.spans[0].starts >= 15)
    save_predictor(made, tmp_path / 'p')
    np.testing.assert_array_equal(
        predicted(load_predictor(tmp_path / 'p'), collection).values,
        predicted(made, collection).values)


def test_the_baseline_is_the_mean_loss(collection, targets):
    baseline = Training(collection, targets, FITTED).all_token_loss()
    assert baseline.units == ('all tokens', )
    assert baseline.benchmarks[0].solver == 'uniform'
    assert baseline.benchmarks[0].fit_models == FITTED
    np.testing.assert_allclose(baseline.token_weights('sums'), 1)


def test_the_baseline_that_sees_no_loss(collection, targets):
    constant = Training(collection, targets, FITTED).constant()
    mean = collection.accuracies.select(FITTED).values.mean()
    np.testing.assert_allclose(predicted(constant, collection).values, mean)


def test_the_baseline_of_the_own_answers(collection, targets):
    found = Training(collection, targets, FITTED).label_token_loss()
    assert [known.benchmark for known in found.benchmarks] == ['sums']
    assert found.benchmarks[0].solver == 'label-token loss'
    own = answer_mask(TEXTS, targets.spans)
    own[len(targets.spans[0]):] = False
    weights = found.token_weights('sums')
    np.testing.assert_array_equal(weights > 0, own)
    assert np.ptp(weights[own]) == pytest.approx(0)
    table = targets.table(collection.losses_of(FITTED))
    law = fit_sigmoid(
        label_token_loss(table, own),
        collection.accuracies.select(FITTED).values[:, 0], 0.)
    np.testing.assert_allclose(
        predicted(found, collection, FITTED).values[:, 0],
        law.curve(label_token_loss(table, own)),
        atol=1e-6)


def test_without_own_answers_there_is_no_such_baseline(collection, targets):
    renamed = replace(
        collection,
        accuracies=replace(collection.accuracies, benchmarks=('exam', )))
    assert Training(renamed, targets, FITTED).label_token_loss() is None


def test_texts_of_others_are_refused(collection, targets):
    part = collection.on(TextSet(TEXTS.texts[1:]))
    with pytest.raises(InputError, match="losses on text 'a', found none"):
        Training(part, targets, FITTED).auto()
