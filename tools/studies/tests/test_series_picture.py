"""The picture of one series shows what its title says."""
import numpy as np
import pytest

from csv_plugin.core.curve import accuracy_of
from tools.studies.series_picture import PREDICTORS, SERIES, points_of


@pytest.mark.slow
def test_one_curve_holds_for_a_held_out_series():
    by_mean, by_score = map(points_of, PREDICTORS.values())
    errors = []
    for points in (by_mean, by_score):
        own = np.array(points.families) == SERIES
        assert own.sum() == 28 and not points.fitted[own].any()
        off = accuracy_of(points.exponents, points.floor) - points.accuracies
        errors.append(np.abs(off[own]).mean())
    assert errors[1] < errors[0] / 4
