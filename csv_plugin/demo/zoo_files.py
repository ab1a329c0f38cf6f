"""Where the zoo keeps its models, whole or not at all."""
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from secrets import token_hex
from typing import Any

from csv_plugin.core.conventions import InputError
from csv_plugin.demo.recipes import (CHECKPOINTS, SERIES, SIZES,
                                     TrainingRecipe, recipe_of)
from csv_plugin.io.files import atomic_path, read_bytes


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


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Fill a temporary folder that becomes `path` when all went well.

    Args:
        path (Path): The folder to create; it must not exist, its parents
            may be missing.

    Yields:
        Path: An empty folder to write to. It is removed if the body of the
            `with` statement fails.
    """
    temporary = path.with_name(f'.{token_hex(8)}.{path.name}')
    temporary.mkdir(parents=True)
    try:
        yield temporary
        os.rename(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def manifest_head(recipe: TrainingRecipe) -> dict[str, Any]:
    """How models are trained, as JSON gives it back."""
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
    # Lists instead of tuples.
    return json.loads(json.dumps(head))


class Manifest:
    """`<zoo>/manifest.json`: how the models were trained, and how well.

    Args:
        zoo (Path): Folder of the zoo.
        recipe (TrainingRecipe): How models are trained from now on.

    Raises:
        InputError: The zoo holds models of another recipe.
    """

    def __init__(self, zoo: Path, recipe: TrainingRecipe) -> None:
        self.zoo, self._path = zoo, zoo / 'manifest.json'
        self._head = manifest_head(recipe)
        found = self._read()
        for name, wanted in self._head.items() if found else ():
            if found.get(name) != wanted:
                raise InputError(
                    str(self._path), f'{name} {wanted}', str(found.get(name)),
                    'Choose another folder, or remove this one.')

    @property
    def models(self) -> dict[str, Any]:
        """What is known of each model that is complete."""
        return {
            model: record
            for model, record in self._read().get('models', {}).items() if all(
                checkpoint_folder(self.zoo, model, percent).is_dir()
                for percent in CHECKPOINTS)
        }

    def add(self, model: str, record: dict[str, Any]) -> None:
        """Enter a model, or replace it.

        Args:
            model (str): Its name.
            record (dict): What JSON can hold.
        """
        known = {**self._read().get('models', {}), model: record}
        ordered = {name: known[name] for name in sorted(known)}
        text = json.dumps({**self._head, 'models': ordered}, indent=1)
        with atomic_path(self._path) as path:
            path.write_text(text + '\n', encoding='utf-8')

    def _read(self) -> dict[str, Any]:
        if not self._path.exists():
            return {}
        return json.loads(read_bytes(self._path))
