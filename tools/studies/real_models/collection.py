"""Run the models and their worse versions through OpenCompass."""
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import torch
from mmengine.config import Config
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from csv_plugin.configs.datasets.salience_texts import salience_texts
from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.io.text_sets import read_texts, write_texts
from tools.studies.real_models import RUN
from tools.studies.real_models.host import (ChoiceInferencer, DegradedModel,
                                            OneTaskPartitioner,
                                            QuestionDataset)
from tools.studies.real_models.models import (VERSIONS, fetch_model,
                                              fetch_requests)
from tools.studies.real_models.questions import BENCHMARKS, make_texts
from tools.studies.real_models.tables import missing


class Sizes(NamedTuple):
    """Questions of each benchmark, right answers of each among the texts."""
    n_items: int = 400
    n_answers: int = 32


def collect(folder: Path,
            names: Sequence[str],
            sizes: Sizes,
            workers: int,
            stages: str,
            more_texts: Sequence[Path] = ()) -> None:
    """Fetch, convert and run; what is done already is left alone.

    `names` are keys of `VERSIONS`, `stages` OpenCompass's `--mode`: 'infer',
    'eval' or 'all'. `more_texts` are validation sets, scored with the texts
    of the study. An InputError if a model did not get through the stages.
    """
    folder = folder.resolve()
    state = State(folder / 'state.json')
    requests = fetch_requests(folder)
    keep_texts(folder / 'texts.jsonl', [
        *make_texts(requests, *sizes), *(text for file in more_texts
                                         for text in read_texts(file))
    ])
    state.note('texts')
    for model in dict.fromkeys(VERSIONS[name].model for name in names):
        fetch_model(folder, model)
        state.note(f'model {model}')
    os.chdir(folder)
    config = folder / 'config.py'
    settings = _config(folder, requests, names, sizes, workers)
    Config(_by_name(settings)).dump(config)
    RUN.mkdir(parents=True, exist_ok=True)
    root = Path(__file__).parents[3]
    paths = [str(root), *filter(None, [os.environ.get('PYTHONPATH')])]
    command = [
        sys.executable, '-m', 'opencompass.cli.main', 'config.py', '-w',
        str(RUN.parent), '-r', RUN.name, '--mode', stages
    ]
    subprocess.run(
        command,
        check=True,
        env=os.environ | {'PYTHONPATH': os.pathsep.join(paths)})
    note_stages(state, names, stages)


def keep_texts(file: Path, texts: Sequence[Text]) -> None:
    """Write the texts of a run, which scores the same ones to its end."""
    chosen = TextSet(tuple(texts))
    if not file.exists():
        write_texts(file, chosen)
    elif read_texts(file).fingerprint != chosen.fingerprint:
        raise InputError(
            str(file), 'the texts of this command', 'others',
            'Give the options of the first call, or another folder.')


def note_stages(state: 'State', names: Sequence[str], stages: str) -> None:
    """OpenCompass ends well also if some tasks failed: look at their files."""
    folders = {
        'infer': RUN / 'predictions',
        'eval': RUN / 'results',
    }
    for stage in folders if stages == 'all' else (stages, ):
        unfinished = [n for n in names if missing(folders[stage] / n)]
        for name in names:
            if name not in unfinished:
                ended = max(file.stat().st_mtime
                            for file in (folders[stage] / name).iterdir())
                state.note(f'{stage} {name}', ended)
        if unfinished:
            raise InputError(
                str(folders[stage]), 'a file of each dataset for each model',
                f'gaps in those of {", ".join(unfinished)}',
                'See the logs of the run, and give the same command again.')


class State:
    """When each step ended, in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, step: str, ended: Optional[float] = None) -> None:
        """Keep the time at which a step ended first, by default now."""
        steps = json.loads(self.path.read_text()) if self.path.exists() else {}
        steps.setdefault(
            step, time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(ended)))
        self.path.write_text(json.dumps(steps, indent=4))


def _config(folder: Path, requests: Path, names: Sequence[str], sizes: Sizes,
            workers: int) -> dict[str, Any]:
    on_gpu = torch.cuda.is_available()
    models = [_model(folder, name, on_gpu) for name in names]
    datasets = [_dataset(requests, name, sizes.n_items) for name in BENCHMARKS]
    datasets.append(salience_texts(str(folder / 'texts.jsonl')))
    return dict(
        models=models,
        datasets=datasets,
        infer=_stage(OpenICLInferTask, NaivePartitioner, workers),
        eval=_stage(OpenICLEvalTask, OneTaskPartitioner, workers))


def _by_name(part: Any) -> Any:
    """The same with names in place of classes, as a file can have them."""
    if isinstance(part, dict):
        return {key: _by_name(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_by_name(value) for value in part]
    if isinstance(part, type):
        return f'{part.__module__}.{part.__qualname__}'
    return part


def _stage(task: type, partitioner: type, workers: int) -> dict[str, Any]:
    """Each model is a task at most: it is loaded and degraded once."""
    return dict(
        partitioner=dict(type=partitioner, n=1000),
        runner=dict(
            type=LocalRunner,
            max_num_workers=workers,
            max_workers_per_gpu=workers,
            task=dict(type=task)))


def _model(folder: Path, name: str, on_gpu: bool) -> dict[str, Any]:
    model, degradation = VERSIONS[name]
    return dict(
        type=DegradedModel,
        abbr=name,
        path=str(folder / 'models' / model),
        degradation=degradation and tuple(degradation),
        model_kwargs=dict(
            torch_dtype='torch.float', device_map='cuda' if on_gpu else 'cpu'),
        max_seq_len=2048,
        run_cfg=dict(num_gpus=int(on_gpu)))


def _dataset(requests: Path, name: str, n_items: int) -> dict[str, Any]:
    return dict(
        abbr=name,
        type=QuestionDataset,
        path=str(requests),
        name=name,
        n_items=n_items,
        reader_cfg=dict(input_columns=['contexts'], output_column='right'),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=''),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(
                type=ChoiceInferencer,
                by_characters=BENCHMARKS[name].by_characters)),
        eval_cfg=dict(evaluator=dict(type=AccEvaluator)))
