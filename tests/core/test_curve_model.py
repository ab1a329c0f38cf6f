"""Points along curves: one prediction of each family that is left out."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.curve_model import mean_loss_model
from csv_plugin.core.observed import filled_items
from tests.core.worlds import observed, plain


def test_what_is_left_out_is_a_view_of_its_distribution():
    model = mean_loss_model(plain().units.mean(axis=1), observed())
    found = model.left_out_joint().accuracies
    seen = ~np.isnan(observed().accuracies)
    np.testing.assert_allclose(
        found[seen], model.left_out.accuracies[seen], rtol=1e-12)
    assert np.isnan(model.left_out.accuracies[~seen]).all()
    # Means of distributions are no points of their curves.
    assert np.abs(found - model.checked_accuracies)[seen].max() > 1e-4


def test_a_benchmark_of_one_family_tells_nothing_of_other_families():
    """It has the usual error, and changes nothing on other benchmarks."""
    loss, whole = plain().units.mean(axis=1), observed()
    values = whole.accuracies.copy()
    values[np.array(whole.families) != whole.families[0], 2] = np.nan
    model = mean_loss_model(loss, replace(whole, accuracies=values))
    assert np.isnan(model.checked_accuracies[:, 2]).all()
    assert model.variance[2] == np.median(model.variance[:2])


def test_one_family_alone_has_wide_intervals():
    whole = observed()
    one = replace(whole, families=('one', ) * len(whole.families))
    loss = plain().units.mean(axis=1)
    model = mean_loss_model(loss, one)
    # As large as if every exponent was off by 1.
    assert model.variance.tolist() == [1, 1, 1]
    low, high = model.joint(np.tile(loss[:, None], 3)).intervals(.9)
    middle = np.argsort(loss)[len(loss) // 2]
    assert (high - low)[middle].min() > .2


def test_the_scatter_about_curves_is_as_by_the_formula():
    """It is what errors have beyond the noise of items."""
    model = mean_loss_model(plain().units.mean(axis=1), observed())
    checked, n_items = model.checked_accuracies, observed().n_items
    n_items = filled_items(n_items)
    for b in range(3):
        p, y = checked[:, b], observed().accuracies[:, b]
        seen = ~np.isnan(y)
        p, y, floor = p[seen], y[seen], model.floor[b]
        share = np.clip((p - floor) / (1 - floor), .01, .99)
        slopes = (1 - floor) * share * (1 - share)
        noise = p * (1 - p) / n_items[b]
        scatter = ((y - p)**2 - noise).sum() / (slopes**2).sum()
        assert model.variance[b] == pytest.approx(scatter)
        np.testing.assert_allclose(model.usual_deviations[b], scatter**.5)
