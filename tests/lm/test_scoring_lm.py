"""The scoring LM: how it is loaded."""
import json

import pytest
import torch

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.scoring_lm import load_scoring_lm
from tests.lm.models import make, tokenizer


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


def change_config(folder, **values):
    path = folder / 'config.json'
    config = json.loads(path.read_text('utf-8'))
    path.write_text(json.dumps({**config, **values}), 'utf-8')


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name, content, words', [
    (None, None, 'a causal LM and its tokenizer'),
    ('config.json', '{"model_type": []}', 'a causal LM and its tokenizer'),
    ('tokenizer.json', '{}', 'a causal LM and its tokenizer'),
    ('config.json', dict(num_hidden_layers=3),
     'none for 9, such as model.layers.2.input_layernorm'),
    # Only a pass shows this one.
    ('config.json', dict(rms_norm_eps='1e-5'), 'TypeError: '),
])  # yapf: disable
def test_a_folder_with_wrong_files_is_one_line(tmp_path, name, content, words):
    if name:
        make('llama').save_pretrained(tmp_path)
        tokenizer().save_pretrained(tmp_path)
    if isinstance(content, dict):
        change_config(tmp_path, **content)
    elif content:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=words) as error:
        load_scoring_lm(tmp_path)
    assert str(tmp_path) in str(error.value) and '\n' not in str(error.value)
