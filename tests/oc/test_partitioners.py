"""Few tasks, in runs that were checked."""
from dataclasses import replace
from pathlib import Path

import pytest
from mmengine.config import Config
from opencompass.models import (HuggingFaceBaseModel, HuggingFaceCausalLM,
                                HuggingFacewithChatTemplate)
from opencompass.openicl.icl_inferencer import PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass.tasks import OpenICLInferTask
from opencompass.utils import task_abbr_from_cfg

from csv_plugin.configs.datasets.salience_texts import salience_texts
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.predictors import save_predictor
from csv_plugin.oc.partitioners import FewTasksPartitioner
from csv_plugin.oc.summarizers import PredictedSummarizer
from tests.lm.newer_folders import rewrite_tokenizer, save_pair
from tests.oc import tiny
from tests.runs import TEXTS, train

EXAM = tiny.exam(
    'exam',
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(A='{question} {A}', B='{question} {B}')),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=PPLInferencer))


@pytest.fixture
def texts(tmp_path):
    """The entry of the texts of `tests.runs`."""
    return salience_texts(tiny.save_texts(tmp_path / 'texts.jsonl', TEXTS))


def config_of(run: Path, models, datasets, **rest) -> Config:
    return Config(
        dict(models=models, datasets=datasets, work_dir=str(run), **rest))


def tasks_of(config: Config, stage: str = 'predictions', **settings) -> list:
    return FewTasksPartitioner(f'{config.work_dir}/{stage}/', **settings)(
        config)


def names_of(tasks: list) -> list[str]:
    return [task_abbr_from_cfg(task) for task in tasks]


@pytest.mark.parametrize('stage', ['predictions', 'results'])
def test_a_model_has_one_task_that_begins_with_the_texts(
        texts, tmp_path, stage):
    datasets = [EXAM, texts, {**EXAM, 'abbr': 'other'}]
    models = [dict(abbr=name, type='M') for name in ('m', 'n')]
    config = config_of(tmp_path, models, datasets)
    abbr = texts['abbr']
    assert names_of(tasks_of(config, stage)) == [
        f'[{model}/{abbr},{model}/exam,{model}/other]' for model in 'mn'
    ]
    assert len(tasks_of(config, stage, n=1)) == 6


@pytest.mark.parametrize('n_tasks', [1, 2, 5])
def test_models_share_tasks(texts, tmp_path, n_tasks):
    models = [dict(abbr=name, type='M') for name in 'mno']
    combinations = [
        dict(models=models[:2], datasets=[texts]),
        dict(models=models[2:], datasets=[EXAM, texts])
    ]
    config = config_of(
        tmp_path,
        models, [EXAM, texts],
        model_dataset_combinations=combinations,
        infer=dict(n_tasks=n_tasks),
        eval=dict(n_tasks=1))
    tasks = tasks_of(config)
    assert len(tasks) == min(n_tasks, 3)
    assert len(tasks_of(config, 'results')) == 1
    pairs = sorted((model['abbr'], dataset['abbr']) for task in tasks
                   for model, part in zip(task['models'], task['datasets'])
                   for dataset in part)
    abbr = texts['abbr']
    assert pairs == [('m', abbr), ('n', abbr), ('o', 'exam'), ('o', abbr)]


@pytest.mark.parametrize('damage', ['lost', 'torn', 'foreign'])
def test_lost_losses_are_taken_again(model_folder, texts, tmp_path, damage):
    """OpenCompass alone takes texts as done that have a JSON."""
    run = tmp_path / 'run'
    config = config_of(run, [tiny.model_config(model_folder)], [texts])
    task, = tasks_of(config)
    OpenICLInferTask(task).run()
    assert tasks_of(config) == []
    dump, = run.rglob('*.safetensors')
    before = dump.read_bytes()
    if damage == 'lost':
        dump.unlink()
    elif damage == 'torn':
        dump.write_bytes(before[:-9])
    else:
        losses = read_dump(dump)
        write_dump(dump,
                   replace(losses, info=replace(losses.info, folder='other')))
    assert tasks_of(config, 'results')
    result = run / f'results/{model_folder.name}/{texts["abbr"]}.json'
    if damage != 'lost':
        result.parent.mkdir(parents=True)
        result.write_text('{}')
    task, = tasks_of(config)
    # What was evaluated of them is not that of the new losses.
    assert not result.exists()
    OpenICLInferTask(task).run()
    assert dump.read_bytes() == before
    assert tasks_of(config) == []


def summarizer(*predictors, **settings):
    return dict(
        type=PredictedSummarizer, predictors=list(predictors), **settings)


@pytest.fixture
def predictor(tmp_path):
    save_predictor(train(('exam', )), tmp_path / 'p')
    return 'predicted', str(tmp_path / 'p')


