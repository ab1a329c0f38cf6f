"""Dataset configs of OpenCompass, found by name."""
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import opencompass
from mmengine.config import Config
from opencompass.utils import dataset_abbr_from_cfg

from csv_plugin.core.conventions import InputError

_FOLDER = Path(opencompass.__file__).parent / 'configs' / 'datasets'
#: Its folders that hold configs of many benchmarks.
_SHELVES = ('collections', 'demo', 'subjective')


def find_config(dataset: str) -> Path:
    """The file of a dataset config.

    Args:
        dataset (str): A name among OpenCompass's dataset configs, such as
            'mmlu_ppl_ac766d'; or a file `*.py`; or a module, as it is
            imported.

    Raises:
        InputError: There is none of that name, or more than one.
    """
    if dataset.endswith('.py'):
        found = [path for path in [Path(dataset)] if path.is_file()]
    elif '.' in dataset:
        found = _modules(dataset)
    else:
        found = sorted(
            path for path in _FOLDER.rglob('*.py')
            if f'/{_relative(path)}'.endswith(f'/{dataset}'))
    if len(found) != 1:
        raise InputError(
            f'dataset {dataset!r}', 'one dataset config of that name',
            f'{len(found)}: {", ".join(map(str, found))}' if found else 'none',
            "Name a file of OpenCompass's configs/datasets without '.py', "
            'a file, or a module.')
    return found[0]


def _modules(name: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # no such parent, or a name like '.x'
        return []
    # The origin of others, such as 'frozen', is no file.
    return [Path(spec.origin)
            ] if spec and spec.origin and spec.has_location else []


def _relative(path: Path) -> str:
    return path.relative_to(_FOLDER).with_suffix('').as_posix()


def benchmark_name(dataset: str) -> str:
    """What a dataset config is about.

    OpenCompass keeps the configs of a benchmark in a folder, perhaps with
    folders in it; others are called by their own name.

    Raises:
        InputError: As in `find_config`.

    >>> benchmark_name('hellaswag_10shot_ppl_59c85e')
    'hellaswag'
    """
    path = find_config(dataset)
    if _FOLDER not in path.parents:
        return path.stem
    folders = path.relative_to(_FOLDER).parts[:-1]
    return next((name for name in folders if name not in _SHELVES), path.stem)


def read_config(dataset: str) -> dict[str, Any]:
    """The sub-tasks of a dataset config.

    Args:
        dataset (str): As in `find_config`.

    Returns:
        dict[str, Any]: An OpenCompass dataset each, in order, by the name
        with which it is loaded or, where these are not unique, its abbr.
        One that is in several lists counts once.

    Raises:
        InputError: As in `find_config`, or it holds no datasets, or two
            different ones with the same abbr.
    """
    path = find_config(dataset)
    try:
        entries = [(dataset_abbr_from_cfg(entry), key, entry)
                   for key, entry in _entries(Config.fromfile(path))]
    except Exception as error:  # whatever python code can raise
        raise InputError(f'dataset {dataset!r}', f'a config in {path}',
                         f'{type(error).__name__}: {error}',
                         'Repair or replace it.') from error
    if not entries:
        raise InputError(f'dataset {dataset!r}',
                         f"a list '..._datasets' in {path}", 'none',
                         'Name the config of a dataset.')
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for abbr, key, entry in entries:
        first, same = found.setdefault(abbr, (key, entry))
        if entry != same:
            raise InputError(
                f'dataset {dataset!r}', 'one dataset of each abbr',
                f'two different {abbr!r}, in {first} and {key} of {path}',
                'Put the list that you want into a file of its own.')
    datasets = [entry for _, entry in found.values()]
    names = [
        str(entry.get('name', abbr)) for abbr, (_, entry) in found.items()
    ]
    unique = len(set(names)) == len(names)
    return dict(zip(names if unique else found, datasets))


def _entries(config: Config) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The datasets in a config's lists, and what each list is called."""
    keys = [key for key in config if key.endswith('_datasets')] or ['datasets']
    for key in keys:
        entries = config.get(key)
        # Functions that make such lists have such names too.
        for entry in entries if isinstance(entries, (list, tuple)) else []:
            if isinstance(entry, Mapping):
                yield key, entry
