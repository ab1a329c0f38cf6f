"""Spans of tokens that change the text: from offsets, or by alignment."""
import numpy as np
import pytest

from csv_plugin.lm.tokens.token_alignment import (from_offsets,
                                                  from_token_strings)
from tests.lm.tokens.tokenizers import SPECIAL


def offsets_spans(tokens, offsets, text, unknown=()):
    is_unknown = np.isin(np.arange(len(tokens)), unknown)
    spans = from_offsets(tokens, is_unknown, offsets, text)
    return spans and list(zip(spans.starts.tolist(), spans.ends.tolist()))


@pytest.mark.parametrize('tokens, offsets, text, expected', [
    (['x', 'Ã', '©'], [(0, 1), (1, 3), (1, 3)], 'xe\u0301', [0, 1, 2, 4]),
    (['Ã', '©'], [(0, 1), (0, 1)], 'e\u0301\u0323', [0, 2, 5]),
    (['xf', 'iy'], [(0, 2), (1, 3)], 'xﬁy', [0, 2, 5]),
    (['xf', 'f', 'iy'], [(0, 2), (1, 2), (1, 3)], 'xﬃy', [0, 2, 3, 5]),
    (['a', 'b'], [(1, 2), (4, 5)], ' a  b ', [0, 2, 6]),
    (['Ġ', 'Ġ', 'é'], [(0, 1), (0, 1), (0, 1)], 'é', [0, 0, 0, 2]),
    (['é', 'Ġ', 'Ġ'], [(0, 1), (0, 1), (0, 1)], 'é', [0, 2, 2, 2]),
    (['ab', 'Ġ', 'bc'], [(0, 2), (1, 2), (1, 3)], 'abc', [0, 1, 1, 3]),
    (['▁', 'a'], [(0, 0), (0, 1)], 'a', [0, 0, 1]),
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
    (['a', '!'], [(0, 1), (2, 1)], 'a!', None),
    (['a', 'b'], [(0, 1), (1, 2)], 'ac', None),
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


@pytest.mark.parametrize('strings, text, expected', [
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
def test_surfaces_are_aligned_or_refused(strings, text, expected):
    spans = from_token_strings(strings, {SPECIAL, '<▁é>'}, text)
    data = text.encode()
    covered = spans and [
        data[start:end] for start, end in zip(spans.starts, spans.ends)
    ]
    assert covered == (
        expected and [
            word.encode() if isinstance(word, str) else word
            for word in expected
        ])
