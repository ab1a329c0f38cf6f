"""Measure accuracies and token losses of all models of the demonstration.

The predictors of the demonstration are trained on these accuracies and losses.
The command

    python -m tools.demo_maker

trains the models and runs this config.
"""
from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.label_loss import label_loss
    from csv_plugin.configs.datasets.salience_texts import \
        salience_texts_datasets
    from csv_plugin.configs.datasets.tidewell_exams import \
        tidewell_exams_datasets
    # One task for each model, and one for all accuracies.
    from csv_plugin.configs.few_processes import eval, infer  # noqa: F401
    from csv_plugin.configs.models.tidewell_zoo import zoo_models

models = zoo_models('outputs/zoo')
datasets = [
    *tidewell_exams_datasets, *map(label_loss, tidewell_exams_datasets),
    *salience_texts_datasets
]
work_dir = 'outputs/collect'
del label_loss, zoo_models
