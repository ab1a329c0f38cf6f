"""CTranslate2 gives the losses of transformers, or is refused."""
import json
import shutil

import pytest
from ctranslate2.converters import TransformersConverter
from transformers import AutoTokenizer

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.extras.engines.ctranslate2 import CTranslate2Engine
from csv_plugin.lm.engines.token_losses import token_losses
from tests.lm import models
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = [Text(f't{i}', text) for i, text in enumerate(CORPUS)]


def convert(source, folder, **settings):
    converter = TransformersConverter(str(source), **settings)
    return converter.convert(str(folder))


@pytest.fixture(scope='module')
def saved(tmp_path_factory):
    """A tiny Llama and its tokenizer, whose vocabulary it fills."""
    folder = tmp_path_factory.mktemp('tiny')
    tokenizer = models.tokenizer()
    models.make('llama', vocab_size=len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope='module')
def converted(saved, tmp_path_factory):
    return convert(saved, tmp_path_factory.mktemp('ct2') / 'tiny')


def test_pieces_that_are_named_alike(converted, tmp_path):
    folder = tmp_path / 'doubled'
    shutil.copytree(converted, folder)
    file = folder / 'vocabulary.json'
    pieces = json.loads(file.read_text())
    pieces[7] = pieces[300]
    file.write_text(json.dumps(pieces))
    with pytest.raises(InputError, match='a string of its own for every'):
        CTranslate2Engine(str(folder), 64)


def test_ids_that_it_does_not_have(saved, converted):
    """A tokenizer with more tokens than the converted model."""
    tokenizer = AutoTokenizer.from_pretrained(saved)
    tokenizer.add_tokens(['quick'])
    engine = CTranslate2Engine(str(converted), models.CONTEXT)
    with pytest.raises(InputError, match='tokens of the model'):
        token_losses(engine, tokenizer, TEXTS)
