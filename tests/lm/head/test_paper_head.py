"""Algorithm 2 as a predictor that travels."""
from dataclasses import replace

import numpy as np
import pytest
import torch

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.intervals import worse_models
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.salience import fold_masks
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.collection import Collection
from csv_plugin.io.predictors import load_predictor, save_predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.lm.feature_blocks import target_tokens
from csv_plugin.lm.head import paper_head
from csv_plugin.lm.head.algorithm2 import HeadSettings
from csv_plugin.lm.head.paper_head import train_paper_head
from csv_plugin.lm.salience_training import Training
from csv_plugin.lm.states.state_columns import StateColumns
from tests.lm.models import tokenizer

TEXTS = TextSet((Text('a', 'The dog sat on the mat, 7 times.'),
                 Text('b', 'It is a quick brown fox.')))  # yapf: disable
TARGETS = target_tokens(tokenizer(), TEXTS)
T, H, N = TARGETS.n_tokens, 3, 24
MODELS = tuple(f'm{i}' for i in range(N))
#: Four families; the last models are not fitted to.
FAMILIES = {model: f'f{i % 4}' for i, model in enumerate(MODELS)}
FITTED, OTHERS = MODELS[:20], MODELS[20:]
VALIDATION = MODELS[12:20]
SETTINGS = HeadSettings(optimiser='adam', learning_rate=.1, n_steps=25)
RNG = np.random.default_rng(0)
#: Wide and off the origin: to be standardised.
STATES = torch.from_numpy(RNG.normal(4, 3, (T, H))).float()
#: Tokens that matter are those with a high first state.
MATTERS = (STATES[:, 0] > 4).numpy()
CHANCE = .2


def make_collection(shift=np.zeros(N)):
    """The exam follows the tokens that matter; 'flat' follows nothing."""
    rng = np.random.default_rng(1)
    skills = rng.uniform(-1, 1, (2, N))
    losses = (2 -
              .5 * np.where(MATTERS, skills[0][:, None], skills[1][:, None]) +
              .05 * rng.normal(size=(N, T)))
    # The first token is the one that nobody scored.
    losses[:, 0] = np.nan
    cut = len(TARGETS.spans[0])
    by_model = {
        model: tuple(
            TokenLosses(text.text_id, part, spans, len(text.text),
                        sha256=text.sha256)
            for text, spans, part in zip(TEXTS, TARGETS.spans, (row[:cut],
                                                                row[cut:])))
        for model, row in zip(MODELS, losses)
    }  # yapf: disable
    exam = CHANCE + (1 - CHANCE) / (1 + np.exp(-3 * skills[0]))
    exam = np.clip(exam + shift, 0, 1)
    flat = np.full(N, .6)
    some = exam.copy()
    some[::5] = np.nan
    info = {
        model: ModelInfo(FAMILIES[model], 'validation' if model in VALIDATION
                         else 'train' if model in FITTED else 'test', np.nan)
        for model in MODELS
    }  # yapf: disable
    return Collection(
        TEXTS, by_model,
        AccuracyTable(MODELS, ('exam', 'flat', 'some'),
                      np.stack([exam, flat, some], axis=1), np.full(3, CHANCE),
                      np.array([100, 0, 50])), info)


COLLECTION = make_collection()


def training(collection=COLLECTION, **changes):
    return replace(Training(collection, TARGETS, FITTED, STATES), **changes)


@pytest.fixture(scope='module')
def head():
    return train_paper_head(training(), VALIDATION, SETTINGS)


def predicted(predictor, models=MODELS, collection=COLLECTION):
    return predictor.predict_losses(
        collection.losses_of(models), TEXTS.fingerprint)


def known(predictor, name):
    return next(b for b in predictor.benchmarks if b.benchmark == name)


def standardised(table):
    scale = StateColumns.of(STATES, table).scale
    return (STATES - torch.from_numpy(scale.mean)) / torch.from_numpy(
        scale.spread)


