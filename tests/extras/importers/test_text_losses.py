"""What is common to losses from everywhere."""
import math

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.importers.text_losses import TextLoss, feature_table

TEXTS = TextSet((Text('a', 'one text'), Text('b', '潮井'), Text('c', '')))


def losses(a=4.0, b=6.0):
    return [
        TextLoss('c', '', 0.0),
        TextLoss('b', '潮井', b),
        TextLoss('a', 'one text', a)
    ]


def test_a_column_is_a_text_in_nats_per_character():
    table = feature_table({'m': losses(), 'n': losses(8.0)}, TEXTS)
    assert table.models == ('m', 'n')
    assert table.columns.units == ('a', 'b')
    # Without texts, by their ids.
    assert feature_table({'m': losses()}).columns.units == ('a', 'b')
    assert table.columns.fingerprint == TEXTS.fingerprint
    assert table.values.tolist() == [[0.5, 3.0], [1.0, 3.0]]
    assert np.allclose(table.mean_loss, [10 / 10, 14 / 10])


def test_the_end_of_a_text_is_another_unit():
    part = [TextLoss('a', 'one text', 1.0, start=4), *losses()[:2]]
    table = feature_table({'m': part}, TEXTS)
    assert table.columns.units == ('a[4:]', 'b')
    assert table.values[0, 0] == 1 / 4
    with pytest.raises(InputError, match="'a' in place of 'a\\[4:\\]'"):
        feature_table({'m': losses()}, TEXTS).columns.check_same(table.columns)
    with pytest.raises(InputError, match="'n', text 'a': .* character 4"):
        feature_table({'m': part, 'n': losses()}, TEXTS)


@pytest.mark.parametrize('nats, message', [
    (-1.0, 'change the sign'),
    (math.nan, 'a finite number'),
    (9999.0, 'at most 100 nats per byte'),
])
def test_impossible_losses_are_refused(nats, message):
    with pytest.raises(InputError, match=message):
        TextLoss('a', 'one text', nats)


@pytest.mark.parametrize('by_model, message', [
    ({'m': losses() * 2}, "'c' twice"),
    ({'m': losses()[:2]}, "'a': expected 'one text' .* found no such"),
    ({'m': [*losses(), TextLoss('d', 'd', 1.0)]}, "'d': expected no such"),
    ({'m': [*losses()[:2], TextLoss('a', 'another', 1.0)]},
     "'m', text 'a': expected 'one text' .*, found 'another'"),
])  # yapf: disable
def test_what_does_not_fit_the_texts_is_refused(by_model, message):
    with pytest.raises(InputError, match=message):
        feature_table(by_model, TEXTS)


@pytest.mark.parametrize('name, text', [('\ud800', 'a'), ('a', '\ud800')])
def test_texts_without_a_form_in_utf_8_are_refused(name, text):
    with pytest.raises(InputError, match='a text in UTF-8'):
        TextLoss(name, text, 1.0)
