"""Byte spans of the tokens of every kind of tokenizer."""
import copy
import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers
from transformers import PreTrainedTokenizerFast

from csv_plugin.core.conventions import InputError
from csv_plugin.core.mapping import LossMap
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text
from csv_plugin.lm.tokens.token_alignment import from_offsets, from_surfaces
from csv_plugin.lm.tokens.token_bytes import (byte_level_chars, from_bytes,
                                              readings)
from csv_plugin.lm.tokens.tokenization import (TokenizedText,
                                               check_unknown_share,
                                               tokenize_all)
from tests.lm.tokens.tokenizers import (EXACT, FAST, LOSSY, SLOW, SPECIAL,
                                        Pieces, byte_fallback, byte_level,
                                        qwen1, rwkv6, tokenize, unigram,
                                        word_piece, wrap)

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


@pytest.fixture(params=SLOW)
def slow_kind(request, tmp_path):
    return request.param, SLOW[request.param](tmp_path)


def pieces(tokenizer, text):
    """Each token's string and its bytes."""
    tokenized = tokenize(tokenizer, text)
    data = text.encode()
    tokens = tokenizer.convert_ids_to_tokens(tokenized.ids.tolist())
    return [(token, data[start:end]) for token, start, end in zip(
        tokens, tokenized.spans.starts, tokenized.spans.ends)]


def words(tokenizer, text):
    """The parts of the text that tokens cover."""
    return [piece.decode() for _, piece in pieces(tokenizer, text)]


def check(tokenizer, text):
    """One span per token, and the spans tile the text."""
    tokenized = tokenize(tokenizer, text)
    assert tokenized.ids.dtype == np.int64
    assert len(tokenized.ids) == len(tokenized.spans)
    assert tokenized.spans.tiles
    assert tokenized.spans.n_bytes == len(text.encode())
    expected = tokenizer(text, add_special_tokens=False)['input_ids']
    assert tokenized.ids.tolist() == expected
    return tokenized


def expected_bytes(tokenizer, token):
    """A token's bytes, computed in a second way: decoded byte by byte."""
    if token == SPECIAL or token in tokenizer.all_special_tokens:
        return token.encode()
    if token.startswith('<0x'):
        return bytes.fromhex(token[3:5])
    decoder = getattr(tokenizer, 'backend_tokenizer', None)
    if decoder is None:
        return bytes([ord(token)])
    if decoder.decoder is None:
        return token.replace('▁', ' ').encode()
    table = byte_level_chars(bytes(range(256)))
    return bytes(table.index(char) for char in token)


@pytest.mark.parametrize('name', sorted(set(TEXTS) - {'marks of tokenizers'}))
@pytest.mark.parametrize('kind', EXACT)
def test_exact_kinds_cover_their_own_bytes(kind, name):
    tokenizer, text = fast(kind), TEXTS[name]
    assert check(tokenizer, text).unknown == 0
    previous = None
    for token, piece in pieces(tokenizer, text):
        whole = expected_bytes(tokenizer, token)
        if whole != piece:
            # Only a space that was added before a word may be missing.
            assert b' ' + piece == whole
            assert previous in (None, SPECIAL)
        previous = token


@pytest.mark.parametrize('name', TEXTS)
@pytest.mark.parametrize('kind', LOSSY)
def test_lossy_kinds_tile_the_text(kind, name):
    tokenizer, text = fast(kind), TEXTS[name]
    if text.isspace() and 'word piece' in kind:
        with pytest.raises(InputError, match='found 0 tokens'):
            tokenize(tokenizer, text)
    else:
        check(tokenizer, text)


@pytest.mark.parametrize('name', TEXTS)
def test_slow_kinds_tile_the_text(slow_kind, name):
    kind, tokenizer = slow_kind
    text = TEXTS[name]
    ids = tokenizer(text, add_special_tokens=False)['input_ids']
    if text and (not ids
                 or kind == 'slow bert' and tokenizer.unk_token_id in ids):
        with pytest.raises(InputError, match='account for every byte'):
            tokenize(tokenizer, text)
    else:
        check(tokenizer, text)


