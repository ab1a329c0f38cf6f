"""These tests need OpenCompass, and run in temporary folders."""
import importlib.util
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
collect_ignore_glob = [] if importlib.util.find_spec('opencompass') else ['*']


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.host)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # For processes that tests start, should the package not be installed.
    monkeypatch.setenv(
        'PYTHONPATH',
        os.pathsep.join([str(ROOT),
                         os.environ.get('PYTHONPATH', '')]))


@pytest.fixture(scope='session')
def model_folder(tmp_path_factory):
    from . import tiny
    return tiny.save_model(tmp_path_factory.mktemp('models') / 'tiny')
