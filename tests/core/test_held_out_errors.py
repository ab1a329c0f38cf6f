"""Errors by family."""
import numpy as np
import pytest

from csv_plugin.core.held_out_errors import typical_error


def test_half_of_three_families_err_less_than_the_typical_one():
    families = np.array(list('bacab'))
    errors = np.array([.3, -.1, .02, .1, -.1])
    assert typical_error(families, errors) == pytest.approx(.1)
    errors[:1] = .5
    assert typical_error(families, errors) == pytest.approx(.1)
    errors[2] = .5
    assert typical_error(families, errors) == pytest.approx(np.sqrt(.13))
    assert np.isnan(typical_error(families[3:], errors[3:]))
