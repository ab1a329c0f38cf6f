"""Laws of losses in size and tokens, and the errors that they state."""
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.comparison import MEAN
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import FeatureTable
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.io.tables import ModelInfo
from csv_plugin.triage.future_losses import LossForecast, with_loss_errors
from csv_plugin.triage.judging import judge_sizes
from csv_plugin.triage.result import NOT_BEGUN
from csv_plugin.triage.sizes import (NEW, LossLaw, amounts_of, back_test,
                                     check_sizes, log_compute, targets_of)

#: Constant and factors of three units.
UNITS = np.array([[-0.4, 0.5, 20], [-0.8, 0.8, 30], [-0.1, 0.2, 50]])


def losses_of(params_b, tokens, offset=0.0):
    """By the law, unit for unit."""
    return [
        math.exp(e + offset + a / params_b**0.2 + b / tokens**0.2)
        for e, a, b in UNITS
    ]


def world(n_families=1, offset=0.0, noise=0.0, seed=0):
    """Five sizes at three lengths in each family; offsets rise by family."""
    rng = np.random.default_rng(seed)
    models = {
        f'{family}-{params}-{tokens:g}':
        ModelInfo(f'f{family}', '', params, tokens)
        for family in range(n_families)
        for params in (.1, .2, .4, .8, 1.6)
        for tokens in (1e10, 4e10, 2e11)
    }
    losses = np.array([
        losses_of(row.params_b, row.tokens, offset * int(row.family[1:]))
        for row in models.values()
    ])
    losses *= np.exp(noise * rng.normal(size=losses.shape))
    return models, FeatureTable.of_losses(tuple(models), list('abc'), losses)


def accuracy_of(loss):
    return 0.25 + 0.75 / (1 + np.exp(3 * (loss - 1.6)))


def predictor_of(models, features):
    observed = accuracy_of(features.values.mean(axis=1))
    accuracies = AccuracyTable(features.models, ('easy', ), observed[:, None],
                               np.array([0.25]), np.array([0]))
    return fit_predictor(features, accuracies,
                         [f'g{i % 5}' for i in range(len(models))])


LARGE = ModelInfo('f0', '', 16.0, 4e12)
#: The largest model of a world.
LAST = '0-1.6-2e+11'


def test_the_law_finds_losses_of_a_larger_model():
    models, features = world()
    law = LossLaw([*models.values()], np.log(features.values))
    np.testing.assert_allclose(
        np.exp(law.logs([LARGE])), [losses_of(16.0, 4e12)], rtol=1e-3)


def test_families_are_pulled_to_the_law():
    """15 models of each count as 16 with one that has no offset."""
    models, features = world(2, offset=0.1)
    law = LossLaw([*models.values()], np.log(features.values))
    a, b, new = law.logs(
        [replace(LARGE, family=name) for name in ('f0', 'f1', NEW)])
    np.testing.assert_allclose(b - a, 0.1 * 15 / 16, rtol=1e-6)
    np.testing.assert_allclose(new, (a + b) / 2)


def test_the_law_is_a_ridge_regression():
    """Offsets of families are penalised, and factors hardly."""
    models, features = world(3, offset=0.1, noise=0.05)
    sizes, logs = [*models.values()], np.log(features.values)
    powers = amounts_of(sizes)**-.2
    families = np.array([row.family for row in sizes])

    def design(rows):
        standardised = (amounts_of(rows)**-.2 - powers.mean(0)) / powers.std(0)
        own = np.array([row.family for row in rows])[:, None]
        return np.column_stack(
            [np.ones(len(rows)), standardised, own == np.unique(families)])

    penalties = np.diag(np.sqrt([0, 1e-3, 1e-3, 1, 1, 1]))
    coefficients, *_ = np.linalg.lstsq(
        np.vstack([design(sizes), penalties]),
        np.vstack([logs, np.zeros((6, 3))]),
        rcond=None)
    targets = [LARGE, replace(LARGE, family=NEW), sizes[20]]
    np.testing.assert_allclose(
        LossLaw(sizes, logs).logs(targets),
        design(targets) @ coefficients,
        rtol=1e-8)


