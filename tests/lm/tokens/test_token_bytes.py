"""The bytes of tokens, read from their strings."""
import pytest

from csv_plugin.lm.tokens.token_bytes import from_bytes


@pytest.mark.parametrize('tokens, text, expected', [
    (['a', 'Ġb'], 'a b', [1, 2]),
    (['Ġa', 'Ġb'], 'a b', [1, 2]),
    (['▁', '▁a', '<0xE4>', '<0xBD>', '<0xA0>'], ' a你', [0, 2, 1, 1, 1]),
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
