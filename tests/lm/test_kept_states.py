"""Hidden states in a file, computed in parts."""
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm import hidden_states as module
from csv_plugin.lm.hidden_states import (_read_states, _write_states,
                                         hidden_states, kept_states)
from tests.lm.models import make, tokenizer

#: Lengths up and down, so that neither part is sorted by length.
TEXTS = TextSet(
    tuple(
        Text(f't{i}', f'{i}: ' + 'the dog sat on a mat; ' * (1 + (7 * i) % 4))
        for i in range(7)))
#: Texts of a part in these tests: the parts have 2, 2, 2 and 1.
PART = 2
ALL = [['t0', 't1'], ['t2', 't3'], ['t4', 't5'], ['t6']]
TOKENIZER = tokenizer()


def scoring_lm(seed=0, dtype=torch.float32):
    """A model; all have the same name, as a model in training does."""
    model = make('llama', seed).to(dtype)
    model.name_or_path = 'tiny'
    return model


@pytest.fixture
def calls(monkeypatch):
    parts = []

    def recorded(model, tokenizer, texts):
        parts.append([text.text_id for text in texts])
        return hidden_states(model, tokenizer, texts)

    monkeypatch.setattr(module, 'PART', PART)
    monkeypatch.setattr(module, 'hidden_states', recorded)
    return parts


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'states.safetensors'


def keep(path, model=None, texts=TEXTS, made=TOKENIZER, **kwargs):
    return kept_states(path, model or scoring_lm(), made, texts, **kwargs)


def assert_states(states, model, texts=TEXTS, rtol=1e-4):
    expected = hidden_states(model, TOKENIZER, texts.texts)
    assert states.shape == expected.shape
    error = torch.linalg.norm(states.float() - expected)
    assert error <= rtol * torch.linalg.norm(expected)


@pytest.mark.parametrize('given, kept, rtol', [
    (torch.float32, torch.float32, 1e-4),
    (torch.bfloat16, torch.bfloat16, .05),
    (torch.float16, torch.float32, .05)
])  # yapf: disable
def test_computed_once_and_read_again(path, calls, given, kept, rtol):
    model, seen = scoring_lm(dtype=given), []
    fresh = keep(path, model, progress=lambda x: seen.extend(x) or x)
    assert_states(fresh, model, rtol=rtol)
    assert fresh.dtype == kept
    assert calls == ALL and len(seen) == 4
    again = keep(path, model)
    assert calls == ALL
    assert torch.equal(again, fresh)
    assert torch.equal(load_file(path)['states'], fresh)
    assert list(path.parent.iterdir()) == [path]
    maps = Path('/proc/self/maps')
    if maps.is_file():
        assert str(path) in maps.read_text()


@pytest.mark.parametrize('change', ['weights', 'texts', 'bos', 'context'])
def test_a_file_of_other_states_is_not_used(path, calls, change):
    """Such as those of an earlier checkpoint of the same name."""
    model, texts, made = scoring_lm(), TEXTS, tokenizer()
    if change == 'weights':
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.01)
    elif change == 'texts':
        texts = TextSet(TEXTS.texts[:-1])
    elif change == 'bos':
        made.bos_token = made.convert_ids_to_tokens(5)
    else:
        model.config.max_position_embeddings //= 2
    keep(path, model, texts, made)
    calls.clear()
    assert_states(keep(path), scoring_lm())
    assert calls == ALL
    # The name does not count: the same folder may be named in many ways.
    model = scoring_lm()
    model.name_or_path = 'renamed'
    keep(path, model)
    assert calls == ALL


def test_a_damaged_file_is_made_anew(path):
    """Cut anywhere, or with any bit of its numbers flipped."""
    states = torch.arange(10.).reshape(5, 2)
    _write_states(path, states, 'key')
    content = path.read_bytes()
    assert torch.equal(_read_states(path, 'key'), states)
    assert _read_states(path, 'other') is None
    for size in (0, 7, 100, len(content) - 1):
        path.write_bytes(content[:size])
        assert _read_states(path, 'key') is None
    for bit in range(8 * (len(content) - 40), 8 * len(content), 7):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert _read_states(path, 'key') is None


def test_a_part_of_empty_texts_has_no_states(path, calls):
    empty = [Text(name, '') for name in 'efg']
    texts = TextSet((TEXTS.texts[0], *empty))
    assert_states(keep(path, texts=texts), scoring_lm(), texts)
    assert calls == [['t0', 'e']]
    with pytest.raises(InputError, match='a text with a token, found none'):
        keep(path.with_name('other'), texts=TextSet(tuple(empty)))
