"""Finds dataset configs of OpenCompass by name, and reads them."""
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import opencompass
from mmengine.config import Config
from opencompass.utils import dataset_abbr_from_cfg

from csv_plugin.core.conventions import InputError

_FOLDER = Path(opencompass.__file__).parent / 'configs' / 'datasets'
#: Folders in it that hold configs of several benchmarks.
_SHARED_FOLDERS = ('collections', 'demo', 'subjective')


def find_config(dataset: str) -> Path:
    """Find the file of a dataset config.

    Args:
        dataset (str): The name of one of OpenCompass's dataset configs, such
            as 'mmlu_ppl_ac766d'; or a file `*.py`.

    Raises:
        InputError: If no config has that name, or more than one.
    """
    if dataset.endswith('.py'):
        files = [path for path in [Path(dataset)] if path.is_file()]
    else:
        files = sorted(
            path for path in _FOLDER.rglob('*.py')
            if f'/{_name_in_folder(path)}'.endswith(f'/{dataset}'))
    if len(files) != 1:
        raise InputError(
            f'dataset {dataset!r}', 'one dataset config of that name',
            f'{len(files)}: {", ".join(map(str, files))}' if files else 'none',
            "Name a file of OpenCompass's configs/datasets without '.py', or "
            'a file.')
    return files[0]


def _name_in_folder(path: Path) -> str:
    return path.relative_to(_FOLDER).with_suffix('').as_posix()


def benchmark_name(dataset: str) -> str:
    """The name of the benchmark of a dataset config.

    OpenCompass keeps the configs of a benchmark in a folder, perhaps with
    folders in it, and the folder's name is returned. Any other config gives
    its own name.

    Args:
        dataset (str): As in `find_config`.

    Raises:
        InputError: As in `find_config`.

    >>> benchmark_name('hellaswag_10shot_ppl_59c85e')
    'hellaswag'
    """
    path = find_config(dataset)
    if _FOLDER not in path.parents:
        return path.stem
    folders = path.relative_to(_FOLDER).parts[:-1]
    return next((name for name in folders if name not in _SHARED_FOLDERS),
                path.stem)


def read_config(dataset: str) -> dict[str, Any]:
    """Read the sub-tasks of a dataset config.

    Args:
        dataset (str): As in `find_config`.

    Returns:
        dict[str, Any]: Configs of OpenCompass datasets in their order. The
        keys are the names with which they are loaded or, if these are not
        unique, their abbrs. A dataset that is in several lists counts once.

    Raises:
        InputError: As in `find_config`, or if the config holds no datasets
            or two different datasets with the same abbr.
    """
    path = find_config(dataset)
    try:
        entries = [(dataset_abbr_from_cfg(entry), entry)
                   for entry in _entries(Config.fromfile(path))]
    except Exception as error:  # a config is code and can raise anything
        raise InputError(f'dataset {dataset!r}', f'a config in {path}',
                         f'{type(error).__name__}: {error}',
                         'Repair or replace it.') from error
    if not entries:
        raise InputError(f'dataset {dataset!r}',
                         f"a list '..._datasets' in {path}", 'none',
                         'Name the config of a dataset.')
    by_abbr: dict[str, Mapping[str, Any]] = {}
    for abbr, entry in entries:
        if by_abbr.setdefault(abbr, entry) != entry:
            raise InputError(
                f'dataset {dataset!r}', 'one dataset of each abbr',
                f'two different {abbr!r} in {path}',
                'Put the list that you want into a file of its own.')
    names = [str(entry.get('name', abbr)) for abbr, entry in by_abbr.items()]
    unique = len(set(names)) == len(names)
    return dict(zip(names if unique else by_abbr, by_abbr.values()))


def _entries(config: Config) -> Iterator[Mapping[str, Any]]:
    """The datasets in a config's lists."""
    keys = [key for key in config if key.endswith('_datasets')] or ['datasets']
    for key in keys:
        entries = config.get(key)
        # Functions that make such lists have names like theirs.
        if isinstance(entries, (list, tuple)):
            yield from entries
