"""Observe and predict accuracies of seven language models in one run.

    opencompass configs/eval_csv.py

Models, exams, texts and predictors come with the package. To predict in a
config of your own, keep your models and datasets, and add the lines marked
with * (docs/opencompass.md).
"""
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \
        salience_texts_datasets  # * token losses, in the same run
    from csv_plugin.configs.datasets.tidewell_exams import \
        tidewell_exams_datasets
    # * One task for each model, one for all accuracies.
    from csv_plugin.configs.few_processes import eval, infer  # noqa: F401
    from csv_plugin.configs.models.tidewell_zoo import held_out_models
    from csv_plugin.configs.summarizers.predicted import \
        summarizer  # noqa: F401 * predicted and observed accuracies

models = held_out_models
datasets = [*tidewell_exams_datasets, *salience_texts_datasets]  # * the texts
work_dir = 'outputs/csv'
# The models are small: several share a process.
infer['n_tasks'] = 2
