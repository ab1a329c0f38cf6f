"""Studies: which models are predicted from which, and what counts."""
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from scipy import stats

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import Predictions, misses
from csv_plugin.core.predictor import NO_OTHER_FAMILY, NOT_RUN
from csv_plugin.core.study import (MEAN_LOSS, SALIENCE, Study, geometric_mean,
                                   leave_families_out, split_study)
from tests.tables import Tables, small_tables


def split(tables: Tables, n_fit: int) -> Study:
    return split_study(tables.features, tables.accuracies, tables.families,
                       tables.models[:n_fit])


def leave_out(tables: Tables) -> Study:
    return leave_families_out(tables.features, tables.accuracies,
                              tables.families)


@pytest.fixture(scope='module')
def study(tables) -> Study:
    return split(tables, 10)


def test_print_shows_errors_of_held_out_models(study):
    """The mean over the main benchmarks with an error, by method.

    Benchmarks that are not predictable yet are left out.
    """
    text = str(study)
    assert study.predictions.not_yet
    for method in (SALIENCE, MEAN_LOSS):
        known = []
        for name, errors in study.errors(method).items():
            if errors.n_models and name not in study.predictions.not_yet:
                known.append(errors.mae)
        mean = f'{100 * np.mean(known):.1f}'
        assert f'\n{method}  ' in text
        row, = [line for line in text.splitlines() if line.startswith(method)]
        assert row.split()[1] == mean
    assert f'a mean over {len(known)} benchmarks;' in ' '.join(text.split())
    for shown in (repr(study), repr(study.predictor.benchmarks[0])):
        assert shown.count('(') == shown.count(')')


@pytest.mark.parametrize('method', [SALIENCE, MEAN_LOSS])
def test_errors_from_the_tables(tables, study, method):
    """All measures once more, written out for each benchmark."""
    table = study.predictions.select(methods=[method])
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
        observed, value, low, high = np.array(pairs).T
        assert errors.mse == pytest.approx(np.mean((observed - value)**2))
        assert errors.mae == pytest.approx(np.mean(abs(observed - value)))
        assert errors.width == pytest.approx(np.mean(high - low))
        assert errors.coverage == np.mean((low <= observed)
                                          & (observed <= high))
        if np.ptp(observed) and np.ptp(value):
            rank = stats.spearmanr(observed, value).statistic
            assert errors.spearman == pytest.approx(rank)
        else:
            assert np.isnan(errors.spearman)


def test_predictions_are_a_view_of_the_joint_distribution(study):
    for method, named in study.joints.items():
        table = study.predictions.select(named.models, named.benchmarks,
                                         [method])
        np.testing.assert_array_equal(table.values[:, :, 0],
                                      named.joint.accuracies)
        low, _ = named.joint.intervals(table.level)
        np.testing.assert_array_equal(table.low[:, :, 0], low)


@pytest.mark.slow
def test_no_model_is_predicted_from_its_own_family(tables):
    """Other accuracies of a family move predictions of its models little.

    They count in what all benchmarks and models share, such as how far models
    of a family lie off together.
    """
    easy = tables.only('easy')
    own = np.array(easy.groups) == 'family-1'
    moved = easy.accuracies.values.copy()
    moved[own] = np.clip(moved[own] + .05, 0, 1)
    other = replace(easy, accuracies=replace(easy.accuracies, values=moved))
    before, after = (leave_out(part).predictions for part in (easy, other))
    changes = np.abs(after.values - before.values)[:, 0, 0]
    assert not before.in_sample.any()
    assert changes[own].max() < .01
    fitted = [
        split(part, 18).predictions.values[:, 0, 0] for part in (easy, other)
    ]
    assert np.abs(fitted[1] - fitted[0])[own].min() > .01


@pytest.mark.parametrize('run', [lambda t: split(t, 10), leave_out])
def test_a_model_without_a_family(tables, run):
    few = {m: f for m, f in tables.families.items() if m != 'org/model-4'}
    with pytest.raises(InputError, match="None of 'org/model-4'. Name the"):
        run(replace(tables, families=few))


