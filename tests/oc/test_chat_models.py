"""The quickstart's config of base and chat models, with tiny ones."""
import json

import numpy as np
import pytest

from csv_plugin.io.dumps import read_dump
from csv_plugin.io.predictors import save_predictor
from tests.docs.blocks import ROOT, blocks
from tests.oc import tiny
from tests.oc.command import opencompass
from tests.runs import TEXTS, train

MODELS = '''
from opencompass.models import (HuggingFaceBaseModel,
                                HuggingFacewithChatTemplate)

base_models = [
    dict(type=HuggingFaceBaseModel, abbr='base', path='tiny', batch_size=2,
         run_cfg=dict(num_gpus=0))
]
chat_models = [
    dict(type=HuggingFacewithChatTemplate, abbr='chat', path='tiny',
         batch_size=2, run_cfg=dict(num_gpus=0))
]
'''


@pytest.fixture
def config():
    """The snippet, with a few tokens of an answer of other models."""
    text, = (block.text for block in blocks(ROOT / 'docs/quickstart.md')
             if 'chat_benchmarks' in block.text)  # yapf: disable
    start = text.index('    from opencompass.configs.models')
    end = text.index('    from csv_plugin')
    return (text[:start] + '    from .tiny_models import base_models, '
            'chat_models\n' + text[end:] + '''
for dataset in [*base_benchmarks, *chat_benchmarks]:
    dataset['infer_cfg']['inferencer']['max_out_len'] = 4
del dataset
''')


@pytest.mark.slow
def test_base_and_chat_models_in_one_leaderboard(model_folder, config,
                                                 tmp_path, monkeypatch):
    (tmp_path / 'tiny').symlink_to(model_folder)
    tiny.save_texts(tmp_path / 'my_texts.jsonl', TEXTS)
    save_predictor(train(['gsm8k']), tmp_path / 'predictor.safetensors')
    (tmp_path / 'mine.py').write_text(config)
    (tmp_path / 'tiny_models.py').write_text(MODELS)
    for split in ('train', 'test'):
        path = tmp_path / f'data/gsm8k/{split}.jsonl'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps(dict(question='1 + 1?', answer='It is 2. #### 2')))
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path))
    opencompass('mine.py', '--debug', '--work-dir', 'out')
    run, = (tmp_path / 'out').iterdir()
    board, = (run / 'summary').glob('leaderboard_*.json')
    rows = {
        row['model']: row
        for row in json.loads(board.read_text('utf-8'))['rows']
    }
    assert list(rows) == ['base', 'chat']
    assert all(row['real'] is not None for row in rows.values())
    # Models with the same weights have the same losses: the template of the
    # chat model is around the questions, and around no text.
    assert rows['base']['predicted'] == rows['chat']['predicted'] > 0
    dumps = [
        read_dump(next(run.glob(f'predictions/{model}/*.safetensors')))
        for model in rows
    ]
    for base, chat in zip(dumps[0].texts, dumps[1].texts):
        np.testing.assert_array_equal(base.losses, chat.losses)
    prompts = [
        json.loads((run / f'predictions/{model}/gsm8k.json').read_text())['0']
        for model in rows
    ]
    assert [isinstance(row['origin_prompt'], str)
            for row in prompts] == [True, False]
