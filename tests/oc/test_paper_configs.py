"""Models and benchmarks of the configs of the paper's setting."""
import shutil
from pathlib import Path

import pytest
from mmengine.config import Config
from opencompass.models import (HuggingFaceBaseModel,
                                HuggingFacewithChatTemplate)
from opencompass.openicl.icl_inferencer import PPLInferencer

from csv_plugin.io.paper import paper_accuracies, paper_models
from csv_plugin.io.runs.run_dumps import dataset_abbr
from tests.oc import tiny
from tests.runs import TEXTS

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ('eval_csv_paper', 'eval_csv_paper_losses', 'eval_csv_real')
TEXTS_ABBR = dataset_abbr(TEXTS.fingerprint)


@pytest.fixture(scope='module', autouse=True)
def folder(tmp_path_factory):
    """Where the configs find what the steps before them write."""
    folder = tmp_path_factory.mktemp('paper')
    (folder / 'outputs/texts').mkdir(parents=True)
    tiny.save_texts(folder / 'outputs/texts/texts.jsonl', TEXTS)
    for name in CONFIGS:
        text = (ROOT / f'configs/{name}.py').read_text('utf-8')
        (folder / f'{name}.py').write_text(
            text.replace('own_code = False', 'own_code = True'), 'utf-8')
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope='module')
def paper(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return Config.fromfile('eval_csv_paper.py')


def test_models_are_loaded_as_they_need(paper) -> None:
    for model in paper.models:
        allowed = model['abbr'].startswith('internlm')
        assert model['model_kwargs']['trust_remote_code'] is allowed
        assert model['tokenizer_kwargs']['trust_remote_code'] is allowed
        # With the default attention, its soft cap is left out.
        eager = model['model_kwargs'].get('attn_implementation') == 'eager'
        assert eager is model['abbr'].startswith('gemma-2')
        # Or OpenCompass looks it up, with the model's own code.
        assert model['max_seq_len'] >= 4096


def test_models_are_those_of_table_2_with_scores(paper) -> None:
    models = paper_models()
    abbrs = [model['abbr'] for model in paper.models]
    evaluated = paper_accuracies().models
    assert sorted(abbrs) == sorted(set(models) & set(evaluated))
    for model in paper.models:
        chat = any(word in model['abbr'].lower()
                   for word in ('chat', 'instruct', '-it'))
        assert model['type'] is (HuggingFacewithChatTemplate
                                 if chat else HuggingFaceBaseModel)
        assert model['path'].split('/')[1].lower() == model['abbr'].lower()
        size = models[model['abbr']].params_b
        assert model['run_cfg'] == dict(
            num_gpus=1 if size <= 14 else 2 if size <= 34 else 4)


@pytest.mark.slow
def test_code_of_models_runs_only_where_the_user_says_so(tmp_path) -> None:
    """The configs as they come say at once what to change."""
    for name in CONFIGS:
        shutil.copy(ROOT / f'configs/{name}.py', tmp_path / f'{name}.py')
        with pytest.raises(Exception, match='internlm.*set own_code = True'):
            Config.fromfile(tmp_path / f'{name}.py')


def test_base_and_chat_models_have_their_own_benchmarks(paper) -> None:
    base, chat = paper.model_dataset_combinations
    assert [*base['models'], *chat['models']] == paper.models
    for part, kind in ((base, HuggingFaceBaseModel),
                       (chat, HuggingFacewithChatTemplate)):
        assert {model['type'] for model in part['models']} == {kind}
        assert part['datasets'][-1]['abbr'] == TEXTS_ABBR
        # Perplexities are taken one by one.
        assert {
            inferencer['batch_size']
            for inferencer in (dataset['infer_cfg']['inferencer']
                               for dataset in part['datasets'])
            if inferencer['type'] is PPLInferencer
        } <= {1}
    abbrs = [dataset['abbr'] for dataset in base['datasets']]
    assert len(set(abbrs)) == len(abbrs) == 27 + 1 + 57 + 67 + 52 + 1 + 1
    assert sorted(abbrs) == sorted(dataset['abbr']
                                   for dataset in chat['datasets'])
    assert [dataset['abbr'] for dataset in paper.datasets] == abbrs


def test_losses_are_those_of_all_models_with_accuracies(paper) -> None:
    losses = Config.fromfile('eval_csv_paper_losses.py')
    assert losses.models[:57] == paper.models
    assert {model['abbr']
            for model in losses.models} == {*paper_accuracies().models}
    gemma = {
        model['abbr']: model['model_kwargs']
        for model in losses.models if model['abbr'].startswith('gemma-2')
    }
    assert len(gemma) == 6 and all(kwargs['attn_implementation'] == 'eager'
                                   for kwargs in gemma.values())
    assert losses.datasets == paper.datasets[-1:]
    assert losses.summarizer == paper.summarizer
    assert 'model_dataset_combinations' not in losses
