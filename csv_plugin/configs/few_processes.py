"""Split a run of OpenCompass into few tasks, because processes start slowly.

Each model runs in one process, on all its benchmarks and texts. One further
process computes all accuracies. OpenCompass by default starts a process for
the accuracy of every model on every dataset, which for mmlu are 57 processes
per model. An error on one dataset does not stop the rest of its task.

Two tasks run at a time. To run more, as with several GPUs, add to a config:

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
