"""Draws of texts, and what is counted on them."""
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.demo import shipped
from tools.studies.texts_study import draw, draws, texts_study
from tools.studies.zoo_study import BASELINE, FIRST_SERIES, ZooStudy

TEXTS = TextSet(
    tuple(
        Text(f'{source}-{i}', f'text {i}', source) for source in 'abc'
        for i in range(10)))


@given(st.integers(1, 3), st.integers(0, 9), st.data())
@settings(max_examples=60, deadline=None)
def test_draw(n_sources, seed, data):
    n = data.draw(st.integers(n_sources, 10 * n_sources))
    drawn = draw(TEXTS, n, n_sources, seed)
    counts = Counter(text.source for text in drawn)
    assert len(set(drawn)) == len(drawn) == n
    assert len(counts) == n_sources
    assert max(counts.values()) - min(counts.values()) <= 1
    assert list(drawn) == [text for text in TEXTS if text in drawn]
    assert drawn == draw(TEXTS, n, n_sources, seed)
    if n < 10 * n_sources:
        assert set(drawn) < set(draw(TEXTS, n + 1, n_sources, seed))
    if n_sources < 3:
        more = draw(TEXTS, n, n_sources + 1, seed) if n > n_sources else ()
        assert not more or set(counts) < {text.source for text in more}


def test_draws():
    drawn = draws(TEXTS, (6, 30), 9, range(2))
    assert [(part.series, len(part.texts), part.n_sources, part.seed)
            for part in drawn] == [
                ('texts', 6, 3, 0), ('texts', 6, 3, 1), ('texts', 30, 3, 0),
                *(('sources', 9, n, seed) for n in (1, 2, 3)
                  for seed in (0, 1))]  # yapf: disable
    assert drawn[0].texts == draw(TEXTS, 6, 3, 0)
    assert drawn[1].texts == draw(TEXTS, 6, 3, 1)


@pytest.fixture(scope='module')
def study() -> ZooStudy:
    return ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                         shipped.SCORING_TOKENIZER).of_series(FIRST_SERIES)


@pytest.mark.slow
def test_the_whole_set_gives_the_figures_of_the_zoo(study):
    whole = draws(study.collection.texts, (250, ), 5, range(1))[:1]
    rows = {
        (row.method, row.models): row.mse
        for row in texts_study(study, whole)
    }
    # What docs/appendix/zoo.md gives for `groups, ridge` and the baseline.
    expected = {'unseen series': (7.63, 28.85), 'larger sizes': (15.86, 90.36)}
    for kind, (groups, baseline) in expected.items():
        assert 1e3 * rows['groups, ridge', kind] == pytest.approx(
            groups, rel=0.01)
        assert 1e3 * rows[BASELINE, kind] == pytest.approx(baseline, rel=0.01)
