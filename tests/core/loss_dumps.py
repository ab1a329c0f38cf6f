"""Token-loss dumps: a fixed one in all its parts, and any."""
import dataclasses

import numpy as np
from hypothesis import strategies as st

from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import DumpInfo, ModelLosses, TokenLossDump
from csv_plugin.core.spans import TokenSpans
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
        token_ids=[5, 2**31 - 1][:len(losses)],
        sha256=text.sha256)
    return TokenLosses(**{**fields, **changes})


def bare(name, **changes):
    """Losses on one of the texts, with nothing else recorded."""
    return row(name, **{'token_ids': None, **changes})


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


def nats(low):
    return st.floats(low, 2.0**100, width=32)


@st.composite
def rows(draw, text_id, has_ids):
    """Losses on any text; numbers that float32 can hold."""
    text = Text(text_id, draw(strategies.texts))
    spans = draw(strategies.any_spans(len(text.text.encode())))
    n = len(spans)
    scored = draw(st.lists(st.booleans(), min_size=n, max_size=n))

    def tokens(values, unscored):
        drawn = draw(st.lists(values, min_size=n, max_size=n))
        return [v if keep else unscored for v, keep in zip(drawn, scored)]

    counts = st.integers(0, 2**31 - 1)
    fields = {'losses': tokens(nats(0), NAN)}
    if has_ids:
        ids = draw(st.lists(counts, min_size=n, max_size=n))
        fields['token_ids'] = ids
    return TokenLosses(
        text_id,
        spans=spans,
        n_chars=len(text.text),
        sha256=text.sha256,
        **fields)


@st.composite
def dumps(draw):
    """Any dump of at most four texts."""
    ids = draw(st.lists(strategies.texts, max_size=4, unique=True))
    has_ids = draw(st.booleans())
    return dump(*[draw(rows(text_id, has_ids)) for text_id in ids])
