"""Measure and predict accuracies of a model in vLLM and of one on a server.

    vllm serve Qwen/Qwen2-1.5B-Instruct
    opencompass configs/eval_csv_engines.py

Token losses of the first model come from vLLM itself. OpenCompass's API models
give no token losses, so the entry of the second model names an engine that
measures them; it must run the same weights (docs/engines.md lists the
engines). The benchmarks are the ones whose answers are generated, because an
API returns no perplexities. Once a predictor is trained, `-m viz -r` shows its
predictions (docs/paper_setting.md).
"""
from mmengine.config import read_base
from opencompass.models import VLLM, OpenAISDK

from csv_plugin.oc.models import TokenLossModel
from csv_plugin.oc.summarizers import PredictedSummarizer

with read_base():
    from csv_plugin.configs.datasets.paper_benchmarks import base_benchmarks
    from csv_plugin.configs.datasets.salience_texts import salience_texts
    # One task for each model, and one for all accuracies.
    from csv_plugin.configs.few_processes import eval, infer  # noqa: F401

# Written by `salience texts` and `salience fit`.
texts = salience_texts('outputs/texts/texts.jsonl')
predictor = 'outputs/predictor/predictor.safetensors'

# If the server needs a key, put it into the environment variables
# CSV_PLUGIN_API_KEY (for losses) and OPENAI_API_KEY (for answers), and set
# `key` to 'ENV' below.
server = 'http://localhost:8000'
served = 'Qwen/Qwen2-1.5B-Instruct'
models = [
    dict(
        abbr='Qwen2-0.5B-vllm',
        type=TokenLossModel,
        llm=dict(type=VLLM),
        path='Qwen/Qwen2-0.5B',
        # vLLM holds the log-probabilities of the whole vocabulary in memory,
        # for max_num_batched_tokens tokens at a time.
        model_kwargs=dict(
            dtype='bfloat16', max_model_len=8192, max_num_batched_tokens=2048),
        max_seq_len=8192,
        max_out_len=512,
        batch_size=256,
        run_cfg=dict(num_gpus=1)),
    dict(
        abbr='Qwen2-1.5B-Instruct-server',
        type=TokenLossModel,
        llm=dict(type=OpenAISDK),
        path=served,
        openai_api_base=f'{server}/v1/',
        key='none',
        tokenizer_path=served,
        engine=dict(
            type='csv_plugin.extras.completions.CompletionsEngine',
            url=server,
            model=served,
            tokenizer=served,
            dtype='bfloat16'),
        query_per_second=16,
        max_seq_len=8192,
        max_out_len=512,
        batch_size=64,
        run_cfg=dict(num_gpus=0)),
]
datasets = [
    dataset for dataset in base_benchmarks
    if dataset['abbr'].startswith(('gsm8k', 'bbh'))
] + [texts]
summarizer = dict(
    type=PredictedSummarizer, predictors=[('predicted', predictor)])
work_dir = 'outputs/engines'
del base_benchmarks, predictor, salience_texts, served, server
del texts