def test_families_that_are_a_list(tables):
    for run in (lambda t: split(t, 10), leave_out):
        with pytest.raises(InputError, match='families: .* found a list'):
            run(replace(tables, families=tables.groups))


def test_a_single_family():
    tables = small_tables(n_families=1).only('easy')
    with pytest.raises(InputError, match='at least two families'):
        leave_out(tables)
    assert split(tables, 10).errors(SALIENCE)['easy'].n_models == 5


@pytest.mark.parametrize('values, mean', [
    ([1e-4, 1e-2], 1e-3), ([2, float('nan')], 2), ([0, 1], 0),
    ([float('nan')], float('nan')), ([], float('nan')),
    (iter([4, 1]), 2)
])  # yapf: disable
def test_geometric_mean(values, mean):
    assert geometric_mean(values) == pytest.approx(mean, nan_ok=True)


@pytest.mark.slow
def test_what_no_other_family_was_run_on_is_not_predicted(tables):
    """Nor is what the model itself was not run on."""
    tables = tables.only('easy', 'hard', 'same')
    values = tables.accuracies.values.copy()
    own = np.array(tables.groups) == 'family-1'
    values[~own, 0] = values[0, 1] = np.nan
    sparse = leave_out(
        replace(tables, accuracies=replace(tables.accuracies, values=values)))
    table = sparse.predictions
    for part in (table.values, table.low, table.high):
        assert np.isnan(part[:, 0]).all()
        assert np.isnan(part[:, 1, 0]).tolist() == [True, *[False] * 17]
    assert table.at(tables.models[own.argmax()], 'easy') == NO_OTHER_FAMILY
    assert table.at(tables.models[0], 'hard') == NOT_RUN
    errors = sparse.errors(SALIENCE)['easy']
    assert errors.n_models == own.sum() and np.isnan(errors.mse)


MODELS, BENCHMARKS = ('a', 'b', 'c'), ('x', 'y')


def predictions(observed, values, low, high, in_sample=False) -> Predictions:
    shape = (len(MODELS), len(BENCHMARKS))
    cubes = dict(values=values, low=low, high=high, in_sample=in_sample)
    return Predictions(
        MODELS,
        BENCHMARKS, ('predicted', ),
        extrapolated=np.array(False),
        observed=np.broadcast_to(np.array(observed, float), shape),
        level=0.9,
        **{
            name: np.broadcast_to(np.array(cube), shape)[:, :, None]
            for name, cube in cubes.items()
        })


def test_distances():
    # Half an interval is 0.1 below the prediction and 0.2 above it.
    observed = [[0.5, 0.9], [0.1, 0.75], [nan, 0.35]]
    far = misses(predictions(observed, 0.5, 0.4, 0.7))
    assert [(o.model, o.benchmark) for o in far] == [('b', 'x'), ('a', 'y'),
                                                     ('c', 'y'), ('b', 'y')]
    np.testing.assert_allclose([o.distance for o in far], [-4, 2, -1.5, 1.25])
    first = far[0]
    assert (first.observed, first.predicted, first.low,
            first.high) == (0.1, 0.5, 0.4, 0.7)
    # Fitted models and cells without a prediction do not count.
    in_sample = [[True, False], [False, False], [False, True]]
    far = misses(predictions(0.9, 0.5, 0.4, 0.7, in_sample))
    assert [(o.model, o.benchmark) for o in far] == [('a', 'y'), ('b', 'x'),
                                                     ('b', 'y'), ('c', 'x')]
    assert misses(predictions(0.5, nan, nan, nan)) == []
    # Intervals without a width.
    far = misses(
        predictions([[0.5, 0.6], [0.4, 0.5], [0.5, 0.5]], 0.5, 0.5, 0.5))
    assert [(o.model, o.distance) for o in far] == [('a', inf), ('b', -inf)]
