"""Points along curves: one prediction of each family that is left out."""
from dataclasses import replace

import numpy as np

from csv_plugin.core.curve_model import mean_loss_model
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
    low, high = model.joint(np.tile(loss[:, None], 3)).intervals(.9)
    middle = np.argsort(loss)[len(loss) // 2]
    assert (high - low)[middle].min() > .2
