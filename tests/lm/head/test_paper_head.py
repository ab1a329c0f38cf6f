"""Algorithm 2 as a predictor that travels."""
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import text_columns
from csv_plugin.core.fitting import fit_mean_loss_predictor
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.study import Study
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.algorithm2 import train_heads
from csv_plugin.lm.head.paper_head import train_paper_head
from csv_plugin.lm.head.state_scale import StateScale
from csv_plugin.lm.tokens.tokenization import target_tokens
from csv_plugin.report.study_tables import write_report
from tests.core.loss_dumps import model_losses
from tests.lm.models import tokenizer

TEXTS = TextSet((Text('a', 'The dog sat on the mat, 7 times.'),
                 Text('b', 'It is a quick brown fox.')))  # yapf: disable
TARGETS = target_tokens(tokenizer(), TEXTS)
T, H, N = TARGETS.n_tokens, 3, 24
MODELS = tuple(f'm{i}' for i in range(N))
#: Eight families; the last models are not fitted to.
FAMILIES = {model: f'f{i % 8}' for i, model in enumerate(MODELS)}
FITTED, OTHERS = MODELS[:20], MODELS[20:]
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
    exam += .02 * rng.normal(size=N)
    flat = np.full(N, .6)
    sparse = exam.copy()
    sparse[::5] = np.nan
    return dumps, AccuracyTable(MODELS, ('exam', 'flat', 'sparse'),
                                np.stack([exam, flat, sparse], axis=1),
                                np.full(3, CHANCE), np.array([100, 0, 50]))


DUMPS, ACCURACIES = make_world()
REAL = ACCURACIES.column('exam')


def table_of(models=MODELS):
    return TARGETS.table({model: DUMPS[model].texts for model in models})


def trained(*arguments, **options):
    """The predictor of `training`."""
    return training(*arguments, **options).predictor


def training(states=STATES,
             validation=VALIDATION,
             settings=SETTINGS,
             accuracies=ACCURACIES,
             families=FAMILIES,
             watched=()):
    return train_paper_head(
        table_of(FITTED),
        TARGETS,
        states,
        accuracies.select([*FITTED, *watched]),
        [families[model] for model in FITTED],
        validation,
        settings,
        watched=table_of(watched) if watched else None)


@pytest.fixture(scope='module')
def head():
    return trained()


def test_its_report_claims_no_families_left_out(tmp_path, head):
    """Its curves are fitted once; its errors are of validation models."""
    study = Study.of({'paper': head}, DUMPS, ACCURACIES)
    write_report(tmp_path / 'r.md', study, [], 'A title', 'x')
    report = ' '.join((tmp_path / 'r.md').read_text('utf-8').split())
    assert '## Validation models | benchmark | mean abs. error |' in report
    assert 'mean absolute error of the validation models, in points' in report
    assert 'other families' not in report and 'left out' not in report
    errors = np.abs(predicted(head)[12:20, 0] - REAL[12:20])
    shown, = re.findall(r'\| exam \| ([0-9.]+) \|',
                        report.partition('## V')[2])
    # Means of distributions are no points of their curves.
    assert float(shown) == pytest.approx(100 * errors.mean(), abs=.3)


def predicted(head):
    """Accuracies of all models, `(M, B)`."""
    return head.predict(DUMPS).values[:, :, 0]


def standardised(table):
    """The states as they are trained on."""
    return StateScale.of(STATES, table.scored).apply(STATES)


@pytest.fixture(scope='module')
def heads():
    """Those of Algorithm 2 on all models; from 'flat' nothing is learned."""
    table = table_of(FITTED)
    return train_heads(
        standardised(table), table,
        ACCURACIES.select(FITTED, ['exam', 'sparse']), FITTED[:12], VALIDATION,
        SETTINGS)


