"""Tokenizers of the zoo: exact on all texts, split where they should."""
import functools

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from csv_plugin.lm.tokens.tokenization import tokenize_all
from tools.demo_maker import corpus, world
from tools.demo_maker.recipes import CONTEXT, SERIES, TrainingRecipe
from tools.demo_maker.tokenizers import train_tokenizer
from tools.demo_maker.training import make_tokenizer

torch.set_num_threads(1)


@functools.lru_cache(maxsize=None)
def trained(series: str) -> PreTrainedTokenizerFast:
    texts = corpus.mixed_texts(SERIES[series], 60_000, 1)
    return train_tokenizer(SERIES[series].tokenizer, texts)


@pytest.mark.parametrize('series', SERIES)
def test_world_texts_are_reproduced(series):
    texts = [*world.validation_texts()]
    for text, tokens in zip(texts, tokenize_all(trained(series), texts)):
        assert tokens.spans.ends[-1] == len(text.text.encode()), text
        assert not tokens.unknown, text
        decoded = trained(series).decode(tokens.ids)
        assert decoded == text.text


@pytest.mark.parametrize('series', SERIES)
def test_same_texts_same_tokenizer_also_from_its_folder(series, tmp_path):
    recipe = TrainingRecipe(tokenizer_chars=20_000)
    for zoo in ('one', 'two'):
        make_tokenizer(tmp_path / zoo, series, recipe)
    first, second = ((tmp_path / zoo / series / 'tokenizer' / 'tokenizer.json')
                     for zoo in ('one', 'two'))
    assert first.read_bytes() == second.read_bytes()
    loaded = AutoTokenizer.from_pretrained(first.parent)
    ids = loaded('Ask for Mira, 12 秦')['input_ids']
    assert ids[0] == loaded.bos_token_id
    assert loaded.pad_token and loaded.model_max_length == CONTEXT
