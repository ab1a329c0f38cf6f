"""Errors on models of the zoo that were not fitted to."""
from dataclasses import replace

import numpy as np
import pytest

from tools.studies.tests.small_zoo import small_zoo
from tools.studies.zoo_study import only


@pytest.mark.slow
def test_errors_on_a_series_left_out():
    # Every fifth model, for speed.
    zoo = small_zoo().of_series('abcd')
    few = [*zoo.collection.info][::5]
    left_out = replace(
        zoo, collection=only(zoo.collection, few)).left_out('series d')
    errors = np.array([*left_out.values()])
    assert errors.shape[1] == len(zoo.collection.accuracies.benchmarks)
    assert (errors > 0).all() and (errors < .2).all()
    assert left_out['salience'].mean() < left_out['mean loss'].mean()
