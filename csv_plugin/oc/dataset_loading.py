"""Loads OpenCompass datasets from what is on this machine."""
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional
from unittest import mock

import datasets
import opencompass.utils.datasets as host
from opencompass.datasets import BaseDataset
from opencompass.utils.build import build_dataset_from_cfg


class DataMissingError(Exception):
    """A dataset cannot be loaded; the message says why."""


def load_dataset(config: Any) -> BaseDataset:
    """Both splits of a dataset, by OpenCompass's own loader.

    Args:
        config (Any): Of an OpenCompass dataset; repetitions are ignored.

    Raises:
        DataMissingError: The data is not where OpenCompass looks for it; the
            loader may not download it. Or it fails otherwise.
    """
    once = {key: config[key] for key in config if key not in ('n', 'k')}
    with _offline(config.get('path')), _without_progress_bars():
        try:
            return build_dataset_from_cfg(once)
        except DataMissingError:
            raise
        except Exception as error:  # whatever loaders raise
            reason = str(error).partition('\n')[0]
            raise DataMissingError(
                f'{type(error).__name__}: {reason}') from error


@contextmanager
def _offline(path: Optional[str]) -> Iterator[None]:
    """Loaders that reach for the network fail at once."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        # No OSError: libraries would take it for a fault of the network and
        # try again.
        raise DataMissingError(f'{path} is neither in COMPASS_DATA_CACHE nor '
                               'in ~/.cache/opencompass')

    # The logger would announce a download.
    with mock.patch.multiple(
            host, download_and_extract_archive=refuse,
            get_logger=mock.DEFAULT), mock.patch.object(
                socket, 'getaddrinfo', refuse):
        yield


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    shown = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()
