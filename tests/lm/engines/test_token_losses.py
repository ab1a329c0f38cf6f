"""Token losses against a float64 pass over each text alone, all logits."""
import numpy as np
import pytest
import torch
from tokenizers import processors

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text
from csv_plugin.lm.engines import transformers_engine as module
from csv_plugin.lm.engines.token_losses import token_losses
from csv_plugin.lm.engines.transformers_engine import TransformersEngine
from tests.lm.models import CONTEXT, MODELS, make, reference_losses, tokenizer
from tests.lm.tokens.tokenizers import CORPUS, SPECIAL

BOS = 450
SHORT = [text for text in CORPUS if len(text.encode()) < CONTEXT]
TEXTS = [Text(f't{i}', text) for i, text in enumerate(SHORT)]
LONG = Text('long', ' '.join(2 * CORPUS))


def losses_of(model, texts, made=None, max_tokens=None, **settings):
    if max_tokens:
        model = TransformersEngine(model, max_tokens)
    results = token_losses(model, made or tokenizer(), texts, **settings)
    assert ids_of(results) == ids_of(texts)
    return results


def ids_of(texts):
    return [text.text_id for text in texts]


def check_same(results, expected, tolerance=1e-5):
    assert ids_of(results) == ids_of(expected)
    for result, reference in zip(results, expected):
        assert result.token_ids.tolist() == reference.token_ids.tolist()
        np.testing.assert_allclose(
            result.losses, reference.losses, rtol=0, atol=tolerance)


@pytest.mark.parametrize('name', MODELS)
def test_losses_are_those_of_an_unbatched_pass(name):
    model = make(name)
    for text, result in zip(TEXTS, losses_of(model, TEXTS)):
        ids = tokenizer()(text.text, add_special_tokens=False).input_ids
        assert result.token_ids.tolist() == ids
        expected = reference_losses(model, [BOS, *ids])
        np.testing.assert_allclose(result.losses, expected, rtol=0, atol=1e-5)
        assert expected.std() > .3
        assert result.sha256 == text.sha256
        assert result.n_chars == len(text.text) and result.spans.tiles
        assert result.entropy is None and result.rank is None


@pytest.mark.parametrize('name', MODELS)
def test_neighbours_do_not_matter(name):
    """Alone, in any order, in batches of any size."""
    model = make(name)
    together = losses_of(model, TEXTS)
    backwards = losses_of(model, TEXTS[::-1], max_tokens=10**6)
    check_same(backwards[::-1], together)
    for max_tokens in (1, 90, 200):
        check_same(losses_of(model, TEXTS, max_tokens=max_tokens), together)
    for text, expected in zip(TEXTS[::4], together[::4]):
        check_same(losses_of(model, [text]), [expected])


def settings_of(made):
    return (made.padding_side, made.truncation_side, made.model_max_length,
            made.special_tokens_map, made.get_vocab())


@pytest.mark.parametrize('pad', [SPECIAL, 'q', None])
@pytest.mark.parametrize('padding_side', ['left', 'right'])
@pytest.mark.parametrize('truncation_side', ['left', 'right'])
def test_settings_of_the_tokenizer_do_not_matter(pad, padding_side,
                                                 truncation_side):
    model = make('gpt2')
    made = tokenizer(pad=pad)
    made.padding_side, made.truncation_side = padding_side, truncation_side
    made.model_max_length = 5
    made.backend_tokenizer.enable_truncation(7, direction=truncation_side)
    made.backend_tokenizer.enable_padding(length=90, direction=padding_side)
    before = settings_of(made)
    check_same(losses_of(model, TEXTS, made), losses_of(model, TEXTS))
    assert settings_of(made) == before


