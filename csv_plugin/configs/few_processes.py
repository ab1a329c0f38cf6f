"""One task for each model and stage, because processes start slowly."""
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

infer = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=LocalRunner, max_num_workers=2, task=dict(type=OpenICLEvalTask)))
