"""Tokenizers that drop blanks for which they have tokens are refused."""
import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from csv_plugin.core.conventions import InputError
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text
from csv_plugin.lm.tokens.lost_blanks import Blank, lost_blanks, unsaid_blanks
from tests.lm.tokens.tokenizers import byte_level, tokenize, unigram, wrap

BYTE_LEVEL = ['Ġthe', 'the', 'Ċ']
PIECES = ['▁the', 'the', '<0x0A>']


def misread(tokenizer, pre_tokenizer, normalizer=None):
    """A tokenizer whose vocabulary another class reads."""
    backend = Tokenizer(tokenizer.backend_tokenizer.model)
    backend.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        backend.normalizer = normalizer
    return wrap(backend)


@pytest.mark.parametrize(
    'pre_tokenizer',
    [
        # What transformers 5 makes of DeepSeek-V3 and SmolLM2 as Llama.
        pre_tokenizers.Metaspace(split=False),
        pre_tokenizers.BertPreTokenizer(),
        pre_tokenizers.Whitespace(),
    ],
    ids=lambda p: type(p).__name__)
@pytest.mark.parametrize('text', [
    'the cat', 'the\ncat', 'the\n\n  cat', 'the　cat', '\tthe', 'the\n', ' the'
])
def test_a_byte_level_vocabulary_must_write_all_blanks(pre_tokenizer, text):
    tokenizer = misread(byte_level(), pre_tokenizer)
    assert tokenize(tokenizer, 'the').unknown == 0
    with pytest.raises(
            InputError,
            match=r"^text 'mine', .* expected tokens that hold its blanks, "
            r"'.+' among them, found none\. Load it by transformers"):
        tokenize(tokenizer, text, text_id='mine')


def test_pieces_that_can_write_line_breaks_must():
    pieces = ['b', '▁', '▁b', '<0x0A>']
    backend = Tokenizer(
        models.BPE({
            piece: i
            for i, piece in enumerate(pieces)
        }, [('▁', 'b')]))
    backend.normalizer = normalizers.Replace(' ', '▁')
    tokenizer = wrap(backend)
    assert tokenize(tokenizer, 'b  b').unknown == 0
    with pytest.raises(InputError, match=r"blanks, '\\n ' among them"):
        tokenize(tokenizer, 'b\n b')


def test_pieces_may_leave_out_outer_blanks():
    tokenizer = unigram()
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Strip(),
         normalizers.Replace(Regex(r'\s+'), ' ')])
    assert tokenize(tokenizer, '  b   b  ').unknown == 0


def test_a_vocabulary_of_words_has_no_blanks():
    words = Tokenizer(models.WordLevel({'the': 0, 'cat': 1}, '[UNK]'))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    assert tokenize(wrap(words), ' the\n\ncat ').unknown == 0


def unsaid(tokens, widths, text, opaque=()):
    ends = np.cumsum(widths)
    spans = TokenSpans(ends - widths, ends, len(text.encode()))
    is_opaque = np.isin(np.arange(len(tokens)), opaque)
    blanks = unsaid_blanks(Text('mine', text), tokens, is_opaque, spans)
    return [(blank.chars, blank.is_outer) for blank in blanks]


@pytest.mark.parametrize('tokens, widths, text, expected', [
    (['a', 'Ġb'], [1, 2], 'a b', []),
    (['a', '▁', 'b'], [1, 0, 2], 'a b', []),
    (['a', '▁b'], [1, 4], 'a   b', []),
    (['▁a', 'b'], [1, 2], 'a b', [(' ', False)]),
    (['a', 'b'], [1, 3], 'a\n\nb', [('\n\n', False)]),
    (['a', '▁b'], [1, 3], 'a\n b', [('\n ', False)]),
    (['a', 'ĊĠb'], [1, 3], 'a\n b', []),
    (['a', '<0x0A>'], [1, 1], 'a\n', []),
    (['a', 'b'], [2, 2], ' ab\n', [(' ', True), ('\n', True)]),
    (['ab'], [5], 'a\x0bb\x1f\x1c', []),
    (['<0xE3>', '<0x80>', '<0x80>'], [1, 1, 1], '\u3000', []),
])
def test_blanks_that_no_token_says(tokens, widths, text, expected):
    assert unsaid(tokens, widths, text) == expected


def test_unknown_and_added_tokens_may_cover_blanks():
    assert unsaid(['a', '<x>'], [1, 4], 'a <x>', opaque=[1]) == []


@pytest.mark.parametrize('chars, said, outer, vocabulary, lost', [
    (' ', 'b', False, BYTE_LEVEL, True),
    (' ', 'b', True, BYTE_LEVEL, True),
    ('\n', ' b', False, BYTE_LEVEL, True),
    ('\n', ' b', False, BYTE_LEVEL[:2], False),
    (' ', 'b', False, PIECES, True),
    (' ', 'b', True, PIECES, False),
    (' ', 'b', False, [' the', 'the'], True),
    ('\n', ' b', True, PIECES, True),
    ('\n', ' b', True, [*PIECES[:2], 'Ċ'], False),
    ('\n', 'b', False, ['the', *map(str, range(100)), 'Ġ', '▁', '\n'], False),
])
def test_what_a_vocabulary_could_have_written(chars, said, outer, vocabulary,
                                              lost):
    blank = Blank('mine', chars, said, outer)
    assert list(lost_blanks([blank], vocabulary)) == [blank] * lost