@pytest.mark.parametrize('kind', FAST)
@given(
    text=st.one_of(
        st.text(max_size=20),
        st.lists(st.sampled_from(list(TEXTS.values())), max_size=3).map(
            ''.join),
        st.text('ab ée\u0301\u0323ﬁ▁\u200d\ufe0fé한한你🙂\n\x00', max_size=12)))
@pytest.mark.slow
def test_any_text_is_tiled_or_refused(kind, text):
    if 'word piece' not in kind or tokenizer_sees(fast(kind), text):
        check(fast(kind), text)


def tokenizer_sees(tokenizer, text):
    return not text or tokenizer(text, add_special_tokens=False)['input_ids']


def test_losses_move_between_any_two_tokenizers():
    texts = [Text(name, text) for name, text in TEXTS.items() if text.strip()]
    spans = [[tokens.spans for tokens in tokenize_all(fast(kind), texts)]
             for kind in FAST]
    rng = np.random.default_rng(0)
    for source in spans:
        losses = rng.normal(size=(2, sum(map(len, source))))
        for target in spans:
            mapped = LossMap.for_texts(source, target)(losses).fully_scored
            np.testing.assert_allclose(
                mapped.sum(axis=1), losses.sum(axis=1), rtol=0, atol=1e-9)


@pytest.mark.parametrize('scheme, text, expected', [
    ('always', 'bab', ['', 'b', 'a', 'b']),
    ('legacy', ' bab', [' ', 'b', 'a', 'b']),
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
    ('byte level, prefix space', ' the', [('Ġthe', b' the')]),
    ('byte level, prefix space, trimmed', f'{SPECIAL}the the', [
        (SPECIAL, SPECIAL.encode()), ('Ġthe', b'the'), ('Ġthe', b' the')
    ]),
    ('byte level, prefix space', 'ﬁ', [('Ġ', b''), ('ï', b'\xef'),
                                       ('¬', b'\xac'), ('ģ', b'\x81')]),
])
def test_a_space_before_the_text_has_no_bytes(kind, text, expected):
    assert pieces(fast(kind), text) == expected


@pytest.mark.parametrize('tokens, text, expected', [
    (['a', 'Ġb'], 'a b', [1, 2]),
    (['Ġa', 'Ġb'], 'a b', [1, 2]),
    (['▁', '▁a', '<0xE4>', '<0xBD>', '<0xA0>'], ' a你', [0, 2, 1, 1, 1]),
    (['ä', '½', '\xa0', ' '], '你 ', [1, 1, 1, 1]),
    (['<é>', 'Ã', '©', 'Ġ'], '<é>é ', [4, 1, 1, 1]),
    (['▁▁', 'b', '▁▁'], '  b  ', [2, 1, 2]),
    (['▁▁', 'b'], '▁▁b', [6, 1]),
    (['▁a', '<é>', '▁b', '<é>', '▁c'], 'a<é>b<é> c', [1, 4, 1, 4, 2]),
    (['▁a', '<é>', '▁a', '<é>', '▁a'], ' a<é>a<é>a', [2, 4, 1, 4, 1]),
    (['▁a', '▁b'], 'ab', None),
    (['▁', '▁a'], 'a', None),
    (['▁a', 'b'], 'ac', None),
    (['Ċa'], 'a', None),
    (['▁b', '▁▁'], '▁b  ', None),
    (['<0x4>'], '4', None),
    ([], ' ', None),
    ([], '', []),
])
def test_tokens_are_read_as_bytes_or_not_at_all(tokens, text, expected):
    spans = from_bytes(tokens, {'<é>', '▁▁'}, text)
    assert (spans and spans.widths.tolist()) == (spans and expected)
    assert (spans is None) == (expected is None)


