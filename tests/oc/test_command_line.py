"""The command `opencompass` shows losses next to an exam's accuracies."""
import re

import pytest

from csv_plugin.core.features import mean_token_loss
from csv_plugin.core.losses import TargetTokens
from csv_plugin.io.dumps import merge_dumps, read_dump
from tests.oc import tiny
from tests.oc.command import opencompass

CONFIG = '''
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.label_loss import label_loss
    from csv_plugin.configs.datasets.salience_texts import salience_texts

from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.oc.models import TokenLossModel
''' + tiny.EXAM_CONFIG + '''
datasets = [exam, label_loss(exam), salience_texts('texts.jsonl')]
bare = dict(
    type=HuggingFaceBaseModel, abbr='bare', path='FOLDER', batch_size=4,
    run_cfg=dict(num_gpus=0), model_kwargs=dict(torch_dtype='torch.float'))
models = [
    bare,
    {**bare, 'abbr': 'wrapped', 'type': TokenLossModel,
     'llm': dict(type=bare['type'])},
]
# Three parts of the texts.
infer = dict(
    partitioner=dict(type=NumWorkerPartitioner, num_worker=1, num_split=3,
                     min_task_size=14),
    runner=dict(type=LocalRunner, max_num_workers=2,
                task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=100),
    runner=dict(type=LocalRunner, debug=True,
                task=dict(type=OpenICLEvalTask)))
del bare, exam, label_loss, salience_texts
'''


@pytest.mark.slow
def test_losses_beside_scores(model_folder, tmp_path):
    tiny.save_texts(tmp_path / 'texts.jsonl')
    (tmp_path / 'mine.py').write_text(
        CONFIG.replace('FOLDER', str(model_folder)))
    output = opencompass('mine.py', '--work-dir', 'out')
    dumps = []
    for model in ('bare', 'wrapped'):
        folder, = (tmp_path / 'out').glob(f'*/predictions/{model}')
        parts = sorted(folder.glob('salience_texts-*.safetensors'))
        assert [path.stem[-2:] for path in parts] == ['_0', '_1', '_2']
        dumps.append(merge_dumps(map(read_dump, parts), tiny.TEXTS))
        assert not list(folder.glob('tmp_*'))
    targets = TargetTokens.of(tiny.TEXTS,
                              [text.spans for text in dumps[0].texts])
    table = targets.table({
        name: dump.texts
        for name, dump in zip('ab', dumps)
    })
    bare, wrapped = mean_token_loss(table)
    assert bare == wrapped
    rows = {
        tuple(row.split()[::2][:2]): row.split()[-2:]
        for row in re.findall('^(?:exam|salience).*', output, re.M)
    }
    name = f'salience_texts-{tiny.TEXTS.fingerprint[:12]}'
    assert rows[name, 'all_token_loss'] == [f'{bare:.2f}'] * 2
    assert rows[name, 'n_texts'] == ['42.00'] * 2
    for key in (('exam', 'accuracy'), ('exam-label_loss', 'label_loss')):
        of_bare, of_wrapped = map(float, rows[key])
        assert of_bare == of_wrapped > 0
