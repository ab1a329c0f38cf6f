"""The embedded models and SmolLM2 on single questions of real benchmarks.

tools/studies/try_smollm2.sh runs this config. So few questions tell nothing of
a model: what it shows is that the way is whole for a pretrained one.
"""
from mmengine.config import read_base
from opencompass.models import HuggingFaceBaseModel
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.oc.summarizers import PredictedSummarizer

with read_base():
    from csv_plugin.configs.datasets.paper_benchmarks import base_benchmarks
    from csv_plugin.configs.datasets.salience_texts import salience_texts
    from csv_plugin.configs.models.tidewell_zoo import held_out_models

texts = salience_texts('texts/texts.jsonl')


def first_question(dataset):
    """The first question of a benchmark, with at most 32 generated tokens."""
    inferencer = dict(dataset['infer_cfg']['inferencer'])
    if 'max_out_len' in inferencer:
        inferencer['max_out_len'] = 32
    return dict(
        dataset,
        reader_cfg=dict(dataset['reader_cfg'], test_range='[0:1]'),
        infer_cfg=dict(dataset['infer_cfg'], inferencer=inferencer))


models = held_out_models + [
    dict(
        abbr='smollm2',
        type=HuggingFaceBaseModel,
        path='model',
        model_kwargs=dict(torch_dtype='torch.float'),
        max_seq_len=2048,
        batch_size=8,
        run_cfg=dict(num_gpus=0))
]
datasets = [
    first_question(dataset)
    for dataset in base_benchmarks if dataset['abbr'] in
    ('lukaemon_mmlu_high_school_geography', 'gsm8k', 'bbh-boolean_expressions')
] + [texts]
infer = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(type=LocalRunner, task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(type=LocalRunner, task=dict(type=OpenICLEvalTask)))
summarizer = dict(
    type=PredictedSummarizer,
    predictors=[('predicted', 'predictor/predictor.safetensors')])
work_dir = 'runs'
del base_benchmarks, first_question, held_out_models, salience_texts, texts
