"""Byte spans of the tokens of every kind of tokenizer."""
import functools
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models
from transformers import PreTrainedTokenizerFast

from csv_plugin.core.conventions import InputError
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text
from csv_plugin.lm.tokens.tokenization import (TokenizedText,
                                               check_unknown_share,
                                               tokenize_all)
from tests.lm.tokens.tokenizers import (FAST, SLOW, SPECIAL, Pieces,
                                        byte_fallback, byte_level, qwen1,
                                        rwkv6, tokenize, word_piece, wrap)

TEXTS = {
    'english': 'The quick brown fox, and the cat.',
    'code': 'def f(x):\n\treturn  x[12345]\n',
    'chinese': '今天天气很好，你好世界。',
    'japanese': 'こんにちは、ﾊﾟﾋﾟ',
    'korean': '안녕하세요',
    'korean, decomposed': '\u1112\u1161\u11ab\u1100\u1173\u11af x',
    'arabic': 'مَرْحَبًا بالعالم',
    'hebrew': 'שָׁלוֹם',
    'hindi': 'नमस्ते दुनिया',
    'thai': 'สวัสดีชาวโลก น้ำ',
    'emoji': '🙂👩\u200d👩\u200d👧 👍🏽 🇨🇭',
    'composed': 'café, Việt',
    'decomposed': 'cafe\u0301, Vie\u0323\u0302t',
    'ligatures': 'ﬁne oﬃce',
    'full width': 'ＡＢＣ　１２３',
    'squares': '㌀①½ǅ',
    'zero width': 'a\u200bb\ufeffc',
    'NUL': 'a\x00b',
    'tabs': '\ta\tb',
    'runs of spaces': 'a    b  c',
    'outer spaces': '  a b  ',
    'lines': '\n\na\r\nb\n',
    'one space': ' ',
    'spaces': '   ',
    'empty': '',
    'long word': 'x' * 3000,
    'curly quotes': '“quoted” ‘it’s’',
    'soft hyphen': 'co\xadop',
    'special token': f'a {SPECIAL} b{SPECIAL}c',
    'marks of tokenizers': 'a▁b ## Ġ ĉ ł <0x41> <unk> [UNK] @@ </w>',
    'replacement character': '\ufffd x',
    'mark first': '\u0301a',
}
# The class has another name in transformers 5.
FAST_CLASS = PreTrainedTokenizerFast.__name__


@functools.lru_cache(maxsize=None)
def fast(kind):
    return FAST[kind]()


def pieces(tokenizer, text):
    """Each token's string and its bytes."""
    tokenized = tokenize(tokenizer, text)
    data = text.encode()
    tokens = tokenizer.convert_ids_to_tokens(tokenized.ids.tolist())
    return [(token, data[start:end]) for token, start, end in zip(
        tokens, tokenized.spans.starts, tokenized.spans.ends)]


def words(tokenizer, text):
    return [piece.decode() for _, piece in pieces(tokenizer, text)]


def check(tokenizer, text):
    """One span per token, and the spans tile the text."""
    tokenized = tokenize(tokenizer, text)
    assert tokenized.ids.dtype == np.int64
    assert len(tokenized.ids) == len(tokenized.spans)
    assert tokenized.spans.n_bytes == len(text.encode())
    spans = tokenized.spans
    assert np.sum(spans.ends - spans.starts) == len(text.encode())
    expected = tokenizer(text, add_special_tokens=False)['input_ids']
    assert tokenized.ids.tolist() == expected
    return tokenized


def is_lost(tokenizer, text):
    ids = tokenizer(text, add_special_tokens=False)['input_ids']
    return bool(text) and not ids


