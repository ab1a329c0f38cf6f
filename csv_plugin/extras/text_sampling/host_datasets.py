"""Datasets of OpenCompass: their configs, and data from this machine alone."""
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

_FOLDER = Path(opencompass.__file__).parent / 'configs' / 'datasets'


def find_config(dataset: str) -> Path:
    """Find the file of a dataset config: by a name of OpenCompass, or `*.py`.
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
            "Name a file of OpenCompass's configs/datasets without '.py', or "
            'a file.')
    return files[0]


def benchmark_name(dataset: str) -> str:
    """Return the folder of a config of OpenCompass, of others the file's name.
    """
    path = find_config(dataset)
    return path.parent.name if _FOLDER in path.parents else path.stem


def read_config(dataset: str) -> dict[str, Any]:
    """Return configs of sub-tasks by name, or by abbr if names are not unique.

    A dataset that is in several lists counts once.
    """
    path = find_config(dataset)
    try:
        entries = [*_entries(Config.fromfile(path))]
        abbrs = [dataset_abbr_from_cfg(entry) for entry in entries]
    except Exception as error:  # a config is code and can raise anything
        raise InputError(f'dataset {dataset!r}', f'a config in {path}',
                         f'{type(error).__name__}: {error}',
                         'Repair or replace it.') from error
    if not entries:
        raise InputError(f'dataset {dataset!r}',
                         f"a list '..._datasets' in {path}", 'none',
                         'Name the config of a dataset.')
    by_abbr: dict[str, Mapping[str, Any]] = {}
    for abbr, entry in zip(abbrs, entries):
        if by_abbr.setdefault(abbr, entry) != entry:
            raise InputError(
                f'dataset {dataset!r}', 'one dataset of each abbr',
                f'two different {abbr!r} in {path}',
                'Put the list that you want into a file of its own.')
    names = [str(entry.get('name', abbr)) for abbr, entry in by_abbr.items()]
    unique = len(set(names)) == len(names)
    return dict(zip(names if unique else by_abbr, by_abbr.values()))


def _entries(config: Config) -> Iterator[Mapping[str, Any]]:
    keys = [key for key in config if key.endswith('_datasets')] or ['datasets']
    for key in keys:
        entries = config.get(key)
        # Functions that make such lists have names like theirs.
        if isinstance(entries, (list, tuple)):
            yield from entries


def load_dataset(config: Any) -> BaseDataset:
    """Load both splits of a dataset with OpenCompass's own loader.

    Nothing is downloaded, and what the loader draws at random is the same
    each time. Repetitions (`n`, `k`) are ignored. An `InputError` if the data
    is not on this machine or the loader fails.
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
                'Fetch or repair it.') from error


@contextmanager
def _offline(path: Optional[str]) -> Iterator[None]:
    """Let a loader that reaches for the network fail at once."""

    # An OSError would look like a fault of the network, and be tried again.
    def find(data_path: str, *args: Any, **kwargs: Any) -> str:
        default = os.path.join(host.DEFAULT_DATA_FOLDER, data_path)
        if os.path.exists(default):
            return default
        raise InputError(
            str(path), 'data in COMPASS_DATA_CACHE or ~/.cache/opencompass',
            'none', 'Fetch it.')

    def refuse(address: Any, *args: Any, **kwargs: Any) -> None:
        raise InputError(
            str(path), 'data on this machine', f'a request to {address}',
            'Fetch it beforehand.')

    # The logger would announce every look-up on the screen.
    with mock.patch.multiple(
            host, download_dataset=find,
            get_logger=mock.DEFAULT), mock.patch.object(
                socket, 'getaddrinfo', refuse):
        yield
