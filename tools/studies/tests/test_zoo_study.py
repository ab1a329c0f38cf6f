"""Errors on models of the zoo that were not fitted to, expected and found."""
from dataclasses import replace

import numpy as np
import pytest

from tools.studies.expected_and_found import BEYOND, WITHIN
from tools.studies.tests.small_zoo import small_zoo
from tools.studies.zoo_study import TRAIN, VALIDATION


@pytest.fixture(scope='module')
def zoo():
    """Few runs, of series with and without fitted models."""
    return small_zoo().of_series('abcd')


@pytest.mark.slow
def test_errors_of_each_kind_are_those_of_its_models(zoo):
    fitted = zoo.collection.models_in(TRAIN, VALIDATION)
    predictor = zoo.training(fitted).label_token_loss()
    real = zoo.collection.accuracies
    values = predictor.predict(zoo.table).values[:, :, 0]
    parts = {
        (part.exam, part.kind): part
        for part in zoo.expected_and_found(predictor)
    }
    assert len(parts) == 2 * len(real.benchmarks)
    for (exam, kind), part in parts.items():
        predicted = values[:, predictor.names.index(exam)]
        expected = predictor.benchmark(exam).errors_by_reach
        within = predicted <= expected.reach + 1e-9
        assert part.expected == {
            WITHIN: expected.within,
            BEYOND: expected.beyond
        }[kind]
        squares = (predicted - real.column(exam))**2
        for name, models in zoo.test_models().items():
            np.testing.assert_allclose(
                part.found[name],
                squares[models & (within if kind == WITHIN else ~within)])
    assert all(
        sum(len(part.found[name])
            for part in parts.values()) == models.sum() * len(real.benchmarks)
        for name, models in zoo.test_models().items())


@pytest.mark.slow
def test_both_kinds_of_a_series_left_out_are_the_error_on_it(zoo):
    # Every fifth model, for speed.
    few = [*zoo.collection.info][::5]
    left_out = replace(
        zoo, collection=zoo.collection.select(few)).left_out('series d')
    n_models = sum(zoo.collection.families[model] == 'series d'
                   for model in few)
    for b, exam in enumerate(zoo.collection.accuracies.benchmarks):
        kinds = [part for part in left_out.by_reach if part.exam == exam]
        assert [part.kind for part in kinds] == [WITHIN, BEYOND]
        found = np.concatenate([part.found['series d'] for part in kinds])
        assert len(found) == n_models
        assert found.mean() == pytest.approx(left_out.mse['auto'][b])
        # Each fitted model is held out once.
        assert sum(part.expected.n_models
                   for part in kinds) == len(few) - n_models
