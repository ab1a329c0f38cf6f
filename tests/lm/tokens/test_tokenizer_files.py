"""Tokenizers that were put together wrongly are refused."""
import pytest
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.tokens import tokenization
from tests.lm.tokens.tokenizers import (FAST, SPECIAL, Pieces, byte_fallback,
                                        byte_level, tokenize, word_piece)

TEXT = 'the cat 12 sat\n'


def load(folder, tokenizer, **options):
    tokenizer.save_pretrained(folder)
    return PreTrainedTokenizerFast.from_pretrained(folder, **options)


def put_together_wrongly(tokenizer):
    """Other ids that spell the text too: digits stand alone."""
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), backend.pre_tokenizer])


@pytest.mark.parametrize('kind', FAST)
def test_a_tokenizer_agrees_with_its_own_file(kind, tmp_path):
    tokenizer = load(tmp_path, FAST[kind]())
    for text in (TEXT, f' the{SPECIAL} cat', 'the'):
        ids = tokenizer(text, add_special_tokens=False)['input_ids']
        assert tokenize(tokenizer, text).ids.tolist() == ids


@pytest.mark.parametrize('added', [[], ['cat']])
def test_other_ids_than_those_of_the_file_are_refused(added, tmp_path):
    """Also where tokens were added that the text does not have."""
    tokenizer = load(tmp_path, byte_level(vocab_size=600))
    tokenizer.add_tokens(added)
    put_together_wrongly(tokenizer)
    assert tokenize(tokenizer, 'the cat').unknown == 0
    with pytest.raises(
            InputError,
            match=f"^text 'mine', .*{tmp_path}': expected the tokens of its "
            r"tokenizer.json, \['12', .* from number 1 on, found \['1', '2', "
            r".*\. Load it with transformers"):
        tokenize(tokenizer, '!12345', text_id='mine')


def test_the_file_of_a_tokenizer_from_the_hub(tmp_path, monkeypatch):
    """Unless revisions have different ones."""
    monkeypatch.setattr(tokenization, 'HF_HUB_CACHE', tmp_path)
    snapshots = tmp_path / 'models--lab--tiny/snapshots'
    tokenizer = load(snapshots / 'main', byte_level(vocab_size=600))
    load(snapshots / 'same', byte_level())
    for file in (snapshots / 'same').iterdir():
        file.unlink()
        file.symlink_to(snapshots / 'main' / file.name)
    tokenizer.name_or_path = 'lab/tiny'
    assert len(tokenize(tokenizer, TEXT).ids) > 2
    put_together_wrongly(tokenizer)
    with pytest.raises(InputError, match='the tokens of its tokenizer.json'):
        tokenize(tokenizer, '12345')
    load(snapshots / 'other', byte_level())
    tokenize(tokenizer, '12345')


def test_a_file_that_was_replaced_is_read_again(tmp_path):
    """As when a training saves another tokenizer into the same folder."""
    first = load(tmp_path, byte_level(vocab_size=600))
    before = tokenize(first, TEXT)
    second = load(tmp_path, byte_level(vocab_size=300))
    assert len(tokenize(second, TEXT).ids) > len(before.ids)
    with pytest.raises(InputError, match='the tokens of its tokenizer.json'):
        tokenize(first, TEXT)


def test_a_file_that_truncates_and_pads_does_so_for_nobody(tmp_path):
    byte_level().save_pretrained(tmp_path)
    backend = Tokenizer.from_file(str(tmp_path / 'tokenizer.json'))
    backend.enable_truncation(2)
    backend.enable_padding(length=9)
    backend.save(str(tmp_path / 'tokenizer.json'))
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert len(tokenize(tokenizer, TEXT).ids) > 2


@pytest.mark.parametrize('file, loaded', [('legacy', 'first'),
                                          ('never', 'always')])
@pytest.mark.parametrize('text', ['the cat', '  the cat', f'b{SPECIAL}b b'])
def test_a_space_before_the_text_is_an_option(file, loaded, text, tmp_path):
    tokenizer = load(tmp_path, byte_fallback(file))
    backend, other = tokenizer.backend_tokenizer, byte_fallback(loaded)
    backend.normalizer = other.backend_tokenizer.normalizer
    backend.pre_tokenizer = other.backend_tokenizer.pre_tokenizer
    tokenize(tokenizer, text)


def test_letter_case_and_special_tokens_as_text_are_options(tmp_path):
    tokenizer = load(
        tmp_path / 'split', byte_level(), split_special_tokens=True)
    assert len(tokenize(tokenizer, f'the{SPECIAL}').ids) > 2
    tokenizer = load(tmp_path, word_piece(False), do_lower_case=True)
    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer()
    assert tokenize(tokenizer, 'The cat').unknown == 0


def test_what_is_not_compared(tmp_path, monkeypatch):
    """Tokenizers in python, and those that were not read from a folder."""
    byte_level().save_pretrained(tmp_path)
    tokenizer = Pieces([*'the cat', '<unk>'],
                       list,
                       unk_token='<unk>',
                       name_or_path=str(tmp_path))
    assert len(tokenize(tokenizer, 'the cat').ids) == 7
    monkeypatch.chdir(tmp_path)
    assert len(tokenize(byte_level(vocab_size=256), TEXT).ids) == len(TEXT)