@pytest.mark.parametrize('training', [True, False])
@pytest.mark.parametrize('name', ['gpt2', 'opt'])
def test_dropout_is_off_and_the_model_stays_as_it_was(name, training):
    model = make(name)
    expected = losses_of(model, TEXTS[:3])
    model.train(training)
    frozen = next(model.parameters()).requires_grad_(False)
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    assert [result.losses.tolist() for result in losses_of(model, TEXTS[:3])
            ] == [reference.losses.tolist() for reference in expected]
    assert {layer.training for layer in model.modules()} == {training}
    assert not frozen.requires_grad
    assert all(p.requires_grad for p in model.parameters() if p is not frozen)
    assert all(p.grad is None for p in model.parameters())
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
    for result in losses_of(model, TEXTS, made, entropy=True, rank=True):
        expected = reference_losses(model, lead + result.token_ids.tolist())
        unscored = 1 - len(lead)
        np.testing.assert_allclose(
            result.losses[unscored:], expected, rtol=0, atol=1e-5)
        for values in (result.losses, result.entropy):
            assert np.isnan(values[:unscored]).all()
        assert (result.rank[:unscored] == -1).all()
        assert result.n_scored == len(result.losses) - unscored


def test_no_added_special_token_is_a_target():
    """Neither the two that the tokenizer adds by itself nor the prefix."""
    made = tokenizer()
    text = TEXTS[0]
    assert made(text.text).input_ids[::len(made(text.text).input_ids) -
                                     1] == [BOS, BOS]
    result, = losses_of(make('llama'), [text], made)
    assert BOS not in result.token_ids
    assert len(result.losses) == len(made(text.text).input_ids) - 2


@pytest.mark.parametrize('bos', [SPECIAL, None])
def test_texts_of_no_and_of_one_token(bos):
    model, made = make('llama'), tokenizer(bos=bos, eos=bos)
    texts = [Text('empty', ''), Text('letter', 'e'), *TEXTS[:2]]
    empty, letter, *longer = losses_of(model, texts, made, entropy=True)
    assert len(empty.losses) == len(empty.entropy) == 0
    assert empty.n_chars == empty.n_bytes == 0
    if bos is None:
        assert np.isnan(letter.losses).tolist() == [True]
    else:
        expected = reference_losses(model, [BOS, *letter.token_ids])
        np.testing.assert_allclose(letter.losses, expected, rtol=0, atol=1e-5)
    check_same(longer, losses_of(model, TEXTS[:2], made))
    for few in ([], texts[:1], texts[1:2], texts[1::-1]):
        check_same(
            losses_of(model, few, made),
            [dict(empty=empty, letter=letter)[text.text_id] for text in few])


def test_special_tokens_inside_a_text_are_scored():
    """Also a token that is BOS, EOS and pad at once."""
    model = make('llama')
    texts = [
        Text('inside', f'the {SPECIAL} dog{SPECIAL}{SPECIAL}'),
        Text('only', SPECIAL), *TEXTS
    ]
    for result in losses_of(model, texts)[:2]:
        assert BOS in result.token_ids
        expected = reference_losses(model, [BOS, *result.token_ids])
        np.testing.assert_allclose(result.losses, expected, rtol=0, atol=1e-5)
        assert result.spans.tiles


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


@pytest.mark.parametrize('bos', [SPECIAL, None])
@pytest.mark.parametrize('name, context', [('gpt2', 16), ('llama', 21),
                                           ('gemma2', 40), ('mamba', 16)])
