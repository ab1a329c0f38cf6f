"""The simulated laboratory, and its tables on disk."""
import subprocess
import sys

import numpy as np

from csv_plugin.core.salience import SOLVERS
from csv_plugin.core.study import split_study
from csv_plugin.demo.simulation import simulate
from csv_plugin.io.model_tables import read_model_tables


def test_same_seed_same_laboratory():
    one, two, other = simulate(1), simulate(1), simulate(2)
    np.testing.assert_array_equal(one.features.values, two.features.values)
    np.testing.assert_array_equal(one.accuracies.values, two.accuracies.values)
    assert not np.array_equal(one.features.values, other.features.values)


def test_two_families_and_all_largest_models_are_for_test():
    laboratory = simulate()
    for family, size, split in zip(laboratory.families, laboratory.sizes,
                                   laboratory.splits):
        unseen = family in ('Kelp', 'Lichen')
        assert (split == 'test') == (unseen or size == 25)


def test_written_tables_are_read_back(tmp_path):
    folder = tmp_path / 'a folder'
    subprocess.run([sys.executable, '-m', 'csv_plugin.demo',
                    str(folder)],
                   check=True)
    tables = read_model_tables(*(folder / f'{name}.csv'
                                 for name in ('losses', 'scores', 'models',
                                              'benchmarks')))
    laboratory = simulate()
    assert tables.features.models == laboratory.features.models
    np.testing.assert_array_equal(tables.features.values,
                                  laboratory.features.values)
    np.testing.assert_array_equal(tables.accuracies.values,
                                  laboratory.accuracies.values)
    assert tuple(tables.families.values()) == laboratory.families


def test_salience_beats_the_mean_loss_on_it():
    laboratory = simulate()
    models = laboratory.features.models
    fit = [m for m, s in zip(models, laboratory.splits) if s != 'test']
    study = split_study(laboratory.features, laboratory.accuracies,
                        dict(zip(models, laboratory.families)), fit,
                        SOLVERS['ridge'], '')
    mse = {
        method: np.mean([e.mse for e in study.errors(method).values()])
        for method in study.predictions
    }
    assert 3 * mse['ridge'] < mse['uniform'] < mse['constant']
