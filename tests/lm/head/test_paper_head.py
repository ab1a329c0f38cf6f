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
from csv_plugin.core.training import Training
from csv_plugin.lm.head import HeadSettings, paper_head
from csv_plugin.lm.head.algorithm2 import train_heads
from csv_plugin.lm.head.paper_head import train_paper_head
from csv_plugin.lm.head.state_columns import StateColumns
from csv_plugin.lm.tokens.tokenization import target_tokens
from tests.core.loss_dumps import model_losses
from tests.lm.models import tokenizer

TEXTS = TextSet((Text('a', 'The dog sat on the mat, 7 times.'),
                 Text('b', 'It is a quick brown fox.')))  # yapf: disable
TARGETS = target_tokens(tokenizer(), TEXTS)
T, H, N = TARGETS.n_tokens, 3, 24
MODELS = tuple(f'm{i}' for i in range(N))
#: Eight families in five folds; the last models are not fitted to.
FAMILIES = {model: f'f{i % 8}' for i, model in enumerate(MODELS)}
FITTED, OTHERS = MODELS[:20], MODELS[20:]
#: Families of the fitted models, and the folds that they are dealt to.
GROUPS = np.array([FAMILIES[model] for model in FITTED])
MASKS = fold_masks(GROUPS, 0, n_repeats=1)
VALIDATION = MODELS[12:20]
SETTINGS = HeadSettings(learning_rate=30., n_steps=25)
FEW_STEPS = replace(SETTINGS, n_steps=2)
RNG = np.random.default_rng(0)
#: Wide and off the origin: to be standardised.
STATES = torch.from_numpy(RNG.normal(4, 3, (T, H))).float()
#: Tokens that matter are those with a high first state.
MATTERS = (STATES[:, 0] > 4).numpy()
CHANCE = .2


def make_world():
    """Dumps and accuracies: 'exam' follows the tokens that matter, 'flat'
    follows nothing."""
    rng = np.random.default_rng(1)
    skills = rng.uniform(-1, 1, (2, N))
    losses = (2 -
              .5 * np.where(MATTERS, skills[0][:, None], skills[1][:, None]) +
              .05 * rng.normal(size=(N, T)))
    # The first token is the one that nobody scored.
    losses[:, 0] = np.nan
    cut = len(TARGETS.spans[0])
    dumps = model_losses(TEXTS, {
        model: [
            TokenLosses(text.text_id, part, spans, len(text.text),
                        sha256=text.sha256)
            for text, spans, part in zip(TEXTS, TARGETS.spans, (row[:cut],
                                                                row[cut:]))]
        for model, row in zip(MODELS, losses)
    })  # yapf: disable
    exam = CHANCE + (1 - CHANCE) / (1 + np.exp(-3 * skills[0]))
    flat = np.full(N, .6)
    sparse = exam.copy()
    sparse[::5] = np.nan
    return dumps, AccuracyTable(MODELS, ('exam', 'flat', 'sparse'),
                                np.stack([exam, flat, sparse], axis=1),
                                np.full(3, CHANCE), np.array([100, 0, 50]))


DUMPS, ACCURACIES = make_world()


def table_of(models=MODELS):
    return TARGETS.table({model: DUMPS[model].texts for model in models})


def training(**changes):
    made = Training(table_of(FITTED), TEXTS, ACCURACIES, FAMILIES, TARGETS)
    return replace(made, **changes)


def trained(states=STATES, validation=VALIDATION, settings=SETTINGS,
            **changes):  # yapf: disable
    return train_paper_head(training(**changes), states, validation, settings)


@pytest.fixture(scope='module')
def head():
    return trained()


def predicted(head):
    """Accuracies of all models, `(M, B)`."""
    return head.predict(DUMPS).values[:, :, 0]


def standardised(table):
    """The states as they are trained on, to the last bit."""
    scale = StateColumns.of(STATES, table).scale
    mean, spread = (
        torch.from_numpy(part).float() for part in (scale.mean, scale.spread))
    return (STATES - mean) / spread


@pytest.fixture(scope='module')
def heads():
    """Those of Algorithm 2 on all models; from 'flat' nothing is learned."""
    table = table_of(FITTED)
    return train_heads(
        standardised(table), table,
        ACCURACIES.select(FITTED, ['exam', 'sparse']), FITTED[:12], VALIDATION,
        SETTINGS)


