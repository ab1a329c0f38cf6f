"""Finds dataset configs of OpenCompass by name, and reads them."""
import importlib.util
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
            as 'mmlu_ppl_ac766d'; or a file `*.py`; or the dotted name of a
            module.

    Raises:
        InputError: If no config has that name, or more than one.
    """
    if dataset.endswith('.py'):
        files = [path for path in [Path(dataset)] if path.is_file()]
    elif '.' in dataset:
        files = _module_files(dataset)
    else:
        files = sorted(
            path for path in _FOLDER.rglob('*.py')
            if f'/{_name_in_folder(path)}'.endswith(f'/{dataset}'))
    if len(files) != 1:
        raise InputError(
            f'dataset {dataset!r}', 'one dataset config of that name',
            f'{len(files)}: {", ".join(map(str, files))}' if files else 'none',
            "Name a file of OpenCompass's configs/datasets without '.py', "
            'a file, or a module.')
    return files[0]


def _module_files(name: str) -> list[Path]:
    """The file of a module, if there is such a module with a file."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # no such parent, or a name like '.x'
        return []
    # The origin of a module without a file is a word such as 'frozen'.
    return [Path(spec.origin)
            ] if spec and spec.origin and spec.has_location else []


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
        entries = [(dataset_abbr_from_cfg(entry), key, entry)
                   for key, entry in _entries(Config.fromfile(path))]
    except Exception as error:  # a config is code and can raise anything
        raise InputError(f'dataset {dataset!r}', f'a config in {path}',
                         f'{type(error).__name__}: {error}',
                         'Repair or replace it.') from error
    if not entries:
        raise InputError(f'dataset {dataset!r}',
                         f"a list '..._datasets' in {path}", 'none',
                         'Name the config of a dataset.')
    by_abbr: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for abbr, key, entry in entries:
        first_key, first_entry = by_abbr.setdefault(abbr, (key, entry))
        if entry != first_entry:
            raise InputError(
                f'dataset {dataset!r}', 'one dataset of each abbr',
                f'two different {abbr!r}, in {first_key} and {key} of {path}',
                'Put the list that you want into a file of its own.')
    datasets = [entry for _, entry in by_abbr.values()]
    names = [
        str(entry.get('name', abbr)) for abbr, (_, entry) in by_abbr.items()
    ]
    unique = len(set(names)) == len(names)
    return dict(zip(names if unique else by_abbr, datasets))


def _entries(config: Config) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The datasets in a config's lists, each with the name of its list."""
    keys = [key for key in config if key.endswith('_datasets')] or ['datasets']
    for key in keys:
        entries = config.get(key)
        # Functions that make such lists have names like theirs.
        for entry in entries if isinstance(entries, (list, tuple)) else []:
            if isinstance(entry, Mapping):
                yield key, entry
