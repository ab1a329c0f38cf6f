"""Run the demo's models on real benchmarks, with one question of each task.

tools/studies/try_real_data.sh runs this config, to show that everything works
on real data. The accuracies mean nothing, as such small models know no
answers.
"""
from mmengine.config import read_base

from csv_plugin.oc.summarizers import PredictedSummarizer

with read_base():
    from csv_plugin.configs.datasets.paper_benchmarks import base_benchmarks
    from csv_plugin.configs.datasets.salience_texts import salience_texts
    # One task for each model, and one for all accuracies.
    from csv_plugin.configs.few_processes import eval, infer  # noqa: F401
    from csv_plugin.configs.models.tidewell_zoo import held_out_models

texts = salience_texts('outputs/trial/texts/texts.jsonl')


def first_question(dataset: dict) -> dict:
    """Return a dataset entry with only the first question of a dataset.

    At most 32 tokens are generated.
    """
    inferencer = dict(dataset['infer_cfg']['inferencer'])
    if 'max_out_len' in inferencer:
        inferencer['max_out_len'] = 32
    return dict(
        dataset,
        reader_cfg=dict(dataset['reader_cfg'], test_range='[0:1]'),
        infer_cfg=dict(dataset['infer_cfg'], inferencer=inferencer))


models = held_out_models[:6]
datasets = [
    first_question(dataset) for dataset in base_benchmarks
    if not dataset['abbr'].startswith(('ceval', 'hellaswag'))
] + [texts]
summarizer = dict(
    type=PredictedSummarizer,
    predictors=[('predicted', 'outputs/trial/predictor/predictor.safetensors')
                ])
work_dir = 'outputs/trial/runs'
del base_benchmarks, first_question, salience_texts, texts
