"""These tests need OpenCompass, and run in temporary folders."""
import importlib.util
from pathlib import Path

import pytest

collect_ignore_glob = [] if importlib.util.find_spec('opencompass') else ['*']


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.host)


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
