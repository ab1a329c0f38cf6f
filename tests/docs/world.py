"""A folder with the files that README and docs name: a few texts and models.

Sixteen texts and some checkpoints of the zoo stand for what a reader has: for
the files of the demonstration, for runs of OpenCompass on mmlu, bbh and gsm8k,
for models of the hub (as folders with their names) and for tables.
"""
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import csv_plugin as cp
from csv_plugin.core.texts import TextSet
from csv_plugin.core.training import Training
from csv_plugin.demo import shipped
from csv_plugin.io.collection import Collection
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.io.tables import read_models, write_csv
from tests.io.runs.test_run_plan import config, write_config
from tests.runs import on_texts, write_result, write_summary

#: Benchmarks, and the exams of the zoo that stand for them.
EXAMS = {'mmlu': 'scenes', 'bbh': 'sums', 'gsm8k': 'swaps'}
#: The split of models, by the series that their names begin with.
SPLITS = {'a': 'train', 'b': 'validation', 'd': 'test'}
#: Folders that stand for models.
MODELS = ('my-model', 'my/model', 'internlm/internlm2_5-1_8b',
          'runs/mix/checkpoint-100', 'runs/mix1/checkpoint-1000',
          'runs/mix2/checkpoint-990', 'runs/mix2/checkpoint-1000')


def make_world(root: Path) -> None:
    """Write all files; `demo` stands for the folder of the demonstration."""
    zoo = _part_of_the_zoo()
    _write_demo(root / 'demo', zoo)
    for path in ('texts.jsonl', 'my_texts.jsonl', 'outputs/texts/texts.jsonl'):
        _copy(root / 'demo/texts.jsonl', root / path)
    for path in ('predictor.safetensors',
                 'outputs/predictor/predictor.safetensors'):
        _copy(root / 'demo/predictor.safetensors', root / path)
    for path in MODELS:
        shutil.copytree(shipped.ZOO / 'd/s/100', root / path)
        shutil.copytree(
            shipped.ZOO / 'd/tokenizer', root / path, dirs_exist_ok=True)
    _write_run(root / 'outputs/mine/20260101_120000', zoo, SPLITS)
    for alias in ('WORK_DIR', 'outputs/mine/TIME', 'outputs/csv/TIME',
                  'outputs/csv/20260101_120000'):
        (root / alias).parent.mkdir(parents=True, exist_ok=True)
        (root / alias).symlink_to(root / 'outputs/mine/20260101_120000')
    _write_run(root / 'outputs/earlier/20260101_120000', zoo, 'c')
    for folder, series in (('new', 'd'), ('earlier', 'c')):
        (root / folder).mkdir()
        for path in (root / 'demo/collection').glob(f'{series}-*.safetensors'):
            shutil.copy(path, root / folder)
    for name, model in (('mine', 'a-m@100'), ('other', 'd-m@65')):
        shutil.copy(root / f'demo/collection/{model}.safetensors',
                    root / f'{name}.safetensors')
    _write_tables(root, zoo)
    (root / 'models.txt').write_text('my-model\nother=my-model\n')


def _part_of_the_zoo() -> Collection:
    """Two sizes of every series, and the beginning of two large models."""
    runs = [f'{series}-{size}' for series in 'abcd' for size in ('xs', 'm')]
    models = [f'{run}@{step}' for run in runs for step in (35, 65, 100)]
    models += [f'{run}@{step}' for run in ('a-l', 'd-l') for step in (10, 20)]
    whole = cp.read_texts(shipped.TEXTS)
    losses = cp.read_dumps(
        [shipped.COLLECTION / f'{model}.safetensors' for model in models],
        whole)
    table = cp.read_accuracies(shipped.COLLECTION / 'scores.csv',
                               shipped.COLLECTION / 'benchmarks.csv').select(
                                   models, list(EXAMS.values()))
    info = read_models(shipped.COLLECTION / 'models.csv')
    return Collection(
        on_texts(losses, TextSet(whole.texts[::16])),
        replace(table, benchmarks=tuple(EXAMS)),
        {model: info[model]
         for model in models})


def _write_demo(folder: Path, zoo: Collection) -> None:
    table = zoo.accuracies
    zoo.write(folder / 'collection')
    cp.write_texts(folder / 'texts.jsonl', zoo.texts)
    shutil.copytree(shipped.ZOO / 'a', folder / 'zoo/a')
    known = [model for model in zoo.losses if model[0] in 'ab']
    targets = zoo.losses.tokens_of(known[0])
    losses = targets.table({model: zoo.losses[model].texts for model in known})
    training = Training(losses, zoo.texts, table.select(known), zoo.families,
                        targets)
    for name in ('predictor', 'predictor_mean_loss'):
        cp.save(training.mean_loss(), folder / f'{name}.safetensors')


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def _write_run(work_dir: Path, zoo: Collection, series: Mapping | str) -> None:
    """A run of the models of some series, as OpenCompass leaves it."""
    models = [model for model in zoo.losses if model[0] in series]
    texts = dataset_abbr(zoo.texts.fingerprint)
    percent = 100 * zoo.accuracies.select(models).values
    for model, row in zip(models, percent):
        for benchmark, accuracy in zip(EXAMS, row):
            write_result(work_dir, model, benchmark, {'accuracy': accuracy})
        _copy(work_dir.parents[2] / f'demo/collection/{model}.safetensors',
              work_dir / f'predictions/{model}/{texts}.safetensors')
    write_config(work_dir, config(models, [*EXAMS, texts]))
    write_summary(work_dir, [
        ['dataset', 'version', 'metric', 'mode', *models],
        *([name, '1f', 'accuracy', 'gen', *map('{:.2f}'.format, column)]
          for name, column in zip(EXAMS, percent.T))
    ])  # yapf: disable


def _write_tables(root: Path, zoo: Collection) -> None:
    """Losses by text, accuracies, families and chance levels."""
    models = [model for model in zoo.losses if model[0] in SPLITS]
    nats = {
        model: [text.losses.sum() for text in zoo.losses[model].texts]
        for model in zoo.losses
    }
    for name, named in (('losses', models),
                        ('new', [m for m in nats if m not in models])):
        write_csv(root / f'{name}.csv', ('model', *zoo.texts.ids),
                  ([model, *nats[model]] for model in named))
    write_csv(root / 'scores.csv', ('model', *EXAMS),
              ([model, *row]
               for model, row in zip(models,
                                     zoo.accuracies.select(models).values)))
    write_csv(root / 'models.csv', ('model', 'family', 'split'),
              ([model, zoo.families[model], SPLITS[model[0]]]
               for model in models))
    write_csv(root / 'their_models.csv', ('model', 'family'),
              ([model, zoo.families[model]]
               for model in zoo.losses if model[0] == 'c'))
    write_csv(root / 'one_model.csv', ('model', 'family'),
              [['d-m@100', zoo.families['d-m@100']]])
    write_csv(root / 'benchmarks.csv', ('benchmark', 'chance', 'n_items'),
              zip(EXAMS, zoo.accuracies.chance, zoo.accuracies.n_items))
    write_csv(root / 'answers.csv', ('model', 'gsm8k/1', 'gsm8k/2'),
              (['mine', 0, 1], ['other', 1, 1]))
