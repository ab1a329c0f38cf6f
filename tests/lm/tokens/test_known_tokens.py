"""Tokens are made once for tokenizers with the same files."""
import shutil

from csv_plugin.core.texts import Text
from csv_plugin.demo import shipped
from csv_plugin.lm.loading import load_tokenizer
from csv_plugin.lm.tokens import known_tokens
from csv_plugin.lm.tokens.known_tokens import KnownTokens
from csv_plugin.lm.tokens.tokenization import tokenize_all

TEXTS = [Text('a', 'Two sums.'), Text('b', 'Two  swaps.')]


def test_tokenizers_with_the_same_files_share_tokens(tmp_path, monkeypatch):
    asked = []

    def count(tokenizer, texts):
        asked.append([text.text_id for text in texts])
        return tokenize_all(tokenizer, texts)

    monkeypatch.setattr(known_tokens, 'tokenize_all', count)
    known = KnownTokens()
    for number, series in enumerate('aab'):
        folder = tmp_path / str(number)
        shutil.copytree(shipped.ZOO / series / 'tokenizer', folder)
        (folder / 'tokenizer_before').mkdir()
        (folder / 'trainer_state.json').write_text(str(number))
        tokenizer = load_tokenizer(folder)
        for part in (TEXTS[:1], TEXTS, TEXTS[::-1]):
            for found, expected in zip(
                    known.tokenize(tokenizer, part),
                    tokenize_all(tokenizer, part)):
                assert found.ids.tolist() == expected.ids.tolist()
                assert found.spans.starts.tolist() == (
                    expected.spans.starts.tolist())
    assert asked == [['a'], ['b'], [], [], [], [], ['a'], ['b'], []]
