"""Licences of texts, from the texts to whoever loads a predictor."""
import warnings
from dataclasses import replace

import pytest

import csv_plugin as cp
from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.licences import forbidden_uses, is_permissive
from tests.core.training_worlds import (CHARACTERS, make_training,
                                        make_training_world)
from tests.tables import small_tables


@pytest.fixture(scope='module')
def predictor():
    tables = small_tables()
    families = dict(zip(tables.accuracies.models, tables.groups))
    return cp.fit(tables.features, tables.accuracies, families, 'ridge')


@pytest.mark.parametrize('licence, n', [
    ('CC BY-NC 4.0', 1), ('cc-by-nc-nd-3.0', 2), ('Non-commercial', 1),
    ('for research use only', 1), ('CC BY 4.0', 0), ('Apache-2.0', 0),
    ('', 0), ('ISC, LicenceNC2', 0)
])  # yapf: disable
def test_names_of_licences_say_what_they_forbid(licence, n):
    assert len(forbidden_uses(licence)) == n


@pytest.mark.parametrize('licence, allows_all', [
    ('MIT', True), ('apache-2.0', True), ('Apache 2', True),
    ('BSD-3-Clause', True), ('CC0', True), ('CC0-1.0', True),
    ('CC-BY-4.0', True), ('CC BY', True), ('CC BY-SA 4.0', False),
    ('CC BY-NC 4.0', False), ('CC BY-ND 4.0', False), ('GPL-3.0', False),
    ('MIT, CC BY-NC 4.0', False), ('unknown', False), ('', False)
])  # yapf: disable
def test_licences_that_allow_any_use(licence, allows_all):
    assert is_permissive(licence) == allows_all


def test_texts_keep_their_licence(tmp_path):
    texts = TextSet((Text('a', 'x', 's', licence='MIT'), Text('b', 'y', 's'),
                     Text('c', 'z', 's', licence='CC0')))
    cp.write_texts(tmp_path / 'texts.jsonl', texts)
    assert cp.read_texts(tmp_path / 'texts.jsonl') == texts
    assert texts.licences == {'s': 'MIT, CC0'}
    # It is no part of what losses are on.
    plain = TextSet(tuple(replace(text, licence='') for text in texts))
    assert plain.fingerprint == texts.fingerprint
    (tmp_path /
     'bad.jsonl').write_text('{"text_id": "a", "text": "x", "licence": 1}')
    with pytest.raises(InputError, match="a text as 'licence'"):
        cp.read_texts(tmp_path / 'bad.jsonl')


def test_a_training_takes_them_from_its_texts():
    world = make_training_world(CHARACTERS)
    training = make_training(CHARACTERS, world)
    texts = TextSet(
        tuple(
            replace(text, licence='CC BY-NC 4.0') for text in training.texts))
    licences = replace(training, texts=texts).all_token_loss().licences
    assert licences == {text.source: 'CC BY-NC 4.0' for text in texts}
    assert training.all_token_loss().licences == {}


def test_loading_says_what_the_licence_of_the_texts_forbids(
        predictor, tmp_path):
    path = tmp_path / 'a.safetensors'
    licences = {'ceval': 'CC BY-NC-SA 4.0', 'cmmlu': 'CC BY-NC-SA 4.0',
                'gsm8k': 'MIT'}  # yapf: disable
    cp.save(replace(predictor, licences=licences), path)
    with pytest.warns(UserWarning) as warned:
        assert cp.load(path).licences == licences
    assert [str(warning.message) for warning in warned] == [
        f'{path} was trained on texts of ceval, cmmlu under CC BY-NC-SA 4.0, '
        'which forbids commercial use'
    ]
    cp.save(replace(predictor, licences={'gsm8k': 'MIT'}), path)
    with warnings.catch_warnings(action='error'):
        cp.load(path)
