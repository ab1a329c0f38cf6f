"""Plain heads, prefix tokens, batches in halves, evaluation mode."""
import types

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from csv_plugin.lm.engines.causal_lm import (body_states, evaluating,
                                             plain_head, prefix_token)
from tests.lm.models import MODELS, PLAIN, WITH_TAIL, make, tokenizer

INPUTS = torch.arange(3, 23)[None]
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def head_of(model, inputs=INPUTS):
    with evaluating(model):
        return plain_head(model, inputs)


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('name', MODELS)
def test_plain_heads_are_recognised(name, dtype):
    """Those of logits that are capped or scaled are none."""
    model = make(name).to(dtype)
    expected = model.get_output_embeddings() if name in PLAIN else None
    assert head_of(model) is expected
    if name not in WITH_TAIL:
        assert head_of(model, INPUTS[:, :1]) is expected


@pytest.mark.parametrize('setting',
                         ['final_logit_softcapping', 'logits_soft_cap'])
def test_a_cap_is_seen_where_logits_are_tiny(setting):
    """Where tanh changes nothing, so that no probe can tell."""
    model = make('llama', initializer_range=1e-4)
    assert head_of(model) is not None
    setattr(model.config, setting, 30.)
    assert head_of(model) is None


@pytest.mark.parametrize('dtype, settings, is_plain', [
    (torch.float32, dict(logit_scale=1.00001), False),
    (torch.float16, dict(logit_scale=1.02), False),
    (torch.bfloat16, dict(logit_scale=1.1), False),
    (torch.float32, dict(logit_scale=.25, initializer_range=1e-4), False),
    (torch.float32, dict(logit_scale=1., initializer_range=1e-4), True),
])
def test_a_scale_is_seen_unless_rounding_hides_it(dtype, settings, is_plain):
    head = head_of(make('cohere', **settings).to(dtype))
    assert (head is not None) == is_plain


def with_logits(model, change):
    plain = model.forward

    def forward(*args, **kwargs):
        output = plain(*args, **kwargs)
        output.logits = change(output.logits)
        return output

    model.forward = forward
    return model


@pytest.mark.parametrize('inside, outside', [(torch.bfloat16, torch.float32),
                                             (torch.float32, torch.bfloat16)])
def test_logits_returned_in_another_type_are_plain(inside, outside):
    """Older releases, and code that comes with models, return fp32."""
    model = make('llama').to(inside)
    assert head_of(with_logits(model, lambda x: x.to(outside))) is not None
    # Without the last ones, and with another last one, alone in its block.
    last = torch.tensor([512])
    for change in (lambda x: x[..., :-12], lambda x: x.index_fill(2, last, 0)):
        model = with_logits(make('llama', vocab_size=513).to(inside), change)
        assert head_of(model) is None


class LinearLike(nn.Linear):
    """A linear layer that does more than its weight says."""

    def forward(self, hidden):
        return 2 * super().forward(hidden)


def quantised(head):
    int8 = nn.Linear(head.in_features, head.out_features, bias=False)
    int8.weight = nn.Parameter(
        (10 * head.weight).to(torch.int8), requires_grad=False)
    int8.forward = types.MethodType(
        lambda self, hidden: hidden @ self.weight.float().T / 10, int8)
    return int8


def like_linear(head):
    return LinearLike(head.in_features, head.out_features, bias=False)


def parametrised(head):
    parametrize.register_parametrization(head, 'weight', nn.Tanh())
    return head


def on_meta(head):
    return head.to('meta')


@pytest.mark.parametrize('change',
                         [quantised, like_linear, parametrised, on_meta])
def test_changed_heads_are_not_plain(change):
    model = make('llama')
    model.lm_head = change(model.lm_head)
    assert head_of(model) is None


def test_a_body_of_another_width_is_not_plain():
    """The head sees a projection of what the body gives."""
    model = make('llama')
    model.lm_head = nn.Linear(8, model.config.vocab_size)
    model.forward = lambda input_ids, **_: types.SimpleNamespace(
        logits=model.lm_head(body_states(model, input_ids)[..., :8]))
    assert head_of(model) is None


@pytest.mark.parametrize('names, token, kind', [
    (dict(bos='a', eos='b'), 'a', 'bos'),
    (dict(bos=None, eos='b'), 'b', 'eos'),
])
def test_prefix_token(names, token, kind):
    made = tokenizer(**names)
    index = made.convert_tokens_to_ids(token)
    assert prefix_token(made) == (index, f'{kind} {index}')
    assert prefix_token(tokenizer(bos=None, eos=None)) == (None, 'none')
    # The id 0 is one.
    made = types.SimpleNamespace(bos_token_id=0, eos_token_id=5)
    assert prefix_token(made) == (0, 'bos 0')


def test_evaluating_leaves_every_module_in_its_mode():
    model = make('gpt2').train()
    frozen = model.transformer.h[0].eval()
    modes = [module.training for module in model.modules()]
    assert len(set(modes)) == 2
    with pytest.raises(KeyError), evaluating(model):
        assert not any(module.training for module in model.modules())
        assert not torch.is_grad_enabled()
        raise KeyError
    assert [module.training for module in model.modules()] == modes
    assert not frozen.training and torch.is_grad_enabled()
