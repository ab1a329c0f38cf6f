"""Code in the folder of a scoring LM runs only where the user says so."""
import pytest

from csv_plugin.core.conventions import InputError
from csv_plugin.lm.own_code import config_without_code
from csv_plugin.lm.scoring_lm import load_scoring_lm
from tests.lm import code_folders
from tests.lm.models import make, tokenizer


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv('HF_MODULES_CACHE', str(tmp_path / 'modules'))
    folder = tmp_path / f'{tmp_path.name}'
    make('llama').save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


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
        load_scoring_lm(folder)


def test_what_cannot_be_read_is_not_judged(folder):
    """The error of loading it says more."""
    code_folders.edit(folder / 'config.json', model_type='no such type')
    assert config_without_code(folder, 'Trust it.') is None
    (folder / 'config.json').unlink()
    assert config_without_code(folder, 'Trust it.') is None


@pytest.mark.parametrize('kind', ['zip', 'legacy', 'bare'])
@pytest.mark.parametrize('trusted', [False, True])
def test_pickled_weights_run_no_code(folder, kind, trusted):
    trace = code_folders.pickled_weights(folder, kind)
    with pytest.raises(InputError, match='a causal LM and its tokenizer'):
        load_scoring_lm(folder, trust_remote_code=trusted)
    assert not trace.exists()
