"""Run four small models of the hub on four benchmarks, and predict results.

    opencompass configs/eval_csv_real.py

Once a predictor is trained, `-m viz -r` shows its predictions
(docs/paper_setting.md).
"""
from mmengine.config import read_base

from csv_plugin.oc.summarizers import PredictedSummarizer

with read_base():
    from csv_plugin.configs.datasets.paper_benchmarks import base_benchmarks
    from csv_plugin.configs.datasets.salience_texts import salience_texts
    # One task for each model, and one for all accuracies.
    from csv_plugin.configs.few_processes import eval, infer  # noqa: F401
    from csv_plugin.configs.models.paper_models import (base_model,
                                                        with_own_code)

# Written by `salience texts` and `salience fit`.
texts = salience_texts('outputs/texts/texts.jsonl')
predictor = 'outputs/predictor/predictor.safetensors'

# Set this to True to allow the Python code that comes with InternLM2.5, which
# this model needs.
own_code = False
models = with_own_code([
    base_model(path) for path in [
        'Qwen/Qwen2-0.5B', 'Qwen/Qwen2-1.5B', 'Qwen/Qwen1.5-1.8B',
        'internlm/internlm2_5-1_8b'
    ]
], own_code)
datasets = [
    dataset for dataset in base_benchmarks
    if not dataset['abbr'].startswith(('ceval', 'hellaswag'))
] + [texts]
summarizer = dict(
    type=PredictedSummarizer, predictors=[('predicted', predictor)])
work_dir = 'outputs/real'
del base_benchmarks, base_model, own_code, predictor, salience_texts
del texts, with_own_code
