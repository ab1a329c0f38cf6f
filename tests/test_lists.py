"""A name where a list of names belongs is refused wherever users give one.

Python would take it letter by letter, and models may well be called 'a'.
"""
import numpy as np
import pytest

import csv_plugin as cp
from csv_plugin.core.features import Columns
from csv_plugin.extras.importers.lm_eval_results import read_lm_eval_accuracies
from csv_plugin.io.runs.run_dumps import find_dumps
from csv_plugin.io.tables import models_in
from csv_plugin.lm.methods import check_validation
from tests.runs import TEXTS

NAMES = ('a', 'b')
ACCURACIES = cp.AccuracyTable(NAMES, NAMES, np.full((2, 2), 0.5), np.zeros(2),
                              np.zeros(2, np.int64))
FEATURES = cp.FeatureTable(NAMES, Columns(NAMES, np.full(2, 0.5), 'texts'),
                           np.ones((2, 2)))


@pytest.mark.parametrize('call', [
    lambda: ACCURACIES.select('ab'),
    lambda: ACCURACIES.select(benchmarks='ab'),
    lambda: FEATURES.select('ab'),
    lambda: cp.FeatureTable.of_losses('ab', NAMES, np.ones((2, 2))),
    lambda: cp.FeatureTable.of_losses(NAMES, 'ab', np.ones((2, 2))),
    lambda: cp.split_study(FEATURES, ACCURACIES, {}, 'ab'),
    lambda: check_validation('ab', NAMES),
    lambda: read_lm_eval_accuracies('a', ['b']),
    lambda: read_lm_eval_accuracies(['a'], 'ab'),
    lambda: cp.read_dumps('a', TEXTS),
    lambda: models_in('ab', (), {}),
    lambda: find_dumps('ab'),
])  # yapf: disable
def test_one_name_for_many(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
            cp.InputError, match='expected a list, found .ab?.\\. '):
        call()
