"""The scoring LM: how it is loaded, its tokens and their states."""
import json

import numpy as np
import pytest
import torch

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.lm.scoring_lm import (load_scoring_lm, target_tokens,
                                      token_states)
from csv_plugin.lm.states.hidden_states import hidden_states
from tests.lm.models import make, tokenizer


def test_states_of_all_tokens_in_order():
    """Shortest text first, though the scoring LM reads the longest first."""
    texts = TextSet((Text('c', 'No answer.'), Text('b', 'Where? In 石桥.'),
                     Text('a', 'How many pears? 7, or so.')))  # yapf: disable
    model = make('llama')
    states = token_states(model, tokenizer(), texts)
    targets = target_tokens(tokenizer(), texts)
    assert states.dtype == torch.float32
    counts = [len(spans) for spans in targets.spans]
    assert len(states) == targets.n_tokens and counts[0] < counts[-1]
    starts = np.append(0, np.cumsum(counts))
    for chunk in hidden_states(model, tokenizer(), texts.texts):
        first = starts[chunk.text] + chunk.first
        np.testing.assert_array_equal(states[first:first + len(chunk.states)],
                                      chunk.states)


@pytest.mark.parametrize('apart', [False, True])
def test_a_scoring_lm_is_loaded_from_its_folder(tmp_path, apart):
    """With its tokenizer, or with one that lies elsewhere."""
    make('llama').half().save_pretrained(tmp_path / 'model')
    folder = tmp_path / ('tokenizer' if apart else 'model')
    tokenizer().save_pretrained(folder)
    model, loaded = load_scoring_lm(tmp_path / 'model',
                                    folder if apart else None)
    assert model.dtype == (
        torch.bfloat16 if torch.cuda.is_available() else torch.float32)
    assert loaded('a dog')['input_ids'] == tokenizer()('a dog')['input_ids']


def test_a_folder_without_a_scoring_lm_is_one_line(tmp_path):
    with pytest.raises(InputError, match='a causal LM and its token') as error:
        load_scoring_lm(tmp_path)
    assert str(tmp_path) in str(error.value)
    assert '\n' not in str(error.value)


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name, content', [
    ('config.json', '[]'),
    ('config.json', '[' * 100_000),
    ('config.json', '{"model_type": []}'),
    ('config.json', '{"model_type": "llama", "hidden_size": "x"}'),
    ('config.json', '{"model_type": "llama", "num_attention_heads": 0}'),
    ('tokenizer.json', '{}'),
    ('tokenizer_config.json', '[]'),
])
def test_a_folder_with_wrong_values_is_one_line(tmp_path, name, content):
    make('llama').save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match='a causal LM and its token') as error:
        load_scoring_lm(tmp_path)
    assert '\n' not in str(error.value)


def change_config(folder, **values):
    path = folder / 'config.json'
    config = json.loads(path.read_text('utf-8'))
    path.write_text(json.dumps({**config, **values}), 'utf-8')


def test_weights_that_are_missing_are_not_drawn_at_random(tmp_path):
    make('llama').save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    layers = make('llama').config.num_hidden_layers
    change_config(tmp_path, num_hidden_layers=layers + 1)
    with pytest.raises(
            InputError,
            match=f'none for 9, such as model.layers.{layers}.input_layernorm'
    ):
        load_scoring_lm(tmp_path)


def test_values_that_only_a_pass_shows_are_one_line(tmp_path):
    make('llama').save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    change_config(tmp_path, rms_norm_eps='1e-5')
    with pytest.raises(InputError, match='TypeError: ') as error:
        load_scoring_lm(tmp_path)
    assert '\n' not in str(error.value)
