"""Tables of observed accuracies."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.conventions import InputError

NAN = float('nan')
TABLE = AccuracyTable(('small', 'large'), ('gsm8k', 'mmlu', 'bbh'),
                      np.array([[0.1, 0.3, NAN], [0.6, 0.7, 1.0]]),
                      np.array([0.0, 0.25, 0.2]), np.array([1319, 0, 250]))


def test_names_that_the_table_lacks_have_no_accuracy() -> None:
    wide = TABLE.reindexed(['new', 'large'], ['bbh', 'none', 'gsm8k'])
    assert (wide.models, wide.benchmarks) == (('new', 'large'), ('bbh', 'none',
                                                                 'gsm8k'))
    np.testing.assert_array_equal(wide.values, [[NAN] * 3, [1.0, NAN, 0.6]])
    np.testing.assert_array_equal(wide.chance, [0.2, 0, 0])
    np.testing.assert_array_equal(wide.n_items, [250, 0, 1319])


def test_benchmarks_that_a_model_was_run_on() -> None:
    values = np.array([[0.1, NAN, NAN], [NAN, NAN, 0.0]])
    assert replace(TABLE, values=values).benchmarks_run == ('gsm8k', 'bbh')


def test_a_plain_table_has_none_where_a_benchmark_was_not_run() -> None:
    assert TABLE.to_dict()['small'] == {'gsm8k': 0.1, 'mmlu': 0.3, 'bbh': None}
    pytest.importorskip('pandas')
    frame = TABLE.to_frame()
    assert frame.loc['large', 'mmlu'] == 0.7


@pytest.mark.parametrize('call, message', [
    (lambda: TABLE.column('mmul'), "found 'mmul'. Nearest names: mmlu"),
    (lambda: TABLE.select(['small', 'small']), "found 'small' twice"),
    (lambda: TABLE.select(benchmarks=['nope']), "found 'nope'. Nearest"),
    (lambda: replace(TABLE, models=('a', 'a')), "models: .* found 'a' twice"),
    (lambda: replace(TABLE, values=np.zeros((3, 2))),
     r'expected shape \(2, 3\), found \(3, 2\)'),
    (lambda: replace(TABLE, chance=np.zeros(2)), r'shape \(3,\), found \(2'),
    (lambda: replace(TABLE, values=[[0, 0, 0], [0, 1.43, 0]]),
     "of 'large' on 'mmlu': .* found 1.43. Divide percentages by 100"),
    (lambda: replace(TABLE, values=[[0, 0, -1], [0, 0, 0]]),
     "of 'small' on 'bbh': .* found -1"),
    (lambda: replace(TABLE, chance=[0, 1, 0]), "level on 'mmlu': .* found 1"),
    (lambda: replace(TABLE, n_items=[0, 0, -1]), "items on 'bbh': .* -1"),
    (lambda: replace(TABLE, n_items=[0, .5, 0]), "items on 'mmlu': .* 0.5"),
    (lambda: AccuracyTable(['a'], ['x'], [['n/a']], [.25], [10]),
     'AccuracyTable.values: .* numbers'),
])  # yapf: disable
def test_unusable_names_and_numbers_are_refused(call, message) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_lists_are_as_good_as_arrays() -> None:
    table = AccuracyTable(['a', 'b'], ['x'], [[None], [.5]], [.25], [10])
    assert table.models == ('a', 'b') and table.n_items.dtype.kind == 'i'
    assert table.to_dict() == {'a': {'x': None}, 'b': {'x': .5}}
