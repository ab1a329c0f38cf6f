"""The cube of predictions: cells, reasons, selections and errors."""
import json
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from csv_plugin.core import predictions
from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import (OBSERVED, UNKNOWN_BENCHMARK, Missing,
                                         Predictions)

NAN = float('nan')
MODELS = ('a', 'b', 'c')
BENCHMARKS = ('easy', 'hard')
METHODS = ('ridge', 'uniform')
CUBES = ('values', 'low', 'high', 'extrapolated', 'in_sample', 'at_chance')
REASON = Missing('the dump is damaged')
NOT_RUN = Missing('the benchmark was not run')


def cube(**changes):
    """3 models, 2 benchmarks, 2 methods; one cell of each kind is missing."""
    rng = np.random.default_rng(0)
    values = rng.uniform(0.3, 0.7, (3, 2, 2))
    values[1, 0, 1] = values[2, 1, :] = NAN
    observed = rng.uniform(0.2, 0.8, (3, 2))
    observed[0, 1] = NAN
    parts = dict(
        models=MODELS,
        benchmarks=BENCHMARKS,
        methods=METHODS,
        values=values,
        low=values - 0.1,
        high=values + 0.2,
        extrapolated=rng.random((3, 2, 2)) < 0.5,
        in_sample=np.array([[[False, True]] * 2, [[False, False]] * 2,
                            [[True, True]] * 2]),
        at_chance=rng.random((3, 2, 2)) < 0.5,
        observed=observed,
        level=0.9,
        missing={
            ('b', 'easy', 'uniform'): REASON,
            ('a', 'hard', OBSERVED): NOT_RUN
        })
    return Predictions(**(parts | changes))


def assert_same(left, right):
    assert (left.models, left.benchmarks,
            left.methods) == (right.models, right.benchmarks, right.methods)
    for part in (*CUBES, 'observed', 'level'):
        np.testing.assert_array_equal(
            getattr(left, part), getattr(right, part))
    assert left.missing == right.missing


def test_a_cell_is_a_prediction():
    table = cube()
    cell = table.at('b', 'hard', 'uniform')
    value, *parts = (getattr(table, part)[1, 1, 1] for part in CUBES)
    assert (cell.value, cell.level, cell.expected_error) == (value, .9, None)
    assert [getattr(cell, part) for part in CUBES[1:]] == parts
    assert {type(part) for part in vars(cell).values()
            } == {float, bool, type(None)}  # yapf: disable
    # The first method is meant unless another is named.
    assert table.at('b', 'hard').value == table.values[1, 1, 0]


@pytest.mark.parametrize('look, message', [
    (lambda table: table.at('no', 'easy'), "one of the models.*found 'no'"),
    (lambda table: table.at('a', 'easy', 'no'), "the methods.*found 'no'"),
    (lambda table: table.select(benchmarks=['no']), "marks.*found 'no'"),
    (lambda table: table.covered('no'), "one of the methods.*found 'no'"),
    (lambda table: table.select({'a': 'no'}), "the models.*found 'no'"),
    (lambda table: cube(models=('a', 'b', 'a')), "predictions: .*'a' twice"),
    (lambda table: cube(methods=('ridge', OBSERVED)),
     "found 'observed'. Choose"),
])
def test_wrong_names_are_refused(look, message):
    with pytest.raises(InputError, match=message):
        look(cube())


def test_select_keeps_the_order_that_is_asked_for():
    table = cube()
    part = table.select(['c', 'a'], ['hard'], ['uniform', 'ridge'])
    assert (part.models, part.benchmarks,
            part.methods) == (('c', 'a'), ('hard', ), ('uniform', 'ridge'))
    for name in CUBES:
        np.testing.assert_array_equal(
            getattr(part, name),
            getattr(table, name)[[2, 0], 1:, ::-1])
    np.testing.assert_array_equal(part.observed, table.observed[[2, 0], 1:])
    assert part.missing == {('a', 'hard', OBSERVED): NOT_RUN}
    assert_same(table.select(), table)


def test_parts_are_concatenated_to_the_whole():
    table = cube()
    parts = [table.select(['b', 'c']), table.select(['a'])]
    joined = Predictions.concatenate(parts)
    assert joined.models == ('b', 'c', 'a')
    assert_same(joined.select(MODELS), table)
    with pytest.raises(InputError, match="'b' twice"):
        Predictions.concatenate(parts * 2)


