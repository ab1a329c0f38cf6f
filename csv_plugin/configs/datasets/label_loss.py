"""The label-token loss of any benchmark, over its full test set.

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
    """Return the entry for the loss of a benchmark's right answers."""
    # Imports at the top of a config are lazy: they give names, not modules.
    host = __import__('opencompass.utils', fromlist=['utils'])
    # None stands for the default of a loader, and is no part of a name.
    entry = {}
    for key, value in dataset.items():
        if key not in ('k', 'n') and value is not None:
            entry[key] = value
    inferencer = dict(type=LabelLossInferencer)
    return dict(
        entry,
        abbr=host.dataset_abbr_from_cfg(entry) + '-label_loss',
        infer_cfg=dict(dataset['infer_cfg'], inferencer=inferencer),
        eval_cfg=dict(evaluator=dict(type=LabelLossEvaluator)))
