"""Points along curves: one prediction of each family that is left out."""
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
    assert np.abs(found - model.points)[seen].max() > 1e-4