def test_it_predicts_what_the_heads_do(head, heads):
    table = table_of()
    expected = heads.predict(standardised(table), table)
    assert head.names == ACCURACIES.benchmarks
    np.testing.assert_allclose(predicted(head)[:, [0, 2]], expected, atol=1e-6)


def test_it_learns_and_says_what_it_did(head, heads):
    exam = head.benchmark('exam')
    assert exam.solver == paper_head.NAME == 'paper'
    assert exam.fit_models == FITTED
    assert exam.n_items == 100 and exam.chance == CHANCE
    assert heads.best_step.tolist() == [25, 1]
    for name, best, n_notes in (('exam', 25, 2), ('sparse', 1, 1)):
        notes = head.benchmark(name).notes
        assert notes[0] == f'the validation models chose step {best}'
        assert len(notes) == n_notes
    real = ACCURACIES.column('exam')
    baseline = training().mean_loss()
    errors = [
        np.abs(predictor.predict(DUMPS).values[20:, 0, 0] - real[20:]).mean()
        for predictor in (head, baseline)
    ]
    assert errors[0] < .6 * errors[1]


def test_weights_are_those_of_the_head(head, heads):
    """Softplus of a linear function of the states, up to nothing at all."""
    table = table_of(FITTED)
    expected = heads.head.weights(standardised(table)).numpy()
    assert (expected > 0).all()
    for b, name in enumerate(heads.benchmarks):
        weights = head.token_weights(name)
        np.testing.assert_array_equal(np.isnan(weights), ~table.scored)
        np.testing.assert_allclose(
            weights[table.scored], expected[table.scored, b], rtol=1e-5)
    weights = head.token_weights('exam')
    matters = MATTERS & table.scored
    assert weights[matters].mean() > 1.2 * np.nanmean(weights[~MATTERS])


def test_what_cannot_be_learned_is_predicted_by_its_mean(head):
    flat = head.benchmark('flat')
    assert flat.solver == 'constant'
    assert 'predicted by the mean accuracy' in flat.notes[0]
    np.testing.assert_allclose(predicted(head)[:, 1], .6)


def test_models_without_an_accuracy_are_left_out(head):
    sparse = head.benchmark('sparse')
    assert sparse.fit_models == tuple(model for i, model in enumerate(FITTED)
                                      if i % 5)
    assert sparse.intervals.n_models == 16
    in_sample = head.predict(DUMPS).in_sample[:, 2, 0]
    assert in_sample.tolist() == [
        model in sparse.fit_models for model in MODELS
    ]


@pytest.mark.parametrize('name', ['exam', 'sparse'])
def test_errors_are_those_on_families_held_out(head, name):
    benchmark = head.benchmark(name)
    features = head.features(table_of(benchmark.fit_models))
    by_fold = benchmark.intervals.folds.predict(features.values)
    fitted = np.isin(FITTED, benchmark.fit_models)
    masks = MASKS[:, fitted]
    accuracy = ACCURACIES.select(benchmark.fit_models).column(name)
    squares = ((by_fold - accuracy)**2)[~masks]
    assert benchmark.cv_mse == pytest.approx(squares.mean())
    families = np.array([FAMILIES[model] for model in benchmark.fit_models])
    held_out = families[np.nonzero(~masks)[1]]
    assert benchmark.typical_error == pytest.approx(
        np.median([
            squares[held_out == family].mean()**.5 for family in set(families)
        ]))
    # Every model is held out once, by the fold of its family.
    assert benchmark.intervals.fold.tolist() == np.nonzero(~masks)[0].tolist()
    assert sorted(np.nonzero(~masks)[1]) == list(range(len(accuracy)))
    table = head.predict(DUMPS)
    column = table.benchmarks.index(name)
    inside = ((table.low <= table.values) & (table.values <= table.high))
    assert inside.all() and (table.high > table.low)[:, column].all()


