"""Tokenizers that depart from the `tokenizer.json` of their folder."""
import os

import pytest
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from csv_plugin.core.conventions import InputError
from tests.lm.tokens.tokenizers import (FAST, SPECIAL, Pieces, byte_fallback,
                                        byte_level, tokenize, word_piece)

TEXT = 'the cat 12 sat\n'


def load(folder, tokenizer, **options):
    """A tokenizer, saved and read."""
    tokenizer.save_pretrained(folder)
    return PreTrainedTokenizerFast.from_pretrained(folder, **options)


def put_together_wrongly(tokenizer):
    """Other ids that spell the text too: digits stand alone."""
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), backend.pre_tokenizer])


@pytest.mark.parametrize('kind', sorted(set(FAST) - {'byt5'}))
def test_a_tokenizer_agrees_with_its_own_file(kind, tmp_path):
    tokenizer = load(tmp_path, FAST[kind]())
    for text in (TEXT, f' the{SPECIAL} cat', 'the'):
        ids = tokenizer(text, add_special_tokens=False)['input_ids']
        assert tokenize(tokenizer, text).ids.tolist() == ids


def test_other_ids_than_those_of_the_file_are_refused(tmp_path):
    tokenizer = load(tmp_path, byte_level(vocab_size=600))
    put_together_wrongly(tokenizer)
    assert tokenize(tokenizer, 'the cat').unknown == 0
    with pytest.raises(
            InputError,
            match=f"^text 'mine', .*{tmp_path}': expected the tokens of its "
            r"tokenizer.json, \['12', .* from number 1 on, found \['1', '2', "
            r".*\. Load it by transformers"):
        tokenize(tokenizer, '!12345', text_id='mine')


def test_a_file_that_changed_is_read_again(tmp_path):
    tokenizer = load(tmp_path, byte_level(vocab_size=600))
    put_together_wrongly(tokenizer)
    with pytest.raises(InputError):
        tokenize(tokenizer, '12345')
    tokenizer.save_pretrained(tmp_path)
    os.utime(tmp_path / 'tokenizer.json', (0, 0))
    assert len(tokenize(tokenizer, '12345').ids) == 5


def test_a_file_that_truncates_and_pads_does_so_for_nobody(tmp_path):
    tokenizer = byte_level()
    tokenizer.backend_tokenizer.enable_truncation(2)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    tokenizer.save_pretrained(tmp_path)
    backend = Tokenizer.from_file(str(tmp_path / 'tokenizer.json'))
    backend.enable_truncation(2)
    backend.enable_padding(length=9)
    backend.save(str(tmp_path / 'tokenizer.json'))
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert len(tokenize(tokenizer, TEXT).ids) > 2


@pytest.mark.parametrize('file, loaded', [(False, True), (True, False)])
@pytest.mark.parametrize('text', [TEXT, f' {TEXT}', f'the{SPECIAL} cat'])
def test_a_space_before_the_text_is_an_option(file, loaded, text, tmp_path):
    tokenizer = load(tmp_path, byte_level(prefix=file))
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=loaded)
    tokenize(tokenizer, text)


@pytest.mark.parametrize('file, loaded', [('legacy', 'first'),
                                          ('first', 'legacy'),
                                          ('never', 'always'),
                                          ('legacy', 'never')])
@pytest.mark.parametrize('text', ['the cat', '  the cat', f'b{SPECIAL}b b'])
def test_so_are_the_ways_of_llama(file, loaded, text, tmp_path):
    tokenizer = load(tmp_path, byte_fallback(file))
    backend, other = tokenizer.backend_tokenizer, byte_fallback(loaded)
    backend.normalizer = other.backend_tokenizer.normalizer
    backend.pre_tokenizer = other.backend_tokenizer.pre_tokenizer
    tokenize(tokenizer, text)


def test_special_tokens_may_be_read_as_text(tmp_path):
    tokenizer = load(tmp_path, byte_level(), split_special_tokens=True)
    assert len(tokenize(tokenizer, f'the{SPECIAL}').ids) > 2


def test_tokens_may_be_added_later(tmp_path):
    tokenizer = load(tmp_path, byte_level())
    tokenizer.add_tokens(['cat'])
    assert tokenizer.convert_ids_to_tokens(
        tokenize(tokenizer, TEXT).ids.tolist()[-1:]) != ['cat']
    put_together_wrongly(tokenizer)
    with pytest.raises(InputError):
        tokenize(tokenizer, '12345 and 2024!')


def test_letter_case_is_an_option(tmp_path):
    tokenizer = load(tmp_path, word_piece(False), do_lower_case=True)
    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer()
    assert tokenize(tokenizer, 'The cat').unknown == 0


def test_tokenizers_in_python_are_not_compared(tmp_path):
    byte_level().save_pretrained(tmp_path)
    tokenizer = Pieces([*'the cat', '<unk>'],
                       list,
                       unk_token='<unk>',
                       name_or_path=str(tmp_path))
    assert len(tokenize(tokenizer, 'the cat').ids) == 7


def test_a_tokenizer_without_a_folder_is_not_compared(tmp_path, monkeypatch):
    byte_level().save_pretrained(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert len(tokenize(byte_level(vocab_size=256), TEXT).ids) == len(TEXT)
