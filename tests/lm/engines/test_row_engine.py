"""Engines of rows: exact ones agree with transformers, others are refused."""
import numpy as np
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines.row_engine import WINDOWS
from csv_plugin.lm.engines.token_losses import token_losses
from tests.lm.engines.row_engines import WRONG, Exact
from tests.lm.models import MODELS, make, tokenizer
from tests.lm.tokens.tokenizers import CORPUS

TEXTS = [Text(f't{i}', text) for i, text in enumerate(CORPUS)]


@pytest.mark.parametrize('name', MODELS)
def test_losses_are_those_of_transformers(name):
    engine = Exact(name)
    ours = token_losses(make(name), tokenizer(), TEXTS)
    for first, second in zip(token_losses(engine, tokenizer(), TEXTS), ours):
        assert first.text_id == second.text_id
        assert first.spans == second.spans
        np.testing.assert_array_equal(first.token_ids, second.token_ids)
        np.testing.assert_allclose(
            first.losses, second.losses, rtol=0, atol=1e-5)


def test_rows_are_as_long_as_the_context_and_the_last_target():
    engine = Exact()
    token_losses(engine, tokenizer(), [Text('long', ' '.join(2 * CORPUS))])
    longest = engine.facts.context + 1
    assert max(len(row) for call in engine.calls for row in call) == longest


def test_progress_sees_calls_of_many_windows():
    seen = []

    def progress(calls):
        seen.append(len(calls))
        return iter(calls)

    texts = [Text(f'{i}', 'a bc') for i in range(WINDOWS + 1)]
    token_losses(Exact(), tokenizer(), texts, progress=progress)
    assert seen == [2]


def test_it_is_tried_once():
    engine = Exact()
    token_losses(engine, tokenizer(), TEXTS[:2])
    n_calls = len(engine.calls)
    token_losses(engine, tokenizer(), TEXTS[:2])
    assert len(engine.calls) == n_calls + 1


@pytest.mark.parametrize('engine', WRONG, ids=lambda kind: kind.__name__)
def test_wrong_answers_are_refused(engine):
    with pytest.raises(InputError, match=WRONG[engine]) as error:
        token_losses(engine(), tokenizer(), TEXTS)
    assert "engine 'exact' with model 'm'" in str(error.value)


def test_rounding_is_forgiven():

    class Rounded(Exact):

        def answer(self, row):
            scores = super().answer(row)
            scores.log_probs[:] += np.linspace(-1e-2, 1e-2, len(row) - 1)
            return scores

    results = token_losses(Rounded(), tokenizer(), TEXTS)
    assert min(text.losses.min() for text in results) >= 0


@pytest.mark.parametrize('wish', ['entropy', 'rank'])
def test_only_losses(wish):
    with pytest.raises(InputError, match='losses alone'):
        token_losses(Exact(), tokenizer(), TEXTS, **{wish: True})


def test_nothing_to_score():
    engine = Exact()
    assert token_losses(engine, tokenizer(), []) == []
    assert engine.calls == []