def test_steps_are_those_of_all_models(head, heads):
    """Test models are watched, and change nothing."""
    watched = training(watched=OTHERS)
    np.testing.assert_array_equal(
        predicted(watched.predictor), predicted(head))
    steps = watched.steps
    assert steps.benchmarks == ('exam', 'sparse')
    assert steps.models == (*FITTED, *OTHERS)
    assert [*steps.splits
            ] == [*['training'] * 12, *['validation'] * 8, *['test'] * 4]
    np.testing.assert_array_equal(steps.best_step, heads.best_step)
    table = table_of()
    expected = heads.predict(standardised(table_of(FITTED)), table)
    for b, best in enumerate(heads.best_step):
        found = steps.predicted()[best, :, b]
        np.testing.assert_allclose(found, expected[:, b], atol=1e-6)
    observed = ACCURACIES.select(benchmarks=['exam', 'sparse']).values
    for split, rows in (('training', range(12)), ('validation', range(12, 20)),
                        ('test', range(20, 24))):
        errors = (steps.predicted()[0] - observed)[[*rows]]
        np.testing.assert_allclose(
            steps.mse(split)[0], np.nanmean(errors**2, axis=0))
    best = steps.best_step
    chosen = steps.mse('validation')[best, [0, 1]]
    assert (chosen <= np.nanmin(steps.mse('validation'), axis=0)).all()


def test_steps_end_where_the_last_benchmark_stops():
    settings = replace(SETTINGS, n_steps=60, patience=3)
    steps = training(settings=settings).steps
    ends = [int(np.isfinite(steps.curve.alpha[:, b]).sum()) for b in range(2)]
    assert ends == [min(best + 4, 61) for best in steps.best_step]
    assert len(steps.scores) == max(ends)
    assert np.isnan(steps.mse('test')).all()


