"""The methods that learn a predictor, and `fit`."""
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import answer_mask
from csv_plugin.core.fitting import fit_mean_loss_predictor, fit_predictor
from csv_plugin.core.model_losses import ModelLosses
from csv_plugin.core.predictor import Units
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.head import HeadSettings
from csv_plugin.lm.head.paper_head import train_paper_head
from csv_plugin.lm.hidden_states import hidden_states
from csv_plugin.lm.methods import (answers_by_source, fit, method_names,
                                   token_columns)
from csv_plugin.lm.tokens.tokenization import target_tokens
from tests.core.training_worlds import (CHARACTERS, FAMILIES, FITTED, MODELS,
                                        OTHERS, TEXTS, make_training_world,
                                        table_of, that_matter)
from tests.lm.models import make, tokenizer
from tests.tables import small_tables

ROOT = Path(__file__).resolve().parents[2]
TARGETS = target_tokens(tokenizer(), TEXTS)
DUMPS, ACCURACIES = make_training_world(TARGETS)
TABLE = table_of(TARGETS, DUMPS, FITTED)
TO_FIT = ACCURACIES.select(FITTED)
GROUPS = [FAMILIES[model] for model in FITTED]
VALIDATION = FITTED[8:]
FEW_STEPS = HeadSettings(n_steps=3)
#: Tokens of the texts, by the place of the text.
TEXT_OF = np.repeat([0, 1, 2], [len(spans) for spans in TARGETS.spans])

ANSWERS = answer_mask(TEXTS, TARGETS.spans)


@pytest.fixture(scope='module')
def scoring_lm():
    return make('llama'), tokenizer()


@pytest.fixture(scope='module')
def fitted():
    return fit(DUMPS, TO_FIT, FAMILIES)


def assert_same_predictions(predictor, expected, losses=DUMPS, rtol=1e-9):
    predictions, reference = (
        part.predict(losses) for part in (predictor, expected))
    for part in ('values', 'low', 'high', 'extrapolated', 'in_sample'):
        np.testing.assert_allclose(
            getattr(predictions, part), getattr(reference, part), rtol=rtol)


# ---- columns


def test_answers_are_those_of_their_source():
    found = answers_by_source(TABLE, TEXTS, TARGETS)
    assert [*found] == ['facts', 'sums']
    np.testing.assert_array_equal(found['sums'], ANSWERS & (TEXT_OF == 0))
    assert (TEXT_OF[found['facts']] == 1).all() and found['facts'].any()


def test_answers_that_a_model_did_not_score_are_left_out():
    losses = TABLE.losses.copy()
    losses[3, ANSWERS & (TEXT_OF == 0)] = np.nan
    fewer = replace(TABLE, losses=losses)
    assert [*answers_by_source(fewer, TEXTS, TARGETS)] == ['facts']
    plain = TextSet(
        tuple(Text(text.text_id, text.text, text.source) for text in TEXTS))
    assert not answers_by_source(TABLE, plain, TARGETS)


def test_columns_are_texts_and_tokens_of_answers():
    source, units = token_columns(TABLE, TEXTS, TARGETS, ('sums', 'other'))
    tokens = np.flatnonzero(ANSWERS & (TEXT_OF == 0))
    columns = source.columns
    assert columns.units == ('a', 'b', 'c', *(f'answers of sums: token {t}'
                                              for t in tokens))
    assert units.columns.tolist() == [0, 1, 2]
    assert units.sources.tolist() == ['sums', 'facts', 'facts']
    assert [*units.answers] == ['sums']
    values = source.features(TABLE).values
    np.testing.assert_allclose(values[:, units.answers['sums']],
                               TABLE.losses[:, tokens])
    for k, text in enumerate(TEXTS):
        np.testing.assert_allclose(
            values[:, k],
            TABLE.losses[:, TEXT_OF == k].sum(axis=1) / len(text.text))
    # The mean loss counts every token once.
    np.testing.assert_allclose(
        values @ columns.uniform,
        TABLE.losses.sum(axis=1) / sum(len(text.text) for text in TEXTS))


def test_columns_of_two_benchmarks_follow_each_other():
    source, units = token_columns(TABLE, TEXTS, TARGETS, ('sums', 'facts'))
    values = source.features(TABLE).values
    assert {*units.answers} == {'sums', 'facts'}
    for name in ('sums', 'facts'):
        of_source = TEXT_OF == 0 if name == 'sums' else TEXT_OF > 0
        tokens = np.flatnonzero(ANSWERS & of_source)
        np.testing.assert_allclose(values[:, units.answers[name]],
                                   TABLE.losses[:, tokens])


# ---- one model


