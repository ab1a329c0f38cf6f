"""Invented benchmark data, laid out as OpenCompass's loaders expect it."""
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from csv_plugin.extras.text_sampling.host_datasets import read_config


def gsm8k(root: Path, *questions: str) -> None:
    rows = [
        dict(
            question=asked,
            answer=f'It is <<{i}+1={i + 1}>>{i + 1}.\n#### {i + 1}')
        for i, asked in enumerate(questions)
    ]
    for split in ('train', 'test'):
        _write_lines(root / f'data/gsm8k/{split}.jsonl', rows)


def hellaswag(root: Path, n_items: int) -> None:
    """Items 10, 11, ... of the test split are in the train split too."""
    rows = [
        dict(
            query=f'Boats: Ferry {i} comes in and',
            choices=[f'{verb} {i}.'
                     for verb in ('moors', 'sinks', 'sings')] + ['flies.'],
            gold=i % 4) for i in range(n_items)
    ]
    folder = root / 'data/hellaswag'
    _write_lines(folder / 'hellaswag.jsonl', rows)
    _write_lines(folder / 'hellaswag_train_sampled25.jsonl', rows[10:])


def bbh(root: Path, n_items: int) -> None:
    for name in read_config('bbh_gen_98fba6'):
        _write(
            root / f'data/BBH/data/{name}.json',
            json.dumps({
                'examples': [
                    dict(input=f' Is {name} {i} even?\n', target=f'({i})')
                    for i in range(n_items)
                ]
            }))


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    _write(path, ''.join(json.dumps(row) + '\n' for row in rows))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')
