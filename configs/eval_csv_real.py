"""Four small models of the hub on four benchmarks, with predictions.

    opencompass configs/eval_csv_real.py

Once a predictor is trained, `-m viz -r` shows its predictions
(docs/paper_setting.md).
"""
from mmengine.config import read_base

from csv_plugin.oc.summarizers import PredictedSummarizer

with read_base():
    from csv_plugin.configs.datasets.paper_benchmarks import (base_benchmarks,
                                                              summary_groups)
    from csv_plugin.configs.datasets.salience_texts import salience_texts
    from csv_plugin.configs.few_processes import eval, infer  # noqa: F401
    from csv_plugin.configs.models.paper_models import base_model

# Written by tools/build_validation_set.py and tools/train_scoring_head.py.
texts = salience_texts('outputs/texts/texts.jsonl')
predictor = 'outputs/predictor/predictor.safetensors'

models = [
    base_model(path) for path in [
        'Qwen/Qwen2-0.5B', 'Qwen/Qwen2-1.5B', 'Qwen/Qwen1.5-1.8B',
        'internlm/internlm2_5-1_8b'
    ]
]
datasets = [
    dataset for dataset in base_benchmarks
    if not dataset['abbr'].startswith(('ceval', 'hellaswag'))
] + [texts]
summarizer = dict(
    type=PredictedSummarizer,
    predictors=[('predicted', predictor)],
    summary_groups=summary_groups)
work_dir = 'outputs/real'
del base_benchmarks, base_model, predictor, salience_texts, summary_groups
del texts
