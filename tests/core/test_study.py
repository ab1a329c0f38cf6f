"""Studies: which models are predicted from which, and what counts."""
from dataclasses import dataclass, field, replace
from math import inf, nan

import numpy as np
import pytest
from scipy import stats

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import UNKNOWN_BENCHMARK, Predictions
from csv_plugin.core.salience import Ridge, SalienceFit, Uniform
from csv_plugin.core.salience_model import SalienceModel
from csv_plugin.core.split_studies import leave_families_out, split_study
from csv_plugin.core.study import Study, geometric_mean, outliers
from tests.tables import Tables, small_tables

PARTS = ('values', 'low', 'high', 'extrapolated', 'in_sample')


def split(tables: Tables, n_fit: int, solver=Ridge(), **more) -> Study:
    return split_study(tables.features, tables.accuracies, tables.families,
                       tables.models[:n_fit], solver, **more)


def leave_out(tables: Tables, solver=Ridge(), **more) -> Study:
    return leave_families_out(tables.features, tables.accuracies,
                              tables.families, solver, **more)


@pytest.fixture(scope='module')
def study(tables) -> Study:
    return split(tables, 10)


@pytest.fixture(scope='module')
def left_out(tables) -> Study:
    return leave_out(tables.only('easy', 'hard'), n_folds=2)


def of(study: Study, method: str) -> Predictions:
    return study.predictions.select(methods=[method])


@pytest.mark.parametrize('method', ['ridge', 'mean-loss', 'constant'])
def test_errors_from_the_tables(tables, study, method):
    """All measures once more, written out for each benchmark."""
    table = of(study, method)
    for b, benchmark in enumerate(tables.accuracies.benchmarks):
        pairs = [(tables.accuracies.values[m, b], table.values[m, b, 0],
                  table.low[m, b, 0], table.high[m, b, 0])
                 for m in range(10, 18)
                 if not np.isnan(tables.accuracies.values[m, b])]
        errors = study.errors(method)[benchmark]
        assert errors.n_models == len(pairs)
        if not pairs:
            assert benchmark in ('pair', 'none')
            measures = [value for value in vars(errors).values() if value]
            assert len(measures) == 5 and np.isnan(measures).all()
            continue
        real, value, low, high = np.array(pairs).T
        assert errors.mse == pytest.approx(np.mean((real - value)**2))
        assert errors.mae == pytest.approx(np.mean(abs(real - value)))
        assert errors.width == pytest.approx(np.mean(high - low))
        assert errors.coverage == np.mean((low <= real) & (real <= high))
        if np.ptp(real) and np.ptp(value):
            rank = stats.spearmanr(real, value).statistic
            assert errors.spearman == pytest.approx(rank)
        else:
            assert np.isnan(errors.spearman)


@dataclass(frozen=True)
class Spy:
    """Predicts 0.001 times the number of its call, and keeps the tasks."""
    name: str = 'spy'
    tasks: list = field(default_factory=list)

    def fit(self, task, masks):
        value = np.array(0.001 * len(self.tasks))
        self.tasks.append(task)
        model = SalienceModel.constant(value, task.uniform)
        folds = SalienceModel.constant(
            np.full(len(masks), value), task.uniform)
        return SalienceFit(self.name, model, folds, masks, 1.0, 0.0)


def test_eight_groups_of_families_are_left_out():
    tables, seen = small_tables(18, n_families=9).only('easy'), []
    leave_out(tables, progress=lambda folds: seen.extend(folds) or folds)
    assert len(seen) == 8


@pytest.mark.parametrize('n_folds', [2, 3, 50])
def test_no_model_is_predicted_from_its_own_family(tables, n_folds):
    spy = Spy()
    study = leave_out(tables.only('easy', 'hard'), spy, n_folds=n_folds)
    table = of(study, 'spy')
    used = set()
    for m, model in enumerate(tables.models):
        for value in table.values[m, :, 0]:
            task = spy.tasks[round(1000 * value)]
            used.add(round(1000 * value))
            assert tables.families[model] not in task.families
            if n_folds == 50:  # all other families
                assert {*task.families,
                        tables.families[model]} == {*tables.families.values()}
    # Two benchmarks in each fold.
    assert len(used) == 2 * min(n_folds, 5)
    assert not table.in_sample.any()


