"""Feature columns: shapes, names and the all-token loss they add up to."""
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import (Columns, FeatureTable, answer_mask,
                                      bits_per_byte, distinct_rows,
                                      mean_token_loss, text_columns)
from csv_plugin.core.losses import LossTable
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text
from tests.core.loss_dumps import short_tokens

NAN = float('nan')


def loss_table(losses, lengths, n_chars):
    losses = np.array(losses, dtype=float)
    return LossTable(
        tuple(f'm{i}' for i in range(len(losses))),
        tuple(f't{i}' for i in range(len(lengths))), losses,
        short_tokens(lengths, 3 * np.array(n_chars)), np.array(n_chars),
        'f')  # yapf: disable


@st.composite
def loss_tables(draw):
    """1-3 models, 1-5 texts; empty texts, texts without tokens, NaN."""
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    n_chars = [
        draw(st.integers(1, 9)) if length else draw(st.integers(0, 2))
        for length in lengths
    ]
    if not sum(n_chars):
        lengths, n_chars = [*lengths, 1], [*n_chars, 3]
    n_models = draw(st.integers(1, 3))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    losses = rng.uniform(0.1, 9, (n_models, sum(lengths)))
    losses[rng.random(losses.shape) < draw(st.sampled_from([0, 0.1]))] = NAN
    return loss_table(losses, lengths, n_chars)


def text_features(table):
    return text_columns(table).features(table)


def all_token_loss(table):
    """Capability scores with weights 1 on the commonly scored tokens."""
    common = ~np.isnan(table.losses).any(axis=0)
    return table.losses[:, common].sum(axis=1) / table.n_chars.sum()


@given(loss_tables())
def test_the_mean_of_texts_is_the_all_token_loss(table):
    if table.scored.any():
        np.testing.assert_allclose(
            text_features(table).mean_loss, all_token_loss(table), 1e-12)


def test_text_features_are_losses_per_character():
    table = loss_table([[1, 2, NAN, 4, 5], [2, 4, 6, 8, NAN]], [2, 0, 0, 3],
                       [3, 0, 2, 5])
    features = text_features(table)
    assert features.columns.units == ('t0', 't3')
    assert features.models == ('m0', 'm1')
    np.testing.assert_allclose(features.values, [[1, 0.8], [2, 1.6]], 1e-15)
    np.testing.assert_allclose(features.columns.uniform, [0.3, 0.5], 1e-15)
    assert features.columns.scored.tolist() == [True, True, False, True, False]
    part = np.array([False, True, True, False, False])
    answers = text_columns(table, part=part)
    assert answers.columns.units == ('t0', )
    np.testing.assert_allclose(
        answers.features(table).values[:, 0], [2 / 3, 4 / 3], 1e-15)


def test_a_model_alone_is_measured_on_the_tokens_of_the_training():
    """It may have scored more tokens than all models of the training."""
    everyone = loss_table([[1, 2, 3], [NAN, 5, 6]], [2, 1], [2, 4])
    alone = loss_table([[1, 2, 3]], [2, 1], [2, 4])
    joint = text_columns(everyone).features(everyone).values[0]
    np.testing.assert_array_equal(
        text_columns(everyone).features(alone).values[0], joint)
    assert not np.array_equal(
        text_columns(alone).features(alone).values[0], joint)


def test_a_model_that_misses_a_counted_token_is_named():
    columns = text_columns(loss_table([[1, 2, NAN]], [2, 1], [2, 4]))
    table = loss_table([[1, 2, 3], [NAN, 5, 6]], [2, 1], [2, 4])
    with pytest.raises(InputError, match="'m1'.*all 2 tokens.*1 of them"):
        columns.features(table)


def test_answers_are_found_in_bytes():
    texts = [
        Text('a', '问：几？答：五。', 'quiz', (6, 7)),
        Text('b', 'no answer'),
        Text('c', '5', 'sums', (0, 1))
    ]
    spans = [
        TokenSpans([0, 9, 18, 19, 21], [9, 18, 19, 21, 24], 24),
        TokenSpans([0, 2], [2, 9], 9),
        TokenSpans([0, 0], [0, 1], 1)
    ]
    # Character 6 of the first text is bytes 18 to 21.
    expected = [0, 0, 1, 1, 0, 0, 0, 0, 1]
    assert answer_mask(texts, spans).tolist() == [bool(x) for x in expected]


def columns(**changes):
    parts = dict(
        units=('x', 'y'), uniform=np.array([0.5, 0.5]), fingerprint='texts')
    return Columns(**(parts | changes))


def features(models=('a', 'b', 'c'), columns=columns(), values=None):
    if values is None:
        values = np.arange(6.0).reshape(3, 2)
    return FeatureTable(models, columns, values)


def test_select_keeps_the_order_that_is_asked_for():
    chosen = features().select(['c', 'a'])
    assert chosen.models == ('c', 'a')
    assert chosen.values.tolist() == [[4.0, 5.0], [0.0, 1.0]]
    assert chosen.columns.units == ('x', 'y')


