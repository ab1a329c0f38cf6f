"""Where the zoo is, and its manifest, which is written whole or not at all."""
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.io.files import write_text
from tools.demo_maker.recipes import (CHECKPOINTS, SERIES, SIZES,
                                      TrainingRecipe, recipe_of)


def tokenizer_folder(zoo: Path, series: str) -> Path:
    """Folder of a tokenizer, `<zoo>/<series>/tokenizer`."""
    return zoo / series / 'tokenizer'


def model_folder(zoo: Path, model: str) -> Path:
    """Folder of a model's checkpoints, `<zoo>/<series>/<size>`.

    >>> model_folder(Path('zoo'), 'a-xs').as_posix()
    'zoo/a/xs'
    """
    series, size = recipe_of(model)
    return zoo / series.name / size.name


def checkpoint_folder(zoo: Path, model: str, percent: int) -> Path:
    """Folder of a checkpoint, `<zoo>/<series>/<size>/<percent>`."""
    return model_folder(zoo, model) / str(percent)


def manifest_head(recipe: TrainingRecipe) -> dict[str, Any]:
    """What the manifest says of the training of all models."""
    head = {
        'recipe': asdict(recipe),
        'checkpoints_percent': CHECKPOINTS,
        'series': {
            name: asdict(series)
            for name, series in SERIES.items()
        },
        'sizes': {
            name: asdict(size)
            for name, size in SIZES.items()
        },
    }
    # JSON turns tuples into lists.
    return json.loads(json.dumps(head))


def read_manifest(zoo: Path) -> dict[str, Any]:
    """The content of `<zoo>/manifest.json`, with a record by trained model."""
    return json.loads((zoo / 'manifest.json').read_text('utf-8'))


class Manifest:
    """`<zoo>/manifest.json`: how the models were trained, and how well.

    Args:
        zoo (Path): Folder of the zoo.
        recipe (TrainingRecipe): How models are trained.

    Raises:
        InputError: If the zoo contains models of another recipe.
    """

    def __init__(self, zoo: Path, recipe: TrainingRecipe) -> None:
        self.zoo, self._path = zoo, zoo / 'manifest.json'
        self._head = manifest_head(recipe)
        content = self._read()
        for name, value in self._head.items():
            if content.get(name) != value:
                raise InputError(
                    str(self._path), f'{name} {value}',
                    repr(content.get(name))[:200],
                    'Choose another folder, or remove this one.')

    @property
    def models(self) -> dict[str, Any]:
        """The record of each model that has all its checkpoints."""
        return {
            model: record
            for model, record in self._read()['models'].items() if all(
                checkpoint_folder(self.zoo, model, percent).is_dir()
                for percent in CHECKPOINTS)
        }

    def add(self, model: str, record: dict[str, Any]) -> None:
        """Enter the record of a model, or replace it."""
        records = {**self._read()['models'], model: record}
        ordered = {name: records[name] for name in sorted(records)}
        text = json.dumps({**self._head, 'models': ordered}, indent=1)
        write_text(self._path, text + '\n')

    def _read(self) -> dict[str, Any]:
        if self._path.exists():
            return read_manifest(self.zoo)
        return {**self._head, 'models': {}}
