"""Few tasks, because processes start slowly.

Each model has one process, for its benchmarks and its texts, and all models
are evaluated in one. OpenCompass by itself evaluates every dataset of every
model in a process of its own, 57 for each model on mmlu. An error on one
dataset does not end the others.

Two tasks run at a time; for more, as with several GPUs, add to a config:

    infer['runner']['max_num_workers'] = 8
    eval['n_tasks'] = 8
    eval['runner']['max_num_workers'] = 8
"""
from opencompass.runners import LocalRunner

from csv_plugin.oc.partitioners import FewTasksPartitioner
from csv_plugin.oc.tasks import SteadyEvalTask, SteadyInferTask

infer = dict(
    partitioner=dict(type=FewTasksPartitioner),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=SteadyInferTask)))
eval = dict(
    n_tasks=1,
    partitioner=dict(type=FewTasksPartitioner),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=SteadyEvalTask)))