def test_readings_of_a_part_of_a_character_say_nothing():
    assert readings('的') == ('的', '的')
    assert readings('Ã') == ('Ã', 'Ã')
    assert readings('<0xE4>') == ('<0xE4>', '<0xE4>')


@pytest.mark.parametrize('kind, text, expected', [
    ('word piece, uncased', 'The  Cat ', ['The', '  Cat ']),
    ('word piece, uncased', 'Cafe\u0301 CAFÉ', ['Cafe\u0301', ' CAFÉ']),
    ('word piece, uncased', 'the\u200b cat', ['the', '\u200b cat']),
    ('word piece, uncased', 'Ünïcödé', ['Ünïcödé']),
    ('word piece, uncased', 'نَمَ!', ['نَمَ', '!']),
    ('word piece, cased', '\n好世\r\n', ['\n好', '世\r\n']),
    ('word piece, cased', 'the 龘 cat', ['the', ' 龘', ' cat']),
    ('word piece, cased', f'the {SPECIAL} cat', ['the', f' {SPECIAL}', ' cat'
                                                 ]),
    ('unigram', 'b   b', ['b', '   b']),
    ('unigram', 'éx', ['', 'é', 'x']),
    ('unigram', 'e\u0301x', ['', 'e\u0301', 'x']),
    ('unigram', '１２', ['', '１', '２']),
    ('unigram', 'z\ufffdz', ['', 'z', '\ufffd', 'z']),
    ('unigram', '\ufffdz', ['', '\ufffd', 'z']),
    ('unigram', 'a▁b', ['a', '▁b']),
])
def test_words_of_lossy_kinds_land_on_their_bytes(kind, text, expected):
    assert words(fast(kind), text) == expected


@pytest.mark.parametrize('kind',
                         ['byte level, NFC', 'byte level, NFC, trimmed'])
def test_composed_bytes_share_the_decomposed_characters(kind):
    before = [('Ġ', b'')] if 'trimmed' in kind else []
    accented = pieces(bytes_only(kind), 'e\u0301x')
    assert accented == before + [('Ã', b'e'), ('©', b'\xcc\x81'), ('x', b'x')]
    # Two Hangul letters and a final, in nine bytes, composed to three.
    syllable = '\u1112\u1161\u11ab'
    hangul = pieces(bytes_only(kind), syllable + '!')[len(before):]
    data = syllable.encode()
    assert [piece
            for _, piece in hangul] == [data[:3], data[3:6], data[6:], b'!']


def bytes_only(kind):
    return byte_level(
        prefix='trimmed' in kind,
        trim='trimmed' in kind,
        normalizer=normalizers.NFC(),
        vocab_size=256)


def test_forms_that_expand_are_shared():
    assert pieces(unigram(), 'ﬁ') == [('▁', b''), ('f', b'\xef'),
                                      ('i', b'\xac\x81')]


def offsets_spans(tokens, offsets, text, unknown=()):
    is_unknown = np.isin(np.arange(len(tokens)), unknown)
    spans = from_offsets(tokens, is_unknown, offsets, text)
    return spans and list(zip(spans.starts.tolist(), spans.ends.tolist()))


