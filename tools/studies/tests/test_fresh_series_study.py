"""Errors that are expected, beside those on models of a fresh series."""
import numpy as np
import pytest

from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from csv_plugin.io.predictors import load_predictor
from tools.studies import world
from tools.studies.fresh_series_study import read_fresh_series
from tools.studies.tests.fresh_run import NAMES, write_run


@pytest.fixture(scope='module')
def collection():
    return read_collection(shipped.COLLECTION)


@pytest.fixture(scope='module')
def run(collection, tmp_path_factory):
    return write_run(tmp_path_factory.mktemp('run'), collection)


@pytest.mark.slow
def test_errors_of_the_shipped_baseline(run, collection):
    baseline = load_predictor(shipped.BASELINE)
    errors = read_fresh_series([run], ['z7-s']).errors(baseline)
    real = collection.accuracies.select(NAMES)
    assert errors.exams == world.KINDS
    for e, exam in enumerate(errors.exams):
        predicted = baseline.predict(collection.losses.select(NAMES))
        column = real.values[:, real.benchmarks.index(exam)]
        cells = [predicted.at(name, exam) for name in NAMES]
        gaps = np.array([cell.value for cell in cells]) - column
        assert errors.mse[e] == pytest.approx(np.mean(gaps**2))
        assert errors.mae[e] == pytest.approx(np.mean(abs(gaps)))
        assert errors.coverage[e] == pytest.approx(
            np.mean([
                cell.low <= value <= cell.high
                for cell, value in zip(cells, column)
            ]))
        assert errors.width[e] == pytest.approx(
            np.mean([cell.high - cell.low for cell in cells]))
        assert errors.disagrees[e] == np.mean(
            [cell.disagrees for cell in cells])
        part = baseline.benchmark(exam)
        assert errors.expected[e] == part.cv_mse
        assert errors.typical[e] == part.typical_error**2
