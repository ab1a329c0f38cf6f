"""Parts of configs of OpenCompass in README and docs are such."""
import re
import shutil
from pathlib import Path

import pytest

from csv_plugin.cli.copy_configs import RUNS
from csv_plugin.demo import shipped
from tests.docs.blocks import all_blocks

#: What a part leaves to the config around it.
START = '''
from mmengine.config import read_base
from opencompass.models import VLLM, HuggingFaceBaseModel, OpenAISDK
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.extras.completions import CompletionsEngine
from csv_plugin.oc.models import TokenLossModel
from csv_plugin.oc.perplexities import BatchedBaseModel
from csv_plugin.oc.partitioners import FewTasksPartitioner
from csv_plugin.oc.tasks import SteadyEvalTask, SteadyInferTask

datasets = []
'''
BASE = 'with read_base():\n'
#: The benchmarks that some parts take for granted.
MMLU = '''\
    from opencompass.configs.datasets.mmlu.mmlu_ppl_ac766d import \\
        mmlu_datasets
'''

pytestmark = [pytest.mark.host, pytest.mark.slow]


def around(block):
    """The source of a config with a part from a page."""
    if block.text.startswith('models = [base_model('):
        whole = (RUNS / 'eval_csv_real.py').read_text('utf-8')
        # As readers are told to do who trust the code of the models.
        whole = whole.replace('own_code = False', 'own_code = True')
        return whole.replace('datasets = [', f'{block.text}\n\ndatasets = [')
    if block.text.startswith('dict('):
        return f'{START}\nmodels = [{block.text}]\n'
    if 'salience_texts(' in block.text and 'read_base' not in block.text:
        return (
            f'{START}\n{BASE}'
            '    from csv_plugin.configs.datasets.salience_texts import \\\n'
            f'        salience_texts\n{block.text}\ndel salience_texts\n')
    if '*mmlu_datasets' in block.text and 'mmengine' not in block.text:
        # A config has one `read_base`.
        return START + block.text.replace(BASE, BASE + MMLU)
    return f'{START}\n{block.text}\n'


@pytest.mark.parametrize('block', [
    pytest.param(block, id=f'{block.page}:{block.line}')
    for block in all_blocks() if block.kind == 'config'
])
def test_a_part_of_a_config(block, tmp_path, monkeypatch):
    pytest.importorskip('opencompass')
    from mmengine.config import Config
    monkeypatch.chdir(tmp_path)
    for path in ('my_texts.jsonl', 'texts/texts.jsonl',
                 'outputs/texts/texts.jsonl'):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shipped.TEXTS, path)
    Path('runs/mix1/checkpoint-1000').mkdir(parents=True)
    Path('config.py').write_text(around(block), 'utf-8')
    config = Config.fromfile('config.py')
    names = (
        re.findall(r'^(\w+) = ', block.text, re.M)
        or re.findall(r' import (\w+)', block.text) or ['models'])
    assert all(config[name] for name in names)
