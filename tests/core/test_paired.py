"""Answers of two models to the same items, against oracles."""
import math

import numpy as np
import pytest
from scipy.special import stdtrit

from csv_plugin.core.conventions import InputError
from csv_plugin.core.paired import PairedAnswers


def test_right_and_wrong_answers():
    a, b = [1, 1, 0, 0, 0, 0, 0, 0, 1], [1, 0, 1, 1, 1, 1, 1, 1, 1]
    found = PairedAnswers.of('x', a, b)
    assert found.only == (1, 6) and found.n_items == 9
    assert found.value == pytest.approx(5 / 9)
    for wrong in (2, -.5, math.nan):
        with pytest.raises(InputError, match="answers on 'x'.*in 0..1"):
            PairedAnswers.of('x', [1, 0], [wrong, 0])


@pytest.mark.parametrize('n', [1, 2, 3])
def test_few_items_decide_nothing(n):
    """Though B answers all of them."""
    found = PairedAnswers.of('x', [0] * n, [1] * n)
    half = found.noise.error * stdtrit(found.noise.freedom, .975)
    assert half > found.value == 1


def test_grades_have_noise():
    rng = np.random.default_rng(5)
    a, b = rng.random(50), rng.random(50)
    found = PairedAnswers.of('x', a, b)
    assert found.noise.error == pytest.approx(
        np.std(b - a, ddof=1) / math.sqrt(50), rel=0.1)
    assert found.only[1] - found.only[0] == pytest.approx((b - a).sum())
    # Half an item more on either side, as for equal answers.
    assert PairedAnswers.of('x', a, a).noise.error == pytest.approx(1 / 52)
    with pytest.raises(InputError, match='answers on .x.: .*two items'):
        PairedAnswers.of('x', [.5], [1])