def test_it_predicts_what_the_heads_do(head):
    table = TARGETS.table(COLLECTION.losses)
    expected = head.heads.predict(standardised(table), table)
    found = predicted(head.predictor)
    assert head.heads.benchmarks == ('exam', 'some')
    for b, name in enumerate(head.heads.benchmarks):
        np.testing.assert_allclose(
            found.values[:, found.benchmarks.index(name)],
            expected[:, b],
            atol=1e-6)
    assert found.benchmarks == COLLECTION.accuracies.benchmarks


def test_it_learns_and_says_what_it_did(head):
    exam = known(head.predictor, 'exam')
    assert exam.solver == paper_head.NAME == 'paper'
    assert exam.fit_models == FITTED
    assert exam.n_items == 100 and exam.chance == CHANCE
    best = head.heads.best_step[0]
    assert exam.notes[0] == f'the validation models chose step {best}'
    assert (len(exam.notes) == 2) == (best == SETTINGS.n_steps)
    assert best > 0
    real = COLLECTION.accuracies.column('exam')
    baseline = training().all_token_loss()
    errors = [
        np.abs(predicted(one).values[20:, 0] - real[20:]).mean()
        for one in (head.predictor, baseline)
    ]
    assert errors[0] < .6 * errors[1]


def test_weights_are_those_of_the_head(head):
    """Softplus of a linear function of the states, up to nothing at all."""
    table = TARGETS.table(COLLECTION.losses_of(FITTED))
    for name in ('exam', 'some'):
        expected = head.heads.token_weights(standardised(table), name)
        found = head.predictor.token_weights(name)
        assert (expected > 0).all()
        np.testing.assert_array_equal(np.isnan(found), ~table.scored)
        np.testing.assert_allclose(
            found[table.scored], expected[table.scored], rtol=1e-5)
    weights = head.predictor.token_weights('exam')
    matters = MATTERS & table.scored
    assert weights[matters].mean() > 1.2 * np.nanmean(weights[~MATTERS])


def test_what_cannot_be_learned_is_predicted_by_its_mean(head):
    flat = known(head.predictor, 'flat')
    assert flat.solver == 'constant'
    assert 'predicted by the mean accuracy' in flat.notes[0]
    np.testing.assert_allclose(predicted(head.predictor).values[:, 1], .6)


def test_models_without_a_score_are_left_out(head):
    some = known(head.predictor, 'some')
    assert some.fit_models == tuple(model for i, model in enumerate(FITTED)
                                    if i % 5)
    assert some.intervals.n_models == 16
    table = predicted(head.predictor)
    assert table.in_sample[:, 2].tolist() == [
        model in some.fit_models for model in MODELS
    ]


def test_scores_are_columns_beside_the_loss(head):
    units = head.predictor.units
    n_folds = len(known(head.predictor, 'exam').intervals.folds.alpha)
    assert n_folds == 4
    assert units == ('loss', *(f'{name}: head {i}' for i in range(2 + n_folds)
                               for name in ('exam', 'some')))
    table = TARGETS.table(COLLECTION.losses_of(FITTED))
    counted = head.predictor.matrix.toarray().any(axis=1)
    np.testing.assert_array_equal(counted, table.scored)


def fold_predictions(head, name):
    """Of every fold model, with the masks it was fitted with."""
    one = known(head.predictor, name)
    features = head.predictor.features(
        COLLECTION.losses_of(one.fit_models), TEXTS.fingerprint)
    families = np.array([FAMILIES[model] for model in FITTED])
    masks = fold_masks(families, 0, n_repeats=1)
    rows = np.isin(FITTED, one.fit_models)
    return one.intervals.folds.predict(features.values), masks[:, rows]


@pytest.mark.parametrize('name', ['exam', 'some'])
def test_errors_are_those_on_families_held_out(head, name):
    one = known(head.predictor, name)
    by_fold, masks = fold_predictions(head, name)
    accuracy = COLLECTION.accuracies.select(one.fit_models).column(name)
    squares = np.where(masks, 0, (by_fold - accuracy)**2)
    assert one.cv_mse == pytest.approx(squares.sum() / (~masks).sum())
    # Every model is held out once, by the fold of its family.
    assert one.intervals.fold.tolist() == np.nonzero(~masks)[0].tolist()
    assert sorted(np.nonzero(~masks)[1]) == list(range(len(accuracy)))
    table = predicted(head.predictor)
    column = table.benchmarks.index(name)
    inside = ((table.low <= table.values) & (table.values <= table.high))
    assert inside.all() and (table.high > table.low)[:, column].all()


