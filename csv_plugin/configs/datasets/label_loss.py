"""Measure the mean loss on the right answers of a benchmark's test set.

    with read_base():
        from opencompass.configs.datasets.siqa.siqa_ppl_ced5f6 import \\
            siqa_datasets
        from csv_plugin.configs.datasets.label_loss import label_loss
    datasets = [*siqa_datasets, *map(label_loss, siqa_datasets)]
    del label_loss
"""
from csv_plugin.oc.evaluators import LabelLossEvaluator
from csv_plugin.oc.inferencers import LabelLossInferencer


def label_loss(dataset: dict) -> dict:
    """Return the dataset entry for the loss on a benchmark's right answers."""
    # In a config, mmengine replaces imports at the top by lazy objects, which
    # cannot be called here.
    host = __import__('opencompass.utils', fromlist=['utils'])
    # A value of None means the default of a loader, and cannot be part of a
    # name. `k` and `n` ask for repeated answers, which a loss does not need.
    entry = {}
    for key, value in dataset.items():
        if key not in ('k', 'n') and value is not None:
            entry[key] = value
    abbr = host.dataset_abbr_from_cfg(entry)
    inferencer = dict(type=LabelLossInferencer)
    evaluator = dict(type=LabelLossEvaluator)
    return dict(
        entry,
        abbr=f'{abbr}-label_loss',
        infer_cfg=dict(dataset['infer_cfg'], inferencer=inferencer),
        eval_cfg=dict(evaluator=evaluator))
