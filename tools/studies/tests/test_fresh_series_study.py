"""Errors that are stated, beside those on models of a fresh series."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.demo import shipped
from csv_plugin.io.collection import read_collection
from csv_plugin.io.predictors import load_predictor
from tools.studies import study_fresh_series as script
from tools.studies import world
from tools.studies.fresh_series_study import (FreshErrors, FreshSeries,
                                              read_fresh_series)
from tools.studies.tests.fresh_run import NAMES, write_run
from tools.studies.zoo.recipes import CHECKPOINTS


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
        assert errors.alarm[e] == np.mean([cell.alarm for cell in cells])
        part = baseline.benchmark(exam)
        assert errors.stated[e] == part.cv_mse
        assert errors.typical[e] == part.typical_error**2


@pytest.fixture(scope='module')
def two_series(collection):
    """The runs d-xs and d-s as if they were fresh series."""
    names = [
        f'd-{size}@{percent}' for size in ('xs', 's')
        for percent in CHECKPOINTS
    ]
    fresh = [f'z{n}-s@{percent}' for n in (7, 8) for percent in CHECKPOINTS]
    real = collection.accuracies.select(names)
    columns = [real.benchmarks.index(kind) for kind in world.KINDS]
    return FreshSeries(
        {
            new: collection.losses[old]
            for new, old in zip(fresh, names)
        }, real.values[:, columns])


@pytest.mark.slow
def test_several_series(two_series):
    auto, baseline = map(load_predictor, (shipped.PREDICTOR, shipped.BASELINE))
    parts = [two_series.select(name).errors(auto) for name in ('z7', 'z8')]
    assert two_series.errors(auto).mse == pytest.approx(
        np.mean([part.mse for part in parts], axis=0))
    assert two_series.squares(auto).mean(axis=0) == pytest.approx(
        two_series.errors(auto).mse)
    kinds = two_series.stated_and_found(auto)
    assert len(kinds) == 2 * len(world.KINDS)
    for part in kinds:
        errors = auto.benchmark(part.exam).errors_by_reach
        assert part.stated in (errors.within, errors.beyond)
        assert set(part.found) == {'z7', 'z8'}
    found = np.concatenate(
        [square for part in kinds for square in part.found.values()])
    assert np.sort(found) == pytest.approx(
        np.sort(two_series.squares(auto).ravel()))
    lines = script.by_series(two_series, auto, baseline).splitlines()
    cells = [line.split('|')[1].strip() for line in lines if line[:1] == '|']
    assert cells[2:5] == cells[-3:] == ['z7', 'z8', 'all']
    assert 'drawing series' in '\n'.join(lines)
    alone = script.by_series(two_series.select('z7'), auto, baseline)
    assert 'drawing series' not in alone


def test_rows():
    errors = FreshErrors(('x', 'y'), np.array([.001, .004]),
                         np.array([.003, .003]), np.array([.002, .002]),
                         np.array([.03, .05]), np.array([1., .5]),
                         np.array([.2, .1]), np.array([0., .1]))
    np.testing.assert_allclose(
        errors.rows(),
        [[1, 3, 2, 2, 3, 1, 20, 0], [4, 3, 2, .5, 5, .5, 10, .1],
         [2, 3, 2, 1, 4, .75, 15, .05]])


@pytest.mark.slow
def test_what_was_not_evaluated_is_named(run):
    with pytest.raises(InputError, match='a run with predictions/z7-m@10'):
        read_fresh_series([run], ['z7-s', 'z7-m'])
