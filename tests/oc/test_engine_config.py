"""The config of models in engines, as it ships and in a run."""
import gc
import json
from pathlib import Path

import numpy as np
import pytest
from mmengine.config import Config
from opencompass.models import VLLM, OpenAISDK
from opencompass.registry import MODELS
from transformers import AutoModelForCausalLM

from csv_plugin.demo import shipped
from csv_plugin.extras.engines.completions import CompletionsEngine
from csv_plugin.io.dumps import read_dump
from csv_plugin.io.predictors import load_predictor
from csv_plugin.oc.models import TokenLossModel
from csv_plugin.oc.run_checks import check_run
from tests.extras.engines.servers import Server, running
from tests.oc import tiny
from tests.oc.command import opencompass

ROOT = Path(__file__).resolve().parents[2]
#: The model behind the server of the config is one of the zoo.
MINE = '''
from mmengine.config import read_base

with read_base():
    from .eval_csv_engines import *
    from csv_plugin.configs.datasets.salience_texts import \\
        salience_texts_datasets
    from csv_plugin.configs.datasets.tidewell_exams import \\
        tidewell_exams_datasets
    from csv_plugin.configs.models.tidewell_zoo import held_out_models
    from csv_plugin.configs.summarizers.predicted import summarizer

here = held_out_models[3]
tokenizer = here['tokenizer_path']
served = dict(
    models[1], abbr='served', path='zoo', openai_api_base='URL/v1/',
    tokenizer_path=tokenizer,
    engine=dict(models[1]['engine'], url='URL', model='zoo',
                tokenizer=tokenizer, dtype='float32'))
models = [here, served]
sums = tidewell_exams_datasets[3]
datasets = [
    dict(sums, reader_cfg=dict(sums['reader_cfg'], test_range='[0:2]')),
    *salience_texts_datasets
]
'''


@pytest.fixture(autouse=True)
def config():
    """Where the config finds the texts that it names."""
    Path('outputs/texts').mkdir(parents=True)
    tiny.save_texts(Path('outputs/texts/texts.jsonl'))
    name = 'eval_csv_engines.py'
    Path(name).write_text((ROOT / 'configs' / name).read_text('utf-8'))
    return Config.fromfile(name, format_python_code=False)


@pytest.mark.parametrize('copied', [False, True])
def test_the_shipped_config_is_sound(config, copied):
    if copied:
        config.dump('dumped.py')
        config = Config.fromfile('dumped.py', format_python_code=False)
    in_vllm, served = config.models
    kinds = [
        entry.type
        for entry in (in_vllm.llm, served.llm, served, served.engine)
    ]
    assert [
        MODELS.get(kind) if isinstance(kind, str) else kind for kind in kinds
    ] == [VLLM, OpenAISDK, TokenLossModel, CompletionsEngine]
    [warning] = check_run(config)
    assert 'there is no file' in warning
    served.engine.pop('tokenizer')
    with pytest.raises(ValueError, match='server: .*Give it as tokenizer'):
        check_run(config)


class Chatting(Server):
    """Answers questions, too."""

    def answer(self, path, request):
        if path == '/v1/chat/completions':
            message = dict(role='assistant', content='Answer: 7')
            return 200, dict(choices=[dict(message=message)]), {}
        return super().answer(path, request)


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore')
def test_predictions_are_those_of_transformers():
    """Of one model of the zoo, behind a server and in this process."""
    model = AutoModelForCausalLM.from_pretrained(
        shipped.ZOO / 'd/s/100', torch_dtype='float32')
    with running(Chatting(model, 'zoo', 512)) as server:
        Path('mine.py').write_text(MINE.replace('URL', server.url))
        opencompass('mine.py', '--work-dir', 'out')
        # The host's client leaves connections open, which would warn in
        # whatever test the garbage is collected.
        gc.collect()
    run, = Path('out').iterdir()
    here, served = (
        read_dump(next(run.glob(f'predictions/{name}/*.safetensors')))
        for name in ('d-s@100', 'served'))
    assert (here.info.engine, served.info.engine) == ('transformers',
                                                      'vllm server')
    for first, second in zip(here.texts, served.texts):
        np.testing.assert_allclose(first.losses, second.losses, atol=2e-4)
    board = next(run.glob('summary/leaderboard_*.json'))
    rows = json.loads(board.read_text('utf-8'))['rows']
    predicted = {(row['model'], row['benchmark']): row['predicted']
                 for row in rows}  # yapf: disable
    real = {row['model']: row['real'] for row in rows
            if row['benchmark'] == 'sums'}  # yapf: disable
    assert all(value is not None for value in real.values())
    assert len(predicted) == 10
    # Of other exams, the answers to two questions tell, too.
    assert predicted['served', 'sums'] == pytest.approx(
        predicted['d-s@100', 'sums'], abs=.01)
    values = load_predictor(shipped.PREDICTOR).predict({
        'here': here,
        'served': served
    }).values
    np.testing.assert_allclose(values[0], values[1], rtol=0, atol=1e-4)
