"""One small valid sample of every file format, and what a reader makes of it.

A sample is a folder, because some readers take several files. It is written
by the package, or as OpenCompass writes it.
"""
import dataclasses
import json
import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from safetensors.numpy import save_file

from csv_plugin.core.fitting import fit_predictor
from csv_plugin.core.predictions import Predictions
from csv_plugin.core.salience import Averaged
from csv_plugin.core.texts import Text, TextSet
from csv_plugin.extras.importers.importing import import_losses
from csv_plugin.io.collection import read_collection, write_collection
from csv_plugin.io.dumps import read_dump, write_dump
from csv_plugin.io.model_columns import UNITS
from csv_plugin.io.predictors import load_predictor, save_predictor
from csv_plugin.io.runs.run_scores import read_run_accuracies
from csv_plugin.io.tables import (BenchmarkInfo, ModelInfo,
                                  read_accuracy_columns, read_benchmarks,
                                  read_losses, read_models, write_csv)
from csv_plugin.io.text_sets import read_texts, write_texts
from csv_plugin.report.leaderboards import read_leaderboard, write_leaderboard
from csv_plugin.triage.checkpoints import read_checkpoints
from tests import runs
from tests.extras.importers import outputs
from tests.extras.importers.test_olmo_eval import rows
from tests.extras.page.pages import make_board
from tests.tables import small_tables, write_tables

PREDICTOR, DUMP = 'predictor.safetensors', 'model.parquet'


@dataclass(frozen=True)
class Sample:
    """A format: how to write one sample of it, and how to read it.

    Args:
        write (Callable): Fills an empty folder.
        read (Callable): What the package reads there, and predicts from it;
            `summary` compares it.
        target (str): Pattern of the files that are damaged.
        in_place (bool): Whether a killed writer may leave a part of the
            file: then a cut file must not lead to another result.
        needs (str): A module to import before the time is measured.
        foreign (bool): Whether other programs write the format, without a
            checksum: then a changed number is as good as the one before.
    """
    write: Callable[[Path], object]
    read: Callable[[Path], Any]
    target: str
    in_place: bool = False
    needs: str = 'tests.faults.samples'
    foreign: bool = False


def summary(value: Any) -> Any:
    """Nested tuples of texts that are equal only for equal results.

    Args:
        value (Any): Records, mappings, lists, arrays, numbers and texts.
    """
    if hasattr(value, 'indptr'):
        return summary((value.shape, value.data, value.indices, value.indptr))
    if hasattr(value, 'detach'):
        return str(value.dtype), summary(value.float().numpy())
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if dataclasses.is_dataclass(value):
        return tuple(
            summary(getattr(value, part.name))
            for part in dataclasses.fields(value))
    if isinstance(value, Mapping):
        return tuple((repr(key), summary(value[key])) for key in value)
    if isinstance(value, (list, tuple)):
        return tuple(map(summary, value))
    return repr(value)


def sensible(predictions: Predictions) -> Predictions:
    """The predictions, if all of them are fractions inside their intervals.

    Raises:
        ArithmeticError: A prediction is not a number, out of 0..1 or outside
            of its interval.
    """
    low, value, high = predictions.low, predictions.values, predictions.high
    if not ((0 <= low) & (low <= value) & (value <= high) & (high <= 1)).all():
        raise ArithmeticError(f'a prediction that cannot be: {low} {value} '
                              f'{high}'[:300])
    return predictions


def _write_losses(folder: Path) -> None:
    save_predictor(runs.train(), folder / PREDICTOR)
    texts = [
        dataclasses.replace(
            text,
            token_ids=np.array([7, 8, 9 + i]),
            entropy=text.losses / 2,
            rank=np.array([3, 0, i]))
        for i, text in enumerate(runs.model_losses(0.7))
    ]
    write_dump(folder / DUMP, runs.dump('model', texts))


def _predict(folder: Path) -> Any:
    predictor, dump = load_predictor(folder / PREDICTOR), read_dump(folder /
                                                                    DUMP)
    if not all(np.nanmin(text.losses) >= 0 for text in dump.texts):
        raise ArithmeticError('a negative loss')
    losses = predictor.loss_table({'model': dump})
    return predictor, dump, sensible(predictor.predict(losses))


def _fit_tables(folder: Path) -> None:
    tables = small_tables().only('easy', 'chance')
    predictor = fit_predictor(tables.features, tables.accuracies,
                              tables.groups, Averaged())
    save_predictor(predictor, folder / PREDICTOR)


def _predict_from_tables(folder: Path) -> Any:
    predictor = load_predictor(folder / PREDICTOR)
    return predictor, sensible(predictor.predict(small_tables().features))


def _write_texts(folder: Path) -> None:
    texts = (Text('zh', '猫在树上。', 'animals', (0, 1)),
             Text('en', 'a "cat"\n\tin\u2028a tree', 'animals',
                  (3, 6)), Text('plain', 'no answer'), Text('empty', ''))
    write_texts(folder / 'texts.jsonl', TextSet(texts))


