"""Losses that no model has, and losses that look like them."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.failed_scoring import check_models
from csv_plugin.core.losses import TargetTokens, TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet

RNG = np.random.default_rng(0)
#: Of a sound model, and of five more.
SOUND = np.exp(.7 + .1 * RNG.normal(size=30))
OTHERS = SOUND * np.linspace(.8, 1.5, 5)[:, None]


def mostly(number: float, count: int = 29) -> np.ndarray:
    return np.where(np.arange(30) < count, number, SOUND)


@pytest.mark.parametrize('losses, words', [
    (np.zeros(2), '0 on 2 of 2'),
    (mostly(0), '0 on 29 of 30'),
    (mostly(1e-300, 16), '0 on 16 of 30'),
    (mostly(0, 6)[:10], '0 on 6 of 10'),
    (mostly(2.3), '2.3 on nearly all of 30'),
    (2.3 + 1e-6 * SOUND, '2.3 on nearly all'),
    (np.full(5, 2.3), '2.3 on nearly all of 5'),
    (SOUND / 1000, 'within a factor of 100 of the usual .* found 0.00'),
    (SOUND * 1000, 'use the same unit|Use the same unit'),
])
def test_what_is_refused(losses, words):
    with pytest.raises(InputError, match=f"l.csv, model 'm'.*{words}"):
        check_models('l.csv', [*'abcde', 'm'],
                     np.vstack([OTHERS[:, :len(losses)], losses]))


@pytest.mark.parametrize(
    'losses',
    [
        # A table with one decimal, of which most are the same.
        np.round(SOUND / 3, 1),
        # Right answers, of which a model is sure, some to the last bit.
        np.where(np.arange(30) < 15, 0, 1e-4 * np.arange(30)),
        mostly(0, 6)[:9],
        # Two differ on either side.
        mostly(np.median(SOUND[26:]), 26),
        # All answers, of an easy set.
        SOUND / 50,
        # Few units, rounded to two digits.
        np.full(4, 2.3),
        # Losses on tokens that are not counted.
        np.where(np.arange(30) < 28, np.nan, SOUND),
        np.full(30, np.nan),
        # Sums of long texts.
        SOUND * 50,
    ])
def test_what_may_be_sound(losses):
    check_models('l.csv', ['m'], losses[None])
    if not np.mean(losses) < .02:
        check_models('l.csv', [*'abcde', 'm'],
                     np.vstack([OTHERS[:, :len(losses)], losses]))


@pytest.mark.parametrize('scale', [1e-5, 1e6])
def test_a_single_model(scale):
    with pytest.raises(InputError, match='of the usual 0.01 to 1e'):
        check_models('l.csv', ['m'], scale * SOUND[None])
    check_models('l.csv', ['m'], scale * SOUND[None, :9])


def test_a_model_without_losses_does_not_hide_the_unit_of_another():
    losses = np.stack([np.full(30, np.nan), 1e6 * SOUND])
    with pytest.raises(InputError, match="model 'm'.*of the usual 0.01"):
        check_models('l.csv', ['unscored', 'm'], losses)


def test_means_have_a_factor_of_100():
    spread = np.linspace(.5, 1.5, 30)
    check_models('l', 'abcde', np.outer([1, 1, 1, .0101, 99], spread))
    for mean in (.0099, 101):
        with pytest.raises(InputError, match='model .e.* 1 to 1, found'):
            check_models('l', 'abcde', np.outer([1, 1, 1, 1, mean], spread))
    # Of four, each counts for the quantiles.
    with pytest.raises(InputError, match='model .d.* 0.634 to 0.845'):
        check_models('l', 'abcd', np.outer([1, 1, 1, .004], spread[::10]))


def test_losses_of_tokens():
    texts = TextSet(tuple(Text(f't{i}', f'abcd{i:02}') for i in range(12)))
    spans = TokenSpans([0, 3], [3, 6], 6)

    def losses(*columns):
        return [
            TokenLosses(text.text_id, row, spans, 6, sha256=text.sha256)
            for text, row in zip(texts, np.transpose(columns))
        ]

    targets = TargetTokens.of(texts, [spans] * 12)
    table = targets.table({'m': losses(SOUND[:12], 2 * SOUND[:12])})
    assert table.losses.shape == (1, 24)
    same = np.full(12, 1.5)
    some = np.where(np.arange(12) % 2, np.nan, same)
    for columns in ((0 * same, 0 * same), (same, 2 * same), (some, same)):
        with pytest.raises(InputError, match="token losses, model 'm'.*of 12"):
            targets.table({'m': losses(*columns)})
