"""The methods that learn a predictor, and `fit`."""
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.core.salience import DEFAULT_SOLVER, SOLVERS
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.paper_head import train_paper_head
from csv_plugin.lm.hidden_states import hidden_states
from csv_plugin.lm.methods import METHODS, fit, train_auto, train_paper
from csv_plugin.lm.tokens.tokenization import target_tokens
from tests.core.training_worlds import (CHARACTERS, FAMILIES, FITTED, OTHERS,
                                        TEXTS, make_training,
                                        make_training_world, table_of)
from tests.lm.models import make, tokenizer
from tests.runs import train
from tests.tables import small_tables

ROOT = Path(__file__).resolve().parents[2]
TARGETS = target_tokens(tokenizer(), TEXTS)
WORLD = DUMPS, ACCURACIES = make_training_world(TARGETS)
TRAINING = make_training(TARGETS, WORLD)
TO_FIT = ACCURACIES.select(FITTED)
VALIDATION = FITTED[8:]
FEW_STEPS = HeadSettings(n_steps=3)


@pytest.fixture(scope='module')
def states():
    return hidden_states(make('llama'), tokenizer(), TEXTS.texts)


def assert_same_predictions(predictor, expected, losses=DUMPS):
    predictions, reference = (
        part.predict(losses) for part in (predictor, expected))
    for part in ('values', 'low', 'high', 'extrapolated', 'in_sample'):
        np.testing.assert_array_equal(
            getattr(predictions, part), getattr(reference, part))


@pytest.mark.slow
def test_auto_finds_the_tokens_that_matter(states):
    real = ACCURACIES.select(OTHERS).values[:, 0]
    errors = [
        np.abs(predictor.predict(DUMPS.select(OTHERS)).values[:, 0, 0] -
               real).mean()
        for predictor in (train_auto(TRAINING, states), TRAINING.mean_loss())
    ]
    assert errors[0] < .6 * errors[1]


def test_paper_is_algorithm_2(states):
    seen = []
    trained = train_paper(TRAINING, states, VALIDATION, FEW_STEPS,
                          lambda steps: seen.append(len(steps)) or steps)
    head = train_paper_head(TRAINING, states, VALIDATION, FEW_STEPS)
    assert_same_predictions(trained, head)
    # All models, three families left out in turn, and two back-tests: half
    # of the models leave two to fit to, which are too few.
    assert seen == [4] * 6


@pytest.mark.parametrize('validation', [(), FITTED])
def test_paper_needs_train_and_validation_models(states, validation):
    message = f'train and validation models, found {len(validation)} of 12'
    with pytest.raises(InputError, match=message):
        train_paper(TRAINING, states, validation)
    with pytest.raises(InputError, match='of a scoring LM, found none'):
        train_paper(TRAINING, None, VALIDATION)


@pytest.fixture
def calls(monkeypatch):
    seen = []

    def watched(training, states, validation, settings=None, progress=iter):
        seen.append((training, states, validation, settings, progress))
        return TRAINING.baselines()['constant']

    for name in METHODS:
        monkeypatch.setitem(METHODS, name, watched)
    return seen


def assert_trained_on(training, dumps=DUMPS):
    """The target tokens, the losses of the fitted models, and no others."""
    assert training.targets.spans == TARGETS.spans
    expected = table_of(TARGETS, dumps, FITTED)
    assert training.losses.models == expected.models == FITTED
    np.testing.assert_array_equal(training.losses.losses, expected.losses)
    assert training.accuracies.models == FITTED
    assert [training.families[model]
            for model in FITTED] == [FAMILIES[model] for model in FITTED]


def test_fit_without_a_scoring_lm(calls):
    fit(DUMPS, TO_FIT, FAMILIES, seed=5, progress=list)
    (training, *rest), = calls
    assert_trained_on(training)
    assert training.seed == 5
    assert rest == [None, (), None, list]


def test_fit_with_a_scoring_lm(calls, states):
    dumps, accuracies = make_training_world(CHARACTERS)
    model = make('llama')
    fit(dumps,
        accuracies.select(FITTED),
        FAMILIES,
        'paper',
        scoring_lm=(model, tokenizer()),
        validation=FITTED[-1:])
    (training, found, *rest), = calls
    assert_trained_on(training, dumps)
    np.testing.assert_allclose(found, states, atol=1e-4)
    assert rest == [FITTED[-1:], None, iter]


