"""Open the engines of `salience losses` that run in this process."""
from csv_plugin.lm.engines.protocol import EngineOptions, optional_package
from csv_plugin.lm.engines.transformers_engine import TransformersEngine
from csv_plugin.lm.engines.vllm_engine import VLLMEngine
from csv_plugin.lm.loading import (READ_THE_CODE, check_files, load_causal_lm,
                                   own_code_refused)


def open_transformers(model: str,
                      options: EngineOptions) -> TransformersEngine:
    """Load a model with `transformers`, from a folder or the hub."""
    return TransformersEngine(
        load_causal_lm(model, options.trust_remote_code, options.dtype,
                       **options.settings))


def open_vllm(model: str, options: EngineOptions) -> VLLMEngine:
    """Load a model with vLLM, from a folder or the hub."""
    llm = optional_package('vllm', '--engine vllm').LLM
    with own_code_refused(model, f'{READ_THE_CODE} give --trust-remote-code.',
                          options.trust_remote_code):
        check_files(model)
        return VLLMEngine(
            llm(model,
                dtype=options.dtype or 'auto',
                trust_remote_code=options.trust_remote_code,
                **options.settings))
