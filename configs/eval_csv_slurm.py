"""Run the demonstration as jobs of Slurm (docs/cluster.md).

    opencompass configs/eval_csv_slurm.py -p PARTITION

Run this command on a login node; it waits for the jobs. In a config of your
own, put the line marked with * in the place of `few_processes`.
"""
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \
        salience_texts_datasets
    from csv_plugin.configs.datasets.tidewell_exams import \
        tidewell_exams_datasets
    from csv_plugin.configs.models.tidewell_zoo import held_out_models
    from csv_plugin.configs.slurm import eval, infer  # noqa: F401 *
    from csv_plugin.configs.summarizers.predicted import \
        summarizer  # noqa: F401

models = held_out_models
datasets = [*tidewell_exams_datasets, *salience_texts_datasets]
work_dir = 'outputs/slurm'
