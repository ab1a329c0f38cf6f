"""Measure token losses of pretraining checkpoints, without any benchmark.

    opencompass configs/eval_csv_losses_only.py
    salience triage --dumps outputs/losses/2* ...

The seven checkpoints that come with the package are an example. For your own
checkpoints, set `models = checkpoint_models('runs/*/checkpoint-*')`, and name
your texts (docs/opencompass.md) and, in the summarizer, your predictor.
"""
from os.path import join

from mmengine.config import read_base

with read_base():
    from csv_plugin.configs.datasets.salience_texts import \
        salience_texts_datasets
    # One task for each model, and one for all results.
    from csv_plugin.configs.few_processes import eval, infer  # noqa: F401
    from csv_plugin.configs.models.checkpoints import checkpoint_models
    from csv_plugin.configs.models.tidewell_zoo import shipped_zoo
    from csv_plugin.configs.summarizers.predicted import \
        summarizer  # noqa: F401

models = sum([
    checkpoint_models(
        join(shipped_zoo, series, '*', '[0-9]*'),
        levels=2,
        tokenizer_path=join(shipped_zoo, series, 'tokenizer'),
        model_kwargs=dict(torch_dtype='torch.float'),
        max_seq_len=512,
        run_cfg=dict(num_gpus=0)) for series in 'abcdh'
], [])
datasets = salience_texts_datasets
work_dir = 'outputs/losses'
del checkpoint_models
