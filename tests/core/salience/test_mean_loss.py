"""The baseline as a solver: plain refits without each fold."""
import numpy as np

from csv_plugin.core.baselines import fit_mean_loss
from csv_plugin.core.salience import MeanLoss, fold_masks
from tests.core.worlds import make_world

TASK = make_world(n=24, n_families=4, noise=0.02, floor=0.15).task
MASKS = fold_masks(TASK.families, 0)


def test_folds_are_fits_of_their_own():
    """Floor included: no choice sees the families that are held out."""
    loss = TASK.features.mean_loss
    fit = MeanLoss().fit(TASK, MASKS)
    parts = [*zip(fit.folds.curve, MASKS), (fit.model.curve, loss > 0)]
    assert len(parts) == len(MASKS) + 1
    for curve, rows in parts:
        alone = fit_mean_loss(loss[rows], TASK.accuracy[rows], TASK.chance)
        assert (curve.alpha, curve.beta,
                curve.floor) == (alone.alpha, alone.beta, alone.floor)
    np.testing.assert_array_equal(fit.model.coefficients, TASK.uniform)
    assert fit.solver == 'mean-loss' and not fit.notes
