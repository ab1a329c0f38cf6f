"""Tiny random models on disk, and what the host makes of them."""
import json
from pathlib import Path
from typing import Any

from datasets import Dataset, DatasetDict
from mmengine.config import Config
from opencompass.datasets import BaseDataset
from opencompass.models import HuggingFaceBaseModel
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.text_sets import write_texts
from csv_plugin.oc.models import TokenLossModel
from tests.lm import models

CHAT = ("{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n"
        '{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}')
_SUBJECTS = ('cat', 'dog', 'fox', '公园', 'café', 'story', 'mat')
TEXTS = TextSet(
    tuple(
        Text(f't{i}', f'The {word} {{text}} number {i} 天气很好.' *
             (1 + i % 4), ('en',
                           'zh')[i % 2], (4, 4 + len(word)) if i % 3 else None)
        for i, word in enumerate(_SUBJECTS * 6)))


def save_model(folder: Path) -> Path:
    """Save a Llama with its tokenizer, for `from_pretrained`."""
    models.make('llama').save_pretrained(folder)
    tokenizer = models.tokenizer()
    # The default would add token types, which generation refuses.
    tokenizer.model_input_names = ['input_ids', 'attention_mask']
    tokenizer.init_kwargs['model_input_names'] = []
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(folder)
    return folder


def save_texts(path: Path, texts: TextSet = TEXTS) -> Path:
    write_texts(path, texts)
    return path


def model_config(path: Path,
                 kind: Any = HuggingFaceBaseModel,
                 **settings: Any) -> dict[str, Any]:
    return dict(
        type=kind,
        abbr=path.name,
        path=str(path),
        max_out_len=6,
        batch_size=2,
        run_cfg=dict(num_gpus=0),
        **settings)


def wrapped(config: dict[str, Any]) -> dict[str, Any]:
    return {**config, 'type': TokenLossModel, 'llm': dict(type=config['type'])}


class Exam(BaseDataset):
    """Questions with two options; the same in both splits."""

    @staticmethod
    def load(path: str) -> DatasetDict:
        rows = [
            dict(
                question=f'Is the {word} a {{A}}?',
                A=f'the {word}',
                B='the 天气',
                cont=f'the {word}',
                choices=['A', 'B'],
                gaps=['A', None],
                label='AB'[i % 2]) for i, word in enumerate(_SUBJECTS)
        ]
        data = Dataset.from_list(rows)
        return DatasetDict(train=data, test=data)


def exam(abbr: str,
         output_column: str = 'label',
         **infer_cfg: Any) -> dict[str, Any]:
    return dict(
        abbr=abbr,
        type=Exam,
        path='',
        reader_cfg=dict(
            input_columns=['question', 'A', 'B'], output_column=output_column),
        infer_cfg=infer_cfg)


def _task(work_dir: Path, model: dict[str, Any], *datasets:
          dict[str, Any]) -> Config:
    return Config(
        dict(
            models=[model], datasets=[list(datasets)], work_dir=str(work_dir)))


def infer(work_dir: Path, model: dict[str, Any], *datasets: dict[str,
                                                                 Any]) -> Path:
    """Run the host's inference in this process; the folder of predictions."""
    OpenICLInferTask(_task(work_dir, model, *datasets)).run()
    return work_dir / 'predictions' / model['abbr']


def evaluate(work_dir: Path, model: dict[str, Any],
             dataset: dict[str, Any]) -> dict[str, Any]:
    """Run the host's evaluation in this process; its stored results."""
    OpenICLEvalTask(_task(work_dir, model, dataset)).run()
    file = work_dir / 'results' / model['abbr'] / f'{dataset["abbr"]}.json'
    return json.loads(file.read_text(encoding='utf-8'))