@pytest.mark.slow
def test_it_is_fitted_to_these_columns(fitted):
    source, units = token_columns(TABLE, TEXTS, TARGETS, ('sums', ))
    expected = fit_predictor(source.features(TABLE), TO_FIT, GROUPS,
                             units).with_tokens(fitted.targets, source)
    tokens = fit(
        DUMPS, TO_FIT, FAMILIES, scoring_lm=(make('llama'), tokenizer()))
    assert tokens.targets.spans == TARGETS.spans
    assert_same_predictions(tokens, expected)
    # Without a scoring LM the tokens are those of the models, the same here.
    assert_same_predictions(fitted, expected)
    assert {*fitted.fit_models} == {*FITTED}


def test_it_finds_the_tokens_that_matter(fitted):
    real = ACCURACIES.select(OTHERS).values[:, 0]
    baseline = fit(DUMPS, TO_FIT, FAMILIES, 'mean-loss')
    errors = [
        np.abs(predictor.predict(DUMPS.select(OTHERS)).values[:, 0, 0] -
               real).mean() for predictor in (fitted, baseline)
    ]
    assert errors[0] < .6 * errors[1]
    weights, matters = fitted.token_weights('sums'), that_matter(TARGETS)
    assert np.abs(
        weights[matters]).mean() > 5 * np.abs(weights[~matters]).mean()


@pytest.mark.slow
def test_tokens_of_other_tokenizers_are_mapped(scoring_lm):
    """Models scored characters; the scoring LM has tokens of its own."""
    dumps, accuracies = make_training_world(CHARACTERS)
    to_fit = accuracies.select(FITTED)
    found = fit(dumps, to_fit, FAMILIES, scoring_lm=scoring_lm)
    assert found.targets.spans == TARGETS.spans
    alone = fit(dumps, to_fit, FAMILIES)
    assert alone.targets.spans == CHARACTERS.spans
    # The tokenizer joins characters, and the answer is one of them.
    np.testing.assert_allclose(
        found.predict(dumps).values, alone.predict(dumps).values, atol=.1)


# ---- the baseline, and the paper's method


def test_the_baseline_is_that_of_the_mean_loss():
    """Its columns are the texts, without tokens of answers."""
    source, _ = token_columns(TABLE, TEXTS, TARGETS, ())
    found = fit(DUMPS, TO_FIT, FAMILIES, 'mean-loss')
    expected = fit_mean_loss_predictor(source.features(TABLE), TO_FIT,
                                       GROUPS).with_tokens(
                                           found.targets, source)
    assert_same_predictions(found, expected)
    assert found.columns.units == ('a', 'b', 'c')
    weights = found.token_weights('sums')
    np.testing.assert_allclose(weights, 1)


def test_the_papers_method_is_its_head(scoring_lm):
    seen = []
    found = fit(
        DUMPS,
        TO_FIT,
        FAMILIES,
        'paper',
        scoring_lm,
        VALIDATION,
        FEW_STEPS,
        progress=lambda steps: seen.append(len(steps)) or steps)
    assert seen == [4]
    expected = train_paper_head(TABLE, TARGETS,
                                hidden_states(*scoring_lm,
                                              TEXTS.texts), TO_FIT, GROUPS,
                                VALIDATION, FEW_STEPS).predictor
    np.testing.assert_allclose(
        found.predict(DUMPS).values, expected.predict(DUMPS).values, atol=1e-6)


def test_the_papers_method_needs_a_scoring_lm():
    with pytest.raises(InputError, match='of a scoring LM, found none'):
        fit(DUMPS, TO_FIT, FAMILIES, 'paper', validation=VALIDATION)


@pytest.mark.parametrize('validation', [(), FITTED])
def test_the_papers_method_needs_models_of_both_kinds(validation):
    n_left = 12 - len(validation)
    message = f'found {n_left} to train on and {len(validation)} to validate'
    with pytest.raises(InputError, match=message):
        fit(DUMPS, TO_FIT, FAMILIES, 'paper', (object(), object()), validation)


def test_validation_models_are_checked_before_the_texts_are_read():
    reader = object(), object()
    with pytest.raises(InputError, match="m11, found 'nobody'"):
        fit(DUMPS, TO_FIT, FAMILIES, 'paper', reader, validation=['nobody'])


@pytest.mark.parametrize('more', [
    dict(validation=['m1']),
    dict(settings=HeadSettings()),
])
def test_what_only_the_papers_method_uses_is_refused_elsewhere(more):
    for method in ('salience', 'mean-loss'):
        with pytest.raises(InputError, match="or use the method 'paper'"):
            fit(DUMPS, TO_FIT, FAMILIES, method, **more)


