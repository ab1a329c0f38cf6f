"""Two tasks for each model and stage, because processes start slowly.

One is for all benchmarks, the other for the texts, so that an error in one
does not end the other. OpenCompass by itself evaluates every dataset of every
model in a process of its own, 57 for each model on mmlu.

Two tasks run at a time; for more, as with several GPUs, add to a config:

    infer['runner']['max_num_workers'] = 8
    eval['runner']['max_num_workers'] = 8
"""
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.oc.partitioners import TextsApartPartitioner

infer = dict(
    partitioner=dict(type=TextsApartPartitioner),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=TextsApartPartitioner),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=OpenICLEvalTask)))
