"""A config names the engine of a model that gives no losses itself."""
from pathlib import Path

import numpy as np
import pytest
from mmengine.config import Config
from opencompass.models import VLLM, OpenAISDK
from opencompass.registry import MODELS
from opencompass.utils import build_model_from_cfg
from transformers import AutoTokenizer

from csv_plugin.cli.copy_configs import RUNS
from csv_plugin.core.conventions import InputError
from csv_plugin.extras import completions
from csv_plugin.extras.completions import CompletionsEngine
from csv_plugin.lm.dumping import dump_losses
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from csv_plugin.oc.models import TokenLossModel, engine_of, get_token_loss
from csv_plugin.oc.partitioners import check_entries
from csv_plugin.oc.run_checks import check_run
from tests.extras.servers import Server, running
from tests.lm import code_folders
from tests.lm.models import make
from tests.oc import tiny

PART = tiny.TEXTS.texts[:5]
#: Nothing listens there.
NOWHERE = 'http://127.0.0.1:9'
PATH = 'csv_plugin.extras.completions.CompletionsEngine'


def entry(folder, url=NOWHERE, **engine):
    """Of a model behind an API, with an engine."""
    return dict(
        type=TokenLossModel,
        abbr='api',
        llm=dict(type=OpenAISDK),
        path='tiny',
        openai_api_base=f'{url}/v1/',
        key='none',
        tokenizer_path=str(folder),
        engine=dict(
            type=CompletionsEngine,
            url=url,
            model='tiny',
            tokenizer=str(folder),
            **engine))


@pytest.mark.slow
def test_losses_come_from_the_engine(model_folder):
    with running(Server()) as server:
        config = entry(model_folder, server.url)
        # Copies of a config contain classes as texts.
        config['engine']['type'] = PATH
        model = build_model_from_cfg(config)
        assert not server.paths
        dumps = [get_token_loss(model, tiny.TEXTS, PART) for _ in range(2)]
        # One engine for all parts of the texts, tried once.
        assert server.paths.count('/v1/models') == 1
    assert engine_of(model) is model.loss_engine
    assert dumps[0].info == dumps[1].info
    assert dumps[0].info.engine == 'vllm server'
    expected = dump_losses(
        make('llama'), AutoTokenizer.from_pretrained(model_folder), tiny.TEXTS,
        PART)
    for ours, theirs in zip(dumps[0].texts, expected.texts):
        np.testing.assert_allclose(ours.losses, theirs.losses, atol=2e-5)


def test_the_engine_goes_before_losses_of_the_model_itself(
        model_folder, monkeypatch):
    monkeypatch.setattr(completions, 'RETRIES', 0)

    class Scorer:

        def __init__(self, path):
            pass

        def get_token_loss(self, texts, part=None, **settings):
            return 'its own'

    llm = dict(type=Scorer)
    assert TokenLossModel(
        llm, path='m').get_token_loss(tiny.TEXTS) == 'its own'
    engine = entry(model_folder)['engine']
    with pytest.raises(InputError, match='Start the server'):
        TokenLossModel(llm, engine, path='m').get_token_loss(tiny.TEXTS)


@pytest.mark.parametrize('change, words', [
    (dict(type=OpenAISDK), 'expected dict.*OpenAISDK.*llm=dict'),
    (dict(type=VLLMEngine), 'expected dict.*VLLMEngine.*needs none'),
    (dict(tokenizer=None), 'tokenizer=FOLDER, .* found'),
    (dict(key='secret'), "arguments of CompletionsEngine.*'key'"),
    (None, 'expected dict'),
])
def test_mistakes_are_found_before_any_model_is_loaded(change, words,
                                                       model_folder):
    wrong = entry(model_folder)
    wrong['engine'] = wrong['engine'] | change if change else 'http://a'
    with pytest.raises(InputError, match='engine of api: .*' + words):
        check_entries([wrong])
    wrong['llm'] = dict(type='no class that could be loaded')
    with pytest.raises(InputError, match="engine of model 'tiny': .*" + words):
        build_model_from_cfg(wrong)


def test_code_of_a_tokenizer_does_not_run(model_folder, tmp_path):
    folder = tiny.save_model(tmp_path / 'own')
    trace = code_folders.add_code(folder, code_folders.WAYS['tokenizer'])
    config = entry(model_folder)
    config['engine']['tokenizer'] = str(folder)
    model = build_model_from_cfg(config)
    with pytest.raises(InputError, match='found code of its own.*Name a '
                       'tokenizer without'):  # yapf: disable
        get_token_loss(model, tiny.TEXTS)
    assert not trace.exists()


def test_the_shipped_config_is_sound():
    Path('outputs/texts').mkdir(parents=True)
    tiny.save_texts(Path('outputs/texts/texts.jsonl'))
    Config.fromfile(
        str(RUNS / 'eval_csv_engines.py'),
        format_python_code=False).dump('dump.py')
    config = Config.fromfile('dump.py', format_python_code=False)
    in_vllm, served = config.models
    kinds = (in_vllm.llm.type, served.llm.type, served.type,
             served.engine.type)
    assert [MODELS.get(kind) for kind in kinds
            ] == [VLLM, OpenAISDK, TokenLossModel, CompletionsEngine]
    [warning] = check_run(config)
    assert 'there is no file' in warning
    served.engine.pop('tokenizer')
    with pytest.raises(ValueError, match='server: .*tokenizer=FOLDER'):
        check_entries(config.models)