# ---- fit


def test_only_the_models_of_the_accuracies_are_fitted_to(fitted):
    less = fit(DUMPS.select(FITTED), TO_FIT, FAMILIES)
    assert_same_predictions(fitted, less)
    in_sample = fitted.predict(DUMPS).in_sample[:, 0, 0]
    assert in_sample.tolist() == [model in FITTED for model in MODELS]


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
print(sorted(predictor.fit_models) == sorted(FITTED))
'''
    process = subprocess.run([sys.executable, '-c', script],
                             cwd=ROOT,
                             capture_output=True,
                             text=True)
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == 'True'


def test_fit_notes_models_from_different_engines():
    for model in (FITTED[-1], OTHERS[0]):
        info = replace(DUMPS[model].info, engine='vllm')
        losses = DUMPS | ModelLosses(TEXTS,
                                     {model: replace(DUMPS[model], info=info)})
        notes = fit(losses, TO_FIT, FAMILIES, 'mean-loss').benchmarks[0].notes
        assert any('vllm' in note for note in notes) == (model in FITTED)


@pytest.mark.parametrize('method', method_names())
def test_fit_to_a_table(method):
    tables = small_tables(n_models=8, n_units=2, n_families=4).only('easy')
    to_fit = tables.accuracies.select(tables.models[:7])
    arguments = tables.features, to_fit, tables.families, method
    with pytest.raises(InputError, match='or give token losses'):
        fit(*arguments, scoring_lm=('model', 'tokenizer'))
    if method == 'paper':
        with pytest.raises(InputError, match='or give token losses'):
            fit(*arguments)
        return
    predictor = fit(*arguments)
    expected = {
        'mean-loss': fit_mean_loss_predictor
    }.get(method, fit_predictor)(tables.features, to_fit, tables.groups[:7])
    assert_same_predictions(predictor, expected, tables.features)
    assert predictor.targets is None


def test_benchmarks_that_no_model_was_run_on_are_left_out():
    tables = small_tables(n_models=8, n_units=2, n_families=4)
    predictor = fit(tables.features, tables.accuracies, tables.families,
                    'mean-loss')
    assert predictor.names == ('easy', 'hard', 'chance', 'same', 'pair')
    empty = tables.only('none').accuracies
    with pytest.raises(InputError, match='Run the training models on a bench'):
        fit(tables.features, empty, tables.families)


TABLES = small_tables()


@pytest.mark.parametrize('losses, accuracies, families, method, message', [
    (TABLES.features, TABLES.accuracies, TABLES.families, 'ridge',
     "method: expected one of salience, mean-loss, paper, found 'ridge'"),
    (DUMPS, TO_FIT, {'m0': 'f'}, 'salience',
     "the family of every model, a text, found None of 'm1'"),
    (DUMPS, TO_FIT, FAMILIES | {'m1': float('nan')}, 'salience',
     "nan of 'm1'"),
    (DUMPS, TO_FIT.to_dict(), FAMILIES, 'salience',
     'an AccuracyTable, found a dict'),
    (TABLES.features, TABLES.accuracies, TABLES.groups, 'salience',
     r'families: expected \{model: family\}, found a list. dict\(zip\(models'),
    (DUMPS, TO_FIT, None, 'salience', 'families: .* found None'),
    (DUMPS, TO_FIT, 'm', 'salience', 'families: .* found a str'),
    (TABLES.features.values, TABLES.accuracies, TABLES.families, 'salience',
     r'found a ndarray. .* table with FeatureTable.of_losses\(...\)'),
    (DUMPS.select(FITTED[:-1]), TO_FIT, FAMILIES, 'salience',
     "losses of every model, found none of 'm11'"),
    (TABLES.features.select(TABLES.models[1:]), TABLES.accuracies,
     TABLES.families, 'salience',
     "features of every model, found none of 'org/model-0'"),
])  # yapf: disable
def test_what_fit_refuses(losses, accuracies, families, method, message):
    with pytest.raises(InputError, match=message):
        fit(losses, accuracies, families, method)


def test_fit_needs_a_model_and_losses_that_know_their_texts():
    with pytest.raises(InputError, match='accuracies: .* found none'):
        fit(DUMPS, TO_FIT.select([]), FAMILIES)
    with pytest.raises(InputError, match='found a dict. Read dumps with'):
        fit(dict(DUMPS), TO_FIT, FAMILIES)


def test_columns_of_tables_are_units_without_sources():
    units = Units.of(TABLES.features.columns)
    assert units.columns.tolist() == [0, 1, 2, 3]
    assert not units.answers and (units.sources == '').all()