def test_fold_models_have_not_seen_the_family_they_predict(head):
    """Scores of one family are garbled: its own fold model stays."""
    mine = np.array([family == 'f2' for family in FAMILIES.values()])
    garbled = make_collection(np.where(mine, -.15, 0))
    other = train_paper_head(training(garbled), VALIDATION, SETTINGS)
    families = np.array([FAMILIES[model] for model in FITTED])
    masks = fold_masks(families, 0, n_repeats=1)
    before, after = (
        known(one.predictor, 'exam').intervals.folds for one in (head, other))
    for f, mask in enumerate(masks):
        unseen = not (mask & (families == 'f2')).any()
        same = np.allclose(before.alpha[f], after.alpha[f], rtol=1e-9)
        assert same == unseen
    column = [
        i for i, mask in enumerate(masks)
        if not (mask & (families == 'f2')).any()
    ]
    assert len(column) == 1
    unit = head.predictor.units.index(f'exam: head {2 + column[0]}')
    np.testing.assert_array_equal(head.predictor.matrix.toarray()[:, unit],
                                  other.predictor.matrix.toarray()[:, unit])


def test_families_are_dealt_by_the_seed():
    """With more families than folds."""
    infos = {
        model: replace(known, family=f'g{i % 10}')
        for i, (model, known) in enumerate(COLLECTION.info.items())
    }
    many = replace(COLLECTION, info=infos)
    few = replace(SETTINGS, n_steps=2)
    one, other, again = (
        known(
            train_paper_head(training(many, seed=seed), VALIDATION,
                             few).predictor, 'exam') for seed in (0, 1, 0))
    assert len(one.intervals.folds.alpha) == 5
    assert one.cv_mse == again.cv_mse != other.cv_mse
    np.testing.assert_array_equal(one.model.alpha, other.model.alpha)


def test_it_sees_nothing_of_other_models(head):
    values = COLLECTION.accuracies.values.copy()
    values[20:] = np.nan
    blind = replace(
        COLLECTION,
        accuracies=replace(COLLECTION.accuracies, values=values),
        losses=COLLECTION.losses_of(FITTED))
    again = train_paper_head(training(blind), VALIDATION, SETTINGS)
    np.testing.assert_array_equal(
        predicted(again.predictor).values,
        predicted(head.predictor).values)


def test_states_are_left_as_they_are(head):
    """And of any type, such as bfloat16 mapped from a file."""
    states = STATES.bfloat16()
    frozen = states.clone()
    found = train_paper_head(
        training(states=states), VALIDATION, replace(SETTINGS, n_steps=3))
    assert torch.equal(states, frozen)
    found = predicted(found.predictor).values[:, 0]
    expected = train_paper_head(training(), VALIDATION,
                                replace(SETTINGS, n_steps=3))
    np.testing.assert_allclose(
        found, predicted(expected.predictor).values[:, 0], atol=.01)
    float32 = STATES.clone()
    train_paper_head(
        training(states=float32), VALIDATION, replace(SETTINGS, n_steps=1))
    assert torch.equal(float32, STATES)


def test_one_family_leaves_nothing_to_hold_out():
    infos = {
        model: replace(known, family='f')
        for model, known in COLLECTION.info.items()
    }
    found = train_paper_head(
        training(replace(COLLECTION, info=infos)), VALIDATION, SETTINGS)
    exam = known(found.predictor, 'exam')
    assert np.isnan(exam.cv_mse)
    assert len(exam.intervals.errors) == 0
    assert found.predictor.units == ('loss', 'exam: head 0', 'some: head 0',
                                     'exam: head 1', 'some: head 1')
    table = predicted(found.predictor)
    assert (table.low[:, 0] == 0).all() and (table.high[:, 0] == 1).all()


