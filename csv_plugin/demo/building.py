"""From a trained zoo and its evaluation to the files of the package."""
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from csv_plugin.core.conventions import InputError
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import world
from csv_plugin.demo.recipes import CHECKPOINTS, MODELS, SERIES, recipe_of
from csv_plugin.demo.zoo_files import checkpoint_folder, tokenizer_folder
from csv_plugin.io import collection
from csv_plugin.io.dumps import write_dump
from csv_plugin.io.files import atomic_path
from csv_plugin.io.runs.run_dumps import read_run_dump
from csv_plugin.io.tables import write_csv
from csv_plugin.io.text_sets import write_texts

#: A series whose mixture of writings no fitted model has.
UNSEEN_SERIES = 'd'
#: Accuracy at random guessing; what is generated is not guessed.
CHANCE = dict(census=.25, chinese=.25, scenes=.25, sums=0., swaps=0.)

#: Checkpoints that ship, all of them test models.
HELD_OUT = (('a-l', 100), ('b-l', 50), ('c-l', 80), ('d-s', 100), ('d-m', 65),
            ('d-l', 100))


def split_of(model: str, percent: int) -> str:
    """The split of a checkpoint.

    Test: a whole series, and the second half of the largest models of the
    others. Validation: the last third of the second largest ones.

    >>> split_of('a-l', 35), split_of('a-l', 50), split_of('d-xs', 10)
    ('train', 'test', 'test')
    """
    series, size = recipe_of(model)
    if series.name == UNSEEN_SERIES or size.name == 'l' and percent >= 50:
        return 'test'
    return 'validation' if size.name == 'm' and percent >= 65 else 'train'


def checkpoints() -> list[tuple[str, int]]:
    """Model and per cent of all checkpoints of the zoo."""
    return [(model, percent) for model in MODELS for percent in CHECKPOINTS]


def abbr(model: str, percent: int) -> str:
    """How a checkpoint is called in a run, such as 'a-l@50'."""
    return f'{model}@{percent}'


def write_collection(folder: Path, runs: Sequence[Path], texts: TextSet,
                     sizes: dict[str, int]) -> None:
    """Dumps and scores of the zoo as `io.collections` reads them.

    Args:
        folder (Path): To create; files of the same name are replaced.
        runs (Sequence[Path]): Time-stamped folders of OpenCompass runs that
            together hold every checkpoint; the last that has one counts.
        texts (TextSet): The validation set.
        sizes (dict[str, int]): Parameters of each model.

    Raises:
        InputError: If a score or a dump is in none of the runs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    models = [(model, percent, abbr(model, percent))
              for model, percent in checkpoints()]
    for model, _, name in models:
        run = _run_of(runs, f'predictions/{name}')
        dump = read_run_dump(run, name, texts.fingerprint)
        # Names rather than the folders they lay in.
        info = replace(
            dump.info, model=name, tokenizer=recipe_of(model)[0].name)
        write_dump(folder / f'{name}.parquet', replace(dump, info=info))
    write_texts(folder / collection.TEXTS, texts)
    write_csv(folder / collection.MODELS,
              ('model', 'family', 'params_b', 'split'),
              ((name, f'series {recipe_of(model)[0].name}', sizes[model] / 1e9,
                split_of(model, percent)) for model, percent, name in models))
    write_csv(folder / collection.SCORES, ('model', *world.KINDS),
              ((name, *(_score(runs, name, kind) for kind in world.KINDS))
               for _, _, name in models))
    write_csv(folder / collection.BENCHMARKS,
              ('benchmark', 'chance', 'n_items'),
              ((kind, CHANCE[kind], world.N_ITEMS) for kind in world.KINDS))


def copy_models(zoo: Path, folder: Path, runs: Sequence[Path]) -> None:
    """Copy what ships of a zoo, and its manifest with all scores.

    Args:
        zoo (Path): What tools/train_demo_zoo.py wrote.
        folder (Path): Where to; checkpoints there are replaced.
        runs (Sequence[Path]): As in `write_collection`.

    Raises:
        InputError: If a score is in none of the runs.
    """
    for series in SERIES:
        _copy(tokenizer_folder(zoo, series), tokenizer_folder(folder, series))
    for model, percent in HELD_OUT:
        _copy(
            checkpoint_folder(zoo, model, percent),
            checkpoint_folder(folder, model, percent))
    manifest = json.loads((zoo / 'manifest.json').read_text('utf-8'))
    for model, record in manifest['models'].items():
        record['scores'] = {
            percent: {
                kind: _score(runs, abbr(model, percent), kind)
                for kind in world.KINDS
            }
            for percent in CHECKPOINTS
        }
    with atomic_path(folder / 'manifest.json') as path:
        path.write_text(json.dumps(manifest, indent=1) + '\n', 'utf-8')


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def _score(runs: Sequence[Path], name: str, kind: str) -> float:
    place = f'results/{name}/{kind}.json'
    path = _run_of(runs, place) / place
    found = json.loads(path.read_text('utf-8'))
    if 'accuracy' not in found:
        raise InputError(
            str(path), 'an accuracy',
            str(found)[:80], 'Evaluate the model again.')
    return found['accuracy'] / 100


def _run_of(runs: Sequence[Path], place: str) -> Path:
    # The last, as time-stamped folders are listed: what was run again counts.
    for run in reversed(runs):
        if (run / place).exists():
            return run
    raise InputError('runs', f'one with {place}',
                     f'none of {", ".join(map(str, runs))}',
                     'Evaluate configs/eval_csv_collect.py to its end.')
