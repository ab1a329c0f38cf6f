"""Errors that are stated, beside those on models of a fresh series."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped, world
from csv_plugin.demo.studies.fresh_series_study import (FreshErrors,
                                                        read_fresh_series)
from csv_plugin.io.collection import read_collection
from csv_plugin.io.predictors import load_predictor
from tests.demo.studies.fresh_run import NAMES, write_run


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
        assert errors.stated[e] == baseline.benchmark(exam).cv_mse


def test_rows():
    errors = FreshErrors(('x', 'y'), np.array([.001, .004]),
                         np.array([.002, .002]), np.array([.03, .05]),
                         np.array([1., .5]), np.array([.2, .1]))
    np.testing.assert_allclose(
        errors.rows(),
        [[1, 2, 2, 3, 1, 20], [4, 2, .5, 5, .5, 10], [2, 2, 1, 4, .75, 15]])


@pytest.mark.slow
def test_what_was_not_evaluated_is_named(run):
    with pytest.raises(InputError, match='a run with predictions/z7-m@10'):
        read_fresh_series([run], ['z7-s', 'z7-m'])
