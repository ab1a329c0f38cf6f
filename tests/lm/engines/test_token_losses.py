"""Token losses against a float64 pass over each text alone, all logits."""
import numpy as np
import pytest
import torch
from tokenizers import processors

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines import transformers_engine as module
from csv_plugin.lm.engines.causal_lm import PROBE_TOKENS
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.engines.transformers_engine import TransformersEngine
from tests.lm.models import CONTEXT, MODELS, make, reference_losses, tokenizer
from tests.lm.tokens.tokenizers import CORPUS, SPECIAL

BOS = 450
SHORT = [text for text in CORPUS if len(text.encode()) < CONTEXT]
TEXTS = [Text(f't{i}', text) for i, text in enumerate(SHORT)]
LONG = Text('long', ' '.join(2 * CORPUS))


def losses_of(model, texts, made=None, **settings):
    results = token_losses(model, made or tokenizer(), texts, **settings)
    assert [one.text_id for one in results] == [one.text_id for one in texts]
    return results


def ids_of(text, made=None):
    made = made or tokenizer()
    return made(text.text, add_special_tokens=False).input_ids


def take_batches_of(max_tokens, monkeypatch):
    monkeypatch.setattr(module, 'default_max_tokens',
                        lambda *args, **settings: max_tokens)


def assert_losses(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def check_same(results, expected):
    for result, reference in zip(results, expected, strict=True):
        assert result.text_id == reference.text_id
        assert result.spans == reference.spans
        assert_losses(result.losses, reference.losses)


def calls_of(model):
    """Shapes of the inputs of the whole model, call by call."""
    shapes, plain = [], model.forward

    def forward(input_ids, **kwargs):
        shapes.append(input_ids.shape)
        return plain(input_ids=input_ids, **kwargs)

    model.forward = forward
    return shapes


@pytest.mark.parametrize('name', MODELS)
def test_losses_are_those_of_an_unbatched_pass(name, monkeypatch):
    """No special token is added; each text as if it were alone."""
    model = make(name)
    together = losses_of(model, TEXTS)
    for text, result in zip(TEXTS, together):
        expected = reference_losses(model, [BOS, *ids_of(text)])
        assert_losses(result.losses, expected)
        assert expected.std() > .3
        assert result.sha256 == text.sha256
        assert result.n_chars == len(text.text)
        assert np.sum(result.spans.ends -
                      result.spans.starts) == result.n_bytes
    for max_tokens in (1, 90, 10**6):
        take_batches_of(max_tokens, monkeypatch)
        again = losses_of(model, TEXTS[::-1])
        check_same(again[::-1], together)


@pytest.mark.parametrize('pad, side', [('q', 'left'), (None, 'right')])
def test_settings_of_the_tokenizer_do_not_matter(pad, side):
    made = tokenizer(pad=pad)
    made.padding_side = made.truncation_side = side
    made.model_max_length = 5
    made.backend_tokenizer.enable_truncation(7, direction=side)
    made.backend_tokenizer.enable_padding(length=90, direction=side)
    model = make('gpt2')
    check_same(losses_of(model, TEXTS, made), losses_of(model, TEXTS))
    assert not made.deprecation_warnings, 'of texts that are too long'


def test_dropout_is_off_and_the_model_stays_as_it_was():
    model = make('gpt2')
    expected = losses_of(model, TEXTS[:3])
    frozen = next(model.train().parameters()).requires_grad_(False)
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    check_same(losses_of(model, TEXTS[:3]), expected)
    assert all(layer.training for layer in model.modules())
    for parameter in model.parameters():
        assert parameter.requires_grad == (parameter is not frozen)
        assert parameter.grad is None
    after = model.state_dict()
    assert all(torch.equal(weights[k], after[k]) for k in weights)


@pytest.mark.parametrize('names, prefix', [
    (dict(bos='a', eos='b'), 'a'),
    (dict(bos=None, eos='b'), 'b'),
    (dict(bos=None, eos=None), None),
])
@pytest.mark.parametrize('name', ['llama', 'gemma2'])
def test_first_tokens(name, names, prefix):
    """Behind BOS, else EOS, else not scored."""
    model, made = make(name), tokenizer(**names)
    lead = [] if prefix is None else [made.convert_tokens_to_ids(prefix)]
    for text, result in zip(TEXTS, losses_of(model, TEXTS, made)):
        expected = reference_losses(model, lead + ids_of(text, made))
        unscored = 1 - len(lead)
        assert_losses(result.losses[unscored:], expected)
        assert np.isnan(result.losses[:unscored]).all()
        assert np.isnan(result.losses).sum() == unscored


@pytest.mark.parametrize('bos', [SPECIAL, None])
def test_texts_of_no_and_of_one_token(bos):
    model, made = make('llama'), tokenizer(bos=bos, eos=bos)
    texts = [Text('empty', ''), Text('letter', 'e'), *TEXTS[:2]]
    empty, letter, *longer = losses_of(model, texts, made)
    assert len(empty.losses) == empty.n_bytes == 0
    if bos is None:
        assert np.isnan(letter.losses).tolist() == [True]
    else:
        assert_losses(letter.losses,
                      reference_losses(model, [BOS, *ids_of(texts[1], made)]))
    check_same(longer, losses_of(model, TEXTS[:2], made))
    assert losses_of(model, [], made) == []


def test_special_tokens_inside_a_text_are_scored():
    """Also a token that is BOS, EOS and pad at once."""
    model = make('llama')
    texts = [
        Text('inside', f'the {SPECIAL} dog{SPECIAL}{SPECIAL}'),
        Text('only', SPECIAL), *TEXTS
    ]
    for text, result in zip(texts[:2], losses_of(model, texts)):
        ids = ids_of(text)
        assert BOS in ids
        assert_losses(result.losses, reference_losses(model, [BOS, *ids]))
        assert np.sum(result.spans.ends -
                      result.spans.starts) == result.n_bytes


def window_by_window(model, ids, prefix, context):
    """Each loss by a pass of its own over the window it belongs to."""
    row = [*prefix, *ids]
    losses = [np.nan] * (1 - len(prefix))
    for position in range(1, len(row)):
        if position <= context:
            inputs = row[:position]
        else:
            # After the first window, a window ends every half context.
            half = context // 2
            later = -(-(position - context) // half)
            end = min(context + later * half, len(row) - 1)
            inputs = [*prefix, *row[end - context + len(prefix):position]]
        losses.append(reference_losses(model, [*inputs, row[position]])[-1])
    return losses


@pytest.mark.slow
@pytest.mark.parametrize('bos', [SPECIAL, None])
@pytest.mark.parametrize('name, context', [('gpt2', 16), ('llama', 21),
                                           ('gemma2', 40)])
def test_windows_of_long_texts(name, context, bos):
    model = make(name)
    texts = [Text('long', ' '.join(CORPUS[:2])), TEXTS[1], TEXTS[4]]
    prefix = [] if bos is None else [BOS]
    made = tokenizer(bos=bos, eos=bos)
    results = losses_of(model, texts, made, context=context)
    assert len(results[0].losses) > 1.3 * context
    for text, result in zip(texts, results):
        assert_losses(
            result.losses,
            window_by_window(model, ids_of(text, made), prefix, context))


@pytest.mark.parametrize('name', MODELS)
def test_the_context_is_the_models_own(name):
    """Mamba and ALiBi have no limit: the text is read in one piece."""
    model = make(name)
    result, = losses_of(model, [LONG])
    assert len(result.losses) > 2 * CONTEXT
    context = 0 if name in ('mamba', 'bloom') else CONTEXT
    check_same([result], losses_of(model, [LONG], context=context))
    shorter, = losses_of(model, [LONG], context=CONTEXT // 2)
    assert abs(result.losses - shorter.losses).max() > 1e-2
    # Rotary positions go on beyond the model's context.
    if context == 0 or name in ('llama', 'gemma2'):
        whole, = losses_of(model, [LONG], context=0)
        assert_losses(whole.losses,
                      reference_losses(model, [BOS, *ids_of(LONG)]))


def test_plain_heads_run_without_all_logits():
    """The whole model runs once, on the few tokens of the probe."""
    model = make('llama')
    shapes = calls_of(model)
    losses_of(model, TEXTS)
    assert shapes == [(1, PROBE_TOKENS)]
    # Batches of models that compute all logits are small.
    model = make('gemma2')
    shapes = calls_of(model)
    losses_of(model, 20 * TEXTS)
    assert 400 < max(rows * width for rows, width in shapes) <= 512
    assert max(rows for rows, _ in shapes) > 1


def test_attention_keeps_its_causal_kernel(monkeypatch):
    """Also for padded batches; with a mask it would do twice the work."""
    calls = []
    plain = torch.nn.functional.scaled_dot_product_attention

    def attention(*args, **kwargs):
        calls.append((kwargs['attn_mask'], kwargs['is_causal']))
        return plain(*args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, 'scaled_dot_product_attention',
                        attention)
    losses_of(make('llama'), TEXTS)
    assert set(calls) == {(None, True)}


def test_batches_for_which_a_gpu_has_no_room_are_halved(monkeypatch):
    """Down to single texts; one that has no room is an error."""
    model, plain = make('llama'), module.logits_of
    expected = losses_of(model, TEXTS)
    shapes, most = [], max(len(ids_of(text)) for text in TEXTS)

    def logits_of(model, head, inputs):
        shapes.append(inputs.numel())
        if inputs.numel() > most:
            raise torch.cuda.OutOfMemoryError('CUDA out of memory.')
        return plain(model, head, inputs)

    monkeypatch.setattr(module, 'logits_of', logits_of)
    take_batches_of(10**6, monkeypatch)
    check_same(losses_of(model, TEXTS), expected)
    assert max(shapes) > most
    most = 20
    with pytest.raises(
            InputError, match='room on the GPU for .*CUDA out of memory'):
        losses_of(model.train(), TEXTS)
    assert model.training


def test_logits_beyond_float16_are_fine():
    """The head is run in fp32; a body that overflows is refused."""
    model = make('llama').half()
    with torch.no_grad():
        model.model.norm.weight.fill_(1e4)
        assert model(input_ids=torch.arange(9)[None]).logits.isinf().any()
    for result in losses_of(model, TEXTS):
        assert np.isfinite(result.losses).any()
    with torch.no_grad():
        model.model.norm.weight.fill_(6e4)
    with pytest.raises(InputError, match="'t0'.*load it in bfloat16"):
        losses_of(model, TEXTS[:1])


@pytest.mark.parametrize('context', [None, 10])
@pytest.mark.parametrize('value', [float('nan'), float('inf')])
def test_a_loss_that_is_not_finite_is_refused(context, value):
    """Also in the third window."""
    model = make('llama')
    model.name_or_path = 'some/model'
    ids = tokenizer()(TEXTS[0].text, add_special_tokens=False).input_ids
    position = 17
    assert ids.count(ids[position]) == 1

    def poison_state(body, args, kwargs, output):
        output[0][kwargs['input_ids'] == ids[position]] = value

    model.model.register_forward_hook(poison_state, with_kwargs=True)
    with pytest.raises(
            InputError,
            match="^losses of 'some/model' on text 't0': expected finite .*"
            'load it in bfloat16'):
        losses_of(model, TEXTS[:1], context=context)


@pytest.mark.parametrize('change', [
    lambda losses: np.append(losses, 0),
    lambda losses: losses[:-1],
])
def test_another_number_of_losses_than_of_tokens_is_refused(change):

    class Changing(TransformersEngine):

        def score(self, *args):
            for batch, found in super().score(*args):
                yield batch, change(found)

    with pytest.raises(InputError, match=r'losses of \d+ tokens, found \d+'):
        losses_of(Changing(make('llama')), TEXTS)


def test_a_tokenizer_of_another_model_is_refused():
    """One that misses the text, and one with ids that the model misses."""
    made = tokenizer()
    made.unk_token = 'e'
    made.backend_tokenizer.model = type(
        made.backend_tokenizer.model)({
            'e': 0
        }, [], unk_token='e')
    made.backend_tokenizer.post_processor = processors.ByteLevel()
    with pytest.raises(InputError, match='at most 1% unknown tokens'):
        losses_of(make('llama'), TEXTS, made)
    most = max(max(ids_of(text)) for text in TEXTS)
    small = make('llama', vocab_size=most)
    with pytest.raises(InputError, match=f'ids below {most}, .* id {most}'):
        losses_of(small, TEXTS, tokenizer(bos='a'))


def test_offloaded_weights(tmp_path):
    """Of the head alone; those of the embeddings are in test_loading."""
    accelerate = pytest.importorskip('accelerate')
    model = make('llama', tie_word_embeddings=False)
    expected = losses_of(model, TEXTS)
    accelerate.dispatch_model(
        model,
        dict(model='cpu', lm_head='disk'),
        main_device='cpu',
        offload_dir=str(tmp_path))
    assert any(weight.is_meta for weight in model.parameters())
    check_same(losses_of(model, TEXTS), expected)
