"""Loading causal LMs and scoring LMs, whose code runs only where allowed."""
import pytest
import torch

from csv_plugin.core.conventions import InputError
from csv_plugin.lm import loading
from csv_plugin.lm.loading import (load_causal_lm, load_scoring_lm,
                                   load_tokenizer)
from tests.lm import code_folders
from tests.lm.models import make, tokenizer

#: Where transformers copies the code of models before it imports it.
CACHE = 'transformers.dynamic_module_utils.HF_MODULES_CACHE'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of a model and its tokenizer, in a folder of another name."""
    monkeypatch.setattr(CACHE, str(tmp_path / 'modules'))
    folder = tmp_path / tmp_path.name
    make('llama').save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize('apart', [False, True])
def test_a_scoring_lm_is_loaded_from_its_folder(folder, tmp_path, apart):
    """With its tokenizer, or with one that lies elsewhere."""
    make('llama').half().save_pretrained(folder)
    tokenizer(eos='a').save_pretrained(tmp_path / 'tokenizer')
    model, loaded = load_scoring_lm(folder,
                                    tmp_path / 'tokenizer' if apart else None)
    assert model.dtype == (
        torch.bfloat16 if torch.cuda.is_available() else torch.float32)
    assert loaded('a dog')['input_ids'] == tokenizer()('a dog')['input_ids']
    assert (loaded.eos_token == 'a') == apart


@pytest.mark.parametrize('quota, given, threads', [
    ('150000 100000', False, 2),
    ('150000 100000', True, 8),
    ('max 100000', False, 8),
    ('1600000 100000', False, 8)
])  # yapf: disable
def test_threads_keep_to_the_quota(folder, tmp_path, monkeypatch, quota, given,
                                   threads):
    (tmp_path / 'cpu.max').write_text(f'{quota}\n')
    monkeypatch.setattr(loading, '_QUOTA', tmp_path / 'cpu.max')
    monkeypatch.delenv('OMP_NUM_THREADS', raising=False)
    if given:
        monkeypatch.setenv('OMP_NUM_THREADS', '8')
    count = [8]
    monkeypatch.setattr(torch, 'get_num_threads', lambda: count[0])
    monkeypatch.setattr(torch, 'set_num_threads', lambda n: count.append(n))
    load_causal_lm(folder)
    assert count[-1] == threads


@pytest.mark.parametrize('load', [load_causal_lm, load_tokenizer])
def test_a_file_is_no_model(tmp_path, load):
    (tmp_path / 'm.gguf').touch()
    with pytest.raises(InputError, match='found a file. .* GGUF file'):
        load(tmp_path / 'm.gguf')


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name, content, words', [
    ('config.json', '{"model_type": []}', 'a causal LM and its tokenizer'),
    ('tokenizer.json', '{}', 'a causal LM and its tokenizer'),
    ('config.json', dict(num_hidden_layers=3),
     '9 missing, such as model.layers.2.input_layernorm'),
    # Only a pass shows this one.
    ('config.json', dict(rms_norm_eps='1e-5'), 'TypeError: '),
])  # yapf: disable
def test_a_folder_with_wrong_files_is_one_line(folder, name, content, words):
    if isinstance(content, dict):
        code_folders.edit(folder / name, **content)
    else:
        (folder / name).write_text(content)
    with pytest.raises(InputError, match=words) as error:
        load_scoring_lm(folder)
    assert str(folder) in str(error.value) and '\n' not in str(error.value)


def test_embeddings_that_are_offloaded(folder, tmp_path):
    pytest.importorskip('accelerate')
    on_cpu = 'model.layers', 'model.norm', 'model.rotary_emb', 'lm_head'
    places = {'model.embed_tokens': 'disk', **dict.fromkeys(on_cpu, 'cpu')}
    model = load_causal_lm(
        folder,
        dtype='bfloat16',
        device_map=places,
        offload_folder=tmp_path / 'offloaded')
    assert model.get_input_embeddings().weight.is_meta
    assert model.dtype == torch.bfloat16


def test_a_cap_of_attention_logits_is_kept(tmp_path):
    """The default attention of transformers 4 leaves that of Gemma 2 out."""
    tokens = torch.arange(20)[None]
    logits = []
    for cap in (.1, None):
        make('gemma2', attn_logit_softcapping=cap).save_pretrained(tmp_path)
        model = load_causal_lm(tmp_path)
        with torch.no_grad():
            logits.append(model(tokens.to(model.device)).logits)
    assert not torch.allclose(*logits, atol=.1)


@pytest.mark.parametrize('way', code_folders.WAYS)
def test_code_is_refused_in_one_line(folder, way):
    trace = code_folders.add_code(folder, code_folders.WAYS[way])
    with pytest.raises(InputError, match='--trust-remote-code') as error:
        load_scoring_lm(folder)
    assert 'code of its own' in str(error.value)
    assert '\n' not in str(error.value)
    assert not trace.exists()


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('way', code_folders.WAYS)
def test_code_that_the_user_allows_runs(folder, way):
    trace = code_folders.add_code(folder, code_folders.WAYS[way])
    load_scoring_lm(folder, trust_remote_code=True)
    assert trace.exists()


@pytest.mark.parametrize('way', ['model', 'generation'])
def test_a_tokenizer_beside_code_of_a_model(folder, way):
    """The model may run elsewhere, and its tokenizer needs none of it."""
    trace = code_folders.add_code(folder, code_folders.WAYS[way])
    load_tokenizer(folder)
    assert not trace.exists()


def test_code_that_is_not_needed_is_left_alone(folder):
    trace = code_folders.add_code(folder,
                                  code_folders.own_model_of_a_known_type)
    model, _ = load_scoring_lm(folder)
    assert type(model).__name__ == 'LlamaForCausalLM'
    assert not trace.exists()


def test_a_kernel_of_the_hub_is_refused(folder):
    code_folders.edit(
        folder / 'config.json', _attn_implementation='someone/kernel')
    with pytest.raises(InputError, match="kernel 'someone/kernel'"):
        load_causal_lm(folder)


@pytest.mark.parametrize('name', ['no/model', './no/folder/here'])
def test_a_model_that_cannot_be_reached(name, offline_hub):
    for load in (load_tokenizer, load_causal_lm):
        with pytest.raises(
                InputError, match='no such folder, and .*Name an exist'):
            load(name)
