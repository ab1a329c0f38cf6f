"""The host's right and wrong choices beside those of lm-evaluation-harness."""
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict
from numpy.typing import NDArray

from csv_plugin.lm.loading import load_scoring_lm
from tools.studies.real_models import RUN
from tools.studies.real_models.questions import (BENCHMARKS, Question,
                                                 read_questions,
                                                 split_questions)


def check(run: Path, model: str, every: int) -> None:
    """Print accuracies of one model on a part of the questions, by both."""
    questions = {
        name: split_questions(read_questions(run / 'requests', name), 400)[0]
        for name in BENCHMARKS
    }
    theirs = _by_harness(run / 'models' / model, {
        name: some[::every]
        for name, some in questions.items()
    })
    print('| benchmark | questions | OpenCompass | lm-evaluation-harness | '
          'judged differently |\n|:---|---:|---:|---:|---:|')
    for name, right in theirs.items():
        file = run / RUN / 'predictions' / model / f'{name}.json'
        rows = list(json.loads(file.read_text()).values())[::every]
        ours = np.array([row['prediction'] == row['gold'] for row in rows])
        print(f'| {name} | {len(ours)} | {100 * ours.mean():.1f} | '
              f'{100 * right.mean():.1f} | {(ours != right).sum()} |')


def _by_harness(folder: Path,
                questions: Mapping[str, list[Question]]) -> dict[str, NDArray]:
    """Which questions are answered rightly, by its own tasks and metrics."""
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    model, tokenizer = load_scoring_lm(folder)
    found = simple_evaluate(
        HFLM(pretrained=model, tokenizer=tokenizer, batch_size=8,
             add_bos_token=True, device='cpu'),
        tasks=[harness_task(name, some) for name, some in questions.items()],
        bootstrap_iters=0)  # yapf: disable
    return {
        name:
        np.array([
            row[_metric(name)]
            for row in sorted(rows, key=lambda row: row['doc_id'])
        ])
        for name, rows in found['samples'].items()
    }


def _metric(name: str) -> str:
    return 'acc_norm' if BENCHMARKS[name].by_characters else 'acc'


def harness_task(name: str, questions: list[Question]) -> dict[str, Any]:
    """Settings of a task; contexts that differ by option are its choices."""
    several = len(set(questions[0].contexts)) > 1
    rows: list[dict[str, Any]] = [{
        'text':
        question.right if several else question.contexts[0],
        'choices':
        question.contexts if several else question.options,
        'target':
        question.options[0] if several else question.right
    } for question in questions]
    return dict(
        task=name,
        custom_dataset=_of_rows(rows),
        test_split='test',
        output_type='multiple_choice',
        doc_to_text='text',
        doc_to_choice='choices',
        doc_to_target='target',
        target_delimiter='',
        metric_list=[dict(metric=_metric(name))])


def _of_rows(rows: list[dict[str, Any]]) -> Callable[..., DatasetDict]:
    return lambda **_: DatasetDict(test=Dataset.from_list(rows))
