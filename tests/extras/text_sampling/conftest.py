"""These tests run in temporary folders."""
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """The folder where OpenCompass looks for data."""
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setattr('opencompass.utils.datasets.DEFAULT_DATA_FOLDER',
                        str(tmp_path / 'default'))
    return tmp_path / 'cache'