def _write_tables(folder: Path) -> None:
    tables = small_tables(n_models=6)
    splits = dict.fromkeys(tables.models, 'train')
    write_tables(folder, tables, splits | {tables.models[0]: 'test'})


def _write_columns(folder: Path) -> None:
    features = small_tables(n_models=6).features
    pq.write_table(
        pa.table([pa.array(features.models), *features.values.T.copy()],
                 ['model', *features.columns.units]), folder / 'l.parquet')


def _write_tensor(folder: Path) -> None:
    features = small_tables(n_models=6).features
    save_file({'losses': features.values.astype(np.float16)},
              folder / 'l.safetensors',
              {'models': json.dumps(features.models)})
    (folder / UNITS).write_text('\n'.join(features.columns.units), 'utf-8')


def _write_collection(folder: Path) -> None:
    skills = {'one': 0.3, 'two': 0.7}
    write_collection(
        folder, runs.TEXTS, {
            name: runs.dump(name, runs.model_losses(skill))
            for name, skill in skills.items()
        }, {
            'one': ModelInfo('a', 'train', 1.5),
            'two': ModelInfo('b', 'test', math.nan)
        }, {
            'one': {
                'easy': 0.25,
                'hard': 0.5
            },
            'two': {
                'easy': 0.75
            }
        }, {
            'easy': BenchmarkInfo(0.25, 100, True, ''),
            'hard': BenchmarkInfo(0.0, 0, False, '')
        })


def _write_recipe(folder: Path) -> None:
    (folder / 'recipe.yaml').write_text(
        '- name: sums\n  dataset: gsm8k_gen_17d0dc\n  count: 50\n'
        '- name: worked\n  dataset: bbh_gen_98fba6\n  count: 25\n'
        '  chain_of_thought: true\n', 'utf-8')


def _read_recipe(folder: Path) -> Any:
    from csv_plugin.oc.validation_set.text_recipes import read_recipe
    return read_recipe(folder / 'recipe.yaml')


def _write_checkpoints(folder: Path) -> None:
    rows = [(f'{run}@{step}', run, step, step / 2, 50)
            for run in ('mix1', 'mix2') for step in (10, 20, 100)]
    write_csv(folder / 'checkpoints.csv',
              ('model', 'run', 'step', 'tokens', 'budget'), rows)


#: Accuracies in percent of a run, as OpenCompass writes them.
_SCORES = {'easy': (29.17, 100.0), 'hard': (30.0, 0.5), 'all': (29.58, 50.25)}


def _write_run(folder: Path) -> None:
    """The summary and the results that OpenCompass writes in place."""
    models = 'm-1', 'm_2'
    lines = [['dataset', 'version', 'metric', 'mode', *models]]
    for name, scores in _SCORES.items():
        is_group = name == 'all'
        lines.append([
            name, '-' if is_group else '9c32f6',
            'naive_average' if is_group else 'accuracy', 'gen',
            *(f'{score:.2f}' for score in scores)
        ])
    runs.write_summary(folder, lines)
    for index, model in enumerate(models):
        for name in ('easy', 'hard'):
            path = folder / 'results' / model / f'{name}.json'
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                json.dumps({'accuracy': _SCORES[name][index]}, indent=4),
                'utf-8')
        (folder / 'predictions' / model).mkdir(parents=True)


def _read_run(folder: Path) -> Any:
    return read_run_accuracies(folder, list(_SCORES))


def _read_results(folder: Path) -> Any:
    from tools.studies.zoo.building import accuracy
    return {
        (path.parent.name, path.stem):
        accuracy([folder], path.parent.name, path.stem)
        for path in sorted(folder.glob('results/*/*.json'))
    }


def _read_leaderboard(folder: Path) -> Any:
    return read_leaderboard(folder / 'leaderboard.json')


def _write_manifest(folder: Path) -> None:
    from tools.studies.zoo.recipes import CHECKPOINTS, TrainingRecipe
    from tools.studies.zoo.zoo_files import Manifest, checkpoint_folder
    manifest = Manifest(folder, TrainingRecipe())
    for model in ('a-xs', 'b-s'):
        manifest.add(model, {'parameters': 1000, 'seconds': 1.5})
        for percent in CHECKPOINTS:
            checkpoint_folder(folder, model, percent).mkdir(parents=True)


def _read_manifest(folder: Path) -> Any:
    from tools.studies.zoo.recipes import TrainingRecipe
    from tools.studies.zoo.zoo_files import Manifest
    return Manifest(folder, TrainingRecipe()).models


def _copy(source: Path) -> Callable[[Path], object]:
    """Writes a sample that another program wrote."""
    return lambda folder: shutil.copytree(source, folder, dirs_exist_ok=True)


