"""Tokenizers of the zoo: exact on all texts, split where they should."""
import functools
import re

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from csv_plugin.lm.tokens.tokenization import tokenize_all
from tests.lm.tokens.tokenizers import tokenize
from tools.studies import world
from tools.studies.zoo import corpus
from tools.studies.zoo.recipes import CONTEXT, SERIES, TrainingRecipe
from tools.studies.zoo.zoo_tokenizers import train_tokenizer
from tools.studies.zoo.zoo_training import make_tokenizer

torch.set_num_threads(1)
HOSTILE = [
    '', ' ', '  two  spaces ', '\u2581block', '<unk>', '<0x41><0x0A>',
    'a<|endoftext|>b', '<s>a</s><pad>', '\x00\t\r\n\x7f', '🙂👍🏽👩\u200d👧',
    'a\u0301 é Ü', '中文ab12。，', 'שלום 한국어', 'x' * 2000
]


@functools.lru_cache(maxsize=None)
def trained(series: str) -> PreTrainedTokenizerFast:
    texts = corpus.mixed_texts(SERIES[series], 60_000, 1)
    return train_tokenizer(SERIES[series].tokenizer, texts)


def pieces(tokenizer: PreTrainedTokenizerFast, text: str) -> list[bytes]:
    spans, data = tokenize(tokenizer, text).spans, text.encode()
    return [data[a:b] for a, b in zip(spans.starts, spans.ends)]


@pytest.mark.parametrize('series', SERIES)
def test_world_texts_are_reproduced(series):
    texts = [*world.validation_texts()]
    for text, tokens in zip(texts, tokenize_all(trained(series), texts)):
        assert tokens.spans.tiles and not tokens.unknown, text
        decoded = trained(series).decode(tokens.ids)
        assert decoded == text.text


@pytest.mark.parametrize('text', HOSTILE)
@pytest.mark.parametrize('series', SERIES)
def test_hostile_texts_are_covered(series, text):
    tokens = tokenize(trained(series), text)
    assert tokens.spans.tiles and not tokens.unknown
    assert b''.join(pieces(trained(series), text)) == text.encode()


@pytest.mark.parametrize('series', SERIES)
def test_digits_are_tokens_where_the_recipe_says_so(series):
    tokenizer = trained(series)
    joined = [
        entry for entry in tokenizer.get_vocab()
        if re.search(r'\d.|.\d', entry) and not re.match('<0x', entry)
    ]
    assert bool(joined) != SERIES[series].tokenizer.split_digits
    if SERIES[series].tokenizer.split_digits:
        # The space that byte fallback puts before a text is a token here.
        assert [part for part in pieces(tokenizer, '12 3')
                if part] == [b'1', b'2', b' ', b'3']


@pytest.mark.parametrize('series', SERIES)
def test_no_token_holds_two_chinese_characters(series):
    text = '他住在青石坡，养白鹅。'
    chinese = [
        text.text for text in world.validation_texts()
        if text.source == 'chinese'
    ]
    for text in [text, *chinese]:
        tokens = pieces(trained(series), text)
        assert all(
            len(token.decode(errors='replace')) == 1 for token in tokens
            if token[:1] >= b'\xe3')
        assert len(tokens) >= len(re.sub('[ -~]', '', text))


@pytest.mark.parametrize('series', SERIES)
def test_vocabulary_and_special_tokens(series):
    tokenizer = trained(series)
    most = SERIES[series].tokenizer.vocab_size
    # The texts have no more pairs to merge than the largest would hold.
    assert .8 * most < len(tokenizer) <= most and (len(tokenizer) == most
                                                   or series == 'f')
    assert tokenizer.pad_token_id not in (tokenizer.eos_token_id,
                                          tokenizer.bos_token_id, None)
    assert tokenizer.model_input_names == ['input_ids', 'attention_mask']
    assert tokenizer.model_max_length == CONTEXT
    plain = tokenizer('Who?', add_special_tokens=False)['input_ids']
    assert plain and tokenizer('Who?')['input_ids'] == [
        tokenizer.bos_token_id, *plain
    ]
    assert tokenizer('')['input_ids'] == [tokenizer.bos_token_id]


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


def test_a_present_tokenizer_is_kept(tmp_path):
    folder = tmp_path / 'a' / 'tokenizer'
    folder.mkdir(parents=True)
    make_tokenizer(tmp_path, 'a', TrainingRecipe())
    assert not any(folder.iterdir())
