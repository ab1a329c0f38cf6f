"""Load datasets of OpenCompass from this machine, without downloads."""
import os.path
import random
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional
from unittest import mock

import numpy as np
import opencompass
import opencompass.utils.datasets as host
from mmengine.config import Config
from opencompass.datasets import BaseDataset
from opencompass.utils import dataset_abbr_from_cfg
from opencompass.utils.build import build_dataset_from_cfg

from csv_plugin.core.conventions import InputError

#: The folder of OpenCompass's dataset configs.
_FOLDER = Path(opencompass.__file__).parent / 'configs' / 'datasets'


def find_config(dataset: str) -> Path:
    """Return the file of a dataset config.

    `dataset` is the name of a config of OpenCompass, without '.py', or the
    path of a file `*.py`. An `InputError` if there is not exactly one file.
    """
    files = []
    if not dataset.endswith('.py'):
        for path in sorted(_FOLDER.rglob('*.py')):
            name = f'/{path.relative_to(_FOLDER)}'
            if name.endswith(f'/{dataset}.py'):
                files.append(path)
    elif Path(dataset).is_file():
        files.append(Path(dataset))
    if len(files) != 1:
        found = 'none'
        if files:
            found = f'{len(files)}: {", ".join(map(str, files))}'
        raise InputError(
            f'dataset {dataset!r}', 'one dataset config of that name', found,
            "Give the name, without '.py', of a file in OpenCompass's "
            'configs/datasets, or the path of a file *.py.')
    return files[0]


def benchmark_name(dataset: str) -> str:
    """Return the name of the benchmark of a dataset config.

    For a config of OpenCompass, return the name of the config's folder. For
    another file, return the file's name without '.py'.
    """
    path = find_config(dataset)
    if _FOLDER in path.parents:
        return path.parent.name
    return path.stem


def read_config(dataset: str) -> dict[str, Any]:
    """Return the configs of a dataset's sub-tasks by name.

    If several configs have the same name, the keys are the configs' `abbr`
    instead. A dataset that is in several lists of the config file counts once.
    """
    path = find_config(dataset)
    try:
        entries = [*_entries(Config.fromfile(path))]
        abbrs = [dataset_abbr_from_cfg(entry) for entry in entries]
    except Exception as error:  # a config is code and can raise anything
        raise InputError(f'dataset {dataset!r}', f'a config in {path}',
                         f'{type(error).__name__}: {error}',
                         'Repair or replace this file.') from error
    if not entries:
        raise InputError(f'dataset {dataset!r}',
                         f"a list '..._datasets' in {path}", 'none',
                         'Name the config of a dataset.')
    by_abbr: dict[str, Mapping[str, Any]] = {}
    for abbr, entry in zip(abbrs, entries):
        if by_abbr.setdefault(abbr, entry) != entry:
            raise InputError(
                f'dataset {dataset!r}', 'one dataset of each abbr',
                f'two different datasets {abbr!r} in {path}',
                'Put the list that you want into a file of its own.')
    by_name = {}
    for abbr, entry in by_abbr.items():
        name = str(entry.get('name', abbr))
        by_name[name] = entry
    are_unique = len(by_name) == len(by_abbr)
    return by_name if are_unique else by_abbr


def _entries(config: Config) -> Iterator[Mapping[str, Any]]:
    """Yield the dataset entries of a config, from all lists of datasets."""
    keys = [key for key in config if key.endswith('_datasets')]
    for key in keys or ['datasets']:
        entries = config.get(key)
        # The name may belong to a function that makes such a list.
        if isinstance(entries, (list, tuple)):
            yield from entries


def load_dataset(config: Any) -> BaseDataset:
    """Load both splits of a dataset with OpenCompass's own loader.

    Nothing is downloaded. Random seeds are fixed, so that a loader that draws
    at random returns the same data each time. The config's numbers of
    repetitions (`n`, `k`) are ignored. An `InputError` if the data is not on
    this machine or the loader fails.
    """
    once = dict(config)
    once.pop('n', None)
    once.pop('k', None)
    random.seed(0)
    np.random.seed(0)
    with _offline(config.get('path')):
        try:
            return build_dataset_from_cfg(once)
        except InputError:
            raise
        except Exception as error:  # loaders raise errors of any type
            raise InputError(
                'data', 'what the loader of OpenCompass reads',
                f'{type(error).__name__}: {error}'.partition('\n')[0],
                'Fetch or repair the data.') from error


@contextmanager
def _offline(path: Optional[str]) -> Iterator[None]:
    """Make a loader that accesses the network fail at once.

    `path` is the path of the data in the dataset config, for errors.
    """

    # These functions raise no OSError, because loaders would take it for a
    # network failure and retry.
    def find(data_path: str, *args: Any, **kwargs: Any) -> str:
        default = os.path.join(host.DEFAULT_DATA_FOLDER, data_path)
        if os.path.exists(default):
            return default
        raise InputError(
            str(path), 'data in COMPASS_DATA_CACHE or ~/.cache/opencompass',
            'none', 'Fetch the data into one of these folders.')

    def refuse(address: Any, *args: Any, **kwargs: Any) -> None:
        raise InputError(
            str(path), 'data on this machine', f'a request to {address}',
            'Fetch the data beforehand.')

    # Without the mock, the logger prints a line for every look-up.
    with mock.patch.multiple(
            host, download_dataset=find,
            get_logger=mock.DEFAULT), mock.patch.object(
                socket, 'getaddrinfo', refuse):
        yield