@pytest.mark.parametrize('is_new', [False, True])
@pytest.mark.parametrize('noise, jump', [(.05, 0), (.01, .5)])
def test_back_tests_are_the_larger_errors_of_two_kinds(is_new, noise, jump):
    """Each model or family left out; or models with more compute."""
    models, features = world(3, offset=0.05, noise=noise)
    sizes = [*models.values()]
    compute = np.log(amounts_of(sizes)).sum(axis=1)
    logs = np.log(features.values)
    families = np.array([row.family for row in sizes])
    groups = families if is_new else np.arange(len(sizes))
    order = np.argsort(compute, kind='stable')
    logs[order[38:]] += jump
    kinds = [
        [(groups != group, groups == group) for group in np.unique(groups)],
        [(order[:n], order[n:]) for n in (22, 30, 38)],
    ]  # yapf: disable
    found = []
    for splits in kinds:
        errors = []
        for kept, out in splits:
            known = [*np.array(sizes, object)[kept]]
            targets = [*np.array(sizes, object)[out]]
            if is_new:
                targets = [replace(target, family=NEW) for target in targets]
            reached = compute[kept]
            beyond = np.maximum(compute[out] - reached.max(), 0)
            growth = 1 + beyond / max(reached.std(), .5)
            error = logs[out] - LossLaw(known, logs[kept]).logs(targets)
            errors.append(error / growth[:, None])
        found.append(np.concatenate(errors))
    larger = max(found, key=rms)
    assert (larger is found[1]) == (jump > 0)
    np.testing.assert_allclose(back_test(logs, sizes, is_new), larger)


@pytest.mark.slow
def test_errors_of_the_law_widen_intervals_of_the_predictor():
    models, features = world(noise=0.02)
    predictor = predictor_of(models, features)
    sizes, logs = [*models.values()], np.log(features.values)
    small = ModelInfo('f0', '', 0.3, 5e10)
    found = judge_sizes(predictor, features, models, {
        'small': small
    }).forecasts
    table = FeatureTable(('small', ), features.columns,
                         np.exp(LossLaw(sizes, logs).logs([small])))
    errors = LossForecast(
        np.log(table.values[0]), back_test(logs, sizes, False))
    joint = predictor.joint(table)
    wider = with_loss_errors(joint, predictor, table, [errors])
    assert (found.low, found.high) == tuple(end[:, :, None]
                                            for end in wider.intervals(.9))
    low, high = joint.intervals(.9)
    assert found.high - found.low > 1.2 * (high - low)


def rms(errors):
    return np.sqrt(np.mean(errors**2))


@pytest.mark.slow
def test_errors_grow_beyond_and_in_new_families():
    models, features = world(4, offset=0.05, noise=0.01)
    predictor, logs = predictor_of(models, features), np.log(features.values)
    known, new = (
        back_test(logs, [*models.values()], is_new)
        for is_new in (False, True))
    assert rms(new) > 2 * rms(known)
    targets = {
        name: replace(LARGE, family=family, params_b=params)
        for name, family, params in (('near', 'f0', 1.0), ('far', 'f0', 50.0),
                                     ('new', NEW, 1.0))
    }
    found = judge_sizes(predictor, features, models,
                        targets).forecasts.select([*targets])
    floor = predictor.model.floor
    low, high = (
        logit((end.ravel() - floor) / (1 - floor))
        for end in (found.low, found.high))
    near, far, other = high - low
    assert far > 1.1 * near and other > 1.1 * near


@pytest.mark.slow
def test_intervals_hold_accuracies_of_larger_models():
    """Of 12 worlds, with noise in their losses."""
    held, widths, errors = [], [], []
    for seed in range(12):
        models, features = world(noise=0.02, seed=seed)
        small = {name: row for name, row in models.items() if row.params_b < 1}
        predictor = predictor_of(small, features.select([*small]))
        large = {name: models[name] for name in models if name not in small}
        found = judge_sizes(predictor, features, small,
                            large).forecasts.select([*large])
        actual = accuracy_of(features.select([*large
                                              ]).values.mean(axis=1))[:, None,
                                                                      None]
        held.append((found.low <= actual) & (actual <= found.high))
        widths.append(found.high - found.low)
        errors.append(np.abs(found.values - actual))
    assert np.mean(held) >= 0.85
    assert np.mean(widths) < 8 * np.mean(errors)


