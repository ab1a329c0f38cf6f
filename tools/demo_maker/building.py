"""Makes the package's files from the trained zoo and its evaluation."""
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from csv_plugin.core.conventions import InputError
from csv_plugin.core.losses import TokenLosses
from csv_plugin.core.model_losses import TokenLossDump
from csv_plugin.core.texts import TextSet
from csv_plugin.io import collection
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.files import write_text
from csv_plugin.io.json_files import check_fields, read_json
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts
from tools.demo_maker import world
from tools.demo_maker.files import (checkpoint_folder, read_manifest,
                                    tokenizer_folder)
from tools.demo_maker.recipes import CHECKPOINTS, MODELS, recipe_of

#: All models of these series are test models.
UNSEEN_FAMILIES = ('d', 'h')
#: Chance level of each exam. The answers of two exams are generated and not
#: chosen.
CHANCE = dict(census=.25, chinese=.25, scenes=.25, sums=0., swaps=0.)

#: Model and per cent of the checkpoints that ship, all of them test models.
HELD_OUT = (('a-l', 100), ('b-l', 50), ('c-l', 80), ('d-s', 100), ('d-m', 65),
            ('d-l', 100), ('h-l', 100))

#: Series whose losses on the right answers of all exam items ship, too.
LABELLED = ('e', 'f', 'g', 'h', 'a2', 'c2')

#: Losses of the collection are multiples of this, in nats: their files are
#: half as large, and no prediction changes by a tenth of a point.
LOSS_STEP = 2.**-11


def split_of(model: str, percent: int) -> str:
    """The split of a checkpoint.

    Test: all of the unseen families, and the second half of the training of
    the largest models. Validation: the last third of the training of the
    second largest models.

    >>> split_of('a-l', 35), split_of('a-l', 50), split_of('d-xs', 10)
    ('train', 'test', 'test')
    """
    series, size = recipe_of(model)
    if (series.family in UNSEEN_FAMILIES
            or size.name == 'l' and percent >= 50):
        return 'test'
    return 'validation' if size.name == 'm' and percent >= 65 else 'train'


def checkpoints() -> list[tuple[str, int]]:
    """Model and per cent of every checkpoint of the zoo."""
    return [(model, percent) for model in MODELS for percent in CHECKPOINTS]


def abbr(model: str, percent: int) -> str:
    """The name of a checkpoint in a run, such as 'a-l@50'."""
    return f'{model}@{percent}'


def model_sizes(zoo: Path) -> dict[str, int]:
    """Number of parameters of each model of a trained zoo."""
    models = read_manifest(zoo)['models']
    return {model: record['parameters'] for model, record in models.items()}


def write_collection(folder: Path, runs: Sequence[Path], texts: TextSet,
                     sizes: dict[str, int]) -> None:
    """Write dumps and accuracies of the zoo for `io.collection`."""
    folder.mkdir(parents=True, exist_ok=True)
    models = [(model, percent, abbr(model, percent))
              for model, percent in checkpoints()]
    for model, _, name in models:
        run = last_run(runs, f'predictions/{name}')
        dump = read_run_dump(run, name, texts.fingerprint)
        # Names take the place of the folders of the models.
        info = replace(
            dump.info, model=name, tokenizer=recipe_of(model)[0].name)
        write_dump(folder / f'{name}.safetensors',
                   TokenLossDump(info, tuple(map(_rounded, dump.texts))))
    write_texts(folder / collection.TEXTS, texts)
    write_csv(folder / collection.MODELS,
              ('model', 'family', 'params_b', 'split'),
              ((name, f'series {recipe_of(model)[0].family}',
                sizes[model] / 1e9, split_of(model, percent))
               for model, percent, name in models))
    write_csv(folder / collection.SCORES, ('model', *world.KINDS),
              ((name, *(accuracy(runs, name, kind) for kind in world.KINDS))
               for _, _, name in models))
    write_csv(folder / collection.BENCHMARKS,
              ('benchmark', 'chance', 'n_items'),
              ((kind, CHANCE[kind], world.N_ITEMS) for kind in world.KINDS))


def write_exams(folder: Path) -> None:
    """Write the questions of each exam, one file of JSON lines an exam."""
    folder.mkdir(exist_ok=True)
    for kind in world.KINDS:
        rows = (
            dict(
                zip('ABCD', item.options),
                question=item.question,
                label=item.label) for item in world.exam(kind))
        lines = (json.dumps(row, ensure_ascii=False) + '\n' for row in rows)
        (folder / f'{kind}.jsonl').write_text(''.join(lines), 'utf-8')


def write_label_losses(path: Path, runs: Sequence[Path]) -> None:
    """Write the losses of the right answers of all items of each exam.

    Only those of the series `LABELLED` are there. Scored: the tokens of each
    right answer, given its question; nats per byte of the answers.
    """
    write_csv(
        path, ('model', *world.KINDS),
        ((name, *(_result(runs, name, f'{kind}-label_loss', 'label_byte_loss')
                  for kind in world.KINDS))
         for name in (abbr(model, percent) for model, percent in checkpoints()
                      if recipe_of(model)[0].name in LABELLED)))


def copy_models(zoo: Path, folder: Path, runs: Sequence[Path]) -> None:
    """Copy the held-out models, their tokenizers and the manifest of a zoo.

    The copy of the manifest also holds all accuracies.
    """
    for model, percent in HELD_OUT:
        series = recipe_of(model)[0].name
        _copy(tokenizer_folder(zoo, series), tokenizer_folder(folder, series))
        _copy(
            checkpoint_folder(zoo, model, percent),
            checkpoint_folder(folder, model, percent))
    manifest = read_manifest(zoo)
    for model, record in manifest['models'].items():
        record['scores'] = {
            percent: {
                kind: accuracy(runs, abbr(model, percent), kind)
                for kind in world.KINDS
            }
            for percent in CHECKPOINTS
        }
    write_text(folder / 'manifest.json', json.dumps(manifest, indent=1) + '\n')


def _rounded(losses: TokenLosses) -> TokenLosses:
    """Losses of a text, to the nearest multiple of `LOSS_STEP`."""
    return replace(
        losses, losses=np.rint(losses.losses / LOSS_STEP) * LOSS_STEP)


def _copy(source: Path, target: Path) -> None:
    # Before anything is removed: the target ships with the package.
    if not source.is_dir():
        raise InputError(
            str(source), 'a folder of a trained zoo', 'none',
            'Train its models again.')
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def accuracy(runs: Sequence[Path], name: str, kind: str) -> float:
    """The accuracy of a checkpoint in an exam, a fraction."""
    return _result(runs, name, kind, 'accuracy') / 100


def _result(runs: Sequence[Path], name: str, dataset: str,
            metric: str) -> float:
    """What OpenCompass measured of a checkpoint on a dataset."""
    place = f'results/{name}/{dataset}.json'
    path = last_run(runs, place) / place
    remedy = 'Remove it, and evaluate the model again with -r.'
    result = read_json(path, remedy)
    check_fields(
        str(path), 'the result', result, {metric: 'a number or null'}, remedy)
    return result[metric]


def last_run(runs: Sequence[Path], place: str) -> Path:
    """The last run that holds a file or folder."""
    for run in reversed(runs):
        if (run / place).exists():
            return run
    raise InputError('runs', f'a run with {place}',
                     f'none among {", ".join(map(str, runs))}',
                     'Evaluate configs/eval_csv_collect.py to its end.')
