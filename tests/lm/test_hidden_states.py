"""Hidden states at tokens, against those of the model's body."""
import numpy as np
import pytest
import torch

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.lm import hidden_states as module
from csv_plugin.lm.hidden_states import hidden_states, states_in_parts
from tests.lm.models import CONTEXT, MODELS, make, tokenizer
from tests.lm.tokens.tokenizers import CORPUS, SPECIAL

BOS = 450
TEXTS = [
    Text(f't{i}', text) for i, text in enumerate(CORPUS)
    if len(text.encode()) < CONTEXT
]


def ids_of(text):
    return tokenizer()(text.text, add_special_tokens=False).input_ids


def state_at_end(model, inputs):
    with torch.no_grad():
        return model.base_model(input_ids=torch.tensor([inputs]))[0][0]


def by_text(states, texts):
    counts = [len(ids_of(text)) for text in texts]
    assert len(states) == sum(counts) and states.dtype == torch.float32
    return states.split(counts)


@pytest.mark.parametrize('name, bos', [
    *((name, SPECIAL) for name in MODELS),
    ('llama', None),
    ('mamba', None),
])
def test_states_are_those_of_the_body_at_each_token(name, bos):
    """In the order of the texts, though the longest is read first."""
    model, special = make(name), dict(bos=bos, eos=bos)
    lead = [] if bos is None else [BOS]
    texts = [Text('empty', ''), *TEXTS, Text('one', 'e')]
    found = hidden_states(model, tokenizer(**special), texts)
    for text, states in zip(texts, by_text(found, texts)):
        if text.text:
            expected = state_at_end(model, lead + ids_of(text))[len(lead):]
            np.testing.assert_allclose(states, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize('name, context, bos', [('llama', 16, SPECIAL),
                                                ('llama', 16, None),
                                                ('mamba', 21, SPECIAL)])
def test_windows_of_long_texts(name, context, bos):
    """A state has read what the token after it is predicted from."""
    model, special = make(name), dict(bos=bos, eos=bos)
    lead = [] if bos is None else [BOS]
    texts = [Text('long', ' '.join(CORPUS[:2])), TEXTS[0]]
    model.config.max_position_embeddings = context
    found = hidden_states(model, tokenizer(**special), texts)
    for text, states in zip(texts, by_text(found, texts)):
        row, half = [*lead, *ids_of(text)], context // 2
        assert len(row) > context
        for position in range(len(lead), len(row)):
            inputs = row[:position + 1]
            if position >= context:
                later = -(-(position + 1 - context) // half)
                end = min(context + later * half, len(row))
                inputs = lead + row[end - context + len(lead):position + 1]
            np.testing.assert_allclose(
                states[position - len(lead)],
                state_at_end(model, inputs)[-1],
                rtol=0,
                atol=1e-4)


def test_a_model_in_training_reads_without_dropout_and_trains_on():
    model = make('gpt2')
    expected = hidden_states(model, tokenizer(), TEXTS)
    model.train()
    assert torch.equal(hidden_states(model, tokenizer(), TEXTS), expected)
    assert model.training and torch.is_grad_enabled()


def test_states_that_are_not_finite_are_refused():
    model = make('llama')
    model.name_or_path = 'some/model'
    poisoned = ids_of(TEXTS[0])[17]

    def poison_state(body, args, kwargs, output):
        output[0][kwargs['input_ids'] == poisoned] = float('inf')

    model.model.register_forward_hook(poison_state, with_kwargs=True)
    with pytest.raises(
            InputError, match="'some/model' on text 't0'.*or float32"):
        hidden_states(model, tokenizer(), TEXTS[:1])


def test_wrappers_that_are_the_whole_model_are_refused():
    """As adapters are: their inner model returns logits."""
    model = make('llama')

    class Wrapped(type(model)):
        base_model = property(lambda self: self.whole[0])

    whole = make('llama')
    model.__class__, model.whole = Wrapped, [whole]
    with pytest.raises(InputError, match=r'32 numbers.*found 512.*adapters'):
        hidden_states(model, tokenizer(), [Text('t', 'abc')])


@pytest.mark.parametrize('given, kept', [(torch.float32, torch.float32),
                                         (torch.bfloat16, torch.bfloat16),
                                         (torch.float16, torch.float32)])
def test_states_of_some_texts_at_a_time(given, kept, monkeypatch):
    """Parts of empty texts, such as the second, have none."""
    monkeypatch.setattr(module, 'TEXTS_AT_ONCE', 2)
    empty = Text('e', ''), Text('f', '')
    texts, model = [*TEXTS[:2], *empty, TEXTS[2]], make('llama').to(given)
    seen = []
    states = states_in_parts(model, tokenizer(), texts,
                             lambda parts: seen.extend(parts) or parts)
    assert states.dtype == kept and seen == [0, 2, 4]
    parts = [hidden_states(model, tokenizer(), part)
             for part in (TEXTS[:2], TEXTS[2:3])]  # yapf: disable
    assert torch.equal(states.float(), torch.cat(parts))


def test_without_texts_there_are_no_states():
    assert hidden_states(make('llama'), tokenizer(), []).shape == (0, 0)
