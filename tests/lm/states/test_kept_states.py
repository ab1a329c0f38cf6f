"""Hidden states in a file, computed in parts that survive a killed run."""
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.scoring_lm import token_states
from csv_plugin.lm.states import kept_states as module
from csv_plugin.lm.states import state_cache
from csv_plugin.lm.states.hidden_states import hidden_states
from csv_plugin.lm.states.kept_states import identity, kept_states
from csv_plugin.lm.states.state_cache import open_states
from csv_plugin.lm.tokens.tokenization import tokenize_all
from tests.lm.models import make, tokenizer

ROOT = Path(__file__).resolve().parents[3]
#: Lengths up and down, so that neither part is sorted by length.
TEXTS = TextSet(
    tuple(
        Text(f't{i}', f'{i}: ' + 'the dog sat on a mat; ' * (1 + (7 * i) % 4))
        for i in range(7)))
CHANGED_TEXTS = TextSet(
    tuple(Text(t.text_id, t.text.replace('dog', 'cat')) for t in TEXTS))
#: Texts of a part in these tests: the parts have 2, 2, 2 and 1.
PART = 2
TOKENIZER = tokenizer()


def scoring_lm(seed=0, dtype=torch.float32):
    """A model; all have the same name, as a model in training does."""
    model = make('llama', seed).to(dtype)
    model.name_or_path = 'tiny'
    return model


@pytest.fixture
def calls(monkeypatch):
    """Ids of the texts whose states were computed, part by part."""
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


ALL = [['t0', 't1'], ['t2', 't3'], ['t4', 't5'], ['t6']]


def keep(path, model=None, texts=TEXTS, **kwargs):
    return kept_states(path, model or scoring_lm(), TOKENIZER, texts, **kwargs)


def assert_states(states, model, texts=TEXTS, rtol=1e-4):
    expected = token_states(model, TOKENIZER, texts)
    assert states.shape == expected.shape
    error = torch.linalg.norm(states.float() - expected)
    assert error <= rtol * torch.linalg.norm(expected)


def parts_in(folder):
    return sorted(path.name for path in folder.iterdir()
                  if '.part' in path.name)


def test_computed_once_and_read_again(path, calls):
    model, seen = scoring_lm(), []
    fresh = keep(path, model, progress=lambda x: seen.extend(x) or x)
    assert_states(fresh, model)
    assert fresh.dtype == torch.float32
    assert calls == ALL and len(seen) == 4
    content = path.read_bytes()
    again = keep(path, model)
    assert calls == ALL
    assert torch.equal(again, fresh)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_the_size_of_the_parts_does_not_matter(path, monkeypatch):
    one_part = keep(path)
    monkeypatch.setattr(module, 'PART', 3)
    three_parts = keep(path.with_name('parts.safetensors'))
    torch.testing.assert_close(one_part, three_parts, rtol=1e-4, atol=1e-4)


def test_states_of_a_model_in_bfloat16_are_kept_in_bfloat16(path, calls):
    model = scoring_lm(dtype=torch.bfloat16)
    states = keep(path, model)
    assert states.dtype == torch.bfloat16
    assert_states(states, model, rtol=.05)
    assert path.stat().st_size < 2 * states.numel() + 1000
    assert torch.equal(keep(path, model), states)
    assert calls == ALL


def test_states_of_a_model_in_float16_are_kept_in_float32(path, calls):
    states = keep(path, scoring_lm(dtype=torch.float16))
    assert states.dtype == torch.float32


def test_a_file_of_another_model_of_the_same_name_is_not_used(path, calls):
    """Such as an earlier checkpoint in the same folder."""
    keep(path, scoring_lm(1))
    calls.clear()
    model = scoring_lm(0)
    assert_states(keep(path, model), model)
    assert calls == ALL


def test_a_model_with_slightly_changed_weights_is_another_model(path, calls):
    model = scoring_lm()
    keep(path, model)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1 + .01 * torch.randn_like(weight))
    calls.clear()
    assert_states(keep(path, model), model)
    assert calls == ALL


@pytest.mark.parametrize('texts', [CHANGED_TEXTS, TextSet(TEXTS.texts[:-1])])
def test_a_file_of_different_texts_is_not_used(path, calls, texts):
    keep(path, texts=texts)
    calls.clear()
    assert_states(keep(path), scoring_lm())
    assert calls == ALL


def test_the_name_of_a_model_does_not_count(path, calls):
    """The same folder may be named in many ways."""
    model = scoring_lm()
    keep(path, model)
    model.name_or_path = 'renamed'
    calls.clear()
    keep(path, model)
    assert calls == []