@pytest.mark.parametrize('kind', [*FAST, *SLOW, 'qwen1', 'rwkv6'])
def test_every_kind_tiles_every_text(kind, tmp_path, monkeypatch):
    """Or refuses it; many texts at once as one by one."""
    monkeypatch.setattr('csv_plugin.lm.tokens.tokenization._BATCH', 7)
    special = {'qwen1': qwen1, 'rwkv6': rwkv6}
    if kind in SLOW:
        tokenizer = SLOW[kind](tmp_path)
    else:
        tokenizer = special[kind]() if kind in special else fast(kind)
    sound = []
    for name, text in TEXTS.items():
        if kind in special and not text:
            continue
        if is_lost(tokenizer, text):
            with pytest.raises(InputError, match='account for every byte'):
                tokenize(tokenizer, text)
        else:
            sound.append((Text(name, text), check(tokenizer, text)))
    assert len(sound) > 15
    together = tokenize_all(tokenizer, [text for text, _ in sound])
    for found, (_, alone) in zip(together, sound, strict=True):
        assert np.array_equal(found.ids, alone.ids)
        assert found.spans == alone.spans and found.unknown == alone.unknown


@pytest.mark.parametrize('kind', [
    'byte level, NFC, trimmed', 'byte fallback, always', 'unigram',
    'word piece, uncased'
])  # yapf: disable
@settings(max_examples=30, deadline=None)
@given(
    text=st.one_of(
        st.text(max_size=20),
        st.lists(st.sampled_from(list(TEXTS.values())), max_size=3).map(
            ''.join),
        st.text('ab ée\u0301\u0323ﬁ▁\u200d\ufe0fé한한你🙂\n\x00', max_size=12)))
def test_any_text_is_tiled(kind, text):
    if not is_lost(fast(kind), text):
        check(fast(kind), text)


@pytest.mark.parametrize('scheme, text, expected', [
    ('always', 'bab', ['', 'b', 'a', 'b']),
    ('always', ' bab', [' ', 'b', 'a', 'b']),
    ('always', f'{SPECIAL}b{SPECIAL}', [SPECIAL, '', 'b', SPECIAL]),
    ('first', f'{SPECIAL}b', [SPECIAL, 'b']),
    ('first', f'b {SPECIAL} b', ['', 'b', ' ', SPECIAL, ' ', 'b']),
    ('legacy', f'{SPECIAL}  {SPECIAL}', [SPECIAL, ' ', ' ', SPECIAL]),
    ('never', 'bab', ['b', 'a', 'b']),
    ('legacy', '   ', [' ', '  ']),
])
def test_the_dummy_space_has_no_bytes(scheme, text, expected):
    tokenizer = byte_fallback(scheme, merge=False)
    assert words(tokenizer, text) == expected


@pytest.mark.parametrize('kind, text, expected', [
    ('byte level', 'the cat', [('the', b'the'), ('Ġcat', b' cat')]),
    ('byte level, prefix space', 'the', [('Ġthe', b'the')]),
    ('byte level, prefix space, trimmed', f'{SPECIAL}the the', [
        (SPECIAL, SPECIAL.encode()), ('Ġthe', b'the'), ('Ġthe', b' the')
    ]),
    ('byte level, prefix space', 'ﬁ', [('Ġ', b''), ('ï', b'\xef'),
                                       ('¬', b'\xac'), ('ģ', b'\x81')]),
])
def test_a_space_before_the_text_has_no_bytes(kind, text, expected):
    assert pieces(fast(kind), text) == expected


@pytest.mark.parametrize('kind, text, expected', [
    ('word piece, uncased', 'The  Cat ', ['The', '  Cat ']),
    ('word piece, uncased', 'Cafe\u0301 CAFÉ', ['Cafe\u0301', ' CAFÉ']),
    ('word piece, uncased', 'the\u200b cat', ['the', '\u200b cat']),
    ('word piece, uncased', 'نَمَ!', ['نَمَ', '!']),
    ('word piece, cased', '\n好世\r\n', ['\n好', '世\r\n']),
    ('word piece, cased', 'the 龘 cat', ['the', ' 龘', ' cat']),
    ('word piece, cased', f'the {SPECIAL} cat', ['the', f' {SPECIAL}', ' cat'
                                                 ]),
    ('unigram', 'b   b', ['b', '   b']),
    ('unigram', 'e\u0301x', ['', 'e\u0301', 'x']),
    ('unigram', '１２', ['', '１', '２']),
    ('unigram', 'z\ufffdz', ['', 'z', '\ufffd', 'z']),
    ('unigram', 'a▁b', ['a', '▁b']),
])
def test_words_of_lossy_kinds_land_on_their_bytes(kind, text, expected):
    assert words(fast(kind), text) == expected


