"""Scores and token losses of the whole zoo, to train a predictor on.

    python tools/train_demo_zoo.py --out outputs/zoo
    opencompass configs/eval_csv_collect.py
"""
from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \
        salience_texts_datasets
    from csv_plugin.configs.datasets.tidewell_exams import \
        tidewell_exams_datasets
    from csv_plugin.configs.models.tidewell_zoo import zoo_models

models = zoo_models('outputs/zoo')
datasets = [*tidewell_exams_datasets, *salience_texts_datasets]
work_dir = 'outputs/collect'
del zoo_models

infer = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=OpenICLEvalTask)))
