"""Loads OpenCompass datasets from this machine alone."""
import os.path
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional
from unittest import mock

import numpy as np
import opencompass.utils.datasets as host
from opencompass.datasets import BaseDataset
from opencompass.utils.build import build_dataset_from_cfg


class DataMissingError(Exception):
    """The data is not on this machine; the message says what is missing."""


class LoaderError(Exception):
    """OpenCompass's loader fails on the data; the message says why."""


def load_dataset(config: Any) -> BaseDataset:
    """Load both splits of a dataset with OpenCompass's own loader.

    What the loader draws at random is the same each time.

    Args:
        config (Any): Config of an OpenCompass dataset. Its repetitions (`n`,
            `k`) are ignored.

    Raises:
        DataMissingError: If the data is not where the loader looks for it.
            Nothing is downloaded.
        LoaderError: If the loader fails for another reason.
    """
    once = {key: config[key] for key in config if key not in ('n', 'k')}
    with _offline(config.get('path')), _seeded():
        try:
            return build_dataset_from_cfg(once)
        except DataMissingError:
            raise
        except Exception as error:  # loaders raise errors of any type
            absent = isinstance(error, (FileNotFoundError, ConnectionError))
            kind = DataMissingError if absent else LoaderError
            reason = str(error).partition('\n')[0]
            raise kind(f'{type(error).__name__}: {reason}') from error


@contextmanager
def _offline(path: Optional[str]) -> Iterator[None]:
    """Within the body, a loader that reaches for the network fails at once."""

    # Neither function raises an OSError: libraries would take it for a fault
    # of the network and try again.
    def find(data_path: str, *args: Any, **kwargs: Any) -> str:
        default = os.path.join(host.DEFAULT_DATA_FOLDER, data_path)
        if os.path.exists(default):
            return default
        raise DataMissingError(f'{path} is neither in COMPASS_DATA_CACHE nor '
                               'in ~/.cache/opencompass')

    def refuse(address: Any, *args: Any, **kwargs: Any) -> None:
        raise DataMissingError(f'{path} is not on this machine, and is not '
                               f'fetched from {address}')

    # The logger would announce every look-up on the screen.
    with mock.patch.multiple(
            host, download_dataset=find,
            get_logger=mock.DEFAULT), mock.patch.object(
                socket, 'getaddrinfo', refuse):
        yield


@contextmanager
def _seeded() -> Iterator[None]:
    """Within the body, loaders that shuffle do it in the same way."""
    states = random.getstate(), np.random.get_state()
    random.seed(0)
    np.random.seed(0)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