def test_tokens_that_are_bytes():
    tokenizer = qwen1()
    assert tokenizer.tokenize('é the') == [b'\xc3', b'\xa9', b' the']
    text = f'é the 你{SPECIAL}'
    assert pieces(tokenizer, text) == [(b'\xc3', b'\xc3'), (b'\xa9', b'\xa9'),
                                       (b' the', b' the'), (b' ', b' '),
                                       (b'\xe4\xbd', b'\xe4\xbd'),
                                       (b'\xa0', b'\xa0'),
                                       (SPECIAL, SPECIAL.encode())]
    # It composes characters.
    found = pieces(tokenizer, f'e\u0301 the{SPECIAL}')
    assert [piece for _, piece in found[:3]] == [b'e', b'\xcc\x81', b' the']


def test_tokens_that_are_numbers():
    tokenizer = rwkv6()
    assert tokenizer.tokenize('a the') == [98, 257]
    data = [b'\xe4\xbd', b'\xa0', b'\xe5', b'\xa5\xbd a', b' the', b'<s>']
    tokenized = tokenize(tokenizer, '你好 a the<s>')
    assert tokenized.spans.ends.tolist() == [*accumulate(map(len, data))]
    assert tokenized.ids.tolist() == [258, 161, 230, 259, 257, 0]
    assert tokenized.unknown == 0


def test_a_python_tokenizer_is_aligned_and_tells_what_was_unknown():
    tokenizer = Pieces(['the', 'cat', '<unk>'],
                       lambda text: text.lower().split(),
                       unk_token='<unk>')
    assert words(tokenizer, 'A  The CAT ') == ['A', '  The', ' CAT ']
    assert tokenize(tokenizer, 'A the cat').unknown == 1


@pytest.mark.parametrize('text', ['的ab', 'a的b', 'ab的', 'a的b ', 'a?b! '])
def test_a_tokenizer_that_drops_what_it_does_not_know_is_refused(text):
    model = models.BPE({c: i for i, c in enumerate('ab! ')}, [])
    tokenizer = wrap(Tokenizer(model))
    assert words(tokenizer, 'ab! ') == ['a', 'b', '!', ' ']
    # Characters that nobody sees may be dropped.
    assert words(tokenizer, 'a\u200db ') == ['a', '\u200db', ' ']
    with pytest.raises(InputError, match=FAST_CLASS):
        tokenize(tokenizer, text)


def test_added_tokens_that_take_the_spaces_around_them():
    tokenizer = byte_level()
    tokenizer.add_tokens([AddedToken('<x>', lstrip=True, rstrip=True)])
    assert words(tokenizer, 'the <x>  1') == ['the', ' <x>  ', '1']


@pytest.mark.parametrize('content', ['é£', 'a b', '▁x', 'Ġ', '你'])
@pytest.mark.parametrize('kind', ['byte level', 'byte fallback, never'])
def test_added_tokens_stand_for_themselves(kind, content):
    tokenizer = FAST[kind]()
    tokenizer.add_tokens([AddedToken(content, normalized=False)])
    assert (content, content.encode()) in pieces(tokenizer, f'b{content}b')


def test_unknown_tokens_are_counted():
    assert tokenize(fast('word piece, cased'), 'the 龘 龘').unknown == 2
    assert tokenize(fast('unigram'), 'b龘b').unknown == 1
    assert tokenize(fast('byte level'), 'b龘b').unknown == 0
    # One that is spelled out is known.
    assert tokenize(fast('byte fallback, never'), 'b<unk>').unknown == 0


def shares(*unknown_of_total):
    return [
        TokenizedText(
            np.zeros(total, np.int64),
            TokenSpans(range(total), range(1, total + 1), total), unknown)
        for unknown, total in unknown_of_total
    ]


def test_one_percent_unknown_is_accepted_over_all_texts():
    tokenizer = word_piece(True)
    tokenizer.name_or_path = 'some/model'
    check_unknown_share(shares((1, 10), (1, 190)), tokenizer)
    check_unknown_share(shares((0, 0)), tokenizer)
    with pytest.raises(
            InputError, match=f"{FAST_CLASS} 'some/model': .* 1% .* 3 of 200"):
        check_unknown_share(shares((1, 10), (2, 190)), tokenizer)
