"""Run the paper's models on its benchmarks (docs/paper_setting.md).

    opencompass configs/eval_csv_paper.py

On one machine, this runs as many models at a time as its GPUs allow, but at
most eight; docs/cluster.md says how to use several machines. Once a predictor
is trained, `-m viz -r` shows its predictions.
"""
from mmengine.config import read_base

from csv_plugin.oc.summarizers import PredictedSummarizer

with read_base():
    from csv_plugin.configs.datasets.paper_benchmarks import (base_benchmarks,
                                                              chat_benchmarks)
    from csv_plugin.configs.datasets.salience_texts import salience_texts
    # One task for each model, and one for all accuracies.
    from csv_plugin.configs.few_processes import eval, infer
    from csv_plugin.configs.models.paper_models import (base_models,
                                                        chat_models,
                                                        with_own_code)

# Written by `salience texts` and `salience fit`.
texts = salience_texts('outputs/texts/texts.jsonl')
predictor = 'outputs/predictor/predictor.safetensors'

# Set this to True to allow the Python code that comes with InternLM2 and 2.5,
# which these models need.
own_code = False
base_models = with_own_code(base_models, own_code)
chat_models = with_own_code(chat_models, own_code)
models = [*base_models, *chat_models]
# A benchmark has the same name for base and for chat models, so that the
# table has one row for both.
datasets = [*base_benchmarks, texts]
model_dataset_combinations = [
    dict(models=base_models, datasets=datasets),
    dict(models=chat_models, datasets=[*chat_benchmarks, texts]),
]
summarizer = dict(
    type=PredictedSummarizer, predictors=[('predicted', predictor)])
# At most eight processes run models: one for each GPU of a large machine.
infer['runner']['max_num_workers'] = 8
# Answers are graded by as many processes, which need no GPU.
eval['n_tasks'] = 8
eval['runner']['max_num_workers'] = 8
work_dir = 'outputs/paper'
del base_benchmarks, chat_benchmarks, base_models, chat_models
del own_code, predictor, salience_texts, texts, with_own_code
