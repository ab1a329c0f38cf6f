"""Predictions from raw token losses, mapped onto target tokens."""
import hashlib
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.features import group_columns, text_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.input_error import InputError
from csv_plugin.core.losses import TargetTokens, TokenLosses
from csv_plugin.core.salience import Ridge
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from tests.runs import dump

TEXTS = TextSet(tuple(Text(f't{i}', 'abcdef') for i in range(4)))
PIECES = [b'ab', b'cd', b'ef']


def spans(pieces) -> TokenSpans:
    return TokenSpans.from_token_bytes(pieces, 'abcdef')


TARGETS = TargetTokens.of(TEXTS, [spans(PIECES)] * 4)


def model_losses(skill: float, rng, pieces=PIECES) -> list[TokenLosses]:
    """Losses that fall with skill on the first two texts."""
    return [
        TokenLosses(
            text.text_id,
            2 - 0.3 * skill * (i < 2) + 0.01 * rng.normal(size=len(pieces)),
            spans(pieces),
            6,
            sha256=text.sha256) for i, text in enumerate(TEXTS)
    ]


def dumps(losses, texts=TEXTS):
    """The losses of each model as a dump."""
    return {model: dump(model, rows, texts) for model, rows in losses.items()}


@pytest.fixture(scope='module')
def world():
    rng = np.random.default_rng(0)
    skills = rng.normal(size=16)
    losses = {
        f'm{i}': model_losses(skill, rng)
        for i, skill in enumerate(skills)
    }
    accuracies = AccuracyTable(
        tuple(losses), ('exam', ), 1 / (1 + np.exp(-2 * skills[:, None])),
        np.zeros(1), np.zeros(1, int))
    table = TARGETS.table(losses)
    columns = text_columns(table)
    features = columns.features(table)
    predictor = fit_predictor(features, accuracies,
                              [f'f{i % 4}' for i in range(16)], Ridge())
    return losses, features, columns, predictor


def test_texts_in_any_order_and_tokens_of_any_kind():
    rng = np.random.default_rng(1)
    pairs = model_losses(0, rng)
    letters = model_losses(0, rng, [b'a', b'b', b'c', b'd', b'e', b'f'])
    table = TARGETS.table({'pairs': pairs[::-1], 'letters': letters})
    assert table.text_ids == TEXTS.ids
    np.testing.assert_array_equal(table.losses[0, :3], pairs[0].losses)
    np.testing.assert_allclose(table.losses[1, :3],
                               letters[0].losses.reshape(3, 2).sum(axis=1))
    assert table.fingerprint == TEXTS.fingerprint
    # Of texts whose hashes were not recorded, nothing more can be known.
    bare = [replace(text, sha256='') for text in pairs]
    np.testing.assert_array_equal(
        TARGETS.table({
            'bare': bare
        }).losses, table.losses[:1])


def test_dumps_and_their_table_are_predicted_as_their_features(world):
    losses, features, columns, predictor = world
    able = predictor.with_tokens(TARGETS, columns)
    expected = predictor.predict(features)
    for same in (dumps(losses), TARGETS.table(losses)):
        predicted = able.predict(same)
        assert predicted.models == features.models
        np.testing.assert_allclose(
            predicted.values, expected.values, rtol=1e-12)
        np.testing.assert_allclose(predicted.high, expected.high, rtol=1e-12)
    alone = able.predict(dumps({'m3': losses['m3'][::-1]}))
    np.testing.assert_allclose(alone.values[0], expected.values[3])


def test_a_weight_for_every_token(world):
    losses, features, columns, predictor = world
    able = predictor.with_tokens(TARGETS, columns)
    weights = able.token_weights('exam')
    fewer = replace(
        columns,
        matrix=columns.matrix.multiply(np.arange(12)[:, None] > 0).tocsc())
    np.testing.assert_array_equal(
        np.isnan(predictor.with_tokens(TARGETS, fewer).token_weights('exam')),
        np.arange(12) == 0)  # tokens that the training did not count
    np.testing.assert_allclose(weights,
                               np.repeat(predictor.weights('exam'), 3))
    scores = predictor.benchmarks[0].model.scores(features.values)
    for model, score in zip(losses, scores):
        nats = np.concatenate([text.losses for text in losses[model]])
        # Eq. 1: each of the 4 texts has 6 characters.
        assert score == pytest.approx(sum(weights * nats) / (4 * 6))


def test_what_does_not_fit_is_refused(world):
    losses, _, columns, predictor = world
    able = predictor.with_tokens(TARGETS, columns)
    other_texts = TextSet((*TEXTS, Text('t4', 'abcdef')))
    message = (f'{TEXTS.fingerprint}, found the validation set '
               f'{other_texts.fingerprint}')
    with pytest.raises(InputError, match=message):
        able.predict(dumps(losses, other_texts))
    with pytest.raises(InputError, match="found no losses on 't3'"):
        able.predict(dumps({'m': losses['m0'][:3]}))
    edited = [
        replace(text, sha256=hashlib.sha256(b'').hexdigest())
        for text in losses['m0']
    ]
    with pytest.raises(InputError, match="losses on another wording of 't0'"):
        able.predict(dumps({'m': edited}))


def test_a_loss_table_must_be_on_the_tokens_of_the_training(world):
    losses, _, columns, predictor = world
    able, table = predictor.with_tokens(TARGETS,
                                        columns), TARGETS.table(losses)
    with pytest.raises(InputError, match='the validation set others'):
        able.predict(replace(table, fingerprint='others'))
    wide = replace(
        table,
        losses=np.hstack([table.losses] * 2),
        token_offsets=2 * table.token_offsets)
    for other in (wide, replace(table, token_offsets=[0, 2, 6, 9, 12])):
        with pytest.raises(InputError, match='the 12 tokens of the training'):
            able.predict(other)


def test_a_predictor_without_tokens_takes_features_alone(world):
    losses, _, _, predictor = world
    for same in (dumps(losses), TARGETS.table(losses)):
        with pytest.raises(InputError, match='fitted to tables'):
            predictor.predict(same)
    with pytest.raises(InputError, match='fitted to tables'):
        predictor.token_weights('exam')


def test_tokens_that_are_not_those_of_the_training_are_refused(world):
    losses, _, columns, predictor = world
    other = replace(TARGETS, fingerprint='other')
    with pytest.raises(InputError, match='12 of other'):
        predictor.with_tokens(other, columns)
    groups = group_columns(TARGETS.table(losses), ['x'] * 12)
    with pytest.raises(InputError, match='1 columns'):
        predictor.with_tokens(TARGETS, groups)
    fewer = replace(columns.columns, scored=np.arange(12) > 0)
    with pytest.raises(InputError, match='found features of 11'):
        predictor.with_tokens(TARGETS, replace(columns, columns=fewer))
