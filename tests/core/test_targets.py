"""Target tokens, and predictions from raw token losses."""
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.baselines import capability_score
from csv_plugin.core.conventions import InputError
from csv_plugin.core.features import TokenColumns, group_columns, text_columns
from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.salience import Ridge, Uniform
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.targets import TargetTokens
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.predictors import FORMAT, load_predictor, save_predictor

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
    predictor = fit_predictor(features,
                              accuracies, [f'f{i % 4}' for i in range(16)],
                              Ridge(), TEXTS.fingerprint)
    return losses, features, columns, predictor


def test_texts_in_any_order_and_tokens_of_any_kind():
    rng = np.random.default_rng(1)
    one = model_losses(0, rng)
    letters = model_losses(0, rng, [b'a', b'b', b'c', b'd', b'e', b'f'])
    table = TARGETS.table({'one': one[::-1], 'letters': letters})
    assert table.text_ids == TEXTS.ids
    np.testing.assert_array_equal(table.losses[0, :3], one[0].losses)
    np.testing.assert_allclose(table.losses[1, :3],
                               letters[0].losses.reshape(3, 2).sum(axis=1))
    assert table.fingerprint == TEXTS.fingerprint


def test_predict_losses_is_predict_on_the_features(world):
    losses, features, columns, predictor = world
    able = predictor.with_tokens(TARGETS, columns)
    expected = predictor.predict(features, TEXTS.fingerprint)
    found = able.predict_losses(losses, TEXTS.fingerprint)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    np.testing.assert_allclose(found.high, expected.high, rtol=1e-12)
    alone = able.predict_losses({'m3': losses['m3'][::-1]}, TEXTS.fingerprint)
    np.testing.assert_allclose(alone.values[0], expected.values[3])


def test_a_weight_for_every_token(world):
    losses, features, columns, predictor = world
    able = predictor.with_tokens(TARGETS, columns)
    weights = able.token_weights('exam')
    np.testing.assert_allclose(weights,
                               np.repeat(predictor.weights('exam'), 3))
    scores = predictor.benchmarks[0].model.score(features.values)
    np.testing.assert_allclose(
        scores, capability_score(TARGETS.table(losses).losses, weights, 4 * 6))


def test_uncounted_tokens_have_no_weight(world):
    losses, _, _, _ = world
    table = TARGETS.table(losses)
    first = np.arange(12) % 3 == 0
    columns = text_columns(table, scored=~first)
    accuracies = AccuracyTable(table.models, ('exam', ),
                               np.linspace(.1, .9, 16)[:, None], np.zeros(1),
                               np.zeros(1, int))
    weights = fit_predictor(
        columns.features(table), accuracies, ['one'] * 16, Uniform(),
        TEXTS.fingerprint).with_tokens(TARGETS, columns).token_weights('exam')
    np.testing.assert_array_equal(np.isnan(weights), first)
    np.testing.assert_allclose(weights[~first], 1)


def test_token_weights_that_are_not_known(world):
    _, _, columns, predictor = world
    with pytest.raises(InputError, match='columns of a table'):
        predictor.token_weights('exam')
    with pytest.raises(InputError, match="'exam'.*found 'other'"):
        predictor.with_tokens(TARGETS, columns).token_weights('other')


def test_a_saved_predictor_predicts_losses(world, tmp_path):
    losses, _, columns, predictor = world
    able = predictor.with_tokens(TARGETS, columns)
    save_predictor(able, tmp_path / 'p')
    loaded = load_predictor(tmp_path / 'p')
    assert loaded.targets.text_ids == TEXTS.ids
    assert loaded.targets.hashes == TARGETS.hashes
    assert loaded.targets.spans == TARGETS.spans
    np.testing.assert_array_equal(
        loaded.predict_losses(losses, TEXTS.fingerprint).values,
        able.predict_losses(losses, TEXTS.fingerprint).values)


@pytest.mark.parametrize('name, change', [
    ('tokens.starts', lambda a: a[::-1]),
    ('tokens.starts', lambda a: a[:-1]),
    ('tokens.ends', lambda a: a + 5),
    ('tokens.per_text', lambda a: a + 1),
    ('tokens.n_bytes', lambda a: a[:-1]),
    ('matrix.token', lambda a: a + 100),
    ('matrix.per_column', lambda a: a + 1),
    ('matrix.value', lambda a: a[:-1]),
])
def test_damaged_tokens_are_refused(world, tmp_path, name, change):
    _, _, columns, predictor = world
    path = tmp_path / 'p'
    save_predictor(predictor.with_tokens(TARGETS, columns), path)
    arrays = load_file(path)
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    header = path.read_bytes()
    length = int.from_bytes(header[:8], 'little')
    metadata = json.loads(header[8:8 + length])['__metadata__'][FORMAT]
    save_file(arrays, path, metadata={FORMAT: metadata})
    with pytest.raises(InputError, match=str(path)):
        load_predictor(path)


def test_what_does_not_fit_is_refused(world):
    losses, _, columns, predictor = world
    able = predictor.with_tokens(TARGETS, columns)
    with pytest.raises(InputError, match='the validation set other'):
        able.predict_losses(losses, 'other')
    with pytest.raises(InputError, match="losses on text 't3', found none"):
        able.predict_losses({'m': losses['m0'][:3]}, TEXTS.fingerprint)
    edited = [
        replace(text, sha256=hashlib.sha256(b'').hexdigest())
        for text in losses['m0']
    ]
    with pytest.raises(InputError, match="'m', text 't0'.*e3b0c44298fc"):
        able.predict_losses({'m': edited}, TEXTS.fingerprint)
    with pytest.raises(InputError, match='columns of a table'):
        predictor.predict_losses(losses, TEXTS.fingerprint)
    with pytest.raises(InputError, match='found none.*with_tokens'):
        replace(
            predictor,
            matrix=columns.matrix).predict_losses(losses, TEXTS.fingerprint)
    other = replace(TARGETS, fingerprint='other')
    with pytest.raises(InputError, match='12 of other'):
        predictor.with_tokens(other, columns)
    groups = group_columns(TARGETS.table(losses), ['x'] * 12)
    with pytest.raises(InputError, match='1 columns'):
        predictor.with_tokens(TARGETS, groups)
    some = replace(columns, scored=columns.scored & (np.arange(12) > 0))
    with pytest.raises(InputError, match='found 11'):
        predictor.with_tokens(TARGETS, some)


def test_parts_of_one_validation_set():
    with pytest.raises(InputError, match='each of 4 texts, found 4 and 3'):
        replace(TARGETS, spans=TARGETS.spans[:3])
    with pytest.raises(InputError, match='t0'):
        replace(TARGETS, text_ids=('t0', ) * 4)


def test_columns_of_another_shape_are_refused(world):
    columns: TokenColumns = world[2]
    with pytest.raises(InputError, match='Give one row per token'):
        replace(columns, scored=columns.scored[1:])
    with pytest.raises(InputError, match='Give one row per token'):
        replace(columns, uniform=columns.uniform[1:])