@pytest.mark.parametrize('change', ['ids', 'prefix', 'context'])
def test_the_identity_depends_on_tokens_prefix_and_context(change):
    model, changed = scoring_lm(), tokenizer()
    ids = [np.array([1, 2]), np.array([3])]
    before = identity(model, changed, ids)
    if change == 'ids':
        ids = [np.array([1]), np.array([2, 3])]
    elif change == 'prefix':
        changed.bos_token = changed.convert_ids_to_tokens(5)
    else:
        model.config.max_position_embeddings //= 2
    assert identity(model, changed, ids) != before
    assert identity(scoring_lm(), tokenizer(),
                    [np.array([1, 2]), np.array([3])]) == before


@pytest.mark.parametrize('size', [0, 7, 100, -1])
def test_a_truncated_file_is_not_used(path, calls, size):
    expected = keep(path).clone()
    content = path.read_bytes()
    path.write_bytes(content[:size])
    calls.clear()
    assert torch.equal(keep(path), expected)
    assert calls == ALL
    assert path.read_bytes() == content


def test_a_damaged_file_is_not_used(path, calls):
    expected = keep(path).clone()
    content = path.read_bytes()
    path.write_bytes(content[:-5] + b'\0' + content[-4:])
    calls.clear()
    assert torch.equal(keep(path), expected)
    assert calls == ALL
    assert path.read_bytes() == content


@pytest.mark.parametrize('kept, n_hashed', [(False, 5), (True, 1)])
def test_files_are_hashed_once(path, calls, monkeypatch, kept, n_hashed):
    if kept:
        keep(path)
    checked = []
    check = state_cache.check_seal
    monkeypatch.setattr(
        state_cache, 'check_seal',
        lambda *parts: checked.append(parts[0]) or check(*parts))
    keep(path)
    assert len(checked) == len(set(checked)) == n_hashed


def die_midway(path):
    """Run by a child process, which dies while it writes the third part."""
    module.PART = PART
    calls = []

    def deadly(model, tokenizer, texts):
        calls.append(texts)
        for chunk in hidden_states(model, tokenizer, texts):
            yield chunk
            if len(calls) == 3:
                os.kill(os.getpid(), signal.SIGKILL)

    module.hidden_states = deadly
    keep(Path(path))


@pytest.mark.slow
def test_a_killed_run_is_continued(path, calls):
    code = ('from tests.lm.states.test_kept_states import die_midway;'
            f'die_midway({str(path)!r})')
    child = subprocess.run([sys.executable, '-c', code],
                           cwd=ROOT,
                           capture_output=True)
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()
    # Two parts, and a temporary file of the third.
    finished = [
        name for name in parts_in(path.parent) if not name.startswith('.')
    ]
    assert finished == ['states.part0', 'states.part2']
    assert len(list(path.parent.iterdir())) == 3
    assert not path.exists()
    states = keep(path)
    assert calls == ALL[2:]
    assert_states(states, scoring_lm())
    assert list(path.parent.iterdir()) == [path]
    fresh = path.with_name('fresh.safetensors')
    keep(fresh)
    assert path.read_bytes() == fresh.read_bytes()


def test_parts_of_another_model_are_not_used(path, calls, monkeypatch):
    """Nor a truncated part; complete parts of the same model are used."""

    def stopped(files):
        for i, file in enumerate(files):
            if i == 3:
                raise KeyboardInterrupt
            yield file

    with pytest.raises(KeyboardInterrupt):
        keep(path, progress=stopped)
    assert not path.exists()
    first, second, _ = (path.with_suffix(f'.part{i}') for i in (0, 2, 4))
    second.write_bytes(second.read_bytes()[:-1])
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        keep(path, progress=stopped)
    assert calls == ALL[1:2]
    calls.clear()
    model = scoring_lm(1)
    assert_states(keep(path, model), model)
    assert calls == ALL
    assert not parts_in(path.parent)


def test_states_are_mapped_from_the_file(path):
    states = keep(path)
    ids = [tokens.ids for tokens in tokenize_all(TOKENIZER, TEXTS.texts)]
    key = identity(scoring_lm(), TOKENIZER, ids)
    assert torch.equal(states,
                       open_states(path, key, TEXTS.fingerprint, len(states)))
    maps = Path('/proc/self/maps')
    if maps.is_file():
        assert str(path) in maps.read_text()


def test_a_single_text(path, calls):
    texts = TextSet(TEXTS.texts[:1])
    assert_states(keep(path, texts=texts), scoring_lm(), texts)
    assert calls == [['t0']]


def test_empty_texts_have_no_states(path, calls):
    texts = TextSet((Text('empty', ''), *TEXTS.texts))
    assert_states(keep(path, texts=texts), scoring_lm(), texts)
    calls.clear()
    keep(path, texts=texts)
    assert calls == []


def test_a_part_of_empty_texts_has_no_file(path, calls):
    texts = TextSet((*TEXTS.texts[:2], Text('e', ''), Text('f', '')))
    assert_states(keep(path, texts=texts), scoring_lm(), texts)
    assert calls == ALL[:1]
