"""Tokenizers that were put together wrongly are refused."""
import re

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from csv_plugin.core.conventions import InputError
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text
from csv_plugin.lm.tokens import tokenizer_checks
from csv_plugin.lm.tokens.tokenizer_checks import lost_whitespace
from tests.lm.tokens.tokenizers import (FAST, SPECIAL, Pieces, byte_fallback,
                                        byte_level, tokenize, unigram,
                                        word_piece, wrap)

TEXT = 'the cat 12 sat\n'


def misread(tokenizer, pre_tokenizer):
    """A tokenizer whose vocabulary another class reads."""
    backend = Tokenizer(tokenizer.backend_tokenizer.model)
    backend.pre_tokenizer = pre_tokenizer
    return wrap(backend)


@pytest.mark.parametrize('pre_tokenizer, text', [
    # What transformers 5 makes of DeepSeek-V3 and SmolLM2 as Llama.
    (pre_tokenizers.Metaspace(split=False), 'the\n\n  cat'),
    (pre_tokenizers.BertPreTokenizer(), '\tthe'),
    (pre_tokenizers.Whitespace(), ' the')
])  # yapf: disable
def test_a_byte_level_vocabulary_must_write_all_blanks(pre_tokenizer, text):
    tokenizer = misread(byte_level(), pre_tokenizer)
    assert tokenize(tokenizer, 'the').unknown == 0
    with pytest.raises(
            InputError,
            match=r"^text 'mine', .* expected tokens that hold its blanks, "
            r"'.+' among them, found none\. Load it by transformers"):
        tokenize(tokenizer, text, text_id='mine')


def of_pieces(*pieces):
    """Which writes spaces as '▁', and drops what it has no piece for."""
    backend = Tokenizer(
        models.BPE({
            piece: i
            for i, piece in enumerate(pieces)
        }, []))
    backend.normalizer = normalizers.Replace(' ', '▁')
    return wrap(backend)


@pytest.mark.parametrize(
    'more, text, lost',
    [
        (['▁', '<0x0A>'], 'b\nb', r"'\n'"),
        (['▁', '<0x0A>'], 'b\n b', r"'\n '"),
        (['▁', '<0x0A>'], 'b\n', r"'\n'"),
        # Those that have no line break, of which the tokens say a space.
        (['▁'], 'b\n b', None),
        (['▁'], 'b\nb', r"'\n'"),
        # A vocabulary of words that has a sign of spaces among its letters:
        # one entry of 100, and of 99.
        (['▁', *map(str, range(97))], 'b\nb', None),
        (['▁', *map(str, range(96))], 'b\nb', r"'\n'"),
    ])
def test_pieces_that_can_write_blanks_must(more, text, lost):
    tokenizer = of_pieces('b', *more)
    if lost:
        with pytest.raises(InputError, match=re.escape(f'blanks, {lost}')):
            tokenize(tokenizer, text)
    else:
        tokenize(tokenizer, text)


def test_blanks_that_may_be_left_out():
    """Outer ones by pieces, and all of them by a vocabulary of words."""
    words = Tokenizer(models.WordLevel({'the': 0, 'cat': 1}, '[UNK]'))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    assert tokenize(wrap(words), ' the\n\ncat ').unknown == 0
    tokenizer = unigram()
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Strip(),
         normalizers.Replace(Regex(r'\s+'), ' ')])
    assert tokenize(tokenizer, '  b   b  ').unknown == 0


@pytest.mark.parametrize(
    'tokens, widths, text, opaque, expected',
    [
        (['a', 'Ġb'], [1, 2], 'a b', [], []),
        (['a', '▁', 'b'], [1, 0, 2], 'a b', [], []),
        (['a', '▁b'], [1, 4], 'a   b', [], []),
        (['▁a', 'b'], [1, 2], 'a b', [], [(' ', False)]),
        (['a', 'b'], [1, 3], 'a\n\nb', [], [('\n\n', False)]),
        (['a', '▁b'], [1, 3], 'a\n b', [], [('\n ', False)]),
        (['a', 'ĊĠb'], [1, 3], 'a\n b', [], []),
        (['a', '<0x0A>'], [1, 1], 'a\n', [], []),
        (['a', 'b'], [2, 2], ' ab\n', [], [(' ', True), ('\n', True)]),
        (['<0xE3>', '<0x80>', '<0x80>'], [1, 1, 1], '\u3000', [], []),
        # Unknown and added tokens may cover blanks.
        (['a', '<x>'], [1, 4], 'a <x>', [1], []),
    ])
def test_blanks_that_no_token_says(tokens, widths, text, opaque, expected):
    ends = np.cumsum(widths)
    spans = TokenSpans(ends - widths, ends, len(text.encode()))
    is_opaque = np.isin(np.arange(len(tokens)), opaque)
    blanks = lost_whitespace(Text('mine', text), tokens, is_opaque, spans)
    assert [(part.chars, part.is_outer) for part in blanks] == expected


def load(folder, tokenizer, **options):
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
            r".*\. Load it by transformers"):
        tokenize(tokenizer, '!12345', text_id='mine')


def test_the_file_of_a_tokenizer_from_the_hub(tmp_path, monkeypatch):
    """Unless revisions have different ones."""
    monkeypatch.setattr(tokenizer_checks, 'HF_HUB_CACHE', tmp_path)
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


def of_gguf(model):
    """A tokenizer of the pieces of a GGUF file, read as a kind of model."""
    backend = Tokenizer(model)
    backend.normalizer = normalizers.Replace(' ', '▁')
    tokenizer = wrap(backend)
    tokenizer.name_or_path = 'models/gemma.gguf'
    return tokenizer


def test_a_vocabulary_that_is_ignored_is_refused():
    """Scores of merges are no logarithms of probabilities."""
    starts, ends = ('▁t', '▁c', '▁s'), ('he', 'at', 'it')
    merges = [(start, end) for start in starts for end in ends]
    pieces = [*starts, *ends, *map(''.join, merges), *'▁tcsheai']
    # Of SentencePiece's BPE: the later a merge was made, the lower.
    wrong = of_gguf(
        models.Unigram([(piece, -i) for i, piece in enumerate(pieces)], 0,
                       False))
    with pytest.raises(InputError, match='found 9 in pieces. Give the token'):
        tokenize(wrong, 'the cat sat')
    merges = [*((piece[0], piece[1]) for piece in pieces[:6]), *merges]
    right = of_gguf(models.BPE({p: i for i, p in enumerate(pieces)}, merges))
    assert len(tokenize(right, ' the cat sat').ids) == 3
    wrong.name_or_path = 'models/gemma'
    assert len(tokenize(wrong, ' the cat sat').ids) == 6


def test_a_rule_for_words_that_is_left_out_is_refused(tmp_path):
    """As that of Llama 3, whose numbers have tokens of three digits."""
    gguf = pytest.importorskip('gguf')
    tokenizer = of_gguf(models.BPE({'▁': 0, 'b': 1}, []))
    for rule in ('', 'default', 'llama-bpe'):
        file = tmp_path / f'{rule}.gguf'
        writer = gguf.GGUFWriter(file, 'llama')
        if rule:
            writer.add_tokenizer_pre(rule)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        tokenizer.name_or_path = str(file)
        if rule != 'llama-bpe':
            tokenize(tokenizer, 'b b')
    with pytest.raises(InputError, match="the rule 'llama-bpe', which"):
        tokenize(tokenizer, 'b b')