def test_models_under_other_names():
    """With all that belongs to them, in the order of the names."""
    table = cube().select({'New c': 'c', 'New a': 'a'})
    assert table.models == ('New c', 'New a')
    assert table.missing == {('New a', 'hard', OBSERVED): NOT_RUN}
    expected = replace(cube().select(['c', 'a']), models=table.models)
    assert_same(table, replace(expected, missing=table.missing))


def test_models_and_benchmarks_that_a_method_lacks():
    halves = np.full((3, 2, 2), 0.5)
    table = cube(values=halves, low=halves, high=halves, missing={})
    wide = Predictions.side_by_side(
        {
            'ridge': table.select(methods=['ridge']),
            'other': table.select(['c', 'a'], ['hard'], ['uniform']),
            'broken': None
        }, ('d', *MODELS), ('hard', 'more', 'easy'), {
            ('a', 'hard', 'broken'): REASON,
            ('a', 'more', 'ridge'): REASON
        })
    assert wide.methods == ('ridge', 'other', 'broken')
    assert wide.level == 0.9
    assert wide.at('c', 'hard', 'other') == table.at('c', 'hard', 'uniform')
    assert wide.at('a', 'easy') == table.at('a', 'easy')
    # Cells without a prediction, with and without a reason of their own.
    assert wide.at('a', 'easy', 'other') == UNKNOWN_BENCHMARK
    assert wide.at('d', 'more') == UNKNOWN_BENCHMARK
    assert wide.at('a', 'more') == REASON
    assert wide.at('d', 'hard') == Missing('no prediction')
    assert wide.at('b', 'hard', 'other') == Missing('no prediction')
    assert wide.at('a', 'hard', 'broken') == REASON
    for part in (*CUBES[3:], 'with_scores'):
        assert not getattr(wide, part)[0].any()
    nothing = Predictions.side_by_side({'broken': None}, MODELS, BENCHMARKS)
    assert np.isnan(nothing.level) and np.isnan(nothing.values).all()
    assert nothing.to_dict()['level'] is None


def test_real_accuracies_are_matched_by_name():
    accuracies = AccuracyTable(('c', 'x', 'b', 'a'), ('hard', 'easy'),
                               [[.1, .2], [.9, .9], [.3, .4], [NAN, .6]],
                               [0, 0], [0, 0])
    beside = cube().with_observed(accuracies)
    assert_same(beside,
                cube(observed=np.array([[.6, NAN], [.4, .3], [.2, .1]])))
    with pytest.raises(InputError, match="found 'b'"):
        cube().with_observed(accuracies.select(['c', 'a']))


@pytest.mark.parametrize('method', METHODS)
def test_differences_and_intervals_cell_by_cell(method):
    table = cube()
    held_out, covered = np.zeros((2, 3, 2), bool)
    sizes = np.full((3, 2), NAN)
    for (m, b), observed in np.ndenumerate(table.observed):
        cell = table.at(MODELS[m], BENCHMARKS[b], method)
        if isinstance(cell, Missing) or np.isnan(observed):
            continue
        sizes[m, b] = cell.value - observed
        held_out[m, b] = not cell.in_sample
        covered[m, b] = held_out[m, b] and cell.low <= observed <= cell.high
    assert held_out.any()
    np.testing.assert_array_equal(table.difference(method), sizes)
    np.testing.assert_array_equal(table.held_out(method), held_out)
    np.testing.assert_array_equal(table.covered(method), covered)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # a mean of nothing
        means = np.nanmean(np.where(held_out, abs(sizes), NAN), axis=0)
    np.testing.assert_allclose(table.mean_difference(method), means)
    # Intervals contain their ends.
    end = (table.low, table.high)[method == 'ridge']
    at_the_end = replace(table, observed=end[:, :, METHODS.index(method)])
    np.testing.assert_array_equal(
        at_the_end.covered(method), at_the_end.held_out(method))


