"""Draws of texts, and errors on them."""
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.demo import shipped
from tools.studies.study_texts import draw, draws, row
from tools.studies.zoo_study import FIRST_SERIES, ZooStudy

TEXTS = TextSet(
    tuple(
        Text(f'{source}-{i}', f'text {i}', source) for source in 'abc'
        for i in range(10)))


@given(st.integers(1, 3), st.integers(0, 9), st.data())
@settings(max_examples=60)
def test_draws_are_nested_and_even(n_sources, seed, data):
    n = data.draw(st.integers(n_sources, 10 * n_sources))
    drawn = draw(TEXTS, n, n_sources, seed)
    counts = Counter(text.source for text in drawn)
    assert len(set(drawn)) == len(drawn) == n
    assert len(counts) == n_sources
    assert max(counts.values()) - min(counts.values()) <= 1
    assert list(drawn) == [text for text in TEXTS if text in drawn]
    if n < 10 * n_sources:
        assert set(drawn) < set(draw(TEXTS, n + 1, n_sources, seed))


def test_all_texts_are_drawn_once():
    drawn = draws(TEXTS, (6, 30), 9, 2)
    assert [(len(parts), len(parts[0].texts), parts[0].n_sources)
            for parts in drawn] == [(2, 6, 3), (1, 30, 3), (2, 9, 1),
                                    (2, 9, 2), (2, 9, 3)]


@pytest.mark.slow
def test_the_whole_set_gives_the_figures_of_the_zoo():
    study = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                          shipped.SCORING_TOKENIZER).of_series(FIRST_SERIES)
    whole, *_ = draws(study.collection.texts, (250, ), 50, 1)
    found = row(study, whole)
    # The row of docs/appendix/zoo.md.
    assert list(map(float, found.values())) == pytest.approx(
        [250, 5, 1.8, 38.0, 3.7, 93.4], rel=.01)
