"""Token losses and the table of many models."""
from dataclasses import replace

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import (LossTable, TargetTokens, TextLosses,
                                    TokenLosses)
from csv_plugin.core.spans import TextSpans, TokenSpans
from csv_plugin.core.texts import Text, TextSet

NAN = float('nan')
TEXTS = {'en': 'a cat', 'zh': '猫'}
TARGET = [
    TokenSpans.from_token_bytes([b'a', b' cat'], 'a cat'),
    TokenSpans.from_token_bytes(['猫'.encode()], '猫'),
]


def words(model_losses):
    """Losses of a model whose tokens are 'a ', 'cat' and the CJK's bytes."""
    spans = [
        TokenSpans.from_token_bytes([b'a ', b'cat'], 'a cat'),
        TokenSpans([0, 1, 2], [1, 2, 3], 3),
    ]
    return [
        TokenLosses(text_id, losses, span, len(text))
        for (text_id,
             text), losses, span in zip(TEXTS.items(), model_losses, spans)
    ]


TABLE = LossTable(('x', 'y'), ('en', 'zh'),
                  np.array([[1.0, 2.0, 3.0], [4.0, NAN, 6.0]]),
                  TextSpans.of(TARGET), np.array([5, 1]), 'f')


@pytest.mark.parametrize('losses, n_chars, message', [
    ([1.0, np.inf
      ], 5, r"losses of text 'en': .*found inf at token 1.*precision"),
    ([1.0, 2.0], 6, "'en': .*found 6 characters and 5 bytes"),
    ([1.0, 2.0], 1, "'en': .*found 1 characters and 5 bytes"),
    ([-.01, 2.0], 5, "'en': .* losses of 0 or more.*-0.01 at token 0"),
])
def test_bad_token_losses_are_refused(losses, n_chars, message):
    """On one text, and laid out."""
    with pytest.raises(InputError, match=message):
        TokenLosses('en', losses, TARGET[0], n_chars)
    laid = TextLosses.of([TokenLosses('en', [1, 2], TARGET[0], 5)])
    with pytest.raises(InputError, match=message):
        replace(laid, losses=np.array(losses), n_chars=np.array([n_chars]))


def test_losses_are_floats_and_hashes_hexadecimal():
    TokenLosses('en', [NAN, 1], TARGET[0], 5, '0a' * 32)
    empty = TokenLosses('', [], TokenSpans([], [], 0), 0)
    assert empty.losses.dtype == np.float64
    with pytest.raises(InputError, match=r"'en': expected shape \(2,\)"):
        TokenLosses('en', [1.0], TARGET[0], 5)
    with pytest.raises(InputError, match="sha256 of text 'en': .*'0A0A"):
        TokenLosses('en', [NAN, 1], TARGET[0], 5, '0A' * 32)


def test_the_least_losses_and_the_shortest_characters():
    """Rounding may make a loss negative; characters take 1 to 4 bytes."""
    TokenLosses('en', [-1e-3, 1e-3], TARGET[0], 5)
    TokenLosses('zh', [1.0], TokenSpans([0], [4], 4), 1)
    with pytest.raises(InputError, match='found -0.0011 at token 1'):
        TokenLosses('en', [NAN, -1.1e-3], TARGET[0], 5)


def test_a_selection_names_each_model_once():
    assert TABLE.scored.tolist() == [True, False, True]
    assert TABLE.select(['y', 'x']).losses[0, 0] == 4
    for models, found in ((['x', 'x'], "'x' twice"), (['z'], "none of 'z'")):
        with pytest.raises(InputError, match=found):
            TABLE.select(models)


def on_target(losses_by_model):
    texts = TextSet(tuple(Text(*item) for item in TEXTS.items()))
    return TargetTokens.of(texts, TARGET).table(losses_by_model)


def test_every_model_is_mapped_onto_the_target():
    built = on_target({
        'words':
        words([[1.0, 3.0], [1.0, 2.0, 4.0]]),
        'target': [
            TokenLosses('zh', [7.0], TARGET[1], 1),
            TokenLosses('en', [0.25, 4.0], TARGET[0], 5),
        ],
        'no bos':
        words([[NAN, 3.0], [NAN, 2.0, 4.0]]),
    })
    assert built.models == ('words', 'target', 'no bos')
    assert built.text_ids == ('en', 'zh')
    np.testing.assert_array_equal(
        built.losses, [[0.5, 3.5, 7.0], [0.25, 4.0, 7.0], [NAN, NAN, NAN]])
    assert built.spans == TextSpans.of(TARGET)
    assert built.text_of_token().tolist() == [0, 0, 1]
    assert built.n_chars.tolist() == [5, 1]
    assert built.n_bytes.tolist() == [5, 3]


def test_models_with_other_texts_are_refused():
    good = words([[1.0, 3.0], [1.0, 2.0, 4.0]])
    other = TokenLosses('zh', [1.0], TokenSpans([0], [4], 4), 1)
    for losses, message in (({
            'y': [good[0], other]
    }, "'y', text 'zh': .*of 3 bytes, found a text of 4"), ({
            'x': [*good, good[0]]
    }, "losses of 'x': .* 'en' twice"), ({}, 'at least one model')):
        with pytest.raises(InputError, match=message):
            on_target(losses)
