"""One Slurm job for each model and stage; `opencompass ... -p PARTITION`.

OpenCompass's option `--slurm` mixes its own settings into the settings of a
config, and fails if the config sets a runner, as `few_processes` does.
"""
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import SlurmRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

infer = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=SlurmRunner, max_num_workers=32,
        task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(
        type=SlurmRunner, max_num_workers=32, task=dict(type=OpenICLEvalTask)))