def test_it_sees_nothing_of_other_models():
    values = ACCURACIES.values.copy()
    values[20:] = np.nan
    blind = trained(
        accuracies=replace(ACCURACIES, values=values), settings=FEW_STEPS)
    np.testing.assert_array_equal(
        predicted(blind), predicted(trained(settings=FEW_STEPS)))
    # A fold that holds out no accuracy does not count.
    values[:20][~MASKS[0]] = np.nan
    fewer = trained(
        accuracies=replace(ACCURACIES, values=values), settings=FEW_STEPS)
    folds = fewer.benchmark('exam').intervals.folds
    assert len(folds.curve.alpha) == len(MASKS) - 1


def test_states_are_left_as_they_are():
    """And may be of any type, such as bfloat16 mapped from a file."""
    heads = []
    for states in (STATES.clone(), STATES.bfloat16()):
        frozen = states.clone()
        heads.append(trained(states, settings=FEW_STEPS))
        assert torch.equal(states, frozen)
    exact, rounded = heads
    np.testing.assert_allclose(
        predicted(rounded)[:, 0], predicted(exact)[:, 0], atol=.01)


def test_one_family_leaves_nothing_to_hold_out():
    alone = trained(families=dict.fromkeys(MODELS, 'f'), settings=FEW_STEPS)
    exam = alone.benchmark('exam')
    assert np.isnan(exam.cv_mse)
    assert len(exam.intervals.errors) == 0
    table = alone.predict(DUMPS)
    assert (table.low[:, 0] == 0).all() and (table.high[:, 0] == 1).all()


def test_back_tests_and_folds_are_heads_of_fewer_models(monkeypatch):
    """Of the worse models, and without the families of a fold."""
    seen, learn = [], paper_head.learn_intervals
    monkeypatch.setattr(
        paper_head, 'learn_intervals',
        lambda fitted, backtests: seen.append(backtests) or learn(
            fitted, backtests))
    made = trained(settings=FEW_STEPS)
    backtests, = seen
    exam = made.benchmark('exam')
    assert 'train for more steps' in exam.notes[1]
    table = training().losses
    loss = np.nansum(table.losses, axis=1)
    columns = made.columns
    units = columns.units
    assert columns.uniform.tolist() == [1] + [0] * (len(units) - 1)
    weights = made.matrix.toarray() * table.n_chars.sum()
    worse = worse_models(loss)
    assert not worse[:, loss.argmin()].any() and worse[:, loss.argmax()].all()
    curves = []
    for i, mask in enumerate([*worse, *MASKS], 1):
        seen = [model for model, is_in in zip(FITTED, mask) if is_in]
        expected = train_heads(
            standardised(table), table,
            ACCURACIES.select(FITTED, ['exam', 'sparse']),
            [model for model in seen if model not in VALIDATION],
            [model for model in seen if model in VALIDATION], FEW_STEPS)
        curves.append(expected.curve.alpha[0])
        if i <= len(worse):
            found = backtests[i - 1]['exam']
            np.testing.assert_array_equal(found.masks, mask[None])
            np.testing.assert_allclose(
                found.predicted[0],
                expected.predict(standardised(table), table)[:, 0],
                rtol=1e-5)
        unit = units.index(f'exam: head {i}')
        by_head = expected.head.weights(standardised(table)).numpy()[:, 0]
        np.testing.assert_allclose(
            weights[:, unit], np.where(table.scored, by_head, 0), rtol=1e-4)
    folds = exam.intervals.folds
    np.testing.assert_allclose(
        folds.curve.alpha, curves[len(worse):], rtol=1e-3)


@pytest.mark.slow
def test_a_fold_that_lacks_validation_models_predicts_its_mean():
    """All validation models are of one family, which is held out once."""
    of_one_family = [model for model in VALIDATION if FAMILIES[model] == 'f0']
    head = trained(validation=of_one_family)
    real = ACCURACIES.select(FITTED).column('exam')
    folds = head.benchmark('exam').intervals.folds
    by_fold = folds.predict(head.features(DUMPS).values)
    for mask, values in zip(MASKS, by_fold):
        if (mask & (GROUPS == 'f0')).any():
            assert np.ptp(values) > .1
        else:
            np.testing.assert_allclose(values, real[mask].mean())


@pytest.mark.parametrize('validation', [(), FITTED])
def test_nothing_to_learn_from(validation):
    with pytest.raises(InputError, match='a benchmark to learn from, found'):
        trained(validation=validation)
