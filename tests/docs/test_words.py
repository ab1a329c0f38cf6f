"""Pages can be read: no long sentences, one word for one thing."""
import pytest

from tests.docs import blocks
from tools import count_words

PAGES = [*blocks.PAGES, *sorted((blocks.ROOT / 'docs/gallery').glob('*.md'))]


@pytest.mark.parametrize('page', PAGES, ids=lambda path: path.stem)
def test_sentences_and_terms(page):
    _, _, long, replaced = count_words.count(page)
    assert not long
    assert not replaced, 'docs/glossary.md has better words'