def test_the_larger_of_both_errors_counts():
    """That of models left out, or that of larger ones from smaller ones."""
    models, features = world(noise=0.01)
    logs, sizes = np.log(features.values), [*models.values()]
    plain = back_test(logs, sizes, False)
    assert len(plain) == 15  # one for each model
    # What bends the law shows where it goes on.
    bent = logs - .3 * np.maximum(log_compute(sizes) - 23, 0)[:, None]
    assert rms(back_test(bent, sizes, False)) > 2 * rms(plain)


def test_models_of_one_compute_have_a_law():
    models, _ = world()
    sizes = [
        replace(row, tokens=2e10 / row.params_b) for row in models.values()
    ]
    rng = np.random.default_rng(0)
    losses = [losses_of(*amounts) for amounts in amounts_of(sizes)]
    losses *= np.exp(0.01 * rng.normal(size=(15, 3)))
    assert 0.005 < rms(back_test(np.log(losses), sizes, False)) < 0.1


def test_where_nothing_shows_errors_nothing_is_forecast():
    """All models but the largest have one size, and it is a family."""
    models, features = world()
    names = [*(f'0-0.{k}-1e+10' for k in (1, 2, 4, 8)), '0-1.6-1e+10', LAST]
    models = {
        name:
        ModelInfo(f'f{int(name == LAST)}', '', 1.6 if name == LAST else .1,
                  1e10 * (i + 1))
        for i, name in enumerate(names)
    }
    features = features.select(tuple(models))
    predictor = predictor_of(models, features)
    targets = {name: replace(LARGE, family=name) for name in ('f0', NEW)}
    triage = judge_sizes(predictor, features, models, targets)
    assert [end.name for end in triage.ends] == ['f0']
    assert [*triage.not_forecast] == [NEW]
    assert triage.forecast_rows()[-1] == [NEW, '-', '-', '-']
    assert any(
        note.startswith(f'{NEW}: nothing is forecast')
        for note in triage.notes)


@pytest.mark.slow
def test_sizes_are_ranked():
    models, features = world(3, offset=0.1, noise=0.01)
    predictor = predictor_of(models, features)
    triage = judge_sizes(predictor, features, models,
                         targets_of(models, 3, 4e11))
    assert [end.name
            for end in triage.ends][::3] == ['3B-400B f0', '3B-400B f2']
    assert triage.verdicts == (NOT_BEGUN, ) * 4
    order = triage.orders[MEAN]
    assert order.first[0] == 1 and order.best.sum() == pytest.approx(1)
    assert triage.notes[0] == 'The law of losses was fitted to 45 models.'
    assert len(triage.notes) == 1
    far = judge_sizes(predictor, features, models,
                      targets_of(models, 160, 4e12))
    assert 'has 2000 times the compute of the largest' in far.notes[1]
    assert not triage.runs and 'f0' in str(triage)


@pytest.mark.parametrize('change, message', [
    (dict(params_b=math.nan), "'0-0.1-1e.10', column 'params_b': expected a"),
    (dict(tokens=math.nan), "column 'tokens': expected a number, found none"),
    (dict(tokens=1e9), "column 'tokens': expected two numbers or more"),
    (None, 'models.csv: expected 6 models'),
])  # yapf: disable
def test_models_without_a_law(change, message):
    models, _ = world()
    if change is None:
        sizes = list(models.items())
        check_sizes('models.csv', dict(sizes[:6]))
        models = dict(sizes[:5])
    else:
        models = {name: replace(row, **change) for name, row in models.items()}
    with pytest.raises(InputError, match=message):
        check_sizes('models.csv', models)


def test_targets_are_families_of_several_sizes():
    models = {f'{i}': ModelInfo(f'f{i // 2}', '', i, 1e10) for i in range(4)}
    targets = targets_of(models, 7.0, 4e12)
    assert list(targets) == ['7B-4T f0', '7B-4T f1', '7B-4T new family']
    assert [row.family for row in targets.values()] == ['f0', 'f1', NEW]
    alone = {'alone': ModelInfo('f2', '', 1, 1e10)}
    assert targets_of(models | alone, 7.0, 4e12) == targets
    assert list(targets_of(world()[0], 7.0, 4e12)) == ['7B-4T f0']
    assert log_compute([*targets.values()]) == pytest.approx(math.log(2.8e13))
