"""Code in the folder of a model runs only where its config says so."""
import pytest
from mmengine.config import Config
from opencompass.models import HuggingFaceCausalLM
from opencompass.utils import build_model_from_cfg

from csv_plugin.configs.models.checkpoints import checkpoint_models
from csv_plugin.core.conventions import InputError
from csv_plugin.oc.models import without_own_code
from tests.lm import code_folders
from tests.oc import tiny

#: Where transformers copies the code of models before it imports it.
CACHE = 'transformers.dynamic_module_utils.HF_MODULES_CACHE'

TRUST = dict(
    model_kwargs=dict(trust_remote_code=True, torch_dtype='torch.float'),
    tokenizer_kwargs=dict(trust_remote_code=True))

pytestmark = pytest.mark.filterwarnings('ignore')


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Of a checkpoint; its name is that of no other test."""
    monkeypatch.setattr(CACHE, str(tmp_path / 'modules'))
    return tiny.save_model(tmp_path / f'runs/{tmp_path.name}/checkpoint-7')


def in_a_config(folder, **settings):
    """The checkpoint as its entry in a config, and its model in a task."""
    [entry] = checkpoint_models(f'{folder.parent}/checkpoint-*', **settings)
    return build_model_from_cfg(Config(dict(models=[entry])).models[0])


def wrapped(folder, **settings):
    entry = tiny.model_config(folder, **{'max_seq_len': 64, **settings})
    return build_model_from_cfg(Config(tiny.wrapped(entry)))


def wrapped_old(folder, **settings):
    entry = tiny.model_config(folder, HuggingFaceCausalLM, **settings)
    return build_model_from_cfg(Config(tiny.wrapped(entry)))


ENTRIES = [in_a_config, wrapped, wrapped_old]


@pytest.mark.parametrize('enter', ENTRIES)
@pytest.mark.parametrize('way', code_folders.WAYS)
def test_code_is_refused(folder, enter, way):
    trace = code_folders.add_code(folder, code_folders.WAYS[way])
    # OpenCompass's own class raises the error of transformers as it is.
    with pytest.raises(ValueError, match='trust_remote_code=True') as error:
        enter(folder)
    if (enter, way) != (in_a_config, 'tokenizer'):
        assert isinstance(error.value, InputError)
        assert '\n' not in str(error.value)
    assert not trace.exists()


@pytest.mark.parametrize('enter', ENTRIES)
@pytest.mark.parametrize('way', code_folders.WAYS)
def test_code_that_the_config_allows_runs(folder, enter, way):
    trace = code_folders.add_code(folder, code_folders.WAYS[way])
    enter(folder, **TRUST)
    assert trace.exists()


@pytest.mark.parametrize('enter', [in_a_config, wrapped])
def test_code_does_not_run_to_look_up_the_context(folder, enter):
    trace = code_folders.add_code(folder,
                                  code_folders.own_model_of_a_known_type)
    with pytest.raises(InputError, match='max_seq_len in its entry'):
        enter(folder, max_seq_len=None)
    assert not trace.exists()
    # With the context in the entry, the model is loaded without the code.
    model = enter(folder, max_seq_len=64)
    assert type(model.model).__name__ == 'LlamaForCausalLM'
    assert not trace.exists()


def test_settings_of_the_entry_are_kept():
    entry = without_own_code(
        dict(
            path='.',
            model_kwargs=dict(torch_dtype='auto'),
            tokenizer_kwargs=dict(use_fast=False)))
    assert entry['model_kwargs'] == dict(
        trust_remote_code=False, torch_dtype='auto')
    assert entry['tokenizer_kwargs'] == dict(
        trust_remote_code=False, use_fast=False)