def _import(source: str, name: str = '.') -> Callable[[Path], Any]:
    """Reads losses that another program wrote."""
    has_texts = source not in ('lighteval', 'olmo-eval')
    return lambda folder: import_losses(
        source, {'model': folder / name},
        read_texts(outputs.TEXTS) if has_texts else None)


def _write_olmo_eval(folder: Path) -> None:
    outputs.write_rows(folder / 'arc_easy_rc_a1b2c3-predictions.jsonl', rows())


def _write_table_of_losses(folder: Path) -> None:
    table = pa.table({
        'text_id': [text.text_id for text in read_texts(outputs.TEXTS)],
        'nats': [20.5 + 3 * i for i in range(5)]
    })
    pa.csv.write_csv(table, folder / 'model.csv')
    pq.write_table(table, folder / 'model.parquet')


def _write_lm(folder: Path) -> None:
    from tests.lm import models
    models.make('llama').save_pretrained(folder)
    models.tokenizer().save_pretrained(folder)


def _score(folder: Path) -> Any:
    """Losses by a model that somebody else wrote."""
    from csv_plugin.lm.engines.token_losses import token_losses
    from csv_plugin.lm.scoring_lm import load_scoring_lm
    model, tokenizer = load_scoring_lm(folder)
    return list(token_losses(model, tokenizer, [Text('a', 'The cat sat.')]))


def _table(name: str, read: Callable[[Path], Any]) -> Sample:
    return Sample(_write_tables, lambda folder: read(folder / f'{name}.csv'),
                  f'{name}.csv')


#: The formats by the names that the table of outcomes gives them.
SAMPLES = {
    'dumps':
    Sample(_write_losses, _predict, DUMP, needs='tests.faults.bombs'),
    'predictors':
    Sample(_write_losses, _predict, PREDICTOR),
    'predictors-of-tables':
    Sample(_fit_tables, _predict_from_tables, PREDICTOR),
    'texts':
    Sample(_write_texts, lambda folder: read_texts(folder / 'texts.jsonl'),
           'texts.jsonl'),
    'losses':
    _table('losses', read_losses),
    'losses-in-columns':
    Sample(
        _write_columns,
        lambda folder: read_losses(folder / 'l.parquet'),
        '*',
        needs='tests.faults.bombs',
        foreign=True),
    'losses-in-a-tensor':
    Sample(
        _write_tensor,
        lambda folder: read_losses(folder / 'l.safetensors'),
        '*',
        foreign=True),
    'accuracies':
    _table('scores', read_accuracy_columns),
    'models':
    _table('models', read_models),
    'benchmarks':
    _table('benchmarks', read_benchmarks),
    'collections':
    Sample(
        _write_collection, read_collection, '*', needs='tests.faults.bombs'),
    'recipes':
    Sample(
        _write_recipe,
        _read_recipe,
        'recipe.yaml',
        needs='csv_plugin.oc.validation_set.text_recipes'),
    'checkpoints':
    Sample(_write_checkpoints,
           lambda folder: read_checkpoints(folder / 'checkpoints.csv'),
           'checkpoints.csv'),
    'host-summaries':
    Sample(_write_run, _read_run, 'summary/*.csv', True),
    'host-results':
    Sample(
        _write_run,
        _read_results,
        'results/*/*.json',
        True,
        needs='tools.studies.zoo.building'),
    'leaderboards':
    Sample(
        lambda folder: write_leaderboard(folder / 'leaderboard', make_board()),
        _read_leaderboard, 'leaderboard.json'),
    'lm-eval-samples':
    Sample(_copy(outputs.LM_EVAL / 'c-l-80'), _import('lm-eval'), 'samples_*'),
    'lm-eval-results':
    Sample(
        _copy(outputs.LM_EVAL / 'c-l-80'), _import('lm-eval'),
        'results_*07-58*'),
    'lighteval':
    Sample(
        _copy(outputs.LIGHTEVAL / 'c-l-80'),
        _import('lighteval'),
        '*/*.parquet',
        needs='tests.faults.bombs',
        foreign=True),
    'olmo-eval':
    Sample(_write_olmo_eval, _import('olmo-eval'), '*.jsonl'),
    'completions':
    Sample(
        _copy(outputs.ANSWERS.parent),
        _import('completions', outputs.ANSWERS.name), outputs.ANSWERS.name),
    'tables-of-losses':
    Sample(
        _write_table_of_losses,
        lambda folder: [
            _import('table', f'model.{kind}')(folder)
            for kind in ('csv', 'parquet')
        ],
        '*',
        needs='tests.faults.bombs',
        foreign=True),
    'scoring-lm':
    Sample(_write_lm, _score, '*.json', needs='tests.lm.models'),
    'zoo-manifest':
    Sample(
        _write_manifest,
        _read_manifest,
        'manifest.json',
        needs='tools.studies.zoo.zoo_files'),
}
