"""Hidden states at tokens, against those of the model's body."""
import numpy as np
import pytest
import torch

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines import causal_lm
from csv_plugin.lm.states import hidden_states as module
from csv_plugin.lm.states.hidden_states import hidden_states
from csv_plugin.lm.states.state_columns import StateColumns
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


def joined(chunks, texts):
    """The states of each text, from chunks in any order."""
    parts = [[] for _ in texts]
    for chunk in chunks:
        assert chunk.states.dtype == np.float32
        parts[chunk.text].append((chunk.first, chunk.states))
    for of_text in parts:
        of_text.sort(key=lambda part: part[0])
        ends = np.cumsum([len(states) for _, states in of_text])
        assert [first for first, _ in of_text] == [0, *ends[:-1]][:len(ends)]
    return [
        np.concatenate([states for _, states in of_text] or [[]])
        for of_text in parts
    ]


@pytest.mark.parametrize('bos', [SPECIAL, None])
@pytest.mark.parametrize('name', MODELS)
def test_states_are_those_of_the_body_at_each_token(name, bos):
    model, special = make(name), dict(bos=bos, eos=bos)
    lead = [] if bos is None else [BOS]
    chunks = hidden_states(model, tokenizer(**special), TEXTS)
    for text, states in zip(TEXTS, joined(chunks, TEXTS)):
        expected = state_at_end(model, lead + ids_of(text))[len(lead):]
        np.testing.assert_allclose(states, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize('bos', [SPECIAL, None])
@pytest.mark.parametrize('name, context', [('llama', 16), ('mamba', 21)])
def test_windows_of_long_texts(name, context, bos):
    """A state has read what the token after it is predicted from."""
    model, special = make(name), dict(bos=bos, eos=bos)
    lead = [] if bos is None else [BOS]
    texts = [Text('long', ' '.join(CORPUS[:2])), TEXTS[0]]
    chunks = hidden_states(model, tokenizer(**special), texts, context=context)
    for text, states in zip(texts, joined(chunks, texts)):
        row, half = [*lead, *ids_of(text)], context // 2
        assert len(row) > context
        assert len(states) == len(row) - len(lead)
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


def test_texts_of_no_and_of_one_token():
    texts = [Text('empty', ''), Text('one', 'e')]
    model = make('llama')
    for names in (dict(), dict(bos=None, eos=None)):
        chunk, = hidden_states(model, tokenizer(**names), texts)
        assert (chunk.text, chunk.first, len(chunk.states)) == (1, 0, 1)


def test_the_model_is_in_its_mode_between_chunks():
    model = make('gpt2').train()
    chunks = hidden_states(model, tokenizer(), TEXTS)
    next(chunks)
    assert model.training and torch.is_grad_enabled()
    expected = joined(hidden_states(model.eval(), tokenizer(), TEXTS), TEXTS)
    model.train()
    from_training = joined(hidden_states(model, tokenizer(), TEXTS), TEXTS)
    for states, same_states in zip(from_training, expected):
        np.testing.assert_array_equal(states, same_states)


def short_of_memory(monkeypatch, most_tokens):
    """Let batches of more tokens end as on a GPU that is full."""
    shapes = []

    def body_states(model, inputs):
        shapes.append(tuple(inputs.shape))
        if inputs.numel() > most_tokens:
            raise torch.cuda.OutOfMemoryError('CUDA out of memory.')
        return causal_lm.body_states(model, inputs)

    monkeypatch.setattr(module, 'body_states', body_states)
    return shapes


def test_batches_for_which_a_gpu_has_no_room_are_halved(monkeypatch):
    model = make('llama')
    expected = joined(hidden_states(model, tokenizer(), TEXTS), TEXTS)
    shapes = short_of_memory(monkeypatch, CONTEXT + 10)
    halved = joined(hidden_states(model, tokenizer(), TEXTS), TEXTS)
    for states, same_states in zip(halved, expected):
        np.testing.assert_allclose(states, same_states, rtol=0, atol=1e-4)
    assert any(rows * width > CONTEXT + 10 for rows, width in shapes)


def test_one_text_for_which_a_gpu_has_no_room_is_told(monkeypatch):
    model = make('llama').train()
    short_of_memory(monkeypatch, 20)
    message = 'room on the GPU for .* tokens.*CUDA out of memory'
    with pytest.raises(InputError, match=message):
        list(hidden_states(model, tokenizer(), TEXTS))
    assert model.training


def test_states_of_half_precision_are_handed_out_as_float32():
    model = make('llama').bfloat16()
    exact = make('llama')
    rounded = joined(hidden_states(model, tokenizer(), TEXTS), TEXTS)
    expected = joined(hidden_states(exact, tokenizer(), TEXTS), TEXTS)
    for states, exact_states in zip(rounded, expected):
        assert 0 < abs(states - exact_states).mean() < .05


def test_states_that_are_not_finite_are_refused():
    model = make('llama')
    model.name_or_path = 'some/model'
    where = 17
    ids = ids_of(TEXTS[0])
    assert ids.count(ids[where]) == 1

    def poison_state(body, args, kwargs, output):
        output[0][kwargs['input_ids'] == ids[where]] = float('inf')

    model.model.register_forward_hook(poison_state, with_kwargs=True)
    for context in (None, 10):
        with pytest.raises(
                InputError,
                match=rf"'some/model'.*at token {where} of text 't0'"
                '.*bfloat16 or float32'):
            list(hidden_states(model, tokenizer(), TEXTS[:1], context=context))


def test_progress_sees_the_batches():
    seen = []

    def progress(batches):
        seen.append(len(batches))
        return batches

    list(hidden_states(make('llama'), tokenizer(), TEXTS, progress=progress))
    assert seen == [1]


def test_states_of_a_scoring_lm_give_features_of_its_texts():
    """End to end: windows, chunks, and Phi by its formula."""
    model = make('llama')
    counts = np.array([len(ids_of(text)) for text in TEXTS])
    losses = np.random.default_rng(0).gamma(2., 1., (3, counts.sum()))
    table = LossTable(('k', 'l', 'm'), tuple(text.text_id for text in TEXTS),
                      losses, np.append(0, np.cumsum(counts)), 3 * counts,
                      3 * counts, 'f')  # yapf: disable
    states = np.concatenate(
        [state_at_end(model, [BOS, *ids_of(text)])[1:] for text in TEXTS])
    standard = (states - states.mean(axis=0)) / states.std(axis=0)
    phi = losses @ standard / (3 * counts.sum())
    for context in (None, 64):
        chunks = hidden_states(model, tokenizer(), TEXTS, context=context)
        by_text = torch.from_numpy(np.concatenate(joined(chunks, TEXTS)))
        features = StateColumns.of(by_text, table).features(table)
        np.testing.assert_allclose(
            features.values[:, 1:], phi, rtol=0, atol=1e-5)


def test_wrappers_that_are_the_whole_model_are_refused():
    """As adapters are: their inner model returns logits."""
    model = make('llama')

    class Wrapped(type(model)):
        base_model = property(lambda self: self.whole[0])

    whole = make('llama')
    model.__class__, model.whole = Wrapped, [whole]
    with pytest.raises(InputError, match=r'32 numbers.*found 512.*adapters'):
        list(hidden_states(model, tokenizer(), [Text('t', 'abc')]))
