"""Predictions of checkpoints by fits to other runs."""
import numpy as np

from csv_plugin.triage.held_out import fit_holding_out
from tests.tables import small_tables


def test_every_checkpoint_is_predicted_by_other_runs():
    tables = small_tables(18, n_families=6).only('easy', 'pair')
    models, held_out = fit_holding_out(tables.features, tables.accuracies,
                                       tables.groups)
    real = tables.accuracies.values
    seen = models[0].predict(tables.features.values)
    errors = [((values - real[:, 0])**2).mean()
              for values in (seen, held_out[:, 0])]
    assert 0 < errors[0] < errors[1] < real[:, 0].var() / 4
    assert (np.isnan(held_out) == np.isnan(real)).all()