def test_the_back_test_has_not_seen_the_better_models(head):
    """Their scores are garbled: only what is compared with them changes."""
    table = training().table
    better = ~worse_models(np.where(table.scored, table.losses, 0).sum(axis=1))
    assert better.sum() == 7
    shift = np.zeros(N)
    shift[:len(FITTED)][better] = -.15
    other = train_paper_head(
        training(make_collection(shift)), VALIDATION, SETTINGS)
    column = head.predictor.units.index('exam: head 1')
    matrices = [one.predictor.matrix.toarray() for one in (head, other)]
    np.testing.assert_array_equal(*(matrix[:, column] for matrix in matrices))
    assert not np.array_equal(*(matrix[:, 1] for matrix in matrices))
    for one in (head, other):
        exam = known(one.predictor, 'exam')
        assert len(exam.intervals.backtest) == 7
    garbled, clean = (
        known(one.predictor, 'exam').intervals for one in (other, head))
    assert garbled.backtest.mean() != clean.backtest.mean()


def test_scores_of_one_family_alone():
    """Others are fitted on other benchmarks, and leave nothing here."""
    values = COLLECTION.accuracies.values.copy()
    for i, model in enumerate(FITTED):
        if FAMILIES[model] != 'f1':
            values[i, 2] = np.nan
    few = replace(
        COLLECTION, accuracies=replace(COLLECTION.accuracies, values=values))
    found = train_paper_head(
        training(few), VALIDATION, replace(SETTINGS, n_steps=3))
    some = known(found.predictor, 'some')
    assert len(some.intervals.errors) == 0 and np.isnan(some.cv_mse)
    assert np.isfinite(predicted(found.predictor).values).all()


def test_a_training_that_was_too_short_says_so():
    short = train_paper_head(training(), VALIDATION,
                             replace(SETTINGS, n_steps=2))
    assert 'train for more steps' in known(short.predictor, 'exam').notes[1]


def test_a_fold_that_lacks_validation_models_predicts_its_mean():
    """All validation models are of one family, which is held out once."""
    few = tuple(m for m in VALIDATION if FAMILIES[m] == 'f0')
    found = train_paper_head(training(), few, SETTINGS)
    exam = known(found.predictor, 'exam')
    families = np.array([FAMILIES[model] for model in FITTED])
    masks = fold_masks(families, 0, n_repeats=1)
    real = COLLECTION.accuracies.select(FITTED).column('exam')
    by_fold = exam.intervals.folds.predict(
        found.predictor.features(COLLECTION.losses, TEXTS.fingerprint).values)
    for mask, values in zip(masks, by_fold):
        if (mask & (families == 'f0')).any():
            assert np.ptp(values) > .1
        else:
            np.testing.assert_allclose(values, real[mask].mean())


def test_it_travels(head, tmp_path):
    save_predictor(head.predictor, tmp_path / 'p.safetensors')
    again = load_predictor(tmp_path / 'p.safetensors')
    found, expected = predicted(again), predicted(head.predictor)
    for part in ('values', 'low', 'high', 'extrapolated', 'in_sample'):
        np.testing.assert_array_equal(
            getattr(found, part), getattr(expected, part))
    assert again.units == head.predictor.units
    assert known(again, 'exam').notes == known(head.predictor, 'exam').notes


def test_who_waits_sees_the_steps_of_every_repetition():
    seen = []
    train_paper_head(training(), VALIDATION, replace(SETTINGS, n_steps=2),
                     lambda steps: seen.append(len(steps)) or steps)
    assert seen == [3] * 6


@pytest.mark.parametrize('change, validation, message', [
    (dict(states=None), VALIDATION, 'hidden states of a scoring LM, found no'),
    (dict(states=STATES[1:]), VALIDATION, 'one a token'),
    ({}, (), 'a benchmark to learn from, found none'),
    ({}, OTHERS, 'a benchmark to learn from, found none'),
    ({}, FITTED, 'a benchmark to learn from, found none'),
])
def test_what_cannot_be_trained_is_one_line(change, validation, message):
    with pytest.raises(InputError, match=message) as error:
        train_paper_head(training(**change), validation, SETTINGS)
    assert '\n' not in str(error.value)


def test_only_benchmarks_without_a_curve_are_an_error():
    flat = COLLECTION.accuracies.select_benchmarks(('flat', ))
    with pytest.raises(InputError, match='a benchmark to learn from'):
        train_paper_head(
            training(replace(COLLECTION, accuracies=flat)), VALIDATION,
            SETTINGS)
