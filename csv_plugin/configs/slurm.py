"""One Slurm job for each model and stage; `opencompass ... -p PARTITION`.

OpenCompass's option `--slurm` mixes its own settings into those of a config
and fails where the config has others, such as `few_processes`.
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