@pytest.mark.parametrize('tokens, offsets, text, expected', [
    (['Ã', '©', 'x'], [(0, 2), (0, 2), (2, 3)], 'e\u0301x', [0, 1, 3, 4]),
    (['Ã', '©'], [(0, 1), (0, 1)], 'e\u0301\u0323', [0, 2, 5]),
    (['xf', 'iy'], [(0, 2), (1, 3)], 'xﬁy', [0, 2, 5]),
    (['xf', 'f', 'iy'], [(0, 2), (1, 2), (1, 3)], 'xﬃy', [0, 2, 3, 5]),
    (['a', 'b'], [(1, 2), (4, 5)], ' a  b ', [0, 2, 6]),
    (['Ġ', 'é'], [(0, 1), (0, 1)], 'é', [0, 0, 2]),
    (['▁', '▁a'], [(0, 1), (0, 2)], ' a', [0, 0, 2]),
    (['ba</w>', 'c@@'], [(0, 2), (2, 3)], 'bac', [0, 2, 3]),
    (['a', 'b'], [(0, 1), (0, 1)], 'ab', None),
    (['a', 'b'], [(0, 0), (0, 0)], 'ab', None),
    (['b', 'a'], [(1, 2), (0, 1)], 'ab', None),
    (['a'], [(0, 1)], 'a!', None),
    (['a'], [(0, 1)], '!a ', None),
    (['b'], [(0, 1)], '! ', None),
    (['的'], [(0, 1)], '! ', None),
    (['ä½łb'], [(0, 2)], '你a', None),
    (['a', 'b'], [(1, 1), (0, 1)], 'b ', None),
    (['a'], [(1, 0)], 'a', None),
    (['a', 'a'], [(0, 1), (1, 3)], 'aa', None),
    (['a'], [(0, 2)], 'a', None),
    (['a'], [(-1, 1)], 'a', None),
    (['a', 'a', 'a'], [(0, 2), (1, 2), (0, 2)], 'aa', None),
    ([], [], ' ', None),
])
def test_offsets_are_repaired_or_refused(tokens, offsets, text, expected):
    spans = offsets_spans(tokens, offsets, text)
    assert spans == (expected and list(zip(expected, expected[1:])))


def test_an_unknown_token_is_placed_by_its_offsets():
    assert offsets_spans(['a', '[UNK]'], [(0, 1), (2, 4)], 'a 好好',
                         [1]) == [(0, 1), (1, 8)]
    assert offsets_spans(['a', '[UNK]'], [(0, 1), (2, 4)], 'a 好好') is None


@pytest.mark.parametrize('surfaces, text, expected', [
    (['▁ﬁne', '▁', 'x'], 'fine  x'.replace('fi', 'ﬁ'), ['ﬁne', '  ', 'x']),
    (['the', '##re', '!'], ' The\tRE !', [' The', '\tRE', ' !']),
    (['▁the', '▁', '▁a'], 'THE  a', ['THE', ' ', ' a']),
    (['▁▁', '▁a'], '  a', [' ', ' a']),
    (['▁a', '<0xE4>', '<0xBD>', '<0xA0>'
      ], 'A 你', ['A', b' \xe4', b'\xbd', b'\xa0']),
    (['▁a▁', '<0xE4>', '<0xBD>', '<0xA0>', 'b'
      ], 'a▁你B', ['a▁', b'\xe4', b'\xbd', b'\xa0', 'B']),
    (['<0xE4>', '<0xBD>'], '你', None),
    (['▁A', '<0xE4>'], 'a', None),
    (['ä', '½', '\xa0', SPECIAL
      ], f'你  {SPECIAL}', [b'\xe4', b'\xbd', b'\xa0', f'  {SPECIAL}']),
    (['Ãī', 'Ġ', 'x'], 'E\u0301 x', ['E\u0301', ' ', 'x']),
    (['cafe', 'x'], 'Cafe\u0301x', ['Cafe\u0301', 'x']),
    (['ca</w>', 'x</w>'], 'Ca x', ['Ca', ' x']),
    (['e', '\u0301', 'x'], 'E\u0301  x', ['E', '\u0301', '  x']),
    (['c@@', 'x'], 'cX', ['c', 'X']),
    (['▁a', SPECIAL, '▁b'], f'A{SPECIAL}B', ['A', SPECIAL, 'B']),
    (['Ãī', '<▁é>', 'Ãī'], 'É<▁é>é', ['É', '<▁é>', 'é']),
    (['▁a', SPECIAL, '▁', SPECIAL
      ], f'A{SPECIAL}{SPECIAL} ', ['A', SPECIAL, '', SPECIAL + ' ']),
    (['xf', '', 'iy'], 'xﬁy', [b'x\xef', b'\xac', b'\x81y']),
    (['a', 'c'], 'abc', None),
    (['b', 'a'], 'ab', None),
    (['a'], 'ab', None),
    (['ab'], 'a', None),
    ([], ' ', None),
])
def test_surfaces_are_aligned_or_refused(surfaces, text, expected):
    spans = from_surfaces(surfaces, {SPECIAL, '<▁é>'}, text)
    data = text.encode()
    covered = spans and [
        data[start:end] for start, end in zip(spans.starts, spans.ends)
    ]
    assert covered == (
        expected and [
            word.encode() if isinstance(word, str) else word
            for word in expected
        ])


