"""Dataset configs of OpenCompass, found by name."""
import importlib.util
from pathlib import Path
from typing import Any

import opencompass
from mmengine.config import Config
from opencompass.utils import dataset_abbr_from_cfg

from csv_plugin.core.errors import InputError

_FOLDER = Path(opencompass.__file__).parent / 'configs' / 'datasets'


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
        found = sorted(_FOLDER.rglob(f'{dataset}.py'))
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
    return [Path(spec.origin)] if spec and spec.origin else []


def benchmark_name(dataset: str) -> str:
    """What a dataset config is about.

    OpenCompass keeps the configs of a benchmark in a folder; others are
    called by their own name.

    Raises:
        InputError: As in `find_config`.

    >>> benchmark_name('hellaswag_10shot_ppl_59c85e')
    'hellaswag'
    """
    path = find_config(dataset)
    return path.parent.name if _FOLDER in path.parents else path.stem


def read_config(dataset: str) -> dict[str, Any]:
    """The sub-tasks of a dataset config.

    Args:
        dataset (str): As in `find_config`.

    Returns:
        dict[str, Any]: An OpenCompass dataset each, in order, by the name
        with which it is loaded or, where these are not unique, its abbr.

    Raises:
        InputError: As in `find_config`, or it holds no datasets.
    """
    path = find_config(dataset)
    try:
        config = Config.fromfile(path)
    except Exception as error:  # whatever python code can raise
        raise InputError(f'dataset {dataset!r}', f'a config in {path}',
                         f'{type(error).__name__}: {error}',
                         'Repair or replace it.') from error
    keys = [key for key in config if key.endswith('_datasets')] or ['datasets']
    datasets = [entry for key in keys for entry in config.get(key, [])]
    if not datasets:
        raise InputError(f'dataset {dataset!r}',
                         f"a list '..._datasets' in {path}", 'none',
                         'Name the config of a dataset.')
    abbrs = [dataset_abbr_from_cfg(entry) for entry in datasets]
    names = [entry.get('name', abbr) for entry, abbr in zip(datasets, abbrs)]
    unique = len(set(names)) == len(names)
    return dict(zip(names if unique else abbrs, datasets))
