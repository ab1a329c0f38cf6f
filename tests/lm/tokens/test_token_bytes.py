"""The bytes of tokens, read from their strings."""
import pytest

from csv_plugin.lm.tokens.token_bytes import from_bytes, readings


@pytest.mark.parametrize('tokens, text, expected', [
    (['a', 'Ġb'], 'a b', [1, 2]),
    (['Ġa', 'Ġb'], 'a b', [1, 2]),
    (['coÂŃop', 'Ā'], 'co\xadop\0', [6, 1]),
    (['▁', '<0x41>b'], ' <0x41>b', [1, 7]),
    (['▁', '▁a', '<0xE4>', '<0xBD>', '<0xA0>'], ' a你', [0, 2, 1, 1, 1]),
    (['<é>', 'Ã', '©', 'Ġ'], '<é>é ', [4, 1, 1, 1]),
    (['▁▁', 'b', '▁▁'], '  b  ', [2, 1, 2]),
    (['▁▁', 'b'], '▁▁b', [6, 1]),
    (['▁a', '<é>', '▁b', '<é>', '▁c'], 'a<é>b<é> c', [1, 4, 1, 4, 2]),
    (['▁a', '<é>', '▁a', '<é>', '▁a'], ' a<é>a<é>a', [2, 4, 1, 4, 1]),
    (['<é>', '', '▁a'], '<é>a', [4, 0, 1]),
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
    found = None if spans is None else (spans.ends - spans.starts).tolist()
    assert found == expected


def test_bytes_that_are_no_text_are_no_reading():
    assert set(readings('aÿ')) == {'aÿ'}
    assert set(readings('Ġé')) == {'Ġé'}
    assert set(readings('▁a')) == {'▁a', ' a'}
