"""Token-loss dumps: a fixed one in all its parts, and any."""
import dataclasses

import numpy as np
from hypothesis import strategies as st

from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import DumpInfo, ModelLosses, TokenLossDump
from csv_plugin.core.spans import TextSpans, TokenSpans
from csv_plugin.core.texts import Text, TextSet
from tests.core import strategies

NAN = float('nan')
TEXTS = TextSet((Text('zh', '猫'), Text('en', 'a cat'), Text('empty', '')))
WORDS = {'zh': ['猫'], 'en': ['a', ' cat'], 'empty': []}
SPANS = [
    TokenSpans.from_token_bytes(
        [word.encode() for word in WORDS[text.text_id]], text.text)
    for text in TEXTS
]
INFO = DumpInfo(TEXTS.fingerprint, 'org/模型', 'org/tok', 'bos 1', 'bfloat16',
                4096, 2048, {
                    'torch': '2.1',
                    'numpy': '1.26'
                })
LOSSES = {'zh': [2.5], 'en': [NAN, 0.125], 'empty': []}


def short_tokens(lengths, n_bytes):
    """Tokens of one byte each, empty ones at the end of a text."""
    spans = []
    for n_tokens, size in zip(lengths, n_bytes):
        edges = np.minimum(np.arange(n_tokens + 1), size)
        spans.append(TokenSpans(edges[:-1], edges[1:], size))
    return TextSpans.of(spans)


def row(name, **changes):
    """Losses on one of the texts, with everything that can be recorded."""
    index = TEXTS.ids.index(name)
    text = TEXTS.texts[index]
    losses = LOSSES[name]
    fields = dict(
        text_id=name,
        losses=losses,
        spans=SPANS[index],
        n_chars=len(text.text),
        sha256=text.sha256)
    return TokenLosses(**{**fields, **changes})


def dump(*texts, **changes):
    """A dump of these texts, with changes to its origin."""
    return TokenLossDump(dataclasses.replace(INFO, **changes), texts)


def whole(**changes):
    return dump(*map(row, TEXTS.ids), **changes)


def model_losses(texts, losses):
    """Dumps of any texts, from a sequence of `TokenLosses` by model."""
    return ModelLosses(
        texts, {
            model: dump(*rows, fingerprint=texts.fingerprint, model=model)
            for model, rows in losses.items()
        })


def contents(text):
    """All fields of one row, comparable."""
    return {
        field.name: value.tobytes() if isinstance(value, np.ndarray) else value
        for field in dataclasses.fields(text)
        for value in [getattr(text, field.name)]
    }


def assert_same(dump, expected):
    """Same origin, and the same values of every text, bit by bit."""
    assert dump.info == expected.info
    texts = list(map(contents, dump.texts))
    assert texts == list(map(contents, expected.texts))


nats = st.floats(0, 2.0**100, width=32)


@st.composite
def rows(draw, text_id):
    """Losses on any text; numbers that float32 can hold."""
    text = Text(text_id, draw(strategies.texts))
    spans = draw(strategies.any_spans(len(text.text.encode())))
    n = len(spans)
    scored = draw(st.lists(st.booleans(), min_size=n, max_size=n))

    drawn = draw(st.lists(nats, min_size=n, max_size=n))
    losses = [v if keep else NAN for v, keep in zip(drawn, scored)]
    return TokenLosses(text_id, losses, spans, len(text.text), text.sha256)


@st.composite
def dumps(draw):
    """Any dump of at most four texts."""
    ids = draw(st.lists(strategies.texts, max_size=4, unique=True))
    return dump(*[draw(rows(text_id)) for text_id in ids])