@pytest.mark.parametrize('run', [lambda t: split(t, 10), leave_out])
def test_a_model_without_a_family(tables, run):
    few = {m: f for m, f in tables.families.items() if m != 'org/model-4'}
    with pytest.raises(InputError, match="none of 'org/model-4'. Name its"):
        run(replace(tables, families=few))


def test_a_single_family():
    tables = small_tables(n_families=1).only('easy')
    with pytest.raises(InputError, match='at least two families'):
        leave_out(tables)
    assert split(tables, 10).errors('ridge')['easy'].n_models == 5


@pytest.mark.parametrize('values, mean', [
    ([1e-4, 1e-2], 1e-3), ([2, float('nan')], 2), ([0, 1], 0),
    ([float('nan')], float('nan')), ([], float('nan')),
    (iter([4, 1]), 2)
])  # yapf: disable
def test_geometric_mean(values, mean):
    assert geometric_mean(values) == pytest.approx(mean, nan_ok=True)


def test_what_no_other_family_was_run_on_is_not_predicted(tables, study):
    values = tables.accuracies.values.copy()
    own = np.array(tables.groups) == 'family-1'
    values[~own, 0] = np.nan
    sparse = leave_out(
        replace(tables, accuracies=replace(tables.accuracies, values=values)),
        Uniform())
    cubes = [getattr(sparse.predictions, part) for part in PARTS]
    for cube in cubes[:3]:
        np.testing.assert_array_equal(np.isnan(cube[:, 0, 0]), own)
        assert not np.isnan(cube[:, 1]).any()
    assert not any(cube[own, 0].any() for cube in cubes[3:])
    model = tables.models[own.argmax()]
    assert sparse.predictions.at(model, 'easy') == UNKNOWN_BENCHMARK
    assert sparse.predictions.chance == study.predictions.chance
    errors = sparse.errors('uniform')['easy']
    assert errors.n_models == own.sum() and np.isnan(errors.mse)


MODELS, BENCHMARKS = ('a', 'b', 'c'), ('x', 'y')


def predictions(observed, values, low, high, in_sample=False) -> Predictions:
    shape = (len(MODELS), len(BENCHMARKS))
    cubes = dict(values=values, low=low, high=high, in_sample=in_sample)
    return Predictions(
        MODELS,
        BENCHMARKS, ('predicted', ),
        extrapolated=np.array(False),
        real=np.broadcast_to(np.array(observed, float), shape),
        level=0.9,
        **{
            name: np.broadcast_to(np.array(cube), shape)[:, :, None]
            for name, cube in cubes.items()
        })


def test_distances():
    # Half an interval is 0.1 below the prediction and 0.2 above it.
    observed = [[0.5, 0.9], [0.1, 0.75], [nan, 0.35]]
    far = outliers(predictions(observed, 0.5, 0.4, 0.7))
    assert [(o.model, o.benchmark) for o in far] == [('b', 'x'), ('a', 'y'),
                                                     ('c', 'y'), ('b', 'y')]
    np.testing.assert_allclose([o.distance for o in far], [-4, 2, -1.5, 1.25])
    first = far[0]
    assert (first.observed, first.predicted, first.low,
            first.high) == (0.1, 0.5, 0.4, 0.7)
    # Fitted models and cells without a prediction do not count.
    in_sample = [[True, False], [False, False], [False, True]]
    far = outliers(predictions(0.9, 0.5, 0.4, 0.7, in_sample))
    assert [(o.model, o.benchmark) for o in far] == [('a', 'y'), ('b', 'x'),
                                                     ('b', 'y'), ('c', 'x')]
    assert outliers(predictions(0.5, nan, nan, nan)) == []
    # Intervals without a width.
    far = outliers(
        predictions([[0.5, 0.6], [0.4, 0.5], [0.5, 0.5]], 0.5, 0.5, 0.5))
    assert [(o.model, o.distance) for o in far] == [('a', inf), ('b', -inf)]
