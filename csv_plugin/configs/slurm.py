"""Run the tasks of `few_processes` as jobs of Slurm, up to 32 at a time.

Import this in place of `few_processes` in a config. The command `opencompass
CONFIG -p PARTITION` names the partition. Every task is a call of `srun` that
asks for the GPUs of its model. To give `srun` more options, such as a time
limit, add to the config a list of strings:

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