def test_a_part_of_the_items_widens_what_is_judged():
    """By the noise of 6 of 240 items; the intervals themselves stay."""
    table = cube(
        values=np.full((3, 2, 2), 0.5),
        low=np.full((3, 2, 2), 0.4),
        high=np.full((3, 2, 2), 0.7),
        observed=np.array([[0.4, 0.05], [0.79, 0.6], [0.85, 0.9]]),
        in_sample=np.array(False))
    plain = table.covered('ridge')
    np.testing.assert_array_equal(
        plain, [[True, False], [False, True], [False, False]])
    noise = np.zeros((3, 2, 2))
    noise[:, 0] = 1 / 6 - 1 / 240
    part = replace(table, more_noise=noise)
    low, high = part.widened_intervals('ridge')
    half = 1.6449 * np.sqrt((1 / 6 - 1 / 240) / 4)
    np.testing.assert_allclose(low[:, 0], 0.5 - np.hypot(0.1, half), atol=1e-4)
    np.testing.assert_allclose(
        high[:, 0], 0.5 + np.hypot(0.2, half), atol=1e-4)
    np.testing.assert_array_equal(low[:, 1], 0.4)
    np.testing.assert_array_equal(
        part.covered('ridge'), [[True, False], [True, True], [True, False]])
    assert {(cell.model, cell.benchmark)
            for cell in predictions.misses(part)} == {('a', 'hard'),
                                                      ('c', 'hard')}
    assert part.cells('easy') == table.cells('easy')
    assert 'more_noise' not in next(part.records())


def test_records_are_the_cells_in_their_order():
    table = cube()
    records = list(table.records())
    assert [(row['model'], row['benchmark'], row['method'])
            for row in records] == [*product(MODELS, BENCHMARKS, METHODS)]
    cell = table.at('b', 'hard', 'uniform')
    assert records[7]['predicted'] == cell.value
    assert all(records[7][part] == getattr(cell, part) for part in CUBES[1:])
    assert records[7]['observed'] == table.observed[1, 1]
    assert not records[7]['missing']
    missing = records[5]
    assert missing['missing'] == REASON.reason
    assert missing['observed'] == table.observed[1, 0]
    assert {missing[name] for name in ('predicted', *CUBES[1:])} == {None}
    assert records[2]['observed'] is None
    assert records[2]['missing'] == NOT_RUN.reason
    both = cube(missing={
        ('c', 'hard', OBSERVED): NOT_RUN,
        ('c', 'hard', 'ridge'): REASON
    })
    reasons = list(both.records())[10]['missing']
    assert reasons == f'{NOT_RUN.reason}; {REASON.reason}'
    plain = table.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain == {'level': .9, 'predictions': records}
    pytest.importorskip('pandas')
    frame = table.to_frame()
    assert frame.model.tolist() == [r['model'] for r in records]
    assert frame.columns.tolist()[:5] == [
        'model', 'benchmark', 'predicted', 'low', 'high'
    ]
    assert {*frame.columns} == {*records[0]}
    # A column without any number has the type of numbers, too.
    unknown = replace(table, observed=np.full_like(table.observed, NAN))
    assert unknown.to_frame()[OBSERVED].dtype == float


def test_cells_in_the_order_of_the_models():
    """From 0.25 to 1 says nothing where guessing gives 0.25."""
    table = replace(cube(), chance={'easy': 0.25})
    table.values[:, 0, 0] = 0.4, 0.9, NAN
    table.low[:, 0, 0] = 0.3, 0.25, NAN
    table.high[:, 0, 0] = 0.45, 1, NAN
    table.extrapolated[:, 0, 0] = False, True, False
    table.in_sample[:, 0, 0] = True, True, False
    expected = ['40.0 (30-45)*', '90.0 (any)*>~', '-']
    assert table.cells('easy', 'ridge') == table.cells('easy') == expected
    wide = table.rules_nothing_out('ridge')
    assert wide[:, 0].tolist() == [False, True, False]


def test_means_are_over_what_all_methods_count():
    first, second = (replace(
        cube().select(benchmarks=names),
        outside_means=outside).select(methods=['ridge'])
                     for names, outside in ((BENCHMARKS[1:], ('hard', )),
                                            (BENCHMARKS, ('easy', ))))
    both = Predictions.side_by_side({
        'p': first,
        'q': second
    }, MODELS, (*BENCHMARKS, 'new'))
    assert both.main == ('new', )
    assert both.select(benchmarks=['hard', 'easy']).main == ()


