"""Engines of rows: exact ones agree with transformers, others are refused."""
import sys

import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import ROUNDING
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.row_engine import WINDOWS, RowScores
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from tests.lm.engines import stand_ins
from tests.lm.engines.row_engines import WRONG, Exact
from tests.lm.models import CONTEXT, tokenizer
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = [Text(f't{i}', text) for i, text in enumerate(['a', *CORPUS])]


def test_an_engine_is_tried_once_and_gets_many_windows_a_call():
    seen, engine = [], Exact()

    def progress(calls):
        seen.append(len(calls))
        return iter(calls)

    assert token_losses(engine, tokenizer(), []) == [] and not engine.calls
    texts = [Text(f'{i}', 'a bc') for i in range(WINDOWS + 1)]
    for n_calls in (4, 6):  # two are the trial
        token_losses(engine, tokenizer(), texts, progress=progress)
        assert len(engine.calls) == n_calls
    assert seen == [2, 2]


@pytest.mark.parametrize('engine', WRONG, ids=lambda kind: kind.__name__)
def test_wrong_answers_are_refused(engine):
    with pytest.raises(InputError, match=WRONG[engine]) as error:
        token_losses(engine(), tokenizer(), TEXTS)
    assert "engine 'exact' with model 'm'" in str(error.value)


def test_rounding_is_forgiven():
    """Also of a log-probability that is above 0 by no more."""

    class Rounded(Exact):

        def answer(self, row):
            log_probs = super().answer(row).log_probs
            log_probs += np.linspace(-1e-2, 1e-2, len(row) - 1)
            return RowScores(row, np.where(row[1:] == 3, ROUNDING, log_probs))

    texts = [*TEXTS, Text('certain', tokenizer().decode([3, 4]))]
    results = token_losses(Rounded(), tokenizer(), texts)
    assert min(text.losses.min() for text in results) >= 0
    assert 0 in results[-1].losses


def test_a_model_may_be_sure():
    """The ids that are tried may have nearly all probability."""

    class Sure(Exact):

        def answer(self, row):
            return RowScores(row, np.log(np.where(row[1:] == likely, .9, .01)))

    text = Text('t', 'a bc')
    likely = tokenizer()('a', add_special_tokens=False).input_ids[0]
    losses = token_losses(Sure(), tokenizer(), [text])[0].losses
    assert losses.min() == pytest.approx(-np.log(.9))


def test_an_improbable_token_has_its_loss():
    """As improbable as one can be in float32."""

    class Surprised(Exact):

        def answer(self, row):
            log_probs = super().answer(row).log_probs
            return RowScores(row, np.where(row[1:] == rare, -103., log_probs))

    ids = tokenizer()('a bc', add_special_tokens=False).input_ids
    rare = ids[-1]
    losses = token_losses(Surprised(), tokenizer(), [Text('t', 'a bc')])
    assert losses[0].losses[-1] == 103


@pytest.mark.parametrize('text, context, words',
                         [('a word99', None, 'out of vocabulary.*own token'),
                          (300 * 'a ', 500, 'too long.*max_model_len')])
def test_vllm_refuses_in_one_line(text, context, words, monkeypatch):
    package = stand_ins.package('vllm', SamplingParams=dict)
    monkeypatch.setitem(sys.modules, 'vllm', package)
    engine, strange = VLLMEngine(stand_ins.LLM()), tokenizer()
    facts = engine.facts
    assert (facts.context, facts.cache_dtype) == (CONTEXT, 'float32')
    strange.add_tokens([f'word{i}' for i in range(100)])
    with pytest.raises(InputError, match=words):
        token_losses(engine, strange, [Text('a', text)], context=context)
