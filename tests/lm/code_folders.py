"""Folders of models with code in them, which leaves a trace if it runs."""
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Transformers imports the code of each folder once, so each has its own.
CODE = '''from pathlib import Path
Path({trace!r}).write_text('ran')
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
class OwnConfig(LlamaConfig):
    model_type = 'own'
class OwnModel(LlamaForCausalLM):
    config_class = OwnConfig
class OwnTokenizer(PreTrainedTokenizerFast):
    pass
def generate(model, *inputs, **settings):
    return None
'''


def edit(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def own_model(folder: Path) -> None:
    """Of a type that only the code knows."""
    edit(
        folder / 'config.json',
        model_type='own',
        auto_map=dict(
            AutoConfig='own.OwnConfig', AutoModelForCausalLM='own.OwnModel'))


def own_model_of_a_known_type(folder: Path) -> None:
    """Which transformers can load without the code."""
    edit(folder / 'config.json', auto_map=dict(AutoConfig='own.OwnConfig'))


def own_tokenizer(folder: Path) -> None:
    edit(
        folder / 'tokenizer_config.json',
        tokenizer_class='OwnTokenizer',
        auto_map=dict(AutoTokenizer=[None, 'own.OwnTokenizer']))


def own_generation(folder: Path) -> None:
    (folder / 'custom_generate').mkdir()
    (folder / 'own.py').rename(folder / 'custom_generate/generate.py')


#: Ways to name code that transformers needs or takes.
WAYS: dict[str, Callable[[Path], None]] = {
    'model': own_model,
    'tokenizer': own_tokenizer,
    'generation': own_generation,
}


def add_code(folder: Path, way: Callable[[Path], None]) -> Path:
    """Put code into the folder of a Llama; the file that it would write."""
    trace = folder.with_suffix('.ran')
    (folder / 'own.py').write_text(CODE.format(trace=str(trace)))
    way(folder)
    return trace