def test_marks_are_explained():
    none = np.zeros((3, 2, 2), bool)
    plain = cube(at_chance=none, in_sample=none, extrapolated=none)
    assert plain.legend() == ['Percent (90% interval, rounded outwards).']
    some = none.copy()
    some[0] = True
    for part, mark in (('at_chance', '?'), ('with_scores', '+')):
        marked = replace(plain, **{part: some})
        assert [mark in cell
                for cell in marked.cells('easy')] == [True, False, False]
        assert [line[:2] for line in marked.legend()[1:]] == [f'{mark} ']
    # Where all accuracies are known, no prediction is marked +.
    known = replace(plain, in_sample=some)
    assert known.legend()[1:] == [
        '* a training model, or its own accuracy is known (of a mean, one of '
        'its accuracies).'
    ]
    far, = replace(plain, extrapolated=some).legend()[1:]
    assert far == ('> far from the training models: expect errors of 1.5 '
                   'times the usual ones, or more.')
    assert '(any)' not in far + known.legend()[0]
    wide = replace(plain, low=np.zeros((3, 2, 2)), high=np.ones((3, 2, 2)))
    assert 'any: all from guessing or below to 100.' in wide.legend()


@pytest.mark.parametrize(
    'low, high, says_little',
    [
        (.25, .62, False),
        (.25, .63, True),
        (.05, .62, False),  # What is below chance does not count.
        (.62, 1, True),
        (.63, 1, False),
        (0, .2, False),
        (NAN, NAN, False),
    ])
def test_intervals_over_more_than_half_of_the_range_are_marked(
        low, high, says_little):
    shape = 3, 2, 2
    none = np.zeros(shape, bool)
    # Those of the other benchmark say enough.
    lows, highs = np.full(shape, .5), np.full(shape, .6)
    lows[:, 0], highs[:, 0] = low, high
    table = cube(low=lows, high=highs, at_chance=none)
    table = replace(table, chance={'easy': .25, 'hard': .25})
    marked = ['~' in marks for marks in table.marks('easy')]
    assert marked == [says_little] * 3
    legend = [line for line in table.legend() if line.startswith('~ ')]
    assert len(legend) == says_little
    # What is not predictable yet has a sign of its own.
    unknown = replace(table, at_chance=~none)
    assert not any('~' in marks for marks in unknown.marks('easy'))


def test_print_shows_a_table():
    header, _, *rows = [line.split('  ') for line in str(cube()).splitlines()]
    shown = [[cell.strip() for cell in row if cell] for row in (header, *rows)]
    assert shown[0] == ['model', 'benchmark', 'observed', *METHODS]
    assert shown[2] == [
        'a', 'hard', '-',
        *(cube().cells('hard', method)[0] for method in METHODS)
    ]
    assert shown[3][-1] == '-' and shown[7] == []
    assert '1e3' in str(replace(cube(), models=('1e3', '2', '3')))
    unknown = replace(cube(), observed=np.full((3, 2), NAN))
    many = Predictions.concatenate([
        replace(unknown, models=tuple(f'{name}{i}' for name in 'abc'))
        for i in range(4)
    ])
    text = str(many)
    assert ' observed ' not in text and '\n... and 4 more\n' in text


def test_a_known_accuracy_has_no_difference():
    """There was nothing to predict."""
    errors = np.full((3, 2, 2), .1)
    errors[0, 0, 0] = 0
    table = cube(expected_error=errors)
    first, second = (table.difference(method) for method in METHODS)
    assert np.isnan(first[0, 0]) and not np.isnan(first[1, 0])
    assert not np.isnan(second[0, 0])


def test_what_the_first_method_cannot_predict_yet():
    """Of a benchmark, one model is enough; other methods do not count."""
    at_chance = np.zeros((3, 2, 2), bool)
    at_chance[:, 0, 1] = True
    assert cube(at_chance=at_chance).not_yet == ()
    at_chance[2, 1, 0] = True
    assert cube(at_chance=at_chance).not_yet == ('hard', )


def test_notes_are_printed_below_the_table():
    """The legend of the marks, and the models that are far."""
    none = np.zeros((3, 2, 2), bool)
    far = none.copy()
    far[1, :, 0] = True
    table = cube(at_chance=none, in_sample=none, extrapolated=far)
    plain, mark, models = table.notes
    assert [plain, mark] == table.legend()
    assert models.startswith(f'{METHODS[0]}: far from the training models (>)')
    assert ' '.join(str(table).split()).endswith(' '.join(table.notes))
    assert not cube(values=np.full((3, 2, 2), NAN)).notes
