"""Loading causal LMs: devices, number formats, and what errors advise."""
import logging

import pytest
import torch

pytest.importorskip('transformers')

from csv_plugin.core.conventions import InputError  # noqa: E402
from csv_plugin.lm.loading import load_causal_lm  # noqa: E402
from csv_plugin.lm.loading import load_tokenizer, loading  # noqa: E402
from tests.lm import code_folders  # noqa: E402
from tests.lm.models import make, tokenizer  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    """A model's files."""
    make('llama').save_pretrained(tmp_path / 'model')
    return tmp_path / 'model'


def test_embeddings_that_are_offloaded(folder, tmp_path):
    pytest.importorskip('accelerate')
    on_cpu = 'model.layers', 'model.norm', 'model.rotary_emb', 'lm_head'
    places = {'model.embed_tokens': 'disk', **dict.fromkeys(on_cpu, 'cpu')}
    model = load_causal_lm(
        folder, device_map=places, offload_folder=tmp_path / 'offloaded')
    assert model.get_input_embeddings().weight.is_meta


def test_the_number_format_without_a_warning(folder, caplog):
    # The logger of the library keeps its records to itself.
    logger = logging.getLogger('transformers')
    logger.addHandler(caplog.handler)
    try:
        model = load_causal_lm(folder, dtype='bfloat16')
    finally:
        logger.removeHandler(caplog.handler)
    assert model.dtype == torch.bfloat16
    assert 'deprecated' not in caplog.text


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


@pytest.mark.parametrize('error, remedy', [
    (OSError('none/such is not a folder'), 'Name its folder'),
    (MemoryError(), 'Free memory'),
    (RuntimeError('CUDA out of memory.'), 'Free memory'),
    (ValueError('no GPU'), 'Check its files, and the settings'),
])
def test_remedies(folder, error, remedy):
    with pytest.raises(InputError, match=remedy), \
            loading('model', folder, False):
        raise error


def test_a_setting_that_a_model_does_not_know(folder):
    with pytest.raises(InputError, match='Leave out the setting'):
        load_causal_lm(folder, colour='red')


@pytest.mark.parametrize('way', ['model', 'generation'])
def test_a_tokenizer_beside_code_of_a_model(folder, way):
    """The model may run elsewhere, and its tokenizer needs none of it."""
    tokenizer().save_pretrained(folder)
    trace = code_folders.add_code(folder, code_folders.WAYS[way])
    load_tokenizer(folder)
    assert not trace.exists()


def test_a_tokenizer_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="tokenizer '.*none': expected"):
        load_tokenizer(tmp_path / 'none')
