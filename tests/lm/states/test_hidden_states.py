"""States at tokens, and Phi against its formula with all states at hand."""
import numpy as np
import pytest
import torch

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import LossTable
from csv_plugin.core.texts import Text
from csv_plugin.lm.states.hidden_states import (StateChunk, accumulate_phi,
                                                hidden_states)
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
    model, made = make(name), tokenizer(bos=bos, eos=bos)
    lead = [] if bos is None else [BOS]
    found = joined(hidden_states(model, made, TEXTS), TEXTS)
    for text, states in zip(TEXTS, found):
        expected = state_at_end(model, lead + ids_of(text))[len(lead):]
        np.testing.assert_allclose(states, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize('bos', [SPECIAL, None])
@pytest.mark.parametrize('name, context', [('llama', 16), ('mamba', 21)])
def test_windows_of_long_texts(name, context, bos):
    """A state has read what the token after it is predicted from."""
    model, made = make(name), tokenizer(bos=bos, eos=bos)
    lead = [] if bos is None else [BOS]
    texts = [Text('long', ' '.join(CORPUS[:2])), TEXTS[0]]
    chunks = hidden_states(model, made, texts, context=context)
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
    found = joined(hidden_states(model, tokenizer(), TEXTS), TEXTS)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other)


def test_states_of_half_precision_are_handed_out_as_float32():
    model = make('llama').bfloat16()
    exact = make('llama')
    found = joined(hidden_states(model, tokenizer(), TEXTS), TEXTS)
    expected = joined(hidden_states(exact, tokenizer(), TEXTS), TEXTS)
    for one, other in zip(found, expected):
        assert 0 < abs(one - other).mean() < .05


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


def table_of(losses, counts):
    offsets = np.append(0, np.cumsum(counts))
    n_chars = np.array(counts) * 3
    return LossTable(
        tuple(f'm{m}' for m in range(len(losses))),
        tuple(f't{s}' for s in range(len(counts))), losses, offsets, n_chars,
        n_chars, 'f')


@pytest.fixture
def world():
    """Losses of 4 models on 3 texts, one of them empty, and states."""
    draw = np.random.default_rng(0)
    counts = [7, 0, 5, 9]
    losses = draw.gamma(2., 1., (4, 21))
    # Unscored by one model, or by all.
    losses[1, 3] = losses[:, 12] = np.nan
    scale = np.array([1., 100., 1e-3, 5., 1., 0.])
    shift = np.array([0., 3000., 0., -7., 1., 4.])
    states = draw.normal(size=(21, 6)) * scale + shift
    return table_of(losses, counts), states.astype(np.float32)


def chunks_of(table, states, sizes=(4, 3, 5, 2, 7)):
    """Chunks of some sizes, the last text first."""
    chunks, start = [], 0
    for size in sizes:
        text = np.searchsorted(table.token_offsets, start, side='right') - 1
        first = start - table.token_offsets[text]
        chunks.append(
            StateChunk(int(text), int(first), states[start:start + size]))
        start += size
    return chunks[::-1]


def literal(table, states):
    """All (T, H) states at once: standardise, weight, add up."""
    states = states.astype(np.float64)
    spread = states.std(axis=0)
    spread[spread == 0] = 1
    standard = (states - states.mean(axis=0)) / spread
    scored = ~np.isnan(table.losses).any(axis=0)
    losses = table.losses[:, scored]
    n_chars = table.n_chars.sum()
    return (losses.sum(axis=1) / n_chars, losses @ standard[scored] / n_chars,
            standard, scored)


def test_phi_is_the_formula_with_all_states_in_memory(world):
    table, states = world
    features, scale = accumulate_phi(chunks_of(table, states), table)
    mean_loss, phi, standard, _ = literal(table, states)
    assert features.models == table.models
    assert features.units == ('loss', 'h0', 'h1', 'h2', 'h3', 'h4', 'h5')
    np.testing.assert_allclose(features.values[:, 0], mean_loss, rtol=1e-12)
    np.testing.assert_allclose(
        features.values[:, 1:], phi, rtol=1e-9, atol=1e-9)
    assert features.uniform.tolist() == [1, 0, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(scale.apply(states), standard, atol=1e-7)
    # A direction that never changes has no column's worth of information.
    assert scale.spread[5] == 1 and abs(features.values[:, 6]).max() < 1e-12


def test_phi_does_not_depend_on_how_states_are_cut(world):
    table, states = world
    expected, _ = accumulate_phi(chunks_of(table, states), table)
    for sizes in ((7, 5, 9), (1, ) * 21):
        found, _ = accumulate_phi(chunks_of(table, states, sizes), table)
        np.testing.assert_allclose(
            found.values, expected.values, rtol=1e-9, atol=1e-12)


def test_coefficients_are_weights_of_tokens(world):
    """`values @ c` is Eq. 1 with the weights `c[0] + h_t . c[1:]`."""
    table, states = world
    features, scale = accumulate_phi(chunks_of(table, states), table)
    coefficients = np.random.default_rng(1).normal(size=7)
    weights = coefficients[0] + scale.apply(states) @ coefficients[1:]
    scored = table.scored
    assert scored.sum() == 19
    score = (table.losses[:, scored] @ weights[scored]) / table.n_chars.sum()
    np.testing.assert_allclose(
        features.values @ coefficients, score, rtol=1e-9)


def missing(chunks):
    return chunks[1:]


def shortened(chunks):
    chunk = chunks[0]
    return [StateChunk(chunk.text, chunk.first, chunk.states[:-1])
            ] + chunks[1:]


def doubled(chunks):
    return [*chunks, chunks[0]]


def overlapping(chunks):
    chunk = chunks[0]
    return [StateChunk(chunk.text, chunk.first - 1, chunk.states), *chunks[1:]]


def too_long(chunks):
    """Into the next text, whose own chunk leaves room: all are covered."""
    states = np.concatenate([chunk.states for chunk in chunks[::-1]])
    return [
        StateChunk(0, 0, states[:8]),
        StateChunk(2, 1, states[8:12]),
        StateChunk(3, 0, states[12:])
    ]


@pytest.mark.parametrize('change, text', [(missing, 't3'), (shortened, 't3'),
                                          (doubled, 't3'), (overlapping, 't3'),
                                          (too_long, 't0')])
def test_chunks_that_do_not_cover_the_table_are_refused(world, change, text):
    table, states = world
    chunks = change(chunks_of(table, states))
    with pytest.raises(
            InputError,
            match=f"hidden states of text '{text}'.*each token.*own tokens"):
        accumulate_phi(iter(chunks), table)


def test_states_of_a_scoring_lm_give_features_of_its_texts():
    """End to end: windows, chunks, Phi."""
    model, made = make('llama'), tokenizer()
    counts = [len(ids_of(text)) for text in TEXTS]
    draw = np.random.default_rng(0)
    table = table_of(draw.gamma(2., 1., (3, sum(counts))), counts)
    states = np.concatenate([
        state_at_end(model, [BOS, *ids_of(text)])[1:] for text in TEXTS
    ]).astype(np.float32)
    _, phi, _, _ = literal(table, states)
    for context in (None, 64):
        features, _ = accumulate_phi(
            hidden_states(model, made, TEXTS, context=context), table)
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
