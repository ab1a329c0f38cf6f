"""Fractions in the place of percentages are noticed, small percents kept."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.percentages import seem_fractions, without_fractions
from csv_plugin.core.predictions import Missing
from tests.runs import train

CHANCES = st.sampled_from([0, .1, .2, .25, .266, .333, .5])


@pytest.mark.parametrize('scores, chance, seem', [
    ([.29, .62], .25, True),
    ([.29, 1], .25, True),
    ([.24, .26, .25], .25, True),
    ([.5, .47, 0], .5, True),
    ([0, 0, 0], .25, False),  # no answer was understood
    ([0, 0, .5], .25, False),
    ([0, 0, .3, .01], .25, False),
    ([.5], .25, False),  # a single model
    ([], .25, False),
    ([.29, .62, 1.1], .25, False),
    ([25.1, 24.2], .25, False),
    # Where guessing gives nothing, such percentages are possible.
    ([.29, .62], 0, False),
    ([0, .08, .61], 0, False),
])  # yapf: disable
def test_rule(scores, chance, seem):
    assert seem_fractions([score / 100 for score in scores], chance) == seem


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=30), CHANCES,
    st.integers(10, 2000), st.randoms(use_true_random=False))
@pytest.mark.slow
def test_no_alarm_at_percentages(skills, chance, n_items, random):
    """Of models that know a part of the answers, and guess the others."""
    counts = [
        sum(random.random() < skill + (1 - skill) * chance
            for _ in range(n_items)) for skill in skills
    ]
    # Wrong would be 1 % or less of so many guesses, by every model.
    if max(counts) > n_items / 100 or not chance:
        assert not seem_fractions([n / n_items for n in counts], chance)


@given(st.lists(st.floats(.2, 1), min_size=2, max_size=30))
def test_fractions_of_models_that_guess_at_least(scores):
    assert seem_fractions([score / 100 for score in scores], .25)


def test_real_accuracies_without_them():
    free = train(('easy', 'hard'))
    guessed = replace(
        free,
        benchmarks=tuple(
            replace(part, chance=.25) for part in free.benchmarks))
    torn = Missing('torn')
    rng = np.random.default_rng(0)
    real = {
        (f'm{i}', name): float(rng.uniform(.2, 1)) / 100
        for i in range(5)
        for name in ('easy', 'hard', 'other')
    }
    real['m1', 'hard'], real['m2', 'hard'] = .3, torn
    assert without_fractions(real, {'p': free, 'q': torn}) == real
    mended = without_fractions(real, {'p': torn, 'q': guessed})
    reason = mended['m0', 'easy'].reason
    assert reason.startswith('no score above 1, where guessing gives 25 %: ')
    assert mended == {
        cell: Missing(reason) if cell[1] == 'easy' else value
        for cell, value in real.items()
    }
