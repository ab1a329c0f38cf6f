"""Pages can be read: no long sentences, one word for one thing."""

import pytest

from tests.docs.blocks import ROOT
from tools import count_words

PAGES = [
    ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted(
        (ROOT / 'docs').glob('*.md')), *sorted(
            (ROOT / 'docs/gallery').glob('*.md'))
]


@pytest.mark.parametrize('page', PAGES, ids=lambda path: path.stem)
def test_sentences_and_terms(page):
    _, _, long, replaced = count_words.count(page)
    assert not long
    assert not replaced, 'docs/glossary.md has better words'


@pytest.mark.parametrize(
    'words',
    ['baseline', 'calibration', 'confidence interval', 'perplexity', 'RMSE'])
def test_the_glossary_answers_a_search_for_usual_words(words):
    page = (ROOT / 'docs/glossary.md').read_text('utf-8')
    rows = page.partition('## Other words')[2].splitlines()
    assert any(words in row for row in rows)