def test_states_are_standardised_on_the_tokens_that_count():
    counted = np.arange(T) % 3 > 0
    states = STATES.clone()
    states[:, 1] = .1
    scale = StateScale.of(states, counted)
    found = scale.apply(states).numpy()
    np.testing.assert_allclose(found[counted].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(found[counted].std(axis=0), [1, 0, 1],
                               atol=1e-5)  # yapf: disable
    assert scale.spread[1] == 1


def test_it_predicts_what_the_heads_do(head, heads):
    table = table_of()
    expected = heads.predict(standardised(table), table)
    assert head.names == ACCURACIES.benchmarks
    # Accuracies are means over what models lie off by.
    exponents = head.joint(head.features(DUMPS)).mean
    curves = head.model.curves
    points = curves.floor + (1 - curves.floor) / (1 + np.exp(-exponents))
    np.testing.assert_allclose(points[:, [0, 2]], expected, atol=1e-6)
    np.testing.assert_allclose(predicted(head)[:, [0, 2]], expected, atol=.02)


def test_it_learns_and_says_what_it_did(head, heads):
    exam = head.benchmark('exam')
    assert exam.fit_models == FITTED
    assert exam.n_items == 100 and exam.chance == CHANCE
    for name, best in zip(heads.benchmarks, heads.best_step):
        notes = head.benchmark(name).notes
        assert notes[0] == f'the validation models chose step {best}.'
        assert len(notes) == 1 + (best == SETTINGS.n_steps)
    source = text_columns(table_of(FITTED))
    baseline = fit_mean_loss_predictor(
        source.features(table_of(FITTED)), ACCURACIES.select(FITTED),
        [FAMILIES[model] for model in FITTED])
    found = baseline.predict(source.features(table_of())).values[:, 0, 0]
    errors = [
        np.abs(values[20:] - REAL[20:]).mean()
        for values in (predicted(head)[:, 0], found)
    ]
    assert errors[0] < .6 * errors[1]


def test_weights_are_those_of_the_head(head, heads):
    """Softplus of a linear function of the states, up to a factor."""
    table = table_of(FITTED)
    expected = heads.head.weights(standardised(table)).numpy()
    expected = expected[table.scored] / expected[table.scored].mean(axis=0)
    for b, name in enumerate(heads.benchmarks):
        weights = head.token_weights(name)
        np.testing.assert_array_equal(np.isnan(weights), ~table.scored)
        np.testing.assert_allclose(
            weights[table.scored], expected[:, b], rtol=1e-4)
    weights = head.token_weights('exam')
    matters = MATTERS & table.scored
    assert weights[matters].mean() > 1.2 * np.nanmean(weights[~MATTERS])


def test_what_cannot_be_learned_is_predicted_by_its_mean(head):
    flat = head.benchmark('flat')
    assert 'predicted by the mean accuracy' in flat.notes[0]
    np.testing.assert_allclose(predicted(head)[:, 1], .6, atol=1e-3)


@pytest.mark.parametrize('mean', [.01, .97])
def test_means_near_the_ends_are_accuracies(mean):
    values = ACCURACIES.values.copy()
    values[:, 1] = mean
    head = trained(
        accuracies=replace(ACCURACIES, values=values), settings=FEW_STEPS)
    table = head.predict(DUMPS)
    np.testing.assert_allclose(table.values[:, 1], mean, atol=.01)
    assert (table.low[:, 1] <= mean).all() and (table.high[:, 1] >= mean).all()


def test_models_without_an_accuracy_are_left_out(head):
    sparse = head.benchmark('sparse')
    assert sparse.fit_models == tuple(model for i, model in enumerate(FITTED)
                                      if i % 5)
    in_sample = head.predict(DUMPS).in_sample[:, 2, 0]
    assert in_sample.tolist() == [
        model in sparse.fit_models for model in MODELS
    ]


@pytest.mark.parametrize('name', ['exam', 'sparse'])
def test_errors_are_those_of_the_validation_models(head, name):
    """Whose exponents are far from the curve by one standard deviation."""
    b = head.names.index(name)
    rows = np.isin(FITTED, VALIDATION)
    left_out = head.left_out[:, b]
    seen = rows & ~np.isnan(head.observed[:, b])
    np.testing.assert_array_equal(~np.isnan(left_out), seen)
    errors = (left_out - head.observed[:, b])[seen]
    assert head.benchmark(name).error == pytest.approx(
        np.sqrt((errors**2).mean()))
    table = head.predict(DUMPS)
    low, high = (part[:, b, 0] for part in (table.low, table.high))
    assert ((low < table.values[:, b, 0]) & (table.values[:, b, 0] < high)
            ).all()  # yapf: disable
    inside = (low[:20] <= head.observed[:, b]) & (
        head.observed[:, b] <= high[:20])
    assert inside[seen].mean() > .7


def test_larger_errors_of_validation_models_mean_wider_intervals(head):
    values = ACCURACIES.values.copy()
    off = .1 * np.tile([1, -1], 4)
    values[12:20, 0] = (values[12:20, 0] + off).clip(0, 1)
    wrong = trained(accuracies=replace(ACCURACIES, values=values))
    widths = [(table.high - table.low)[:, 0, 0].mean()
              for table in (head.predict(DUMPS), wrong.predict(DUMPS))]
    assert widths[1] > 1.5 * widths[0]


def test_it_sees_nothing_of_other_models():
    values = ACCURACIES.values.copy()
    values[20:] = np.nan
    blind = trained(
        accuracies=replace(ACCURACIES, values=values), settings=FEW_STEPS)
    np.testing.assert_array_equal(
        predicted(blind), predicted(trained(settings=FEW_STEPS)))


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


def test_a_benchmark_without_a_validation_model_is_not_learned():
    values = ACCURACIES.values.copy()
    values[12:20, 2] = np.nan
    head = trained(
        accuracies=replace(ACCURACIES, values=values), settings=FEW_STEPS)
    note, = head.benchmark('sparse').notes
    assert note.endswith('no validation model has an accuracy')
    known = values[:12, 2]
    np.testing.assert_allclose(
        predicted(head)[:, 2], np.nanmean(known), atol=.02)
    # How far models lie from their mean is known of all models.
    error = np.sqrt(np.nanmean((known - np.nanmean(known))**2))
    assert head.benchmark('sparse').error == pytest.approx(error)
    table = head.predict(DUMPS)
    assert (table.high - table.low)[:, 2].min() > 2 * error


@pytest.mark.parametrize('validation', [(), FITTED])
def test_nothing_to_learn_from(validation):
    with pytest.raises(InputError, match='a benchmark to learn from, found'):
        trained(validation=validation)