def python_pieces(entries, cut):
    return Pieces([*entries, '<unk>'], cut, unk_token='<unk>')


def test_entries_of_bytes():
    entries = [b'a', b'\xe4\xbd', b'\xa0', b' ']
    tokenizer = python_pieces(entries,
                              lambda text: [b'\xe4\xbd', b'\xa0', b' ', b'a'])
    tokenized = tokenize(tokenizer, '你 a')
    assert tokenized.ids.tolist() == [1, 2, 3, 0]
    assert tokenized.spans.ends.tolist() == [2, 3, 4, 5]


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
    assert [piece for _, piece in pieces(tokenizer, 'e\u0301 the')
            ] == [b'e', b'\xcc\x81', b' the']


def test_tokens_that_are_numbers():
    tokenizer = rwkv6()
    assert tokenizer.tokenize('a the') == [98, 257]
    data = [b'\xe4\xbd', b'\xa0', b'\xe5', b'\xa5\xbd a', b' the', b'<s>']
    tokenized = tokenize(tokenizer, '你好 a the<s>')
    assert tokenized.spans.widths.tolist() == list(map(len, data))
    assert tokenized.ids.tolist() == [258, 161, 230, 259, 257, 0]
    assert tokenized.unknown == 0


@pytest.mark.parametrize('make', [qwen1, rwkv6])
@pytest.mark.parametrize('name', sorted(set(TEXTS) - {'empty'}))
def test_tokens_in_bytes_or_numbers_tile_any_text(make, name):
    check(make(), TEXTS[name])


def test_a_python_tokenizer_is_aligned():
    tokenizer = python_pieces(['the', 'cat'],
                              lambda text: text.lower().split())
    assert words(tokenizer, 'The  CAT ') == ['The', '  CAT ']
    assert tokenize(tokenizer, 'The cat').unknown == 0


def test_a_python_tokenizer_tells_what_was_unknown():
    tokenizer = python_pieces(['the'], lambda text: text.lower().split())
    assert words(tokenizer, 'A the Dog') == ['A', ' the', ' Dog']
    assert tokenize(tokenizer, 'A the Dog').unknown == 2


def test_a_python_tokenizer_that_loses_text_is_refused():
    tokenizer = python_pieces(['the'], lambda text: text.split()[:1])
    with pytest.raises(
            InputError,
            match=r"^text 'mine', Pieces '': .* found 1 tokens .*"
            r"\['the'\] first"):
        tokenize(tokenizer, 'the cat', text_id='mine')


@pytest.mark.parametrize('text', ['的ab', 'a的b', 'ab的', 'a的b ', 'a?b! '])
def test_a_tokenizer_that_drops_what_it_does_not_know_is_refused(text):
    model = models.BPE({c: i for i, c in enumerate('ab! ')}, [])
    tokenizer = wrap(Tokenizer(model))
    assert words(tokenizer, 'ab! ') == ['a', 'b', '!', ' ']
    with pytest.raises(InputError, match=FAST_CLASS):
        tokenize(tokenizer, text)


def test_invisible_characters_may_be_dropped():
    model = models.BPE({c: i for i, c in enumerate('ab ')}, [])
    assert words(wrap(Tokenizer(model)), 'a\u200db ') == ['a', '\u200db', ' ']


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


def test_runs_of_spaces_may_be_listed_as_added():
    assert pieces(fast('gemma'), 'b  ') == [('b', b'b'), ('▁▁', b'  ')]