MODELS = [dict(abbr='m', type='M')]
GROUPS = [dict(name='exams', subsets=['exam'])]


@pytest.mark.parametrize('change, message', [
    (dict(models=MODELS * 2),
     "abbr of models: expected every name once, found 'm' twice. Rename"),
    (dict(summarizer=summarizer(known=True)),
     'benchmarks or known is set, found no predictor. Set predictors to'),
    (dict(summarizer=summarizer(('torn', 'torn'))),
     'torn: expected a readable safetensors file'),
    (dict(benchmarks=[('exan', 'exam')]),
     "a benchmark of the predictors: exam, found 'exan'. Correct this name"),
    (dict(benchmarks=[('exam', ('exam', 'a', 'b'))]), 'for a metric, found'),
    (dict(benchmarks=[('exam', 'exan')]),
     "a dataset or summary group of the run: exam, found 'exan'"),
])  # yapf: disable
def test_mistakes_stop_a_run_before_its_models(texts, predictor, tmp_path,
                                               change, message):
    (tmp_path / 'torn').write_bytes(b'no predictor')
    change = dict(change)
    benchmarks = change.pop('benchmarks', ())
    parts = dict(
        models=MODELS,
        datasets=[EXAM, texts],
        summarizer=summarizer(
            predictor, benchmarks=benchmarks, summary_groups=GROUPS))
    config = config_of(tmp_path, **{**parts, **change})
    with pytest.raises(SystemExit) as caught:
        tasks_of(config)
    line, = str(caught.value).splitlines()
    assert line.startswith('error: ') and message in line
    assert tasks_of(config, 'results')


@pytest.fixture
def warnings(monkeypatch):
    lines = []
    monkeypatch.setattr(
        'opencompass.partitioners.base.get_logger',
        lambda: type('Log',
                     (), dict(warning=lines.append, info=print, debug=print)))
    return lines


def test_a_summarizer_may_have_no_predictor(texts, tmp_path, warnings):
    config = config_of(
        tmp_path, MODELS, [EXAM, texts], summarizer=summarizer())
    assert len(tasks_of(config)) == 1 and not warnings


def test_a_predictor_may_be_trained_later(texts, predictor, tmp_path,
                                          warnings):
    config = config_of(
        tmp_path,
        MODELS, [EXAM, texts],
        summarizer=summarizer(
            predictor, ('later', 'later.safetensors'),
            benchmarks=[('other', 'exam')]))
    assert len(tasks_of(config)) == 1
    [line] = warnings
    assert f"'later': there is no file {tmp_path}/later.safetensors." in line


def test_texts_of_a_predictor_that_are_not_run(texts, predictor, tmp_path,
                                               warnings):
    for datasets, n_warnings in (([EXAM, texts], 0), ([EXAM], 1)):
        tasks_of(
            config_of(
                tmp_path, MODELS, datasets, summarizer=summarizer(predictor)))
        assert len(warnings) == n_warnings
    assert texts['abbr'] in warnings[0]


@pytest.mark.parametrize('kind', [
    HuggingFaceBaseModel, HuggingFacewithChatTemplate, HuggingFaceCausalLM,
    'opencompass.models.HuggingFaceBaseModel'
])
@pytest.mark.parametrize('wrap', [dict, tiny.wrapped])
def test_files_that_are_read_in_part_end_a_run_before_it_begins(
        texts, tmp_path, kind, wrap):
    """OpenCompass would run the benchmarks on another model."""
    old, new = save_pair(tmp_path, 'theta')
    sound, unread = (
        wrap(tiny.model_config(path, kind)) for path in (old, new))
    assert tasks_of(config_of(tmp_path / 'run', [sound], [EXAM, texts]))
    config = config_of(tmp_path / 'run', [sound, unread], [EXAM, texts])
    with pytest.raises(
            SystemExit, match='error: .*needs "rope_theta": 500000.0. Add '):
        tasks_of(config)
    # Also the tokenizer of an entry, which may lie elsewhere.
    rewrite_tokenizer(new)
    apart = {**sound, 'tokenizer_path': str(new)}
    with pytest.raises(SystemExit, match='"PreTrainedTokenizerFast"'):
        tasks_of(config_of(tmp_path / 'run', [apart], [EXAM, texts]))


def test_files_that_are_read_in_part_give_no_losses(texts, tmp_path):
    """Without the partitioner, in the task that scores the texts."""
    new = save_pair(tmp_path, 'theta')[1]
    for entry in (tiny.model_config(new),
                  tiny.wrapped(tiny.model_config(new))):
        with pytest.raises(ValueError, match='found rope_parameters of trans'):
            tiny.infer(tmp_path / 'run', entry, texts)
    assert not list(tmp_path.glob('run/predictions/**/*.safetensors'))
