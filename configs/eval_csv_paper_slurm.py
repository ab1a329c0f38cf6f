"""The run of eval_csv_paper.py as Slurm jobs, 32 at a time.

    opencompass configs/eval_csv_paper_slurm.py -p PARTITION
"""
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.slurm import eval as slurm_eval
    from csv_plugin.configs.slurm import infer as slurm_infer
    from .eval_csv_paper import *  # noqa: F401, F403

infer = slurm_infer
eval = slurm_eval
del slurm_eval, slurm_infer