def test_special_tokens_are_not_added_but_read():
    tokenizer = fast('byte level')
    assert tokenize(tokenizer,
                    SPECIAL).ids.tolist() == [tokenizer.eos_token_id]
    assert len(tokenizer(SPECIAL)['input_ids']) == 3


@pytest.mark.parametrize('kind', FAST)
def test_many_texts_are_tokenized_as_one_by_one(kind, monkeypatch):
    monkeypatch.setattr('csv_plugin.lm.tokens.tokenization._BATCH', 7)
    texts = [Text(name, text) for name, text in TEXTS.items() if text.strip()]
    for text, together in zip(
            texts, tokenize_all(fast(kind), texts), strict=True):
        alone = tokenize(fast(kind), text.text)
        assert np.array_equal(together.ids, alone.ids)
        assert together.spans == alone.spans
        assert together.unknown == alone.unknown


def test_no_text_at_all():
    assert tokenize_all(fast('byte level'), []) == []


def test_the_text_is_named_by_its_id():
    texts = [Text('fine', 'the'), Text('blank', '  ')]
    with pytest.raises(InputError, match=f"text 'blank', {FAST_CLASS} "):
        tokenize_all(fast('word piece, cased'), texts)


def test_unknown_tokens_are_counted():
    assert tokenize(fast('word piece, cased'), 'the 龘 龘').unknown == 2
    assert tokenize(fast('unigram'), 'b龘b').unknown == 1
    assert tokenize(fast('byte level'), 'b龘b').unknown == 0


def test_a_spelled_out_unknown_token_is_known():
    assert tokenize(fast('byte fallback, never'), 'b<unk>').unknown == 0


def shares(*unknown_of_total):
    return [
        TokenizedText(
            np.zeros(total, np.int64),
            TokenSpans(range(total), range(1, total + 1), total), unknown)
        for unknown, total in unknown_of_total
    ]


def test_one_percent_unknown_is_accepted_over_all_texts():
    check_unknown_share(shares((1, 10), (1, 190)), fast('unigram'))
    check_unknown_share(shares((0, 0)), fast('unigram'))
    check_unknown_share([], fast('unigram'))


def test_a_tokenizer_that_knows_nothing_is_refused():
    tokenizer = word_piece(True)
    tokenizer.name_or_path = 'some/model'
    with pytest.raises(
            InputError, match=f"{FAST_CLASS} 'some/model': .* 1% .* 3 of 200"):
        check_unknown_share(shares((1, 10), (2, 190)), tokenizer)


@pytest.mark.parametrize('kind', ['byte level', 'unigram', 'byt5'])
@pytest.mark.parametrize('side', ['left', 'right'])
def test_the_tokenizer_stays_as_it_was(kind, side):
    tokenizer = copy.deepcopy(fast(kind))
    tokenizer.padding_side = tokenizer.truncation_side = side
    tokenizer.model_max_length = 3
    before = state(tokenizer)
    assert len(tokenize(tokenizer, 'the cat sat on the mat').ids) > 3
    assert state(tokenizer) == before


def state(tokenizer):
    settings = {
        key: repr(value)
        for key, value in vars(tokenizer).items() if key != '_tokenizer'
    }
    if tokenizer.is_fast:
        settings['backend'] = tokenizer.backend_tokenizer.to_str()
    return settings


def test_digits_stand_alone():
    assert words(fast('byte level, digits'), '123') == ['1', '2', '3']


def test_spaces_put_around_characters_have_no_bytes():
    tokenizer = byte_level(
        vocab_size=256,
        normalizer=normalizers.BertNormalizer(
            lowercase=False, strip_accents=False))
    space = ('Ġ', b'')
    you = [('ä', b'\xe4'), ('½', b'\xbd'), ('ł', b'\xa0')]
    assert pieces(tokenizer, 'a你你!') == [('a', b'a'), space, *you, space,
                                         space, *you, space, ('!', b'!')]
