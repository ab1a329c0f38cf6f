"""Two Slurm jobs for each model and stage; `opencompass ... -p PARTITION`.

One is for all benchmarks, the other for the texts.

OpenCompass's option `--slurm` mixes its own settings into the settings of a
config, and fails if the config sets a runner, as `few_processes` does.
"""
from opencompass.runners import SlurmRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.oc.partitioners import TextsApartPartitioner

infer = dict(
    partitioner=dict(type=TextsApartPartitioner),
    runner=dict(
        type=SlurmRunner, max_num_workers=32,
        task=dict(type=OpenICLInferTask)))
eval = dict(
    partitioner=dict(type=TextsApartPartitioner),
    runner=dict(
        type=SlurmRunner, max_num_workers=32, task=dict(type=OpenICLEvalTask)))