def test_windows_of_long_texts(name, context, bos):
    model = make(name)
    made = tokenizer(bos=bos, eos=bos)
    texts = [Text('long', ' '.join(CORPUS[:2])), TEXTS[1], TEXTS[4]]
    prefix = [] if bos is None else [BOS]
    results = losses_of(model, texts, made, context=context)
    assert len(results[0].losses) > 1.3 * context
    for result in results:
        expected = window_by_window(model, result.token_ids.tolist(), prefix,
                                    context)
        np.testing.assert_allclose(result.losses, expected, rtol=0, atol=1e-5)


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
    if context == 0:
        expected = reference_losses(model, [BOS, *result.token_ids])
        np.testing.assert_allclose(result.losses, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize('name', ['llama', 'gemma2'])
def test_no_context_is_no_limit(name):
    """Rotary positions, which go on beyond the model's context."""
    model = make(name)
    result, = losses_of(model, [LONG], context=0)
    expected = reference_losses(model, [BOS, *result.token_ids])
    np.testing.assert_allclose(result.losses, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize('name', ['llama', 'gemma2'])
def test_entropy_and_rank(name):
    model = make(name)
    results = losses_of(model, TEXTS, entropy=True, rank=True)
    check_same(results, losses_of(model, TEXTS))
    for result in results:
        ids = torch.tensor([[BOS, *result.token_ids]])
        with torch.no_grad():
            logits = model(input_ids=ids).logits[0, :-1].double()
        log_p = logits.log_softmax(-1)
        entropy = -(log_p.exp() * log_p).sum(-1)
        np.testing.assert_allclose(result.entropy, entropy, rtol=0, atol=1e-5)
        own = logits.gather(1, ids[0, 1:, None])
        low, high = ((logits > own + step).sum(-1) for step in (1e-5, -1e-5))
        assert (low.numpy() <= result.rank).all()
        assert (result.rank <= high.numpy() - 1).all()


def test_logits_in_blocks_and_all_at_once_agree(monkeypatch):
    model = make('llama')
    in_blocks = losses_of(model, TEXTS, entropy=True, rank=True)
    monkeypatch.setattr(module, 'plain_head', lambda *_: None)
    at_once = losses_of(model, TEXTS, entropy=True, rank=True)
    check_same(at_once, in_blocks)
    for result, reference in zip(at_once, in_blocks):
        np.testing.assert_allclose(
            result.entropy, reference.entropy, rtol=0, atol=1e-5)
        assert result.rank.tolist() == reference.rank.tolist()


def test_plain_heads_run_without_all_logits():
    """The whole model runs once, on the few tokens of the probe."""
    model = make('llama')
    lengths = []
    plain = model.forward

    def forward(input_ids, **kwargs):
        lengths.append(input_ids.shape)
        return plain(input_ids=input_ids, **kwargs)

    model.forward = forward
    losses_of(model, TEXTS)
    assert lengths == [(1, 8)]


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


def test_batches_of_models_that_compute_all_logits_are_small():
    model = make('gemma2')
    shapes = []
    plain = model.forward

    def forward(input_ids, **kwargs):
        shapes.append(input_ids.shape)
        return plain(input_ids=input_ids, **kwargs)

    model.forward = forward
    losses_of(model, 5 * TEXTS)
    assert max(rows * width for rows, width in shapes) <= 512
    assert max(rows for rows, _ in shapes) > 1


def short_of_memory(monkeypatch, most_tokens):
    """Let batches of more tokens end as on a GPU that is full."""
    shapes = []
    plain = module.logits_of

    def logits_of(model, head, inputs):
        shapes.append(tuple(inputs.shape))
        if inputs.numel() > most_tokens:
            raise torch.cuda.OutOfMemoryError('CUDA out of memory.')
        return plain(model, head, inputs)

    monkeypatch.setattr(module, 'logits_of', logits_of)
    return shapes


@pytest.mark.parametrize('name', ['llama', 'gemma2'])
def test_batches_for_which_a_gpu_has_no_room_are_halved(monkeypatch, name):
    model = make(name)
    expected = losses_of(model, TEXTS, entropy=True)
    shapes = short_of_memory(monkeypatch, CONTEXT + 10)
    halved = losses_of(model, TEXTS, entropy=True)
    check_same(halved, expected)
    assert any(rows * width > CONTEXT + 10 for rows, width in shapes)


def test_one_text_for_which_a_gpu_has_no_room_is_told(monkeypatch):
    model = make('llama')
    model.train()
    short_of_memory(monkeypatch, 20)
    with pytest.raises(InputError) as error:
        losses_of(model, TEXTS)
    assert 'room on the GPU for' in str(error.value)
    assert 'CUDA out of memory' in str(error.value)
    assert model.training


# The body in half precision rounds differently from fp32 in every layer of
# these models, whose weights are far larger than trained ones.
@pytest.mark.parametrize('dtype, tolerance', [(torch.bfloat16, .15),
                                              (torch.float16, .02)])
@pytest.mark.parametrize('name', MODELS)
def test_half_precision_models_are_close_to_fp32(name, dtype, tolerance):
    settings = {'init_std': .1} if name == 'opt' else {'initializer_range': .1}
    exact = losses_of(make(name, **settings), TEXTS)
    half = losses_of(make(name, **settings).to(dtype), TEXTS)
    error = np.concatenate([
        result.losses - reference.losses
        for result, reference in zip(half, exact)
    ])
    assert 0 < abs(error).max() < tolerance
    assert abs(error.mean()) < tolerance / 10


def poison(model, value):
    with torch.no_grad():
        model.get_output_embeddings().weight[300] = value


@pytest.mark.parametrize('name', ['llama', 'gemma2'])
@pytest.mark.parametrize('value', [float('nan'), float('inf')])
def test_losses_that_are_not_finite_are_refused(name, value):
    model = make(name)
    poison(model, value)
    model.name_or_path = 'some/model'
    with pytest.raises(
            InputError,
            match=r"^losses of 'some/model' on text 't3': expected finite "
            r'losses, found (nan|inf|-inf) at token \d+ \(number of such '
            r'tokens: \d+\)\. .*float16.*bfloat16 or float32\.$'):
        losses_of(model, TEXTS[3:4])


@pytest.mark.parametrize('context', [None, 10])
def test_the_token_that_is_not_finite_is_named(context):
    """A token of the third window, counted from 0 in its text."""
    model = make('llama')
    ids = tokenizer()(TEXTS[0].text, add_special_tokens=False).input_ids
    position = 17
    assert ids.count(ids[position]) == 1

    def poison_state(body, args, kwargs, output):
        output[0][kwargs['input_ids'] == ids[position]] = float('nan')

    model.model.register_forward_hook(poison_state, with_kwargs=True)
    with pytest.raises(
            InputError,
            match=rf"'t0'.* nan at token {position + 1} "
            r'\(number of such tokens: 1\)'):
        losses_of(model, TEXTS[:1], context=context)


def test_overflow_of_float16_is_refused():
    model = make('llama').half()
    with torch.no_grad():
        model.model.norm.weight.fill_(6e4)
    with pytest.raises(InputError, match="'t0'.*load it in bfloat16"):
        losses_of(model, TEXTS[:1])


def test_logits_beyond_float16_are_fine():
    """The head is run in fp32."""
    model = make('llama').half()
    with torch.no_grad():
        model.model.norm.weight.fill_(1e4)
        assert model(input_ids=torch.arange(9)[None]).logits.isinf().any()
    assert all(result.n_scored for result in losses_of(model, TEXTS))


def test_progress_sees_the_batches():
    seen = []

    def progress(batches):
        seen.append(len(batches))
        return iter(batches)

    losses_of(make('llama'), TEXTS, max_tokens=1, progress=progress)
    assert seen == [len(TEXTS)]


def test_a_tokenizer_whose_vocabulary_misses_the_text_is_refused():
    made = tokenizer()
    made.unk_token = 'e'
    made.backend_tokenizer.model = type(
        made.backend_tokenizer.model)({
            'e': 0
        }, [], unk_token='e')
    made.backend_tokenizer.post_processor = processors.ByteLevel()
    with pytest.raises(InputError, match='at most 1% unknown tokens'):
        losses_of(make('llama'), TEXTS, made)


@pytest.fixture
def accelerate():
    return pytest.importorskip('accelerate')


def test_device_map(accelerate, tmp_path):
    model = make('llama')
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path, device_map='auto')
    # A GPU adds up in another order.
    check_same(losses_of(loaded, TEXTS), losses_of(model, TEXTS), 1e-4)


def offload_to_cpu(accelerate, model, folder):
    accelerate.cpu_offload(model, execution_device=torch.device('cpu'))


def offload_to_disk(accelerate, model, folder):
    accelerate.disk_offload(
        model, folder, execution_device=torch.device('cpu'))


def offload_the_head(accelerate, model, folder):
    accelerate.dispatch_model(
        model, {
            'model': 'cpu',
            'lm_head': 'disk'
        },
        main_device='cpu',
        offload_dir=folder)


@pytest.mark.parametrize('name', ['llama', 'gemma2'])
@pytest.mark.parametrize('offload',
                         [offload_to_cpu, offload_to_disk, offload_the_head])
def test_offloaded_weights(accelerate, name, offload, tmp_path):
    model = make(name, tie_word_embeddings=False)
    expected = losses_of(model, TEXTS)
    offload(accelerate, model, str(tmp_path))
    assert any(weight.is_meta for weight in model.parameters())
    check_same(losses_of(model, TEXTS), expected)