@pytest.mark.slow
def test_fit_without_a_scoring_lm_loads_no_torch():
    script = '''
import sys
import csv_plugin
from tests.core.training_worlds import *

dumps, accuracies = make_training_world(CHARACTERS)
predictor = csv_plugin.fit(dumps, accuracies.select(FITTED), FAMILIES)
assert predictor.predict(dumps).values.shape == (15, 1, 1)
assert not {'torch', 'transformers', 'opencompass'} & sys.modules.keys()
print(predictor.benchmarks[0].fit_models)
'''
    process = subprocess.run([sys.executable, '-c', script],
                             cwd=ROOT,
                             capture_output=True,
                             text=True)
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == str(FITTED)


def test_fit_notes_models_from_different_engines(monkeypatch):
    learned = train()
    monkeypatch.setitem(METHODS, 'auto', lambda *_, **unused: learned)
    for model in (FITTED[-1], OTHERS[0]):
        info = replace(DUMPS[model].info, engine='vllm')
        losses = DUMPS | ModelLosses(TEXTS,
                                     {model: replace(DUMPS[model], info=info)})
        notes = fit(losses, TO_FIT, FAMILIES).benchmarks[0].notes
        assert any('vllm' in note for note in notes) == (model in FITTED)


@pytest.mark.parametrize('method, solver', [(None, DEFAULT_SOLVER),
                                            ('ridge', 'ridge')])
def test_fit_to_a_table(method, solver):
    tables = small_tables(n_models=8, n_units=2, n_families=4).only('easy')
    to_fit = tables.accuracies.select(tables.models[:7])
    predictor = fit(tables.features, to_fit, tables.families, method, seed=3)
    expected = fit_predictor(tables.features, to_fit, tables.groups[:7],
                             SOLVERS[solver], 3)
    assert_same_predictions(predictor, expected, tables.features)
    assert predictor.targets is None
    for more in (dict(scoring_lm=('model', 'tokenizer')),
                 dict(validation='a')):
        with pytest.raises(InputError, match='these are for token losses'):
            fit(tables.features, to_fit, tables.families, method, **more)


def test_benchmarks_that_no_model_was_run_on_are_left_out():
    tables = small_tables(n_models=8, n_units=2, n_families=4)
    predictor = fit(tables.features, tables.accuracies, tables.families,
                    'ridge')
    assert predictor.names == ('easy', 'hard', 'chance', 'same', 'pair')
    empty = tables.only('none').accuracies
    with pytest.raises(
            InputError, match='Run the models to fit to on a bench'):
        fit(tables.features, empty, tables.families, 'ridge')


TABLES = small_tables()


@pytest.mark.parametrize('losses, accuracies, families, method, message', [
    (TABLES.features, TABLES.accuracies, TABLES.families, 'paper',
     "solver: expected one of auto, .*ridge, uniform, found 'paper'"),
    (DUMPS, TO_FIT, {'m0': 'f'}, 'auto',
     "the family of every model, found None of 'm1'"),
    (DUMPS, TO_FIT, FAMILIES | {'m1': float('nan')}, 'auto', "nan of 'm1'"),
    (DUMPS, TO_FIT.to_dict(), FAMILIES, 'auto',
     'an AccuracyTable, found a dict'),
    (DUMPS.select(FITTED[:-1]), TO_FIT, FAMILIES, 'auto',
     "losses of every model, found none of 'm11'"),
    (TABLES.features.select(TABLES.models[1:]), TABLES.accuracies,
     TABLES.families, 'auto',
     "features of every model, found none of 'org/model-0'"),
])  # yapf: disable
def test_what_fit_refuses(losses, accuracies, families, method, message):
    validation = VALIDATION if losses is DUMPS else ()
    with pytest.raises(InputError, match=message):
        fit(losses, accuracies, families, method, validation=validation)


def test_fit_needs_a_model_and_losses_that_know_their_texts():
    with pytest.raises(InputError, match='accuracies: .* found none'):
        fit(DUMPS, TO_FIT.select([]), FAMILIES)
    with pytest.raises(InputError, match='found a dict. Read dumps by'):
        fit(dict(DUMPS), TO_FIT, FAMILIES)


def test_validation_models_are_checked_before_the_texts_are_read():
    reader = object(), object()
    with pytest.raises(InputError, match="m11, found 'nobody'"):
        fit(DUMPS, TO_FIT, FAMILIES, None, reader, validation=['nobody'])
    with pytest.raises(InputError, match='found 0 of 12 for validation'):
        fit(DUMPS, TO_FIT, FAMILIES, 'paper', reader)
