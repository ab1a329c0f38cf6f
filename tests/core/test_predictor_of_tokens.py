"""Predictions from raw token losses, mapped onto target tokens."""
import hashlib
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import text_columns
from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.texts import Text, TextSet
from tests.runs import FITTED, TEXTS, dump, model_losses, train

LOSSES = {model: model_losses(skill) for model, skill in FITTED.items()}
TARGETS = TargetTokens.of(TEXTS, [text.spans for text in LOSSES['fit-0']])


def dumps(losses, texts=TEXTS):
    return {model: dump(model, rows, texts) for model, rows in losses.items()}


@pytest.fixture(scope='module')
def world():
    """Losses, their features and columns, and a predictor of tokens."""
    table = TARGETS.table(LOSSES)
    columns = text_columns(table)
    predictor = replace(train(('exam', )), targets=None, matrix=None)
    return (LOSSES, columns.features(table), columns,
            predictor.with_tokens(TARGETS, columns))


def test_dumps_and_their_table_are_predicted_as_their_features(world):
    losses, features, columns, able = world
    expected = able.predict(features)
    for same in (dumps(losses), TARGETS.table(losses)):
        predicted = able.predict(same)
        assert predicted.models == features.models
        np.testing.assert_allclose(
            predicted.values, expected.values, rtol=1e-12)
        np.testing.assert_allclose(predicted.high, expected.high, rtol=1e-12)
    alone = able.predict(dumps({'new': losses['fit-3'][::-1]}))
    np.testing.assert_allclose(alone.values[0], expected.values[3])


def test_a_weight_for_every_token(world):
    losses, features, columns, able = world
    weights = able.token_weights('exam')
    fewer = replace(
        columns,
        matrix=columns.matrix.multiply(np.arange(15)[:, None] > 0).tocsc())
    np.testing.assert_array_equal(
        np.isnan(able.with_tokens(TARGETS, fewer).token_weights('exam')),
        np.arange(15) == 0)  # tokens that the training did not count
    np.testing.assert_allclose(weights, np.repeat(able.weights('exam'), 3))


def test_weights_say_how_much_a_token_counts(world):
    """At typical losses, one token after the other becomes a bit worse."""
    losses, features, _, able = world
    table = TARGETS.table(losses)
    typical = np.median(table.losses, axis=0)
    rows = np.vstack([typical, typical + 1e-3 * np.eye(15)])
    moved = replace(
        table, models=tuple(f'm{i}' for i in range(16)), losses=rows)
    exponents = able.joint(able.features(moved)).mean[:, 0]
    slopes = exponents[1:] - exponents[0]
    np.testing.assert_allclose(
        able.token_weights('exam'), 15 * slopes / slopes.sum(), atol=.05)


def test_what_does_not_fit_is_refused(world):
    losses, _, _, able = world
    other_texts = TextSet((*TEXTS, Text('t9', 'abcdef')))
    message = (f'{TEXTS.fingerprint}, found the validation set with '
               f'fingerprint {other_texts.fingerprint}')
    with pytest.raises(InputError, match=message):
        able.predict(dumps(losses, other_texts))
    with pytest.raises(InputError, match="found no losses on 't3'"):
        able.predict(dumps({'m': losses['fit-0'][:3]}))
    edited = [
        replace(text, sha256=hashlib.sha256(b'').hexdigest())
        for text in losses['fit-0']
    ]
    with pytest.raises(InputError, match="losses on another wording of 't0'"):
        able.predict(dumps({'m': edited}))
    with pytest.raises(
            InputError, match="of 'm': .* TokenLossDump, found a l"):
        able.predict({'m': losses['fit-0']})


def test_a_loss_table_must_be_on_the_tokens_of_the_training(world):
    losses, _, _, able = world
    table = TARGETS.table(losses)
    with pytest.raises(InputError, match='fingerprint others'):
        able.predict(replace(table, fingerprint='others'))
    fewer = table.spans.select([0, 1, 2, 3])
    # As many tokens of each text, cut elsewhere.
    ends = np.where(table.spans.ends < table.spans.n_bytes[0],
                    table.spans.ends - 1, table.spans.ends)
    for spans in (fewer, replace(table.spans, ends=ends)):
        with pytest.raises(InputError, match='the 15 tokens that the'):
            able.predict(replace(table, spans=spans))


def test_tokens_that_are_not_those_of_the_training_are_refused(world):
    losses, _, columns, able = world
    single = text_columns(TARGETS.table(losses), part=np.arange(15) < 1)
    with pytest.raises(InputError, match='1 columns'):
        able.with_tokens(TARGETS, single)
    fewer = replace(columns.columns, scored=np.arange(15) > 0)
    with pytest.raises(InputError, match='features of other tokens'):
        able.with_tokens(TARGETS, replace(columns, columns=fewer))
    with pytest.raises(InputError, match='tables of losses'):
        replace(able, targets=None).check_tokens()
