"""Measure token losses of the paper's 59 models, without any benchmark.

    opencompass configs/eval_csv_paper_losses.py

A predictor can be trained on these losses and on the accuracies in the paper,
which are in the package (docs/paper_setting.md). After that, `-m viz -r` shows
its predictions. On one machine, this runs as many models at a time as its GPUs
allow, but at most eight.
"""
from mmengine.config import read_base

from csv_plugin.oc.summarizers import PredictedSummarizer

with read_base():
    from csv_plugin.configs.datasets.salience_texts import salience_texts
    # One task for each model, and one for all results.
    from csv_plugin.configs.few_processes import eval, infer
    from csv_plugin.configs.models.paper_models import (base_models,
                                                        chat_models,
                                                        unsplit_models,
                                                        with_own_code)

# Written by `salience texts` and `salience fit`.
texts = 'outputs/texts/texts.jsonl'
predictor = 'outputs/predictor/predictor.safetensors'

# Set this to True to allow the Python code that comes with InternLM2 and 2.5,
# which these models need.
own_code = False
models = with_own_code([*base_models, *chat_models, *unsplit_models], own_code)
datasets = [salience_texts(texts)]
summarizer = dict(
    type=PredictedSummarizer, predictors=[('predicted', predictor)])
# At most eight processes run models: one for each GPU of a large machine.
infer['runner']['max_num_workers'] = 8
# Answers are graded by as many processes, which need no GPU.
eval['n_tasks'] = 8
eval['runner']['max_num_workers'] = 8
work_dir = 'outputs/paper_losses'
del base_models, chat_models, unsplit_models
del own_code, predictor, salience_texts, texts, with_own_code