@pytest.mark.parametrize('changes, message', [
    (dict(values=np.ones((2, 3))), r'shape \(3, 2\), found \(2, 3\)'),
    (dict(models=('a', 'b', 'a')), "models of features: .*found 'a' twice"),
    (dict(values=np.array([[0, 1], [2, 3], [NAN, 5]])),
     "nan for model 'c', unit 'x'"),
    (dict(values=np.array([[0, 1], [2, -np.inf], [0, 5]])),
     "inf for model 'b', unit 'y'"),
])  # yapf: disable
def test_bad_tables_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        features(**changes)


@pytest.mark.parametrize('changes, message', [
    (dict(uniform=np.ones(3)), r'shape \(2,\)'),
    (dict(uniform=np.zeros(2)), r'not all 0, found \[0. 0.\]'),
    (dict(units=('y', 'y')), "units of feature columns: .*found 'y' twice"),
])  # yapf: disable
def test_bad_columns_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        columns(**changes)


SCORED = np.array([True, False, True])


@pytest.mark.parametrize('changes, message', [
    (dict(fingerprint='others'), 'fingerprint texts, .* fingerprint others'),
    (dict(units=('x', 'z')), "2 columns, 'z' in place of 'y'"),
    (dict(units=('y', 'x')), "2 columns, 'y' in place of 'x'"),
    (dict(scored=None), 'token losses, .*found a table of losses'),
    (dict(scored=np.array([True, True, False])), 'features of other tokens'),
])
def test_columns_are_compared_in_all_their_parts(changes, message):
    trained = columns(scored=SCORED)
    columns(scored=SCORED.copy()).check_same(trained)
    with pytest.raises(InputError, match=message):
        columns(**(dict(scored=SCORED) | changes)).check_same(trained)


def test_tables_of_the_same_columns_are_concatenated():
    both = FeatureTable.concatenate(
        [features(),
         features(('d', ), values=np.array([[7.0, 9.0]]))])
    assert both.models == ('a', 'b', 'c', 'd')
    assert both.values[2:].tolist() == [[4.0, 5.0], [7.0, 9.0]]
    assert both.mean_loss[3] == 8
    assert both.columns.fingerprint == 'texts'


def test_baselines_count_the_tokens_that_every_model_scored():
    losses = loss_table([[NAN, 2.0, 3.0, 7.0], [1.0, 4.0, 8.0, NAN]], [2, 2],
                        [5, 1])
    np.testing.assert_allclose(mean_token_loss(losses), [2.5, 6.0], 1e-15)
    np.testing.assert_allclose(
        bits_per_byte(losses),
        np.array([5.0, 12.0]) / np.log(2) / 18, 1e-15)


@pytest.mark.parametrize('measure', [
    mean_token_loss, bits_per_byte,
    lambda losses: mean_token_loss(losses, np.array([True, False, False])),
    text_features
])
def test_losses_without_common_tokens_are_refused(measure):
    losses = loss_table([[1.0, 2.0, NAN], [NAN, NAN, 8.0]], [2, 1], [5, 1])
    with pytest.raises(InputError, match='every model scored'):
        measure(losses)


def test_tables_of_what_is_no_loss_are_refused():
    with pytest.raises(InputError, match='a row for each model, found'):
        FeatureTable.of_losses(['a', 'b'], ['x', 'y'], [[1, 2], [3]])
    with pytest.raises(InputError, match='0 or more, found -1. .*the sign'):
        FeatureTable.of_losses(['a', 'b'], ['x'], [[2], [-1]])


def test_many_copies_of_long_rows_take_little_time():
    """Copies are not sorted again for every column."""
    values = np.random.default_rng(0).exponential(size=(40, 20_000))
    values[:20] = values[20:]
    start = process_time()
    _, first = distinct_rows(values)
    assert process_time() - start < 5
    assert first.tolist() == [*range(20), *range(20)]


@pytest.mark.parametrize('shape', [(50, 4), (200, 1), (1, 3), (0, 3), (9, 99)])
def test_rows_are_sorted_and_copies_found(shape):
    values = np.random.default_rng(0).integers(0, 3, shape).astype(float)
    if len(values) > 5:
        values[4] = values[1]
    distinct, first = distinct_rows(values)
    rows = values.tolist()
    order = np.lexsort(values.T[::-1]).tolist()
    assert distinct.tolist() == [
        row for row in order if rows.index(rows[row]) == row
    ]
    assert first.tolist() == [rows.index(row) for row in rows]


def test_losses_may_be_0_but_not_negative():
    """A model may know a text by heart."""
    table = FeatureTable.of_losses(['m', 'n'], ['a', 'b'], [[0, 1], [2, 0]])
    assert table.values.tolist() == [[0, 1], [2, 0]]
    with pytest.raises(InputError, match='0 or more, found -0.5'):
        FeatureTable.of_losses(['m'], ['a', 'b'], [[-.5, 1]])


@pytest.mark.parametrize('uniform', [[.5, NAN], [np.inf, .5], [0, 0], [1]])
def test_coefficients_that_make_no_mean(uniform):
    with pytest.raises(InputError, match='finite uniform coefficients'):
        Columns(('a', 'b'), np.array(uniform), 'texts')


def test_a_table_says_how_large_it_is():
    table = FeatureTable.of_losses(['a'], ['x', 'y'], [[1, 2]])
    text = table.columns.fingerprint[:12]
    assert repr(table) == (f'FeatureTable(1 model, Columns(2 columns, texts '
                           f'{text}))')
