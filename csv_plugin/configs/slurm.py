"""Tasks of `few_processes` as jobs of Slurm, up to 32 at a time.

In place of `few_processes` in a config; `opencompass CONFIG -p PARTITION`
names the partition. Every task is an `srun` that asks for the GPUs of its
model. More options of `srun`, such as a time limit, are strings in a list:

    infer['runner']['extra_command'] = ['--time=04:00:00']
"""
from mmengine.config import read_base
from opencompass.runners import SlurmRunner

with read_base():
    from csv_plugin.configs.few_processes import eval, infer

infer['runner'] = dict(
    type=SlurmRunner, max_num_workers=32, task=infer['runner']['task'])
eval['runner'] = dict(
    type=SlurmRunner, max_num_workers=32, task=eval['runner']['task'])
